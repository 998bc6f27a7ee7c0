"""Text from strangers - captures, rules, templates - may be shown, never obeyed."""

import csv
import html.parser
import io
import re
import time
import xml.etree.ElementTree as tree
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FORMATS, diagnosis_of, generic, run
from tests.helpers import fuzzing
from triage.files import strict_yaml
from triage.ground.errors import ReportError, RuleError, TriageError
from triage.rulebook.expression import ExpressionError, condition, value

pytestmark = pytest.mark.slow

NAMES = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><script>1</script>", "javascript:alert(1)", "a|b|c", "`code` **x** [l](javascript:1)",
    "![i](http://x/y.png)", "{code}x{code} {html}<b>", "[l|http://x]", "!http://x/y.png!", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "../../etc/passwd",
    "CON", "x" * 20_000, "\u202eevil\u202c", "\u2066iso", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\l", "\x9b31m", "\x07\x08bell", "{{ 7*7 }}", "{% raw %}", "{0.__class__}",
    "a\nb", "c\r\nd", "tab\tname", "naïve 漢字 🙂", "'; DROP TABLE x;--", "%s%n", "$(touch pwn)", "]]>", "<!--", "&lt;b&gt;", "&#x3c;b>", "\ufeffbom", "zero\u200bwidth", "# head", "1. list",
    "##vso[task.setvariable variable=PATH]x", "##[error]x", "##teamcity[x '1']", "::error::x", "::add-mask::a", "/close", "a;=1+1",
    "> quote", "| --- |", "@someone #12 user/repo#3", "\ud7ff\ue000", "\uffff", "\\", "\\u003cscript\\u003e",
]  # fmt: skip
ROW = {"kind": "fullscreen", "gpu.time": 1.0, "sm.throughput": 40.7, "l1tex.throughput": 39.8, "l2.throughput": 36.3, "vram.throughput": 25.7, "gpu.idle": 0.2,
       "sm.active": 94.9, "sm.throughput_active": 43.0, "l1tex.hit_rate": 55.1, "l2.hit_rate": 60.0, "stall.long_scoreboard": 65.7, "sm.occupancy": 57.8}  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One report per format over every hostile name."""
    path = generic(
        tmp_path_factory.mktemp("h") / "<b>&'\".csv",
        [{"name": n, **ROW, "gpu.time": 1 + i} for i, n in enumerate(NAMES)],
    )
    out = {}
    for fmt in FORMATS:
        p = run("diagnose", path, "-f", fmt, "--full")
        assert p.returncode == 0, p.stderr
        assert p.stderr == ""
        out[fmt] = p.stdout
    return out


@pytest.mark.parametrize("fmt", FORMATS)
def test_nothing_a_terminal_or_a_service_would_obey(reports: dict[str, str], fmt: str) -> None:
    fuzzing.check(fmt, reports[fmt])
    service = r"##(\[|vso\[|teamcity\[)|^[ \t]*::(error|add-mask)" + ("|^/close" if fmt == "markdown" else "")
    assert not re.search(service, reports[fmt], re.MULTILINE)


class Page(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_html_runs_and_loads_nothing_of_a_stranger(reports: dict[str, str], tmp_path: Path) -> None:
    page = Page(reports["html"])
    tame = Page(
        run(
            "diagnose",
            generic(tmp_path / "a.csv", [{"name": f"m{i}", **ROW, "gpu.time": 1 + i} for i in range(len(NAMES))]),
            "-f",
            "html",
            "--full",
        ).stdout
    )
    scripts = [sum(t == "script" for t, _ in p.tags) for p in (page, tame)]
    assert scripts[0] == scripts[1]
    for tag, attributes in page.tags:
        assert not [k for k in attributes if k.startswith("on")], (tag, attributes)
        for key in ("src", "href", "action", "data", "srcset", "poster", "background"):
            target = (attributes.get(key) or "").strip().lower()
            assert not target.startswith(("javascript:", "vbscript:")), target
            if tag not in ("a", "use"):
                assert not re.match(r"(https?:)?//", target), (tag, target)
        assert tag not in ("iframe", "object", "embed", "base")
        assert "action" not in attributes
    policy = [
        a.get("content") or ""
        for t, a in page.tags
        if t == "meta" and (a.get("http-equiv") or "").lower() == "content-security-policy"
    ]
    assert len(policy) == 1
    assert "default-src 'none'" in policy[0]
    assert "unsafe-eval" not in policy[0]
    assert not re.search(r"script-src[^;]*'unsafe-inline'", policy[0])
    assert "http" not in policy[0]


def test_csv_has_no_live_cells(reports: dict[str, str]) -> None:
    rows = list(csv.reader(io.StringIO(reports["csv"], newline="")))
    assert len({len(r) for r in rows}) == 1
    assert any(c.startswith("'=") for r in rows for c in r)
    assert not re.search(";[=＝]", reports["csv"])  # where decimals have a comma, a cell begins behind a semicolon


def test_junit_is_xml_with_every_name(reports: dict[str, str]) -> None:
    found = tree.fromstring(reports["junit"])
    assert len(found.findall(".//testcase")) >= len(NAMES)


def test_markdown_and_jira_keep_their_tables(reports: dict[str, str]) -> None:
    for line in reports["markdown"].splitlines():
        assert not re.match(r"\s*<(script|img|iframe)", line), line
    from markdown_it import MarkdownIt

    page = Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(reports["markdown"]))
    assert not [t for t, _ in page.tags if t in ("script", "img", "iframe", "b")]
    assert not [a for _, a in page.tags if re.match(r"javascript:|http://x", a.get("href") or "")]
    assert sum(t == "table" for t, _ in page.tags) >= 1
    assert not re.search(r"(?<!\\)\{(code|html)\}x", reports["jira"])
    assert not re.search(r"(?<!\\)!http", reports["jira"])


def test_errors_are_tame_too(tmp_path: Path) -> None:
    for name in ("\x1b[31m.csv", "a\nb.csv", "\u202egnp.csv", "x" * 240 + ".csv"):
        path = tmp_path / name
        path.write_text("alpha,\x1b]0;x\x07,\u202ebeta," + "y" * 5_000 + "\n1,2,3,4\n")
        for args in ([path], [str(path) + "-nowhere"], [path, "--dialect", "\x1b[2J"], [path, "--map", "\x1b[2J=x"]):
            p = run("diagnose", *args)
            assert p.returncode == 2
            assert p.stderr.count("\n") == 1
            assert len(p.stderr) < 1_200
            assert p.stderr.strip().isprintable(), p.stderr


# --- rules of strangers ---------------------------------------------------------------------------------------------

RULE = """\
id: EVIL001
name: evil-rule
title: "<script>alert(1)</script> [x](javascript:1) {{code}}"
status: stable
since: 0.1.0
scope: workload
cites:
  evil: {{text: "<img src=x onerror=alert(1)>", url: "{url}"}}
needs: [sm.throughput]
thresholds:
  low: {{value: 1%, why: "=cmd|'/C calc'!A0 </script>", cite: evil}}
when: {{all: [sm.throughput > low]}}
concludes: evil-concept
finding: {finding}
gain: {{of: workload, time: "{saves}", evidence: mechanism, because: "</td><script>1</script>"}}
advice:
  - "<a href='javascript:1'>x</a>\\n=1+1"
  - {{do: "|x| {{x}}", code: "</code></pre><script>1</script>"}}
caveats: ["![i](http://x/y.png) {{html}}"]
tests:
  - {{name: a, given: {{sm.throughput: 50%}}, expect: fires}}
  - {{name: b, given: {{sm.throughput: 0.1%}}, expect: silent}}
  - {{name: c, given: {{}}, expect: blind}}
"""


def rules(
    folder: Path,
    finding: str = '"<b onmouseover=alert(1)>{sm.throughput:.0%}</b> `x` | y"',
    saves: str = "sm.throughput",
    url: str = "https://example.com/?a=1&b=(2)",
) -> Path:
    pack = folder / "evil"
    pack.mkdir(parents=True)
    # what matters here is text; the braces that a finding may not hold are taken out by its own check
    (pack / "evil-rule.yaml").write_text(RULE.format(finding=finding, saves=saves, url=url), "utf-8")
    return folder


def test_texts_of_a_strangers_rules_are_text(tmp_path: Path) -> None:
    path = generic(tmp_path / "a.csv", [{"name": "m", **ROW}])
    folder = rules(tmp_path / "rules")
    text = (
        (folder / "evil" / "evil-rule.yaml")
        .read_text("utf-8")
        .replace("|x| {x}", "|x|")
        .replace(" {code}", "")
        .replace(" {html}", "")
    )
    (folder / "evil" / "evil-rule.yaml").write_text(text, "utf-8")
    for fmt in FORMATS:
        p = run("diagnose", path, "--rules", folder, "-f", fmt, "--full")
        assert p.returncode == 0, p.stderr
        assert "EVIL001" in p.stdout, fmt
        fuzzing.check(fmt, p.stdout)
        if fmt == "html":
            page = Page(p.stdout)
            assert not [a for _, a in page.tags if any(k.startswith("on") for k in a)]
            assert not [a for _, a in page.tags if (a.get("href") or "").strip().lower().startswith("javascript:")]
            assert not [a for t, a in page.tags if t == "img"]
        if fmt in ("markdown", "jira"):
            assert not re.search(r"^\s*<(script|img)", p.stdout, re.MULTILINE)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,<script>", "file:///etc/passwd", "//x"])
def test_sources_of_a_strangers_rules_are_web_addresses(tmp_path: Path, url: str) -> None:
    p = run("check", rules(tmp_path / "rules", url=url))
    assert p.returncode in (1, 2)
    assert "not a web address" in p.stdout + p.stderr


@pytest.mark.parametrize("finding", ['"{sm.throughput.__class__}"', '"{0}"', '"{}"', '"{sm.throughput:{x}}"', '"{sm.throughput!r}"', '"{workload.__init__}"', '"{sm.throughput[0]}"',
                                     '"{sm.throughput:>999999999}"', '"{sm.throughput:.999999999f}"', '"{unknown}"', '"{"'])  # fmt: skip
def test_findings_format_numbers_and_nothing_else(tmp_path: Path, finding: str) -> None:
    path = generic(tmp_path / "a.csv", [{"name": "m", **ROW}])
    p = run("diagnose", path, "--rules", rules(tmp_path / "rules", finding), "-f", "json")
    assert p.returncode == 2, p.stdout[:300]
    assert p.stderr.count("\n") == 1
    assert "Traceback" not in p.stderr


@pytest.mark.parametrize("text", [
    "9**9", "9**9**9", "a.b()", "().__class__", "__import__('os')", "open('x')", "lambda: 1", "[x for x in y]", "a[0]", "a if b else c", "f'{a}'", "'x'", "a @ b",
    "a << 99999", "a // b", "a % b", "a and b", "not a", "(a := 1)", "*a", "min(*a)", "min(a, key=b)", "True", "None", "...", "1j", "9" * 399, "0x" + "f" * 400, "1e999", "-" * 100 + "a",
    "(" * 300 + "a" + ")" * 300, " + ".join("a" * 200), "min(" * 30 + "a, b" + ", a)" * 30, "a" * 500, "\0", "a\nb", "ａ.ｂ()", "sqrt(a, b)", "eval(a)", "await a", "yield", "",
])  # fmt: skip
def test_expressions_compute_with_names_and_nothing_else(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ExpressionError) as e:
        value(text)
    assert len(str(e.value).splitlines()) <= 1
    with pytest.raises(ExpressionError):
        condition(text + " > 0")
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "text", ["9e29 * 9e29", "1e-300 * 1e-300", "1 / 0", "0 / 0", "sqrt(0 - 1)", "remainder(1, 0)", "a.__class__"]
)
def test_numbers_that_blow_up_are_missing_or_plain(text: str) -> None:
    try:
        result = value(text)(lambda _: 0.0)
    except ExpressionError:
        return
    float(result)


BOMB = "a: &a [x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)
)


@pytest.mark.parametrize("text", [
    BOMB, "id: !!python/object/apply:os.system ['echo pwn']", "id: !!python/name:os.system", "!!python/object:x.Y {}", "!!python/name:os.system id: 1", "id: !x y", "id: 1\nid: 2", "? [a]\n: b", "<<: {a: 1}\n", "id: &x [*x]",
    "[" * 3_000, "{a: " * 3_000, "- x", "just text", "", "\0", "id: \x01", "a: " + "[" * 60 + "]" * 60, "%YAML 9.9\n---\na: b", "--- a\n--- b", "id: !!binary x", "id: !!set {a, b}", "a: b: c",
])  # fmt: skip
def test_yaml_is_plain_data(text: str) -> None:
    start = time.process_time()
    try:
        strict_yaml.loads(text, "evil.yaml")
    except RuleError as e:
        assert str(e).startswith("evil.yaml:")
        assert len(str(e)) < 600
    else:
        assert text.startswith(("<<", "%YAML"))  # kept as plain keys, never merged
    assert time.process_time() - start < 2


@pytest.mark.parametrize("escape", ["x1b[31m", "x9b31m", "u202e", "u2066", "x07", "0", "r"])
def test_texts_of_rules_hold_no_control_characters(escape: str) -> None:
    with pytest.raises(RuleError, match="control character"):
        strict_yaml.loads(f'id: "a\\{escape} b"', "evil.yaml")


def test_huge_rule_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_text("a: " + "x" * 100_000)
    with pytest.raises(RuleError, match="KiB"):
        strict_yaml.load(path)


# --- templates of strangers -------------------------------------------------------------------------------------------

ESCAPES = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ ''['__class__'] }}", "{{ ''|attr('__class__') }}", "{{ self.__init__.__globals__ }}", "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ range.__self__ }}", "{{ lipsum.__globals__ }}", "{{ namespace.__init__.__globals__ }}", "{{ '{0.__class__}'.format(1) }}", "{{ ('{0.__cla' ~ 'ss__}').format(1) }}", "{{ findings.append(1) }}",
    "{{ workloads.clear() }}", "{% for i in range(10**9) %}x{% endfor %}", "{{ 'x' * 10**9 }}", "{{ [0] * 10**9 }}", "{{ 9**9**9 }}", "{% include '/etc/passwd' %}", "{% include '../../../../etc/passwd' %}",
    "{% import 'os' as os %}{{ os.system }}", "{{ nothing_like_that }}", "{{ undefined.x.y }}", "{% syntax error", "{{ 'x'|nofilter }}", "{{ 1/0 }}", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{{ workloads.__class__ }}", "{{ frame.__dict__ }}", "{{ time.__globals__ }}", "{{ '%999999999d' % 1 }}", "{{ 'x'.ljust(10**10) }}", "{{ 'x'.zfill(10**10) }}", "{{ 'x'|center(10**10) }}", "{{ '{:>9999999999}'.format(1) }}",
]  # fmt: skip
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))"


@pytest.mark.parametrize("text", ESCAPES)
def test_templates_stay_in_the_sandbox(tmp_path: Path, text: str) -> None:
    template = tmp_path / "evil.txt.j2"
    template.write_text("x\n" + text)
    path = generic(tmp_path / "a.csv", [{"name": "m", **ROW}])
    p = run("diagnose", path, "-f", template, first=LIMITED, timeout=60)
    assert "Traceback" not in p.stderr, p.stderr
    assert p.returncode == 2, p.stdout[:200]
    assert p.stderr.count("\n") == 1, p.stderr
    assert "<class" not in p.stdout
    assert "root:" not in p.stdout


def test_templates_cannot_be_huge_or_missing(tmp_path: Path, book: Any) -> None:
    from triage.findings import assembling
    from triage.reading import reader
    from triage.rendering import formats

    d = diagnosis_of(reader.read(str(generic(tmp_path / "a.csv", [{"name": "m", **ROW}]))), book)
    for path in (tmp_path / "none.j2", tmp_path):
        with pytest.raises(ReportError):
            formats.render(assembling.bundle(d), f"{path}/x.j2", [].append)


# --- packed and odd input ---------------------------------------------------------------------------------------------


def test_bombs_and_the_flag_that_raises_the_limit(tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(b"name,gpu.time [ms],sm.throughput [%]\n" + b"A,1,2\n" * 1_500_000, 9))
    assert "--max-unpacked" in run("diagnose", packed).stderr
    assert run("diagnose", packed, "--max-unpacked", "1G", "-f", "json", "--top", 1).returncode == 0
    nested = tmp_path / "b.csv.gz"
    nested.write_bytes(gzip.compress(packed.read_bytes()))
    assert run("diagnose", nested).returncode == 2
    for size in ("1", "0", "x", "-1", "1e9"):
        p = run("diagnose", packed, "--max-unpacked", size)
        assert p.returncode == 2, size
        assert p.stderr.count("\n") == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends_do_not_change_the_diagnosis(tmp_path: Path, encoding: str, end: str) -> None:
    from triage.reading import reader

    rows = [{"name": f"Pass é{i}", **ROW, "gpu.time": 1 + i} for i in range(12)]
    plain = generic(tmp_path / "a.csv", rows)
    text = plain.read_text("utf-8").replace("\r\n", "\n")
    want = reader.read(str(plain))
    (tmp_path / "b.csv").write_bytes(text.replace("\n", end).encode(encoding))
    got = reader.read(str(tmp_path / "b.csv"))
    assert list(got.names) == list(want.names)
    assert {k: v.tolist() for k, v in got.facts.items()} == {k: v.tolist() for k, v in want.facts.items()}


def test_names_that_are_no_files() -> None:
    from triage.reading import reader

    for name in ("", " ", "\0", "a\0b", "x" * 5_000, "-x", "~", "file:///etc/passwd", "http://example.invalid/x.csv"):
        with pytest.raises(TriageError):
            reader.read(name)
