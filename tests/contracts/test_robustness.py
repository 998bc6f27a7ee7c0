"""One test for each number of the first release's field report on reliability and security."""

import ast
import inspect
import json
import os
import re
import resource
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, SAMPLES, diagnosis_of, generic, run
from tests.helpers.serving import Quiet, serving
from triage.ground.errors import ReportError, RuleError, TriageError

SAMPLE = SAMPLES / "generic" / "p3_workloads_v2.csv"
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


@pytest.mark.slow
def test_r1_the_cache_leaves_the_users_files_alone(tmp_path: Path) -> None:
    mine = {tmp_path / n: n.encode() for n in ("report.md", "x.cache", "notes.part", "sol-triage.txt")}
    for path, data in mine.items():
        path.write_bytes(data)
    for _ in range(2):
        assert run("diagnose", SAMPLE, "-f", "json", env={"TRIAGE_CACHE": str(tmp_path)}).returncode == 0
    assert all(path.read_bytes() == data for path, data in mine.items())


@pytest.mark.slow
def test_r2_facts_print_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    path = generic(
        tmp_path / "a.csv", [{"name": f"m\x1b]0;x\x07\x9b31m{i}", "gpu.time": 1, "l2.hit_rate": 50} for i in (1, 2)]
    )
    path.write_bytes(path.read_bytes().replace(b",50", b",50\x1b[2J", 1))
    for args in (("facts", path), ("facts", path, "-f", "csv"), ("facts", path, "-f", "json"), ("diagnose", path)):
        p = run(*args)
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", p.stdout + p.stderr), args


CELLS = [
    *(c * 30_000 + "x" for c in "a1 ([<\",-=/\\{%_.\t\n:0é"), "a," * 15_000, "1," * 15_000 + "x", "1." * 15_000 + "x", "a " * 15_000 + "!",
    "a/" * 15_000, "[1]" * 10_000 + "x", "k(int) " * 4_300, "[SIMD32 " * 3_800, '"a",' * 7_500, "__a" * 10_000 + " .", "\n- " * 10_000,
]  # fmt: skip
CUT_BEFORE = {"_UNIT", "_SECTION", "_STATED", "_SUFFIX", "_KEY", "_UNQUOTED"}  # see only so much of a cell


def patterns() -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    """Every compiled pattern of the package: its place, itself, and the methods it is used by."""
    import importlib
    import pkgutil

    import triage

    for info in pkgutil.walk_packages(triage.__path__, "triage."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            for p in value if isinstance(value, tuple | list) else (value,):
                if isinstance(p, re.Pattern):
                    used = re.findall(re.escape(name) + r"\.(search|match|fullmatch|sub|findall|split)\(", source)
                    yield f"{info.name}.{name}", p, set(used) or {"match"}


@pytest.mark.slow
def test_r3_every_pattern_takes_time_in_proportion() -> None:
    """Cells of 30,000 characters that a pattern nearly matches, in a small part of a second each."""
    slow, count = [], 0
    for name, pattern, methods in patterns():
        count += 1
        most = 400 if name.rpartition(".")[2] in CUT_BEFORE else 30_000
        for cell in CELLS:
            text = cell[:most] if isinstance(pattern.pattern, str) else cell[:most].encode()
            for method in methods:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
                if method == "sub":
                    pattern.sub("" if isinstance(text, str) else b"", text)  # type: ignore[arg-type]
                else:
                    getattr(pattern, method)(text)
                took = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
                if took > 0.3:  # what takes the square of its length takes seconds
                    slow.append((name, method, cell[:10], round(took, 2)))
    assert count > 80
    assert not slow, slow


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("engine", ["durable", "clips"])
def test_r4_a_process_that_diagnoses_again_and_again_stays_small(engine: str, threads: int) -> None:
    """A slice of what `make hard` does five thousand times."""
    from tests.helpers import leaks
    from triage import api

    pytest.importorskip("durable_rules_engine" if engine == "durable" else "clips")
    path = SAMPLES / "compare" / "table1_after.csv"
    left = leaks.grown(lambda: api.diagnose(path, engine=engine), 30, threads, settled=12)
    assert left.kb < 30_000, left
    assert left.files <= 0, left
    assert left.threads <= 0, left


class Liar(Quiet):
    """Leads whoever asks to another port, and remembers who came with a token."""

    to = ""
    seen: list[str] = []  # noqa: RUF012 - what the test looks at

    def do_GET(self) -> None:
        Liar.seen.append(
            f"{self.server.server_address[1]} {self.headers.get('PRIVATE-TOKEN') or self.headers.get('X-Redmine-API-Key')}"
        )
        self.send_response(302 if Liar.to else 200)
        if Liar.to:
            self.send_header("Location", Liar.to + self.path)
        self.end_headers()

    do_POST = do_PUT = do_GET


@pytest.mark.parametrize(("tracker", "library"), [("gitlab", "gitlab"), ("redmine", "redminelib")])
def test_r5_tokens_follow_no_redirect_to_another_host(
    monkeypatch: pytest.MonkeyPatch, tracker: str, library: str
) -> None:
    pytest.importorskip(library)
    from triage.products.tickets import trackers

    secret = "s3cr3t-token"
    monkeypatch.setenv(trackers.TOKENS[tracker], secret)
    with serving(Liar) as here, serving(Liar) as elsewhere:
        Liar.to, Liar.seen = elsewhere, []
        with pytest.raises(TriageError, match="redirects to") as e, trackers.errors(tracker, here):
            trackers.connect(tracker, "a/b", here).find("0" * 16)
        assert secret not in str(e.value)
        port = elsewhere.rpartition(":")[2]
        assert not [s for s in Liar.seen if s.startswith(port)]


@pytest.mark.parametrize("url", ["http://tracker.example.org", "ftp://x", "tracker.example.org"])
def test_r5_plain_http_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    from triage.products.tickets import http_client

    with pytest.raises(TriageError):
        http_client.check_address(url)
    http_client.check_address("http://127.0.0.1:8080")
    http_client.check_address("https://tracker.example.org")
    monkeypatch.setenv(http_client.ALLOW, "1")
    http_client.check_address("http://tracker.example.org")


@pytest.mark.slow
def test_r6_compare_divides_by_nothing(tmp_path: Path) -> None:
    rows = [{"name": "m", "gpu.time": 0, "l2.hit_rate": 0, "sm.throughput": 0}, {"name": "n", "gpu.time": 1}]
    a, b = generic(tmp_path / "a.csv", rows), generic(tmp_path / "b.csv", rows)
    for pair in ((a, b), (SAMPLE, a), (a, SAMPLE)):
        p = run("compare", *pair)
        assert p.returncode in (0, 1, 2)
        assert "Traceback" not in p.stderr


@pytest.mark.parametrize("text", ["[" * 30_000, "{a: " * 10_000, "- " * 30_000, "? " * 20_000])
def test_r7_nested_yaml_is_refused_before_it_is_parsed(text: str) -> None:
    from triage.files import strict_yaml

    with pytest.raises(RuleError):
        strict_yaml.loads(text, "evil.yaml")


def test_r3_names_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.csv"
    path.write_text("name,path,gpu.time [ms]\nm," + "a/" * 500_000 + "b,1\nn,a/b,1\n")
    p = run("diagnose", path, timeout=120)
    assert p.returncode == 2
    assert p.stderr.count("\n") == 1
    assert len(p.stderr) < 500


@pytest.mark.slow
@posix
def test_r8_the_cache_writes_through_no_link(tmp_path: Path) -> None:
    cache, target = tmp_path / "cache", tmp_path / "target"
    assert run("diagnose", SAMPLE, env={"TRIAGE_CACHE": str(cache)}).returncode == 0
    target.write_bytes(b"mine")
    kept = [p for p in cache.rglob("*.cache") if p.is_file()]
    for path in kept:
        path.unlink()
        path.symlink_to(target)
    assert kept
    assert run("diagnose", SAMPLE, env={"TRIAGE_CACHE": str(cache)}).returncode == 0
    assert target.read_bytes() == b"mine"


@posix
@pytest.mark.parametrize("name", [".triage", "reports"])
def test_r9_the_folders_of_a_batch_are_no_links(tmp_path: Path, name: str) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (elsewhere / ".x.part").write_bytes(b"mine")
    (out / name).symlink_to(elsewhere)
    p = run("batch", SAMPLE, "-o", out, "--jobs", 1)
    assert p.returncode == 2
    assert p.stderr.count("\n") == 1
    assert [f.name for f in elsewhere.iterdir()] == [".x.part"]


@posix
def test_r9_an_output_that_is_a_link_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    (tmp_path / "out.json").symlink_to(target)
    assert run("diagnose", SAMPLE, "-o", tmp_path / "out.json").returncode == 0
    assert target.read_bytes() == b"mine"
    assert not (tmp_path / "out.json").is_symlink()


@posix
def test_r9_the_lock_of_a_batch_follows_no_link(tmp_path: Path) -> None:
    out, target = tmp_path / "out", tmp_path / "target"
    (out / ".triage").mkdir(parents=True)
    target.write_bytes(b"mine")
    (out / ".triage" / "lock").symlink_to(target)
    p = run("batch", SAMPLE, "-o", out, "--jobs", 1)
    assert target.read_bytes() == b"mine"
    assert p.returncode == 2
    assert p.stderr.count("\n") == 1


ENDLESS = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in [range(99999)] * 99 recursive %}{{ loop([range(99999)] * 99) if loop.depth < 50 }}{% endfor %}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "{% include 'evil.txt.j2' %}{% include 'evil.txt.j2' %}", "{% for a in range(99999) %}{% for b in range(99999)|sort|reverse %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% set x = range(99999)|sum %}{% endfor %}", "{% for a in range(99999) %}{% set x = range(99999)|map('string')|join(',') %}{% endfor %}",
    "{% set n = namespace(x='xxxxxxxxxx') %}{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "{% set n = namespace(x='xxxxxxxxxx') %}{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "{% set n = namespace(x=[1]) %}{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "{% set n = namespace(x='xxxxxxxxxx') %}{% for i in range(40) %}{% set n.x = n.x|replace('x', n.x) %}{% endfor %}",
    "{% set n = namespace(x='xxxxxxxxxx') %}{% for i in range(40) %}{% set n.x = n.x.replace('x', n.x) %}{% endfor %}",
    "{% set n = namespace(x='xxxxxxxxxx') %}{% for i in range(40) %}{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}",
    "{% set x %}{% for i in range(99999) %}{{ 'x' * 999999 }}{% endfor %}{% endset %}", "{% for i in range(99999) %}{{ 'x'|center(999999) }}{% endfor %}",
    "{{ ['x' * 999999] * 999999 | join }}", "{{ (['x' * 999999] * 99999)|join }}", "{{ ''.join(['x' * 999999] * 99999) }}", "{{ ('\t' * 999999).expandtabs(99999) }}",
    "{{ '%*d'|format(10**10, 1) }}", "{{ '{:{}}'.format(1, 10**10) }}", "{{ 'aaaa'.translate({97: 'x' * 999999}) }}", "{{ (1).to_bytes(10**10, 'big') }}",
    "{{ lipsum(n=10**9) }}", "{{ range(9)|batch(10**10, 'x')|list }}", "{{ result|tojson(indent=999999999) }}", "{{ ('a\n' * 99999)|indent(99999) }}",
    "{% for i in range(99999) %}{{ workloads|tojson }}{{ range(99999)|list }}{% endfor %}",
]  # fmt: skip


@pytest.fixture(scope="module")
def bundle() -> Any:
    from triage.findings import assembling
    from triage.reading import reader
    from triage.rulebook import packs

    return assembling.bundle(diagnosis_of(reader.read(str(SAMPLE)), packs.select(packs.load())))


@pytest.mark.slow
@pytest.mark.parametrize("text", ENDLESS)
def test_r10_templates_are_bounded_in_steps_and_output(
    bundle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """A tenth of the steps that a report may take: the bound is what is tried, not the machine."""
    from triage.rendering import sandbox, templates

    monkeypatch.setattr(sandbox, "MAX_STEPS", sandbox.MAX_STEPS // 10)
    template = tmp_path / "evil.txt.j2"
    template.write_text("x\n" + text)
    written = 0

    def write(chunk: str) -> None:
        nonlocal written
        written += len(chunk)

    with pytest.raises(ReportError, match=r"evil\.txt\.j2") as e:
        templates.report(bundle, template, write)
    assert "\n" not in str(e.value)
    assert written <= sandbox.MAX_TEXT + 1_000_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{% for a in [[1, [2, 3]]] recursive %}{{ a if a is number else loop(a) }},{% endfor %}", "1,2,3,,,"),
        ("{{ 'a' ~ 1 ~ none ~ true }}", "a1NoneTrue"),
        ("{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}", "3210"),
        ("{{ [3, 1, 2]|sort|join('-') }} {{ ['b', 'a']|map('upper')|list }}", "1-2-3 ['B', 'A']"),
        ("{{ '%5.1f'|format(2.25) }} {{ '{:>4}: {}'.format(1, 10**10) }} {{ ' '.join(['a', 'b']) }}", "  2.2    1: 10000000000 a b"),
        ("{% for k, v in {'a': 1}|items %}{{ loop.index }}{{ loop.last }}{{ k }}{{ v }}{% else %}none{% endfor %}", "1Truea1"),
        ("{{ 7 % 4 }} {{ '%s' % 'x' }} {{ 5 * 1000000000 }} {{ 'ab' * 2 }}", "3 x 5000000000 abab"),
        ("{% for a in [] %}{% else %}none{% endfor %}{{ [1, 2] + [3] }}", "none[1, 2, 3]"),
    ],
)  # fmt: skip
def test_r10_counting_changes_no_template(bundle: Any, tmp_path: Path, text: str, shown: str) -> None:
    from triage.rendering import templates

    template, chunks = tmp_path / "mine.txt.j2", list[str]()
    template.write_text(text)
    templates.report(bundle, template, chunks.append)
    assert "".join(chunks) == shown


def test_r10_joined_markup_stays_markup(bundle: Any, tmp_path: Path) -> None:
    from triage.rendering import templates

    template, chunks = tmp_path / "mine.html.j2", list[str]()
    template.write_text("{{ '<b>'|safe ~ '<i>' ~ 1 }}{{ '<u>' ~ 'x' }}")
    templates.report(bundle, template, chunks.append)
    assert "".join(chunks) == "<b>&lt;i&gt;1&lt;u&gt;x"


def test_r11_the_same_capture_twice_is_one(tmp_path: Path) -> None:
    from triage import api

    shutil.copy(SAMPLE, tmp_path / "again.csv")
    (tmp_path / "crlf.csv").write_bytes(SAMPLE.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    once = api.diagnose(SAMPLE).to_dict()
    more = api.diagnose([SAMPLE, tmp_path / "again.csv", tmp_path / "crlf.csv"]).to_dict()
    assert len(more["workloads"]) == len(once["workloads"])
    assert more["frame"] == once["frame"]
    assert sum(q["check"] == "same-capture" for q in more["quality"]) == 2


@pytest.mark.slow
@posix
def test_r12_devices_and_file_systems_are_refused(tmp_path: Path) -> None:
    for path in ("/dev/zero", "/dev/null", "/"):
        p = run("diagnose", path, timeout=60)
        assert p.returncode == 2
        assert p.stderr.count("\n") == 1, path


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    "args",
    [
        ("batch", "/", "-o", "OUT"),
        ("batch", "/**/*.csv", "-o", "OUT"),
        ("batch", "LINK", "-o", "OUT"),
        ("watch", "/", "-o", "OUT", "--once"),
        ("diagnose", "/**/*.csv"),
        ("diagnose", str(SAMPLE), "--rules", "/"),
        ("check", "/"),
    ],
)
def test_r12_no_command_walks_a_file_system(tmp_path: Path, args: tuple[str, ...]) -> None:
    (tmp_path / "root").symlink_to("/")
    names = {"OUT": str(tmp_path / "out"), "LINK": str(tmp_path / "root")}
    p = run(*(names.get(a, a) for a in args), timeout=60)
    assert p.returncode == 2 and p.stderr.count("\n") == 1 and "whole file system" in p.stderr, p.stderr


def test_r12_trees_are_walked_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triage.files import tree
    from triage.ground.errors import TriageError
    from triage.products.batch import find
    from triage.rulebook import packs

    for i in range(9):
        (tmp_path / f"d{i}" / "deep").mkdir(parents=True)
        (tmp_path / f"d{i}" / "deep" / "a.yaml").write_text("x")
    (tmp_path / "d0" / "round").symlink_to(tmp_path)
    assert len(packs.below(tmp_path)) == 9
    assert [Path(here).name for here, _ in tree.walk(str(tmp_path), 99, lambda f: "deep" not in f)][1:] == [
        f"d{i}" for i in range(9)
    ]
    monkeypatch.setattr(tree, "MAX_FILES", 20)
    monkeypatch.setattr(find, "MAX_SEARCHED_FILES", 20)
    with pytest.raises(TriageError, match="more than 20 files"):
        packs.below(tmp_path)
    with pytest.raises(TriageError, match="more than 20 files"):
        find.gather([str(tmp_path)])


@posix
def test_r12_a_pipe_without_a_writer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triage.capture import bounds
    from triage.reading import reader

    monkeypatch.setattr(bounds, "PATIENCE", 0.2)
    os.mkfifo(tmp_path / "fifo")
    keep = os.open(tmp_path / "fifo", os.O_RDWR)  # a writer that says nothing
    signal.alarm(30)
    try:
        with pytest.raises(TriageError, match="pipe without a writer"):
            reader.read(str(tmp_path / "fifo"))
    finally:
        signal.alarm(0)
        os.close(keep)


def test_each_number_of_the_report_has_a_test() -> None:
    numbers = {int(m[1]) for name in globals() if (m := re.match(r"test_r(\d+)_", name))}
    assert numbers == set(range(1, 13))


# takes what rules, tables and glossaries hold, of which there is an end; names out of captures have none
ENDLESS_CACHES = {
    "_bare(arch)", "_compiled(name, definitions)", "_dialect(module)", "_groups(work)", "_heads(one)", "_keys(kind)", "_load(module)", "_marks(tool)", "_doctor(settings)", "_ours(path)", "_parse(formula)", "_pattern(names)", "_publishers(text)",
    "_names_in(sentence)", "_range(gpcs, each, sms, groups, size)", "_words(names)", "_written(key)", "among(neighbours)", "condition(text)", "cut(text)", "in_words(revision)", "joined(names)", "leaves(metric, collectable)",
    "limits_for(arch)", "name(opcode, sm)", "names(formula)", "of(tool)", "student(p, free)", "table(name)", "templates(product)", "value(text)", "word_set(key)",
}  # fmt: skip


@pytest.mark.slow
def test_r4_no_cache_without_end_takes_text_of_captures() -> None:
    """A process that reads one capture after another keeps the names of none."""
    found = set()
    for path in (ROOT / "triage").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.args.args:
                marks = {ast.unparse(d) for d in node.decorator_list}
                if marks & {"cache", "functools.cache", "lru_cache(None)", "lru_cache(maxsize=None)"}:
                    found.add(f"{node.name}({', '.join(a.arg for a in node.args.args)})")
    assert found <= ENDLESS_CACHES, sorted(found - ENDLESS_CACHES)


@posix
@pytest.mark.parametrize("what", ["endless", "pipe", "folder", "large"])
@pytest.mark.parametrize("where", ["map", "since", "rules", "config", "note", "comment"])
def test_r12_files_beside_the_capture_are_bounded_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, what: str
) -> None:
    """Mappings, rules, settings, earlier tickets and notes: devices, pipes nobody writes into, folders, files without end."""
    from triage.commands import _comment as comment
    from triage.files import bounded, plain_json, strict_yaml
    from triage.products import project

    monkeypatch.setattr(bounded, "PATIENCE", 0.2)
    monkeypatch.setattr(plain_json, "LARGEST", 1 << 20)
    path = tmp_path / "beside"
    if what == "endless":
        path.symlink_to("/dev/zero")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"#" * (17 << 20))
    keep = os.open(path, os.O_RDWR | os.O_NONBLOCK) if what == "pipe" else -1  # a writer that says nothing
    signal.alarm(30)
    try:
        if where in ("map", "rules"):
            with pytest.raises(RuleError):
                strict_yaml.load(path)
        elif where in ("since", "note"):
            with pytest.raises((OSError, ValueError)):
                plain_json.load(path)
        elif where == "config":
            with pytest.raises(TriageError):
                project._table(path)
        else:
            from click.testing import CliRunner

            done = CliRunner().invoke(comment.command, [str(path), "--post", "github", "--number", "1"])
            assert isinstance(done.exception, TriageError)
    finally:
        signal.alarm(0)
        if keep >= 0:
            os.close(keep)


@posix
def test_r12_a_pipe_of_settings_is_read(tmp_path: Path) -> None:
    from triage.files import bounded

    reading, writing = os.pipe()
    os.write(writing, b"Column: gpu.time\n")
    os.close(writing)
    try:
        assert bounded.read(Path(f"/dev/fd/{reading}"), 100) == b"Column: gpu.time\n"
    finally:
        os.close(reading)
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    assert len(bounded.read(path, 100)) == 100
    with pytest.raises(bounded.TooLarge):
        bounded.read(path, 99)


@pytest.mark.slow
@posix
def test_r9_a_note_of_a_batch_names_no_path(tmp_path: Path) -> None:
    """Whoever may edit a note cannot have other files read: the capture is done again."""
    out = tmp_path / "out"
    assert run("batch", SAMPLE, "-o", out, "--jobs", 1).returncode == 0
    (note,) = (out / ".triage").glob("*.json")
    text = note.read_text("utf-8")
    (report,) = [p.name for p in (out / "reports").iterdir()]
    assert report in text
    note.write_text(text.replace(f'"{report}"', '"../../../../../../../../dev/zero"', 1), "utf-8")
    p = run("batch", SAMPLE, "-o", out, "--jobs", 1, "--resume", timeout=120)
    assert p.returncode == 0 and "kept" not in p.stdout
    assert (out / "reports" / report).is_file()


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("[" * 60 + "]" * 60, True),
        ("[" * 61 + "]" * 61, False),
        ('[{"a":' * 30 + "1" + "}]" * 30, True),
        ('[{"a":' * 30 + "[]" + "}]" * 30, False),
        ('["' + "[" * 300 + '", "\\"' + "{" * 300 + '"]', True),
        ("[" + "[]," * 300 + "[]]", True),
        ("[" * 1_000_000, False),
    ],
)
def test_r12_json_is_bounded_in_depth(tmp_path: Path, text: str, good: bool) -> None:
    from triage.files import plain_json

    path = tmp_path / "deep.json"
    path.write_text(text)
    if good:
        assert plain_json.load(path) == json.loads(text)
    else:
        with pytest.raises(ValueError):
            plain_json.load(path)
