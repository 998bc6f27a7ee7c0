"""A comparison document (triage-compare/1) -> terminal, Markdown, HTML, JUnit or JSON text."""

from __future__ import annotations

import json
import textwrap

from triage.ground.errors import ReportError
from triage.ground.wording import plural
from triage.products.compare.compare import change, longer
from triage.products.compare.result import Change, Comparison, Paired
from triage.rendering import declared, templates
from triage.rendering.escape import clean, short
from triage.rendering.junit_xml import Case, Failure, Suite, junit_xml
from triage.rendering.phrases import number, percent, time

FORMATS = ("terminal", "markdown", "html", "json", "junit")
SHORT = 12  # counters listed per pair
LONG = 1_000  # characters of a name in JUnit: test viewers show them whole
CAME = {"below": "less than predicted", "within": "as predicted", "above": "more than predicted"}


def render(doc: Comparison, format: str, full: bool = False) -> str:
    """The report; raises ReportError for an unknown format. full: every pair and counter."""
    if format == "json":
        return json.dumps(doc, ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8", "replace").decode() + "\n"
    if format == "junit":
        return junit(doc)
    if format not in declared.templates("compare"):
        raise ReportError(f"no comparison format is called {format!r}", f"formats: {', '.join(FORMATS)}")
    # a workload that did not change is worth a line only where there are few
    pairs = [
        p for p in doc["pairs"] if full or p["verdict"] != "same" or p["fixed"] or p["new"] or len(doc["pairs"]) <= 5
    ]
    # regressions first, whatever their size: they are why people look
    pairs.sort(key=lambda p: (p["verdict"] != "slower", -abs((p["before_ns"] or 0) - (p["after_ns"] or 0))))
    names = {
        "listed": [_pair(p, full) for p in pairs],
        "hidden": len(doc["pairs"]) - len(pairs),
        "headline": textwrap.fill(headline(doc), 80) if format == "terminal" else headline(doc),
    }
    return templates.render(declared.templates("compare")[format], **{**doc, **names})


def headline(doc: Comparison) -> str:
    """One sentence: did it get faster, by how much, in how many workloads."""
    frame, pairs = doc["frame"], doc["pairs"]
    counts = [
        f"{sum(p['verdict'] == v for p in pairs)} {v}"
        for v in ("faster", "slower", "same")
        if any(p["verdict"] == v for p in pairs)
    ]
    told = (
        f"{plural(len(pairs), 'matched workload')}: {', '.join(counts)}"
        if pairs
        else "no workload of one side is on the other"
    )
    if frame["speedup"] is None:
        return f"{told[0].upper()}{told[1:]}; no times to compare."
    return f"{time(frame['before_ns'])} before, {time(frame['after_ns'])} after: {change(frame)}. {told[0].upper()}{told[1:]}."


def _pair(p: Paired, full: bool) -> dict[str, object]:
    moved = [c for c in p["changes"] if (c["moved"] or full) and c["metric"] != "gpu.time"]
    shown = moved if full else moved[:SHORT]
    rest = len(p["changes"]) - len(shown) - any(c["metric"] == "gpu.time" for c in p["changes"])
    came = p["predicted"] and p["predicted"]["came_true"]
    words = (
        ("fixed", p["fixed"]),
        ("still there", p["remaining"]),
        ("new", p["new"]),
        ("cannot be told", p["unknown"]),
    )
    return {
        **p,
        "where": " / ".join([*p["path"], p["name"]]),
        "more": rest,
        "still": len(moved) == len(shown),
        "shown": [_counter(c) for c in shown],
        "text": _wrap(f"{time(p['before_ns'])} -> {time(p['after_ns'])}: {p['reading']}"),
        "outcomes": [(word, ids) for word, ids in words if ids],
        "came": CAME[came] if came else None,
    }


def _counter(c: Change) -> dict[str, object]:
    before, after = number(c["before"], c["unit"]), number(c["after"], c["unit"])
    line = _wrap(f"{short(c['label'], 26):26} {before:>9} -> {after:9} {c['reading']}", 8)
    return {**c, "before_text": before, "after_text": after, "line": line}


def _wrap(text: str, hang: int = 4) -> str:
    # runs of spaces hold the columns; textwrap keeps them within a line
    return textwrap.fill(text, 80, initial_indent="  ", subsequent_indent=" " * hang, break_on_hyphens=False)


def junit(doc: Comparison) -> str:
    """One test case per pair; a failure where it is slower by more than the threshold (any slower one without)."""
    limit = doc["threshold"] or 0.0
    cases = [_case(p, limit) for p in doc["pairs"]]
    return "".join(junit_xml("triage compare", [Suite("triage compare", cases)]))


def _case(p: Paired, limit: float) -> Case:
    told = f"{time(p['before_ns'])} -> {time(p['after_ns'])}. {p['reading']}"
    group, name = clean(".".join(p["path"]) or "frame")[:LONG], clean(p["name"])[:LONG]
    seconds = (p["after_ns"] or 0) / 1e9
    if p["verdict"] == "slower" and longer(p) - 1 > limit:
        why = f"{longer(p) - 1:.1%} longer, allowed {percent(limit)}"
        return Case(group, name, seconds, Failure(why, "regression", [told]))
    return Case(group, name, seconds, out=[told])
