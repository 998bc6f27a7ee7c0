"""A second round of attacks beside strangers.py: by syntax and methods, by values, by files beside a file, by wrong arguments."""

import contextlib
import os
import socket
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

TEMPLATES = {
    "power of powers": "{{ 10 ** 10 ** 8 }}", "powers": "{{ 9 ** 9 ** 9 ** 9 }}", "squares": "{% set n = namespace(v=99) %}{% for i in range(60) %}{% set n.v = n.v * n.v %}{% endfor %}{{ n.v % 7 }}",
    "a long integer": "{{ ('9' * 9000000) | int }}", "digits of an integer": "{{ (9 ** 99999) | string | length }}", "zero division": "{{ 1 / 0 }}{{ 1 % 0 }}{{ 1 // 0 }}",
    "infinite": "{{ '%d' % (1e308 * 10) }}", "width": "{{ '%0999999999d' % 1 }}", "star": "{{ '%*d' % (999999999, 1) }}", "format width": "{{ '{:999999999}'.format(1) }}",
    "nested width": "{{ '{0:{1}}'.format(1, 999999999) }}", "format attribute": "{{ '{0.__class__.__mro__[1]}'.format(1) }}", "format item": "{{ '{0[__class__]}'.format(summary) }}",
    "format map": "{{ '{x.__init__.__globals__}'.format_map({'x': cycler}) }}", "just": "{{ 'a'.ljust(999999999) }}", "zfill": "{{ 'a'.zfill(999999999) }}", "tabs": "{{ ('\\t' * 999).expandtabs(9999999) }}",
    "replace with long": "{% set a = 'a' * 999999 %}{{ a.replace('', a) | length }}", "join with long": "{% set a = 'a' * 999999 %}{{ a.join(a) | length }}", "split all": "{{ ('a ' * 4000000).split() | length }}",
    "encode": "{{ ('a' * 9000000).encode('utf-32').hex() | length }}", "translate": "{{ ('a' * 999999).translate({97: 'b' * 999999}) | length }}", "center": "{{ 'a' | center(999999999) }}",
    "indent deep": "{{ ('a\\n' * 99999) | indent(99999) | length }}", "wordwrap": "{{ ('a' * 9999999) | wordwrap(1, true, '-' * 9999) | length }}", "urlize": "{{ ('http://' ~ 'a.' * 999999 ~ '<' * 99999) | urlize | length }}",
    "striptags": "{{ ('<' * 9999999) | striptags | length }}", "comments": "{{ ('<!--' * 999999) | striptags | length }}", "tojson indent": "{{ range(9999) | list | tojson(indent=99999) | length }}",
    "batch": "{{ range(9) | batch(999999999, 0) | list | length }}", "slice": "{{ range(9) | slice(999999999) | list | length }}", "sum of lists": "{{ [[1] * 9999] * 9999 | sum(start=[]) | length }}",
    "groupby": "{{ range(999999) | groupby(attribute='real') | length }}", "round": "{{ 1.5 | round(-999999999) }}{{ 1.5 | round(999999999) }}", "lipsum": "{{ lipsum(n=99999999) | length }}",
    "dictsort": "{{ dict(range(9)) | dictsort }}", "unhashable": "{{ {[]: 1} }}", "xmlattr": "{{ {'a onload=x': 1} | xmlattr }}", "random": "{{ range(999999999999) | random }}", "last": "{{ range(999999999999) | last }}",
    "reverse": "{{ range(999999999) | reverse | first }}", "long range": "{{ range(10 ** 30) | length }}", "negative step": "{{ range(0, 10 ** 9, -1) | list }}{{ 'abc'[::-99999999999] }}",
    "block within itself": "{% block a %}{{ self.a() }}{% endblock %}", "call of callers": "{% macro m() %}{{ caller() }}{{ m2() }}{% endmacro %}{% macro m2() %}{% call m() %}x{% endcall %}{% endmacro %}{{ m2() }}",
    "super": "{% block a %}{{ super() }}{% endblock %}", "includes itself twice": "{% include 'own.txt.j2' %}{% include 'own.txt.j2' %}", "extends itself": "{% extends 'own.txt.j2' %}", "imports itself": "{% import 'own.txt.j2' as x %}{{ x }}",
    "included by a list": "{% include ['../secret.j2', 'link.j2'] ignore missing %}", "included by a variable": "{% set p = '..' ~ '/secret.j2' %}{% include p %}", "included with a NUL": "{% include 'link.j2\\0.txt' %}", "included number": "{% include 7 %}",
    "brackets": "{{ " + "(" * 90_000 + "1" + ")" * 90_000 + " }}", "not": "{{ " + "not " * 90_000 + "1 }}", "minus": "{{ " + "-" * 90_000 + "1 }}", "ifs": "{% if 1 %}" * 20_000 + "{% endif %}" * 20_000,
    "inline ifs": "{{ " + "1 if 1 else " * 40_000 + "1 }}", "tilde": "{{ " + "'a' ~ " * 90_000 + "1 }}", "filters": "{{ 'a'" + "|upper" * 40_000 + " }}", "attributes": "{{ summary" + ".a" * 40_000 + " }}", "calls": "{{ range" + "()" * 40_000 + " }}",
    "lists": "{{ " + "[" * 90_000 + "]" * 90_000 + " }}", "loops": "{% for i in range(9) %}" * 30 + "x" + "{% endfor %}" * 30, "many loops": "{% for i in range(9) %}" * 3_000 + "{% endfor %}" * 3_000, "sets": "{% set a = 1 %}" * 90_000,
    "macros": "".join(f"{{% macro m{i}() %}}{{{{ m{i + 1}() }}}}{{% endmacro %}}" for i in range(3_000)) + "{{ m0() }}", "open": "{{ " * 90_000, "open comment": "{#" * 90_000, "open raw": "{% raw %}" * 40_000, "open text": "{{ '" + "a" * 900_000,
    "line": "x" * 4_000_000, "NUL": "\0{{ '\0' * 9 }}", "marks": "\ufeff\u202e{{ '\ud7ff' }}", "secret variables": "{{ self }}{{ self._TemplateReference__context }}{{ loop }}{{ varargs }}", "attr": "{{ ''|attr('__class__')|attr('__mro__') }}",
    "map attr": "{{ [cycler] | map(attribute='__init__.__globals__') | list }}", "selectattr": "{{ [range] | selectattr('__self__') | list }}", "namespace of all": "{{ namespace(**summary) }}{{ namespace().__class__ }}", "joiner": "{{ joiner.__init__.__globals__ }}",
    "undefined": "{{ a.b.c.d }}{{ a() }}{{ a[1] }}", "changed": "{% for i in range(99999) %}{{ loop.changed(range(99999) | list) }}{% endfor %}", "cycle": "{% for i in range(99999) %}{{ loop.cycle(*range(9999)) }}{% endfor %}", "arguments": "{{ range(*(range(9999999) | list)) }}",
    "mutate": "{{ findings.append(1) }}{{ summary.update(a=1) }}{{ summary.clear() }}", "setattr": "{% set summary.headline = 1 %}", "autoescape": "{% autoescape false %}<script>{% endautoescape %}", "do": "{% do findings.clear() %}", "debug": "{% debug %}",
    "tiny pieces": "{% for i in range(99999) %}{% for j in range(99) %}x{% endfor %}{% endfor %}", "a million includes": "{% include ['a.j2'] * 99999 ignore missing %}", "an included pipe": "{% include 'pipe.j2' %}", "an included folder": "{% include 'folder.j2' %}",
    "functions over much": "{{ say.limiters(range(999999) | list) }}{{ say.where('x' * 999999) }}{{ say.unit('SM warp ' * 99999) }}", "own filters over much": "{{ ('a<::' * 99999) | name }}{{ ('&<`' * 99999) | md | length }}{{ ('{!' * 99999) | jira | length }}", "numbers of no size": "{{ (9 ** 64) | time }}{{ (-9 ** 64) | number }}{{ 1e308 | percent }}",
    "a function's parts": "{{ say.gain.__globals__ }}{{ say.gain.__code__.co_consts }}{{ decision.__closure__ }}", "a cache emptied": "{{ say.unit.cache_clear() }}{{ say.unit.__wrapped__ }}", "imports with context": "{% import 'own.txt.j2' as x with context %}{{ x.result }}", "a file under another suffix": "{% include 'notes.txt' %}", "a template in a hidden folder": "{% include '.git/a.j2' %}",
    "deep macros": "".join(f"{{% macro a{i}(x) %}}{{{{ x }}}}" for i in range(200)) + "{% endmacro %}" * 200, "one argument each": "{{ range(" + ",".join(["1"] * 90_000) + ") }}", "tests": "{{ 1 " + "is number " * 40_000 + "}}", "comparisons": "{{ " + "1 < " * 40_000 + "2 }}", "slices": "{{ 'abc'" + "[0:1]" * 40_000 + " }}",
}  # fmt: skip


SQL = {
    "times beyond": "UPDATE time SET ns = 1e308", "no times": "UPDATE time SET ns = 'x'", "infinite times": "UPDATE time SET ns = 9e999", "negative times": "UPDATE time SET ns = -1", "times as blobs": "UPDATE time SET ns = zeroblob(1000000)",
    "dates beyond": "UPDATE build SET at = 9223372036854775807", "dates before": "UPDATE build SET at = -9223372036854775808", "dates as texts": "UPDATE build SET at = 'yesterday'", "dates as fractions": "UPDATE build SET at = 1.5", "commits of one name": "UPDATE build SET branch = 'main' || id",
    "names of megabytes": "UPDATE marker SET name = printf('%.*c', 5000000, 'x') || id", "names as blobs": "UPDATE marker SET name = randomblob(100)", "names with escapes": "UPDATE marker SET name = char(27) || '[31m' || id || char(10)", "names with NUL": "UPDATE marker SET name = 'a' || char(0) || id",
    "deep names": "UPDATE marker SET name = replace(printf('%.*c', 100000, 'x'), 'x', 'x' || char(31)) || id", "devices of megabytes": "UPDATE build SET device = printf('%.*c', 5000000, 'x')", "scopes as blobs": "UPDATE build SET scope = zeroblob(9)", "revisions like options": "UPDATE build SET revision = '--exec=' || id",
    "runs of no build": "UPDATE run SET build = 99", "times of no run": "INSERT INTO time SELECT 99, id, 1, NULL FROM marker", "times of no marker": "INSERT INTO time VALUES (1, 999, 1, NULL)", "causes of none": "UPDATE time SET cause = 77", "labels of nothing": "INSERT INTO label VALUES ('last', 99)",
    "a label as a path": "INSERT INTO label VALUES ('../../x', 1)", "ranks beyond": "INSERT INTO todo SELECT 1, id, 9223372036854775807, 1e308, 1e308, 'x', 'y', -1 FROM cause", "versions": "UPDATE run SET version = printf('%.*c', 100000, '9.'), rules = ''", "frames": "UPDATE run SET frame_ns = 9e999, recoverable_ns = -9e999",
    "a million times": "INSERT OR IGNORE INTO time WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT 1, i, i, NULL FROM n", "many markers": "INSERT INTO marker (name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT 'm' || i FROM n",
    "many builds": "INSERT INTO build (branch, revision, scope, device, at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT 'main', 'r' || i, '', '', i FROM n",
    "a generated column": "ALTER TABLE run ADD COLUMN x AS (abs(-9223372036854775808))", "a virtual table": "CREATE VIRTUAL TABLE f USING fts5(x)", "statistics": "CREATE TABLE IF NOT EXISTS other (x); ANALYZE", "a negative version": "PRAGMA user_version = -1", "a later version": "PRAGMA user_version = 2147483647",
    "no application": "PRAGMA application_id = 0", "UTF-16": "PRAGMA encoding = 'UTF-16'", "a partial index": "CREATE INDEX p ON run (path) WHERE path > abs(1)", "a temporary trigger": "CREATE TEMP TRIGGER x AFTER INSERT ON run BEGIN DELETE FROM run; END",
    "a schema by hand": "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE TABLE run (x)' WHERE name = 'run'", "a schema of megabytes": "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = sql || printf('%.*c', 3000000, ' ') WHERE name = 'run'",
    "a view by hand": "PRAGMA writable_schema = 1; UPDATE sqlite_master SET type = 'view', rootpage = 0, sql = 'CREATE VIEW run AS SELECT 1' WHERE name = 'run'", "one page twice": "PRAGMA writable_schema = 1; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'build') WHERE name = 'time'",
    "a page beyond": "PRAGMA writable_schema = 1; UPDATE sqlite_master SET rootpage = 99999 WHERE name = 'marker'", "a check": "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(sql, 'ns REAL', 'ns REAL CHECK (randomblob(1000000000) > 1)') WHERE name = 'time'",
    "a default": "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(sql, 'path TEXT NOT NULL', 'path TEXT NOT NULL DEFAULT (load_extension(''x''))') WHERE name = 'run'",
}  # fmt: skip


def changed(statement: str) -> Callable[[Path], None]:
    """A function that changes a database by SQL, as far as it has a place for it."""

    def change(path: Path) -> None:
        db = sqlite3.connect(path)
        try:
            db.executescript(statement)
            db.commit()
        except sqlite3.Error:
            pass
        finally:
            db.close()

    return change


def beside(folder: Path) -> dict[str, Callable[[Path], None]]:
    """What lies beside a history, or in its place. folder: holds secret.sqlite."""

    def put(ending: str, make: Callable[[Path, Path], object]) -> Callable[[Path], None]:
        return lambda path: (make(path, path.with_name(path.name + ending)), None)[1]

    def instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
        return lambda path: (path.unlink(), make(path), None)[2]

    secret = folder / "secret.sqlite"
    return {
        "a journal": put("-journal", lambda _, at: at.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(99_999))), "a log": put("-wal", lambda _, at: at.write_bytes(b"7\x7f\x06\x82" + bytes(99_999))), "a log as a link": put("-wal", lambda _, at: at.symlink_to(secret)),
        "a journal as a link": put("-journal", lambda _, at: at.symlink_to(secret)), "a journal as a folder": put("-journal", lambda _, at: at.mkdir()), "a memory as a pipe": put("-shm", lambda _, at: os.mkfifo(at)), "a log as a pipe": put("-wal", lambda _, at: os.mkfifo(at)),
        "a journal that names another file": put("-journal", lambda path, at: at.write_bytes(super_journal(path, secret))), "a log as a link, in its mode": put("-wal", _with_log(secret)),
        "a log that leads nowhere": put("-wal", _with_log(folder / "made")), "a memory that leads nowhere": put("-shm", _with_log(folder / "made")), "a journal that leads nowhere": put("-journal", lambda _, at: at.symlink_to(folder / "made")),
        "a log that adds a trigger": _logged,
        "a link": instead(lambda path: path.symlink_to(secret)), "a link to itself": instead(lambda path: path.symlink_to(path)), "a folder": instead(lambda path: path.mkdir()), "a pipe": instead(os.mkfifo), "a device": instead(lambda path: path.symlink_to("/dev/zero")), "a socket": instead(_socket),
    }  # fmt: skip


def super_journal(path: Path, named: Path) -> bytes:
    """A journal that SQLite plays back, and after it deletes the file that it names as a journal over several databases."""
    mark, name, pages = bytes.fromhex("d9d505f920a163d7"), str(named).encode(), path.stat().st_size // 4_096
    head = mark + struct.pack(">IIIII", 0, 1_234, pages, 512, 4_096)
    return (
        head.ljust(512, b"\0")
        + struct.pack(">I", (1 << 18) + 1)
        + name
        + struct.pack(">II", len(name), sum(name))
        + mark
    )


def _with_log(target: Path) -> Callable[[Path, Path], None]:
    """Makes a database one with a log, and a link to a target of a file beside it."""

    def make(path: Path, at: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[:18] + b"\2\2" + data[20:])
        at.symlink_to(target)

    return make


def _logged(path: Path) -> None:
    """A log of a transaction that adds a trigger, not yet in the database."""
    source = path.with_name(f"{path.name}.copy")
    source.write_bytes(path.read_bytes())
    with contextlib.closing(sqlite3.connect(source)) as db:
        db.executescript("PRAGMA journal_mode = wal; CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END")
        path.write_bytes(source.read_bytes())
        path.with_name(f"{path.name}-wal").write_bytes(source.with_name(f"{source.name}-wal").read_bytes())


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))


SETTINGS = {
    "mixed": "a = " + "[{b = " * 12_000 + "1", "mixed and closed": "a = " + "[{b = " * 8_000 + "1" + "}]" * 8_000, "headers": "".join(f"[{'.'.join('ab'[: 1 + i % 2] * (1 + i % 9))}]\n" for i in range(4_000)), "arrays": "[[a]]\n[[a.b]]\n[[a.b.c]]\n" * 2_600,
    "escapes": 'a = "' + "\\u0000" * 13_000 + '"', "wide escapes": 'a = "' + "\\U0010FFFF" * 8_000 + '"', "bad escapes": 'a = "' + "\\q" * 40_000 + '"', "dates": "a = [" + "1979-05-27T07:32:00.999999Z," * 2_900 + "]", "a date beyond": "a = 9999-99-99T99:99:99Z", "exponents": "a = 1e" + "9" * 79_000,
    "fractions": "a = 0." + "9" * 79_000, "hexadecimal": "a = 0x" + "f" * 79_000, "underscored": "a = " + "1_" * 39_000 + "1", "comment": "#" * 80_000, "comments": "# x\n" * 20_000, "a mark": "\ufeffa = 1\n" * 7_000, "carriage returns": "a = 1\r" * 13_000, "NULs": "\0" * 80_000,
    "blanks": " " * 80_000, "tabs": "a =" + "\t" * 79_000 + "1", "equal signs": "=" * 80_000, "commas": "a = [" + "," * 79_000 + "]", "dots": "." * 80_000, "open literals": "a = '''" + "'" * 79_000, "keys of one table": "".join(f"k{i} = {i}\n" for i in range(7_000)), "a long key": "k" * 79_000 + " = 1",
    "one table twice": "[a]\n" * 20_000, "surrogates": 'a = "\\ud800"', "inline tables": "a = {" + "b = {}, " * 9_000 + "}", "brackets": "]" * 80_000, "braces": "a = {" * 16_000,
    "octal": "a = 0o" + "7" * 79_000, "infinities": "a = [" + "-inf, nan, " * 7_000 + "]", "signs": "a = " + "+-" * 39_000, "times": "a = [" + "23:59:60.9999999999," * 3_900 + "]", "a date of many digits": "a = 1979-05-27T07:32:00." + "9" * 79_000, "offsets": "a = 1979-05-27T07:32:00+99:99", "year 0": "a = 0000-01-01",
    "quoted parts": "".join(f'["{"." * 9}".a{i}]\n' for i in range(4_000)), "dotted in lists": "a = [" + "{a.b.c.d.e = 1}, " * 4_000 + "]", "parts apart": "a" + "\t.\ta" * 16_000 + " = 1", "parts in both quotes": ".".join(["'a'", '"a"'] * 10_000) + " = 1", "parts over comments": "a = [ # [\n" * 8_000, "closing in texts": "a = ['''" + "]" * 79_000 + "''']",
    "known keys": "[[accepted]]\n" * 6_000, "needs": "[needs]\n" + "".join(f'"{"*a" * 20}{i}" = "1MB"\n' for i in range(1_300)), "dates that expire": "".join(f'[[accepted]]\ncause = "x"\nreason = "y"\nowner = "z"\nexpires = 0001-01-{1 + i % 28:02}\n' for i in range(1_000)), "huge milliseconds": "[budgets]\na = " + "9" * 4_000, "not a number": "[budgets]\na = nan", "infinite milliseconds": "[budgets]\na = inf",
    "thresholds of tables": "[thresholds]\n" + "".join(f"a{i}.b.c.d.e.f = 1\n" for i in range(4_000)), "rules outside": 'rules = ["../../../../etc"]', "rules as a device": 'rules = ["/dev/zero"]', "rules with NUL": 'rules = ["a\\u0000b"]', "long rules": f'rules = ["{"x" * 70_000}"]',
}  # fmt: skip

PLACES = (
    "", ".", "..", "/", "-", "*", "d/*", "**/secret.csv", "/dev/stdin", "/dev/zero", "/dev/fd/0", "/proc/self/environ", "/proc/self/fd/0", "/proc/1/root{out}/secret.csv", "//{out}/secret.csv", "{out}", "{out}/in/../secret.csv", "C:\\secret.csv", "\\\\host\\share\\secret.csv", "secret.csv:stream",
    "pipe", "socket", "chain0", "loop", "itself", "gone", "hidden/.secret.csv", "d/" * 900 + "x", "x" * 5_000, "x" * 2_000_000, "\ud800", "~unknown-user/secret.csv", "\u202esecret.csv", "se\x1b[31mcret.csv", "a\nb", "%00", "..;/secret.csv", "....//secret.csv", "d/./.././../secret.csv", "~root/secret.csv", "$HOME/secret.csv", "`id`", "trace", "omni", "late", "packed.csv.gz",
    "sheet.sqlite", "capture.sqlite", "/proc/self/root{out}/secret.csv", "/proc/thread-self/cwd/in", "/dev/fd/../../{out}/secret.csv", "/sys/../{out}/secret.csv", "d/\n../secret.csv", "{out}/in/link.csv", "in/../secret.csv", "..\u2215secret.csv", "%2e%2e%2fsecret.csv", "file:{out}/secret.csv", "s3:///secret.csv", "memory://secret.csv", "{{out}}/secret.csv", "@secret.csv",
)  # fmt: skip


def furnish(inside: Path, outside: Path) -> None:
    """Links, pipes and exports with parts outside, in a folder that an agent may read."""
    secret = outside / "secret.csv"
    os.mkfifo(inside / "pipe")
    _socket(inside / "socket")
    for i in range(50):
        (inside / f"chain{i}").symlink_to(secret if i == 49 else f"chain{i + 1}")
    (inside / "loop").symlink_to("loop")
    (inside / "itself").symlink_to(".")
    (inside / "gone").symlink_to(outside / "nowhere")
    (inside / "hidden").mkdir()
    (inside / "hidden" / ".secret.csv").symlink_to(secret)
    for name, part in (("trace", "BASE"), ("late", "x/y/z")):
        (inside / name / part).mkdir(parents=True)
        (inside / name / part / "GPUTRACE_FRAME.xls").symlink_to(secret)
        (inside / name / part / "FRAME.xls").symlink_to(secret)
    (inside / "omni").mkdir()
    (inside / "omni" / "sysinfo.csv").symlink_to(secret)
    (inside / "packed.csv.gz").symlink_to(secret)
    for name in ("sheet.sqlite", "capture.sqlite-wal", "capture.sqlite-journal"):
        (inside / name).symlink_to(secret)
    (inside / "capture.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4_080))
