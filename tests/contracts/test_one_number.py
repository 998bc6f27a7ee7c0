"""One number, one ranking: every sample in every format, whose order, figures and counts are those of the result."""

import csv
import html
import io
import itertools
import json
import os
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import triage
from tests.conftest import ROOT
from tests.regolden import EVERY_FORMAT, diagnosis, opened, samples
from triage.commands._agent import Tools
from triage.document.bundle import Bundle
from triage.document.finding_rows import COLUMNS
from triage.document.summary import Summary, summarise
from triage.ground.phrasing import percent
from triage.ground.terminology import speaking
from triage.ground.units import show
from triage.products.tickets import compose
from triage.products.tickets.text import body
from triage.rendering import formats, phrases, verdict_phrases
from triage.rendering.brief import MAX_ITEMS
from triage.rendering.escape import clean, short
from triage.rendering.findings_parquet import parquet

FORMATS = tuple(formats.formats())
PLACEHOLDER = re.compile(r"\{[a-z_][\w.]*(?::[^{}\n]{0,12})?\}(?!\})")
MACROS = {"{code}", "{noformat}"}  # of Jira, alone on a line


@cache
def rendered(path: str, full: bool) -> tuple[Bundle, Summary, dict[str, str]]:
    """A sample's result, what its reports begin with, and each of its reports."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        b: Bundle = diagnosis(path).bundle
        with speaking(b.item, b.whose):
            s = summarise(b)
        texts: dict[str, str] = {}
        for form in FORMATS:
            parts: list[str] = []
            formats.render(b, form, parts.append, full=full)
            texts[form] = "".join(parts)
        return b, s, texts
    finally:
        os.chdir(here)


def everywhere(path: str, full: bool) -> Iterator[str]:
    """Faults of one sample, a line each."""
    b, s, texts = rendered(path, full)
    plain = {form: seen(text) if form == "html" else words(text) for form, text in texts.items()}
    for form in ("terminal", "markdown", "jira", "html"):
        if words(s["headline"]) not in plain[form]:
            yield f"{form}: another headline"
        # what stands on top says it
        alone = form in ("terminal", "html") and [v["verdict"] for v in s["verdicts"]] == ["not-diagnosed"]
        for v in s["verdicts"] if not alone else ():
            figure = f"{verdict_phrases.verdict(v['verdict']).lower()} {phrases.time(v['ns'])} ({percent(v['share'])})"
            if words(figure) not in plain[form].lower():
                yield f"{form}: no {figure}"
    for form in ("terminal", "markdown", "jira", "html"):
        yield from items(form, plain[form], s, full)
    yield from findings(b, texts)
    yield from tables(b, s, texts, full)
    yield from machines(b, s, texts)
    for form, text in texts.items():
        told = re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL) if form == "html" else text
        yield from (f"{form}: {m} was not filled" for m in PLACEHOLDER.findall(told) if m not in MACROS)


def words(text: str) -> str:
    """A report without markup, line ends and no-break spaces."""
    return " ".join(re.sub(r"[\\*`]", "", text).split())


def seen(page: str) -> str:
    """The text of a page."""
    return words(html.unescape(re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)))


def items(form: str, text: str, s: Summary, full: bool) -> Iterator[str]:
    """The to-do list in its order, each item with its saving behind its title."""
    shown = s["causes"] if form == "html" or (form == "terminal" and full) else s["first"]
    at = text.find(" To do")
    for c in shown:
        title = words(clean(c["title"]))
        found = text.find(title, at)
        if found < 0:
            yield f"{form}: {title!r} is missing, or out of order"
            return
        figure = phrases.item_saving(c).partition(" (")[0]
        if figure not in text[max(0, found - 80) : found + len(title) + 400]:
            yield f"{form}: no {figure} beside {title!r}"
        at = found + len(title)


def findings(b: Bundle, texts: dict[str, str]) -> Iterator[str]:
    """Findings in one order: that of the to-do list, then the others; the same figures in each table."""
    entries = b.findings
    first = {(i["cause"], i["workloads"][0]): i for i in b.todo}
    seen = [key for f in entries if (key := (f["cause"], f["workload"])) in first]
    if list(dict.fromkeys(seen)) != list(first):
        yield "findings: not in the order of the to-do list"
    if [f["rank"] for f in entries] != list(range(1, len(entries) + 1)):
        yield "findings: ranks do not follow"
    rows = list(csv.DictReader(io.StringIO(texts["csv"])))
    if [r["fingerprint"] for r in rows] != [f["fingerprint"] for f in entries]:
        yield "csv: another order"
    for r, f, row in zip(rows, entries, b.rows, strict=True):
        saved = f["gain"]["saved_ns"] if f["gain"] else None
        if (float(r["saved_ms"]) * 1e6 if r["saved_ms"] else None) != pytest.approx(saved, abs=1e-3):
            yield f"csv: {r['saved_ms']} ms for {saved} ns"
        if [row[COLUMNS.index(k)] for k in ("rank", "rule")] != [f["rank"], f["rule"]]:
            yield "rows: another finding"
    core = opened(texts["html"])["core"]
    if [core["R"][r][0] for r in core["F"]["rule"]] != [f["rule"] for f in entries]:
        yield "html: findings in another order"
    for ns, f in zip(core["F"]["saved"], entries, strict=True):
        if f["gain"] and phrases.time(ns) != phrases.time(f["gain"]["saved_ns"]):
            yield f"html: finding {f['rank']} saves {phrases.time(ns)}"
    doc = json.loads(texts["json"])
    if doc["todo"] != b.todo or [f["fingerprint"] for f in doc["findings"]] != [f["fingerprint"] for f in entries]:
        yield "json: another order"


def tables(b: Bundle, s: Summary, texts: dict[str, str], full: bool) -> Iterator[str]:
    """Times of workloads and their sums; counts."""
    core, works = opened(texts["html"])["core"], list(b.workloads)
    names = list(itertools.accumulate(core["W"]["name"]))
    for i, w in enumerate(works):
        if core["W"]["self"][i] is not None and phrases.time(core["W"]["self"][i]) != phrases.time(w["self_ns"]):
            yield f"html: {w['name'][:30]} takes {phrases.time(core['W']['self'][i])}, not {phrases.time(w['self_ns'])}"
        saved = core["W"]["saved"][i] if core["W"]["saved"] else 0
        if w["saved_ns"] and phrases.time(saved) != phrases.time(w["saved_ns"]):
            yield f"html: {w['name'][:30]} saves {phrases.time(saved)}, not {phrases.time(w['saved_ns'])}"
    if [core["names"][n] for n in names] != [short(w["name"], 2000) for w in works]:
        yield "html: other workloads"
    whole = {i["cause"] for i in b.todo if i["scope"] == "frame"}
    for m in s["markers"] if full else s["markers"][:10]:
        row = f"{phrases.time(m['workload']['self_ns'])} | {percent(m['workload']['share'])}"
        if row not in texts["markdown"] or row not in texts["jira"]:
            yield f"markdown or jira: no {row}"
        of_item = m["workload"]["chain"][:1] and m["workload"]["chain"][0] in whole
        if (m["saved_ns"] is None) == bool(m["workload"]["chain"]) and m["workload"]["self_ns"] and not of_item:
            yield f"{m['workload']['id']}: saving and root cause disagree"
    if s["duration_ns"]:
        rows = sum(w["saved_ns"] or 0 for w in works)
        of_rows, of_frame = (sum(i["saved_ns"] or 0 for i in b.todo if i["scope"] == x) for x in ("workloads", "frame"))
        if not of_rows - 1 <= rows * (1 + 1e-6) or not rows * (1 - 1e-6) <= of_rows + of_frame + 1:
            yield f"workloads do not add up to the items: {rows} of {of_rows} to {of_rows + of_frame}"
        if sum(i["saved_ns"] or 0 for i in b.todo) != pytest.approx(b.frame["recoverable_ns"], rel=1e-6, abs=1):
            yield "items do not add up to the headline"
        if sum(v["ns"] for v in s["verdicts"]) != pytest.approx(s["duration_ns"], rel=1e-6) and not s["timeline"]:
            yield "verdicts do not add up to the time"
    cases = re.findall(r'<testsuites [^>]*tests="(\d+)"', texts["junit"])
    whole = any(f["workload"].endswith("frame") for f in b.findings)
    if int(cases[0]) != len(works) + whole:
        yield f"junit: {cases[0]} cases for {len(works)} workloads"


def machines(b: Bundle, s: Summary, texts: dict[str, str]) -> Iterator[str]:
    """Outputs for machines: items in their order with their figures, times of workloads, rows of findings."""
    items = [(i["fingerprint"], i["saved_ns"], i["share"]) for i in b.todo]
    run = json.loads(texts["sarif"])["runs"][0]
    found = [(r["partialFingerprints"], r["properties"]) for r in run["results"]]
    if [(next(iter(p.values())), q["saved_ns"], q["share"]) for p, q in found] != items:
        yield "sarif: another list"
    savings = [phrases.item_saving(i) for i in b.todo]
    told = [line.replace("%25", "%") for line in texts["github"].splitlines() if " title=triage::" not in line]
    spoken = {"sarif": [r["message"]["text"] for r in run["results"]], "github": told}
    for form, lines in spoken.items():
        yield from (f"{form}: no {v} in {x[:60]!r}" for x, v in zip(lines, savings, strict=True) if v not in x)
    first = next((x for x in texts["brief"].splitlines() if x.startswith("to do, by saving: ")), "")
    for i, v in zip(b.todo[:MAX_ITEMS], savings, strict=False):
        if f"{i['rank']}. {i['cause']} ~{v} (" not in first:
            yield f"brief: no {i['cause']} ~{v}"
    cases = [float(x) for x in re.findall(r'<testcase [^>]*time="([\d.]+)"', texts["junit"])]
    times = [(w["duration_ns"] or 0) / 1e9 for w in b.workloads]
    if sorted(cases)[-len(times) :] != pytest.approx(sorted(times), abs=1e-8) and len(cases) == len(times):
        yield "junit: other times"
    if b.rows != [list(r) for r in parquet_rows(b.rows)]:
        yield "parquet: other rows"


def parquet_rows(rows: list[Any]) -> list[tuple[Any, ...]]:
    """Rows of findings, written as Parquet and read again."""
    pq = pytest.importorskip("pyarrow.parquet")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "findings.parquet"
        with parquet(path) as add:
            add(rows)
        table = pq.read_table(path)
    return list(zip(*(c.to_pylist() for c in table.columns), strict=True)) if table.num_rows else []


def python(path: str) -> Iterator[str]:
    """The Python interface: its list and its verdicts."""
    b, s, _ = rendered(path, False)
    d = diagnosis(path)
    if list(d.todo) != b.todo or d.verdicts != {v["verdict"]: v["ns"] for v in s["verdicts"]}:
        yield "python: another list, or other verdicts"


def products(path: str, full: bool) -> Iterator[str]:
    """Tickets and the answers of the MCP server."""
    b, s, _ = rendered(path, full)
    tickets = {t.cause["cause"]: t for t in compose.make(b, least=0.0)}
    for c in s["causes"]:
        if (t := tickets.get(c["cause"])) is None:
            continue
        saving = f", {phrases.time(c['saved_ns'])} ({percent(c['share'])})" if c["saved_ns"] else ""
        if not t.title.endswith(saving):
            yield f"ticket: {t.title!r} without{saving}"
        text = body(t, "markdown", 65_536)
        if c["saved_ns"] and f"{phrases.time(c['saved_ns'])} of " not in text:
            yield f"ticket: {c['cause']} saves something else"
        yield from (f"ticket: {m} was not filled" for m in PLACEHOLDER.findall(text) if m not in MACROS)
    answer = Answers([ROOT], b=b).diagnose(path, count=20)
    if [(i["title"], i["saved_ns"]) for i in answer["todo"]] != [
        (c["title"], c["saved_ns"]) for c in s["causes"][: len(answer["todo"])]
    ] or answer["headline"] != s["headline"]:
        yield "mcp: another list"


class Answers(Tools, kw_only=True):
    """The MCP server's tools over a result that is there."""

    b: Bundle

    def _diagnosed(self, path: str, device: str, marker: str) -> Any:
        return self.b


def test_every_format_of_every_sample_says_the_same() -> None:
    faults = []
    for name, path in samples():
        full = name in EVERY_FORMAT  # each kind of report with all that it can list
        faults += [f"{name}: {fault}" for fault in (*everywhere(path, full), *python(path), *products(path, full))]
    assert not faults, "\n".join(faults[:40])


@pytest.mark.parametrize(
    ("chosen", "said"), [({"top": 3}, "--top 3"), ({"min_gain": 0.03}, "--min-gain 3%"), ({"top": 0}, "--top 0")]
)
def test_filters_choose_items_and_say_what_they_leave_out(chosen: dict[str, Any], said: str) -> None:
    path = str(ROOT / "sample_captures" / "gpu-trace" / "demo_frame")
    whole, b = diagnosis(path).bundle, triage.diagnose(path, **chosen).bundle
    kept = len(b.todo)
    assert [i["fingerprint"] for i in b.todo] == [i["fingerprint"] for i in whole.todo[:kept]] and kept < len(
        whole.todo
    )
    # findings and markers are those of the items, and the rest of the sum is said
    assert [f["fingerprint"] for f in b.findings] == [f["fingerprint"] for f in whole.findings[: len(b.findings)]]
    assert {f["cause"] for f in b.findings} == {i["cause"] for i in b.todo}
    left = sum(i["saved_ns"] or 0.0 for i in whole.todo[kept:])
    (note,) = b.frame["notes"]
    assert f"{len(whole.todo) - kept} of {len(whole.todo)} items ({show(left, 'ns')})" in note and said in note
    assert b.frame["recoverable_ns"] == whole.frame["recoverable_ns"]
    for form in set(FORMATS) - {"csv"}:  # a table: the command line says it beside
        parts: list[str] = []
        formats.render(b, form, parts.append)
        assert f"{len(whole.todo) - kept} of {len(whole.todo)} items" in words("".join(parts)), form
    with speaking(b.item, b.whose):
        s = summarise(b)
        titles = {m["workload"]["id"]: (m["title"], phrases.back(m)) for m in summarise(whole)["markers"]}
    assert all(titles[m["workload"]["id"]] == (m["title"], phrases.back(m)) for m in s["markers"])
    assert ("No item listed" in s["headline"]) == (not kept) and "hardware limit" not in s["headline"]
