"""Every format over ordinary and hostile frames: well-formed, inert, the same bytes twice."""

import csv
import html.parser
import io
import itertools
import json
import re
import xml.dom.minidom
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from markdown_it import MarkdownIt

from tests.conftest import FORMATS, ROOT, SAMPLES, diagnosis_of, generic, run
from tests.helpers.reports import DEMO, HOSTILE, diagnosed, frame, hostile, jira_faults, text
from tests.regolden import opened
from triage.document.summary import summarise
from triage.rendering import terminal_table
from triage.rendering.next_captures import MAX_SHOWN_CHARS, collect_next, runs


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: Any) -> str:
    return str(frame(tmp_path_factory.mktemp("frames") / "frame.csv", 60))


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: Any) -> str:
    return str(hostile(tmp_path_factory.mktemp("frames") / "hostile.csv"))


def schema() -> Any:
    return json.loads((ROOT / "triage" / "document" / "result.schema.json").read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("which", ["ordinary", "nasty", "demo"])
def test_json_matches_the_shipped_schema(which: str, request: Any) -> None:
    d = diagnosed(str(DEMO) if which == "demo" else request.getfixturevalue(which))
    jsonschema.Draft202012Validator(schema()).validate(json.loads(text(d, "json")))


def test_the_schema_is_valid_itself_and_refuses() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": "triage/1"}, schema())


@pytest.mark.slow
def test_same_bytes_twice_and_with_shuffled_rule_files(ordinary: str) -> None:
    import random

    from triage import api
    from triage.rulebook import packs

    order = packs.files()
    shuffled = random.Random(3).sample(order, len(order))
    books = [packs.select(packs.load(only=paths)) for paths in (order, order, shuffled)]
    made = [api.Diagnosis.from_judged(diagnosis_of(api.read(ordinary), book)) for book in books]
    for fmt in FORMATS:
        first, again, other = (text(d, fmt) for d in made)
        assert first == again, f"{fmt}: two runs differ"
        assert first == other, f"{fmt}: the order of rule files shows"


@pytest.mark.slow
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("full", [False, True])
def test_hostile_names_break_no_format(fmt: str, full: bool, nasty: str) -> None:
    out = text(diagnosed(nasty), fmt, full=full)
    assert "\x1b" not in out and "\x07" not in out
    if fmt != "json":  # a data format keeps what it was given, escaped
        assert "\u202e" not in out
    assert (
        not re.search(r"(?<![0-9a-f])49(?![0-9a-f])", out) or "{{ 7*7 }}" in out or "7*7" in out
    )  # a name is never evaluated as a template


def tables(markdown: str) -> list[list[int]]:
    """Cells per row of every table, as a CommonMark+GFM parser sees them."""
    out: list[list[int]] = []
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown):
        if token.type == "table_open":
            out.append([])
        elif token.type == "tr_open":
            out[-1].append(0)
        elif token.type in ("td_open", "th_open"):
            out[-1][-1] += 1
    return out


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("which", ["ordinary", "nasty"])
def test_markdown_parses_and_names_stay_text(which: str, full: bool, request: Any) -> None:
    out = text(diagnosed(request.getfixturevalue(which)), "markdown", full=full)
    found = tables(out)
    assert len(found) >= 3 and all(len(set(rows)) == 1 for rows in found), "rows of one table differ in cells"
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(out)
    inline = [c for t in tokens for c in t.children or ()]
    raw = [t.content for t in [*tokens, *inline] if t.type in ("html_block", "html_inline")]
    assert all(
        re.fullmatch(
            r"\s*(</?details>|<summary>|</summary>|.*</summary>)*\s*", re.sub(r"<summary>[^<]*", "<summary>", r)
        )
        for r in raw
    ), raw[:3]
    assert not [c for c in inline if c.type == "image"]
    assert all(str(c.attrs["href"]).startswith("https://") for c in inline if c.type == "link_open")
    opens, closes = out.count("<details>"), out.count("</details>")
    assert opens == closes > 0
    assert sum(t.type == "heading_open" for t in tokens) == len(
        [line for line in out.split("\n") if re.match(r"#+ ", line)]
    )


def test_markdown_is_short_by_default(ordinary: str) -> None:
    short, full = text(diagnosed(ordinary), "markdown"), text(diagnosed(ordinary), "markdown", full=True)
    assert short.count("<details><summary>") < 10 < full.count("<details><summary>")
    assert re.search(r"\d+ more: --full", short) and len(short) < 30_000


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("which", ["ordinary", "nasty"])
def test_jira_markup_is_balanced(which: str, full: bool, request: Any) -> None:
    assert jira_faults(text(diagnosed(request.getfixturevalue(which)), "jira", full=full)) == []


def test_the_jira_checker_finds_faults() -> None:
    assert (
        jira_faults("{code}\nx")
        and jira_faults("a {b}")
        and jira_faults("||a||b||\n|x|")
        and not jira_faults("||a||b||\n|x\\|y|z|")
    )


@pytest.mark.parametrize("which", ["ordinary", "nasty"])
def test_csv_opens_clean_in_a_spreadsheet(which: str, request: Any) -> None:
    d = diagnosed(request.getfixturevalue(which))
    rows = list(csv.reader(io.StringIO(text(d, "csv"))))
    assert len({len(r) for r in rows}) == 1 and len(rows) == len(d.findings) + 1
    assert not [c for r in rows for c in r if c[:1] in "=+@-" and c and not re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", c)]
    assert len(d.to_frame()) == len(d.findings)


@pytest.mark.parametrize("which", ["ordinary", "nasty"])
def test_junit_has_one_case_per_workload(which: str, request: Any) -> None:
    d = diagnosed(request.getfixturevalue(which))
    tree = xml.dom.minidom.parseString(text(d, "junit", fail_on="low").encode())
    doc = d.to_dict()
    whole = any(f["workload"] == "frame" for f in doc["findings"])
    assert len(tree.getElementsByTagName("testcase")) == len(doc["workloads"]) + whole
    low = {i["cause"] for i in doc["todo"] if i["level"] != "info"}
    bad = {w["id"] for w in doc["workloads"] if w["chain"][:1] and w["chain"][0] in low}
    bad |= {w for i in doc["todo"] if i["scope"] == "frame" for w in i["workloads"]}
    assert len(tree.getElementsByTagName("failure")) == len(bad) == int(tree.documentElement.getAttribute("failures"))
    assert not xml.dom.minidom.parseString(text(d, "junit").encode()).getElementsByTagName("failure")


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("which", ["ordinary", "nasty"])
def test_terminal_fits(which: str, width: int, request: Any) -> None:
    from rich.cells import cell_len

    d = diagnosed(request.getfixturevalue(which))
    commands = {command for _, command in collect_next(summarise(d.bundle)) if runs(command)}
    out = text(d, "terminal", width=width)
    # a command is one line, to be copied whole
    assert max(cell_len(line) for line in out.split("\n") if line not in commands) <= width
    assert "To do" in out and "Markers by self time" in out


def test_colour_only_where_it_is_wanted(ordinary: str, monkeypatch: Any) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in text(diagnosed(ordinary), "terminal", color=True)
    assert "\x1b" not in text(diagnosed(ordinary), "terminal")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in text(diagnosed(ordinary), "terminal", color=True)


class Page(html.parser.HTMLParser):
    """Elements with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("which", ["ordinary", "nasty"])
def test_html_is_one_inert_file(which: str, request: Any) -> None:
    import base64
    import hashlib

    out = text(diagnosed(request.getfixturevalue(which)), "html")
    page = Page()
    page.feed(out)
    scripts = [a for t, a in page.tags if t == "script"]
    assert sum("type" not in a for a in scripts) == 1 and [t for t, _ in page.tags].count("style") == 1
    assert {a["type"] for a in scripts if "type" in a} == {"text/plain"}
    assert not [a for _, a in page.tags if any(k.startswith("on") or k == "style" for k in a)]
    assert not [t for t, _ in page.tags if t in ("img", "iframe", "object", "embed", "base")]
    assert all(str(a.get("href", "")).startswith("data:") for t, a in page.tags if t == "link")
    assert all(re.match(r"#|https?://", a.get("href") or "") for t, a in page.tags if t == "a")
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    policy = (
        next(a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy")
        or ""
    )
    for tag, rule in (("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>")):
        inline = re.search(rule, out, re.DOTALL)
        assert inline and base64.b64encode(hashlib.sha256(inline[1].encode()).digest()).decode() in policy, tag
    assert "unsafe" not in policy and "default-src 'none'" in policy
    core = opened(out)["core"]
    works = diagnosed(request.getfixturevalue(which)).to_dict()["workloads"]
    assert core["n"] == len(core["W"]["name"]) == len(works)
    # headings lead somewhere: every link within the page has its target
    assert {a["href"][1:] for t, a in page.tags if t == "a" and re.match(r"#[\w-]+$", a.get("href") or "")} <= set(ids)


def test_the_page_holds_what_the_result_holds(ordinary: str) -> None:
    d = diagnosed(ordinary)
    doc, parts = d.to_dict(), opened(text(d, "html"))
    core, rows = parts["core"], parts["core"]["W"]
    names = core["names"]
    assert [names[n] for n in itertools.accumulate(rows["name"])] == [w["name"] for w in doc["workloads"]]
    assert rows["self"] == pytest.approx([w["self_ns"] for w in doc["workloads"]], rel=1e-4)
    assert [core["causes"][c - 1][0] if c else None for c in rows["cause"]] == [
        next(iter(w["chain"]), None) for w in doc["workloads"]
    ]
    assert [core["causes"][c][0] for c in core["todo"]] == [i["cause"] for i in doc["todo"]]
    assert [core["R"][r][0] for r in core["F"]["rule"]] == [f["rule"] for f in doc["findings"]]
    known = {r["id"] for r in parts["words"]["rules"]}
    assert {f["rule"] for f in doc["findings"]} | {r["rule"] for r in doc["ruled_out"]} == known
    assert {i["cause"] for i in doc["todo"]} <= {c["id"] for c in parts["words"]["causes"]}
    # what markers give back is what all items give back: each concerns known markers here
    saved = sum(w["saved_ns"] or 0 for w in doc["workloads"])
    assert saved == pytest.approx(doc["frame"]["recoverable_ns"], rel=1e-6)
    assert rows["saved"] == pytest.approx([w["saved_ns"] or 0 for w in doc["workloads"]], rel=1e-3)
    assert sum(i["saved_ns"] for i in doc["todo"]) == pytest.approx(doc["frame"]["recoverable_ns"], rel=1e-6)


@pytest.mark.slow
def test_a_page_whose_items_have_no_time(tmp_path: Path) -> None:
    """What has a cause lacks a time, and what has a time lacks a cause: a frame to draw, and nothing that comes back."""
    ill = {"sm.throughput": 20, "l1tex.throughput": 30, "l2.throughput": 25, "vram.throughput": 20, "l1tex.hit_rate": 10, "stall.tex_throttle": 60}  # fmt: skip
    path = generic(tmp_path / "t.csv", [{"name": "A", "gpu.time": 5}, {"name": "B", **ill}])
    todo = json.loads(run("diagnose", path, "-f", "json").stdout)["todo"]
    assert todo and not any(item["saved_ns"] for item in todo)
    page = run("diagnose", path, "-f", "html")
    assert page.returncode == 0 and "comes back, by item" not in page.stdout


def test_the_page_lists_every_pass() -> None:
    """Reports for the terminal keep to the longest passes; the page is complete, the notebook's is short."""
    d = diagnosed(str(DEMO))
    whole, brief = text(d, "html"), html.unescape(d._repr_html_())
    names = [p["name"] for p in d.to_dict()["passes"]]
    assert len(names) > 12

    def rows(page: str) -> int:
        return page.partition('id="passes"')[2].partition("</section>")[0].count("<tr>") - 1

    assert rows(whole) == len(names) and rows(brief) == 12
    assert "6 shorter passes in the JSON result" in brief and "shorter pass" not in whole


def test_no_caveat_is_about_another_generation() -> None:
    amd = diagnosed(str(ROOT / "sample_captures" / "rocprof-compute" / "four_kernels_mi210")).to_dict()
    minds = [c for f in amd["findings"] for c in f["caveats"]]
    assert minds and not any("RDNA" in c for c in minds)


def test_the_page_retells_the_way_of_every_workload(ordinary: str) -> None:
    """Question by question over all, as packed, and workload by workload."""
    b = diagnosed(ordinary).bundle
    parts = opened(text(diagnosed(ordinary), "html"))
    more, way = parts["more"], parts["d0"]["way"]
    for i, w in enumerate(b.workloads):
        told = []
        for shapes, numbers in way:
            if shapes[i] >= 0:
                ask, _, value, edge, answer, state = more["shapes"][shapes[i]]
                n = numbers[i] if numbers else 0
                hole = "100" if n == 1000 else f"{n / 10:.1f}"
                words = more["S"][value].replace("\x7f", hole)
                told.append((more["S"][ask], words, more["S"][edge], more["S"][answer], more["states"][state]))
        expected = [(s["ask"], s["value"], s["edge"], s["answer"], s["state"]) for s in b.ways[w["id"]]]
        assert told == expected, w["id"]


def test_fields_are_those_of_the_entries(ordinary: str) -> None:
    works = diagnosed(ordinary).bundle.workloads
    entries = list(works)
    for name in (
        "id",
        "name",
        "self_ns",
        "duration_ns",
        "judged",
        "band",
        "limiter_class",
        "chain",
        "saved_ns",
        "verdict",
    ):
        assert works.field(name) == [w[name] for w in entries], name
    assert works[3] == entries[3] and works[-1] == entries[-1] and works[2:5] == entries[2:5]
    with pytest.raises(IndexError):
        works[len(works)]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "most"), [(300, 400_000), (5_000, 1_000_000)])
def test_html_stays_small(count: int, most: int, tmp_path: Path) -> None:
    out = text(diagnosed(str(frame(tmp_path / "big.csv", count))), "html")
    assert len(out.encode()) < most and "<svg" in out


def test_notebook_shows_the_report(ordinary: str) -> None:
    shown = diagnosed(ordinary)._repr_html_()
    assert shown.startswith("<iframe") and "sandbox=" in shown and "<script" not in shown
    assert "allow-scripts" not in shown and len(diagnosed(str(DEMO))._repr_html_().encode()) < 100_000
    assert "recoverable" in shown
    assert len(repr(diagnosed(str(DEMO)))) < 300


@pytest.mark.slow
def test_the_command_line_writes_every_format(ordinary: str, tmp_path: Path) -> None:
    for fmt in FORMATS:
        target = tmp_path / f"r.{fmt}"
        p = run("diagnose", ordinary, "-f", fmt, "-o", target)
        assert p.returncode == 0 and p.stdout == "" and target.stat().st_size > 500, p.stderr


def test_json_imports_no_template_engine() -> None:
    import subprocess
    import sys

    code = "import sys; from triage.rendering import formats; from triage.findings import assembling; print([m for m in ('jinja2', 'rich', 'click') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
        ).stdout.strip()
        == "[]"
    )


def test_kernel_names_keep_what_tells_them_apart() -> None:
    from triage.rendering.escape import short

    assert short("void transpose_naive<float>(const float *, float *, int, int)", 40) == "transpose_naive<float>"
    assert short("void ns::Kernel<Bar<Baz, 3>, float>::run<int>(int (*)(long), char)", 24) == "run<int>"
    assert len(short("a<b" * 50, 30)) == 30 and len(short("operator()(" * 9, 30)) == 30


def test_long_names_are_shortened_in_the_middle() -> None:
    from triage.rendering.escape import clean, short

    name = max(HOSTILE, key=len)
    assert len(short(name, 60)) == 60 and short("abc", 60) == "abc" and "\u202e" not in clean("\u202ex")


@pytest.mark.slow
def test_a_device_or_pipe_is_written_not_replaced(ordinary: str, tmp_path: Path) -> None:
    import os
    import stat
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text("utf-8")), daemon=True)
    reader.start()
    p = run("diagnose", ordinary, "-f", "markdown", "-o", pipe)
    reader.join(30)
    assert p.returncode == 0 and stat.S_ISFIFO(pipe.stat().st_mode) and got and got[0].startswith("# triage: ")


@pytest.mark.parametrize("sample", ["gpu-trace/demo_frame", "nsys-sqlite/training_two_gpus.sqlite"])
def test_markdown_has_no_blank_heading_and_no_place_that_is_none(sample: str) -> None:
    """GitHub draws a row without words above a table without a head; `frame` is no name that anybody gave."""
    written = text(diagnosed(str(SAMPLES / sample)), "markdown")
    heads = re.findall(r"<thead>(.*?)</thead>", MarkdownIt().enable("table").render(written), re.DOTALL)
    assert heads and all(re.search(r"<th[^>]*>[^<]", head) for head in heads)
    assert "Where: `frame`" not in written and "Where: frame" not in text(diagnosed(str(SAMPLES / sample)), "jira")


def test_full_width_formulas_and_mentions_in_html_are_inert() -> None:
    from triage.rendering.escape import unmentioned
    from triage.rendering.findings_csv import inert

    assert [inert(c + "SUM(A1)")[0] for c in "=+-@＝＋－＠"] == ["'"] * 8
    assert unmentioned("@org/team fixes #12, a@ b") == "@\u200borg/team fixes #\u200b12, a@ b"


def test_names_that_no_cut_tells_apart_are_numbered() -> None:
    ranges = [f"{'a' * 30}{n}{'b' * 60}{m}" for n, m in ((1, 0), (1, 1), (2, 0))]
    places = [("[CUDA memcpy Host-to-Device]", [name]) for name in ranges]
    labels = terminal_table.numbered_names(places, 21, [" ×2"] * 3)
    assert [label[-4:] for label in labels] == [" (1)", " (2)", " (3)"] and len(labels[1]) <= 18
    assert terminal_table.numbered_names([("A", []), ("B", [])], 21, ["", ""]) == ["A", "B"]


@pytest.mark.parametrize(
    "name",
    [
        "ncu-rep/transpose.ncu-rep",
        "rocprof-compute/four_kernels_mi210",
        "rocprofv3-counters/4711_counter_collection.csv",
    ],
)
def test_every_report_collects_with_one_command(name: str) -> None:
    s = summarise(diagnosed(str(SAMPLES / name)).bundle)
    *_, (_, whole) = collect_next(s, full=True)
    *_, (sentence, command) = collect_next(s)
    assert command == whole if len(whole) <= MAX_SHOWN_CHARS else f"{len(whole):,} characters" in sentence
