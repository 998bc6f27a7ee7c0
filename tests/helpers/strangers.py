"""What strangers may hand over beside captures: templates, histories, paths of agents, settings. Each attack ends within bounds.

An attack is right when it ends in a report or in one line, within the processor time of its kind, and shows nothing from
outside its folder.
"""

import itertools
import os
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from click.testing import CliRunner

from tests.conftest import SAMPLES, diagnosis_of, generic
from tests.helpers import strange_values
from triage.commands._agent import Tools
from triage.commands.cli import triage as group
from triage.ground.errors import TriageError
from triage.products import project
from triage.products.history import schema
from triage.rendering import confined, templates

SECRET = "sesame-7719"
ROOM = 3.0  # seconds of a core beside a bound: starting and ending


@dataclass(frozen=True, slots=True)
class Attack:
    """One attempt. seconds: of a core that it may take; run: returns what it shows, or raises TriageError."""

    name: str
    seconds: float
    run: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attack ended: "" in `wrong` where it is within bounds."""

    attack: str
    how: str
    cpu: float
    wrong: str


def cpu() -> float:
    """Seconds of processor time of this process and of those that it has ended."""
    own, ended = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def judge(attack: Attack) -> Ended:
    """Run one attack, and say what is wrong with its end."""
    began, shown, how, wrong = cpu(), "", "answered", ""
    try:
        shown = attack.run()
    except TriageError as e:
        shown, how = str(e), "refused"
        wrong = "more than one line" if "\n" in shown or len(shown) > 2_000 else ""
    except Exception as e:  # whatever it is, it is a fault
        wrong = f"{type(e).__name__}: {e}"[:200]
    took = cpu() - began
    wrong = wrong or ("shows what lies outside" if SECRET in shown else "")
    wrong = wrong or (f"{took:.1f} s of a core" if took > attack.seconds + ROOM else "")
    return Ended(attack.name, how, took, wrong)


def _doubling(empty: str, pair: str) -> str:
    return (
        f"{{% set n = namespace(v={empty}, w={empty}) %}}{{% for i in range(60) %}}"
        f"{{% set n.v = {pair.replace('X', 'n.v')} %}}{{% set n.w = {pair.replace('X', 'n.w')} %}}{{% endfor %}}"
    )


VALUES = {
    "lists": _doubling("[1]", "[X, X]"), "tuples": _doubling("(1,)", "(X, X)"), "dicts": _doubling("{1: 1}", "{'a': X, 'b': X}"),
    "mixed": _doubling("[1]", "[{'a': X}, (X, 1)]"), "deep": "{% set n = namespace(v=[1], w=[1]) %}{% for i in range(20000) %}{% set n.v = [n.v] %}{% set n.w = [n.w] %}{% endfor %}",
    "long": "{% set n = namespace(v='a' * 900000, w='a' * 899999 ~ 'b') %}", "wide": "{% set n = namespace(v=range(99999)|list, w=range(99999)|list) %}",
    "ring": "{% set n = namespace(v=1, w=1) %}{% set n.v = [n] %}{% set n.w = [n] %}", "numbers": "{% set n = namespace(v=99999999, w=9999999) %}",
    "range": "{% set n = namespace(v=range(999999999), w=range(999999998)) %}", "words": "{% set n = namespace(v='a <b>&\"x\" ' * 90000, w='-') %}",
}  # fmt: skip
USES = (
    "n.v == n.w", "{(n.v|string): 1}", "n.v|tojson", "[n.v, n.w, n.v]|sort", "n.v|pprint", "n.v|string|replace('1', '11' * 999)|length", "n.v|list|unique|list|length",
    "(n.v|string) * 99999", "'%s%s' % (n.v, n.w)", "n.v|string|wordwrap(1)|urlize|length", "n.v in [n.w] or n.v|string|indent(9999, true)|length",
)  # fmt: skip


def hostile_templates(folder: Path) -> Iterator[Attack]:
    """Templates: 121 values that are large in eleven ways, in eleven uses; ways out of the folder take the place of some."""
    from triage.findings import assembling
    from triage.reading import reader
    from triage.rulebook import packs

    found = reader.read(str(SAMPLES / "generic" / "p3_workloads_v2.csv"))
    bundle = assembling.bundle(diagnosis_of(found, packs.select(packs.load())))
    home = folder / "home"
    home.mkdir()
    (folder / "secret.j2").write_text(SECRET)
    (home / "link.j2").symlink_to(folder / "secret.j2")
    (home / "folder.j2").mkdir()
    (home / "notes.txt").write_text(SECRET)
    os.mkfifo(home / "pipe.j2")
    texts = {
        f"{name}: {use}": f"{made}{{{{ {use} }}}}" for (name, made), use in itertools.product(VALUES.items(), USES)
    }
    ways = (
        "link.j2",
        "../secret.j2",
        str(folder / "secret.j2"),
        "./../secret.j2",
        "home/../../secret.j2",
        "own.txt.j2",
    )
    for tag, way in itertools.product(
        ("{%% include %r %%}", "{%% extends %r %%}", "{%% import %r as x %%}{{ x }}"), ways
    ):
        texts[tag % way] = tag % way
    texts["itself"] = "{% macro m(x) %}{{ m(x) }}{{ m(x) }}{% endmacro %}{{ m(1) }}"
    texts["recursive"] = "{% for x in [1] recursive %}{{ loop([1, 1]) }}{% endfor %}"
    texts |= strange_values.TEMPLATES
    texts["classes"] = "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ cycler.__init__.__globals__ }}"

    def rendered(text: str) -> str:
        (home / "own.txt.j2").write_text(text)
        size, ends = 0, list[str]()

        def write(chunk: str) -> None:
            nonlocal size
            size += len(chunk)
            ends.append(chunk[-200:])

        templates.report(bundle, home / "own.txt.j2", write)
        return "".join(ends)[-2_000:]

    for name, text in texts.items():
        yield Attack(f"template {name}", confined.SECONDS, partial(rendered, text))


TABLES = ("build", "run", "marker", "cause", "time", "todo", "label")
CHANGES = (
    "DROP TABLE {t}", "ALTER TABLE {t} RENAME TO other", "ALTER TABLE {t} ADD COLUMN x", "CREATE TRIGGER t AFTER INSERT ON {t} BEGIN DELETE FROM run; END",
    "CREATE VIEW v AS SELECT * FROM {t}", "CREATE UNIQUE INDEX foreign_index ON {t} (1)", "CREATE INDEX i ON {t} (abs(1))",
)  # fmt: skip
FILES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda d: b"", "cut in half": lambda d: d[: len(d) // 2], "last page cut": lambda d: d[:-4096], "a byte short": lambda d: d[:-1],
    "header alone": lambda d: d[:100], "no database": lambda d: b"x" * len(d), "zeroed pages": lambda d: d[:4096] + bytes(len(d) - 4096), "page size 1": lambda d: d[:16] + b"\0\x01" + d[18:],
    "claims pages": lambda d: d[:28] + b"\x7f\xff\xff\xff" + d[32:], "other program": lambda d: d[:68] + b"OTHR" + d[72:], "version 99": lambda d: d[:60] + b"\0\0\0\x63" + d[64:],
    "version below 0": lambda d: d[:60] + b"\xff\xff\xff\xff" + d[64:], "pages swapped": lambda d: d[:4096] + d[8192:12288] + d[4096:8192] + d[12288:],
    "journal mode": lambda d: d[:18] + b"\x02\x02" + d[20:], "twice": lambda d: d + d, "text": lambda d: b"path,name\n1,2\n",
    "page size 512": lambda d: d[:16] + b"\x02\0" + d[18:], "page size 0": lambda d: d[:16] + b"\0\0" + d[18:], "reserved bytes": lambda d: d[:20] + b"\xff" + d[21:], "fractions": lambda d: d[:21] + b"\xff\xff\xff" + d[24:], "free pages beyond": lambda d: d[:32] + b"\0\0\xff\xff\0\0\xff\xff" + d[40:], "a free page that is used": lambda d: d[:32] + b"\0\0\0\2\0\0\0\1" + d[40:],
    "schema format 9": lambda d: d[:44] + b"\0\0\0\x09" + d[48:], "UTF-16 by its header": lambda d: d[:56] + b"\0\0\0\3" + d[60:], "a vacuum's root": lambda d: d[:52] + b"\0\0\xff\xff" + d[56:], "half a page": lambda d: d[:-2048], "zeros behind": lambda d: d + bytes(9_999), "cells upside down": lambda d: d[:4096] + d[4096:8192][::-1] + d[8192:],
    "every page the first": lambda d: d[:4096] * (len(d) // 4096), "a child that is its parent": lambda d: d[:4096] + b"\x05" + d[4097:4104] + b"\0\0\0\2" + d[4108:],
}  # fmt: skip


def _rewritten(make: Callable[[bytes], bytes], path: Path) -> None:
    path.write_bytes(make(path.read_bytes()))


def tampered_histories(folder: Path) -> Iterator[Attack]:
    """Histories that somebody changed: by SQL, or byte by byte. Nothing of them is run, and a line ends each."""
    whole = folder / "whole.sqlite"
    capture = generic(
        folder / "a.csv", [{"name": f"m{i}", "gpu.time": 1 + i / 8, "sm.throughput": 40.0} for i in range(6)]
    )

    def verbs(*words: object) -> str:
        done = CliRunner().invoke(group, ["history", *map(str, words)], standalone_mode=False)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return str(done.output)

    for n in range(2):
        verbs("add", capture, "--history", whole, "--commit", f"c{n}", "--branch", "main", "--at", 86_400 * (1_000 + n))

    def tried(change: Callable[[Path], None], number: int) -> str:
        try:
            return asked_of(change, number)
        finally:
            assert (folder / "secret.sqlite").read_bytes() == kept, "another file was changed"
            assert not (folder / "made").exists(), "another file was made"

    def asked_of(change: Callable[[Path], None], number: int) -> str:
        path = folder / f"{number}.sqlite"
        shutil.copy(whole, path)
        change(path)
        text = ""
        for words in (("list",), ("gate",), ("show", "*")):
            try:
                text += verbs(*words, "--history", path)[:9_999]
            except TriageError as e:
                text = str(e)
        verbs("add", capture, "--history", path, "--commit", "c9", "--branch", "main", "--at", 86_400 * 2_000)
        return text

    def by_sql(statement: str) -> Callable[[Path], None]:
        def change(path: Path) -> None:
            db = sqlite3.connect(path)
            try:
                db.execute(statement)
                db.commit()
            except sqlite3.Error:  # this table has no place for it
                pass
            finally:
                db.close()

        return change

    changes = {s.format(t=t): by_sql(s.format(t=t)) for s, t in itertools.product(CHANGES, TABLES)}
    changes |= {name: partial(_rewritten, make) for name, make in FILES.items()}
    changes |= {name: strange_values.changed(sql) for name, sql in strange_values.SQL.items()}
    shutil.copy(whole, folder / "secret.sqlite")
    strange_values.changed(f"UPDATE marker SET name = '{SECRET}' || id")(folder / "secret.sqlite")
    kept = (folder / "secret.sqlite").read_bytes()
    changes |= strange_values.beside(folder)
    assert len(schema.MIGRATIONS) == schema.VERSION
    for number, (name, change) in enumerate(changes.items()):
        yield Attack(f"history {name}", 5, partial(tried, change, number))


PLACES = (
    "/etc/passwd", "{out}/secret.csv", "../secret.csv", "link.csv", "way/secret.csv", "folder", "folder/pmc_perf.csv", "d/../../secret.csv",
)  # fmt: skip
FORMS: tuple[Callable[[str], str], ...] = (
    lambda p: p, lambda p: f"./{p}", lambda p: f"{p}/", lambda p: f"{p}\0.csv", lambda p: f"file://{p}", lambda p: f"~/{p}", lambda p: p.replace("..", "．．").replace("/", "／"),
    lambda p: p.replace("..", "%2e%2e"), lambda p: p.replace("/", "\\"), lambda p: f"/proc/self/cwd/{p}", lambda p: f"d/../{p}/../{p}",
)  # fmt: skip


def paths_of_agents(folder: Path) -> Iterator[Attack]:
    """88 paths that an agent asks for: eight places outside, eleven spellings of each."""
    inside = folder / "in"
    (inside / "folder").mkdir(parents=True)
    (inside / "d").mkdir()
    generic(folder / "secret.csv", [{"name": SECRET, "gpu.time": 1.5, "sm.throughput": 40.0}])
    (inside / "link.csv").symlink_to(folder / "secret.csv")
    (inside / "way").symlink_to(folder)
    (inside / "folder" / "pmc_perf.csv").symlink_to(folder / "secret.csv")
    tools = Tools([inside])
    for place, form in itertools.product(PLACES, FORMS):
        path = form(place.format(out=folder))
        yield Attack(f"path {path!r}", 5, partial(asked, tools, path))
    strange_values.furnish(inside, folder)
    for place in (p.format(out=folder) for p in strange_values.PLACES):
        yield Attack(f"path {place!r:.200}", 5, partial(asked, tools, place))


def asked(tools: Tools, path: str) -> str:
    """What an agent is shown of a path."""
    return f"{tools.facts(path, count=5)}"


def race_of_links(folder: Path, seconds: float) -> Iterator[Attack]:
    """A file, a folder above it, and an export that is a folder are swapped for links while they are read."""
    for swapped in ("file", "folder", "export"):
        home = folder / swapped
        inside, outside = home / "in", home / "out"
        for place, name in ((inside / "d", "open"), (outside, SECRET)):
            place.mkdir(parents=True)
            generic(
                place / "a.csv",
                [{"name": f"{name}{i}", "gpu.time": 1 + i / 8, "sm.throughput": 40.0} for i in range(4)],
            )
        target = inside / "d" / "a.csv" if swapped == "file" else inside / "d"
        aim = outside / "a.csv" if swapped == "file" else outside
        ask = "d" if swapped == "export" else "d/a.csv"
        yield Attack(f"race of a {swapped}", 2 * seconds, partial(_raced, inside, target, aim, ask, seconds / 3))


def _raced(inside: Path, target: Path, aim: Path, ask: str, seconds: float) -> str:
    racer = os.fork()
    if not racer:
        parent = os.getppid()
        while os.getppid() == parent:
            os.symlink(aim, f"{target}.new")
            os.rename(target, f"{target}.kept")
            os.rename(f"{target}.new", target)
            os.unlink(target)
            os.rename(f"{target}.kept", target)
        os._exit(0)
    tools, until, seen = Tools([inside]), time.monotonic() + seconds, ""
    try:
        while time.monotonic() < until:
            try:
                text = f"{tools.facts(ask, count=5)}"
            except (TriageError, OSError) as e:
                text = str(e)
            seen = text if SECRET in text else seen
    finally:
        os.kill(racer, 9)
        os.waitpid(racer, 0)
    return seen


def hostile_settings(folder: Path) -> Iterator[Attack]:
    """Settings of 80 KB, nested in every way that their language has."""
    (folder / ".git").mkdir()
    for name, text in {
        "keys": ".".join(["a"] * 40_000) + " = 1", "header": "[" + ".".join(["a"] * 40_000) + "]", "lists": "a = " + "[" * 80_000, "tables": "a = " + "{b = " * 16_000,
        "array of tables": "[[" + ".".join(["a"] * 40_000) + "]]", "spaced": "a" + " . a" * 20_000 + " = 1", "quoted": ".".join(['"a"'] * 20_000) + " = 1",
        **strange_values.SETTINGS, "digits": "a = " + "9" * 80_000, "quotes": "'" * 80_000, "open text": '"""' + '\\"""' * 20_000, "lines": "a = 1\n" * 13_000, "closed lists": "a = " + "[" * 40_000 + "]" * 40_000,
    }.items():  # fmt: skip

        def load(text: str = text) -> str:
            (folder / "triage.toml").write_text(text)
            return f"{project.load(date(2026, 1, 1), folder, {})}"

        yield Attack(f"settings {name}", 1, load)


def attacks(folder: Path, race: float) -> Iterator[Attack]:
    """All of them; each kind in a folder of its own."""
    kinds = (hostile_templates, tampered_histories, paths_of_agents, hostile_settings)
    for kind in kinds:
        home = folder / kind.__name__
        home.mkdir()
        yield from kind(home)
    yield from race_of_links(folder / "race", race)
