"""Gates and trends (triage-history/1) -> terminal, Markdown, HTML, JUnit or JSON text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from triage.capture.capture import SEP
from triage.files import plain_json
from triage.ground.errors import ReportError
from triage.ground.phrasing import either, first_of, percent, plural, upper_first
from triage.products.history import openmetrics
from triage.products.history.changepoints import ALARMS, SURE
from triage.products.history.gate import undone
from triage.products.history.gate_lines import DIGITS, doubt, frame, is_own, line, now, part, signed, times
from triage.products.history.history_chart import build, chart, date
from triage.products.history.history_result import Gate, Line, Moved
from triage.products.history.record import shown
from triage.products.history.trend import FRAME
from triage.rendering import declared, templates
from triage.rendering.escape import clean, short
from triage.rendering.junit_xml import Case, Failure, Suite, junit_xml
from triage.rendering.labels import HEADS
from triage.rendering.phrases import time

GATE = ("terminal", "html", "markdown", "json", "junit")
TREND = ("terminal", "html", "json", "openmetrics")
DEFAULT_CHANGES = 20  # changes listed
WIDE = 60  # characters of a spark line
NAMED = 2  # markers that a sentence names
HELD = "Changes listed exceed the noise; a smaller step beside one is part of it."
BARS = "▁▂▃▄▅▆▇█"


def as_json(doc: Mapping[str, Any]) -> str:
    """A document as its text."""
    return plain_json.dumps(doc, indent=1) + "\n"


def gate(doc: Gate, form: str, full: bool = False) -> str:
    """The report of a gate; raises ReportError for an unknown format."""
    if form == "json":
        return as_json(doc)
    if form == "junit":
        return _junit(doc)
    if form not in GATE:
        raise ReportError(f"unknown format {form!r}", f"choose {either(GATE)}")
    moved = [*doc["slower"], *doc["faster"]]
    shown_rows = moved if full else moved[:DEFAULT_CHANGES]
    title = f"{doc['of'] or 'Capture'} at {doc['build']['revision'][:12]}"
    words: dict[str, Any] = {
        "title": title,
        "verdict": verdict(doc),
        "rows": [_row(m) for m in shown_rows],
        "caused": any(_row(m)["by"] for m in shown_rows),
        "since": any(m["now_ns"] != m["after_ns"] for m in shown_rows),
        "more": len(moved) - len(shown_rows),
        "failed": doc["failed"],
        "unsure": [doubt(u) for u in (doc["cannot_tell"] if full else doc["cannot_tell"][:DEFAULT_CHANGES])],
        "more_unsure": 0 if full else max(0, len(doc["cannot_tell"]) - DEFAULT_CHANGES),
        "notes": doc["notes"] if doc["builds"] > 1 else [],
        "held": _held(doc),
    }
    if form == "terminal":
        words["lines"] = _lines(doc, shown_rows, words)
        words["title"] = textwrap.fill(f"{title}: {words['verdict']}", 80, break_on_hyphens=False)
    if form == "html":
        return templates.render(declared.templates("history")["gate"], page=_shell(), **words)
    return templates.render(declared.templates("history")[form], **words)


def _shell() -> dict[str, Any]:
    from triage.rendering.html import page  # a terminal needs no pages

    return page.shell((*page.STYLES, "compare.css.j2"))


def verdict(doc: Gate) -> str:
    """One sentence."""
    failing = sum(m["failing"] for m in doc["slower"]) + len(doc["over_budget"])
    if doc["builds"] < 2 and not failing:
        return "first build, nothing to compare with."
    moved = [*doc["slower"], *doc["faster"]]
    own, past = ([m for m in moved if is_own(m, doc) == mine and m["marker"] != [FRAME]] for mine in (True, False))
    partly = [m["marker"] for m in past if m["verdict"] == "slower"]  # of a fix of a part its line says what is left
    against, parts = doc["against"], []
    if not any(is_own(m, doc) for m in moved):
        parts.append("no new change" if moved else f"no change against {against}")
    for word in ("slower", "faster"):
        some = [m for m in own if m["verdict"] == word and (word == "slower" or m["marker"] not in partly)]
        parts += [f"{word} than {against}: {_named(some)}"] if some else []
        parts += _since([m for m in past if m["verdict"] == word], "still slower" if word == "slower" else word)
    parts += [frame(m, doc) for m in moved if m["marker"] == [FRAME]]
    parts += [f"{len(doc['over_budget'])} over budget"] if doc["over_budget"] else []
    parts += [f"{len(doc['cannot_tell'])} inconclusive"] if doc["cannot_tell"] else []
    return ". ".join([parts[0], *map(upper_first, parts[1:])]) + "."


def _named(moved: Sequence[Moved]) -> str:
    """`SSR +31.7 %, Bloom +4.1 % and 2 more`: changes as they are now."""
    return first_of([f"{shown(SEP.join(m['marker']))} {signed(now(m))}" for m in moved], NAMED)


def _since(moved: Sequence[Moved], word: str) -> list[str]:
    """`still slower since c10: SSR +31.7 %`: what builds before the judged one changed."""
    by: dict[str, list[Moved]] = {}
    for m in sorted(moved, key=lambda m: m["by"]["at"]):
        by.setdefault(build(m["by"]), []).append(m)
    return [f"{word} since {name}: {_named(some)}" for name, some in by.items()]


def _held(doc: Gate) -> str:
    counts = f"{plural(doc['builds'], 'build')}, {plural(doc['runs'], 'run')}."
    if doc["builds"] < 2 or not doc["visible"] or not doc["typical"]:
        return counts
    largest, typical = (times(1 + x) if x >= 1 else percent(x) for x in (doc["visible"], doc["typical"]))
    noisiest = short(shown(SEP.join(doc["noisiest"])), 60)
    slow = f"{typical} in a typical marker" + (
        f" ({largest} in {noisiest}, the noisiest)" if typical != largest else ""
    )
    return (
        f"{counts} A slow-down of {slow} is missed in 1 build of {round(1 / SURE):,}; "
        f"false alarms: {round(ALARMS * 100)} build in 100."
    )


def _row(m: Moved) -> dict[str, Any]:
    others = [r[:12] for r in m["between"] if r != m["by"]["revision"]]
    return {
        "verdict": m["verdict"],
        "marker": shown(SEP.join(m["marker"])),
        "before_ns": m["before_ns"],
        "after_ns": m["after_ns"],
        "change": signed(m["change"]),
        "now": signed(now(m)),
        "since": build(m["by"]) + (f" or {', '.join(others[:3])}" if others else ""),
        "date": date(m["by"]["at"]),
        "by": f"{m['title']} (new)" if m["title"] and m["was"] != m["cause"] else "",
    }


def _lines(doc: Gate, moved: Sequence[Moved], words: Mapping[str, Any]) -> list[str]:
    out: list[str] = []
    for m in (m for m in moved if m["marker"] != [FRAME]):  # of the frame the verdict tells all
        out += _wrapped(line(m, doc), "  ")
    if words["more"]:
        out.append(f"  {plural(words['more'], 'more changed marker')}: --full")
    for o in doc["over_budget"]:
        out += _wrapped(f"{o['budget']}: {time(o['ns'])}, budget {time(o['allowed_ns'])}", "  ")
    for u in words["unsure"]:
        out += _wrapped(u, "  ")
    if words["more_unsure"]:
        out.append(f"  {plural(words['more_unsure'], 'more inconclusive marker')}: --full")
    for n in words["notes"]:
        out += _wrapped(f"note: {n}")
    return [*out, *([""] if out else []), *_wrapped(words["held"])]


def _wrapped(text: str, lead: str = "") -> list[str]:
    return textwrap.wrap(
        clean(text), 80, initial_indent=lead, subsequent_indent=lead + "  " if lead else "", break_on_hyphens=False
    )


def _junit(doc: Gate) -> str:
    """A case per marker that moved or is over its budget, and one for the build itself: names that stay."""
    cases = [Case("gate", "no regression", 0.0, None, [verdict(doc), *doc["notes"]])]
    if doc["failed"]:
        cases[0] = Case("gate", "no regression", 0.0, Failure(doc["failed"][0], "regression", doc["failed"]))
    for m in (*doc["slower"], *doc["faster"]):
        *path, name = m["marker"]
        text = line(m, doc)
        failure = Failure(text, "regression", [text]) if m["failing"] else None
        out = [] if failure else [text]
        cases.append(Case(clean(".".join(path)) or "frame", clean(name), (m["after_ns"] or 0) / 1e9, failure, out))
    for o in doc["over_budget"]:
        why = f"{time(o['ns'])}, budget {time(o['allowed_ns'])}"
        cases.append(Case("budget", clean(o["budget"]), o["ns"] / 1e9, Failure(why, "budget", [why])))
    return "".join(junit_xml("triage history gate", [Suite(clean(doc["scope"] or "frame"), cases)]))


def trend(doc: Line, form: str, full: bool = False) -> str:
    """The report of a trend; raises ReportError for an unknown format."""
    if form == "json":
        return as_json(doc)
    if form == "openmetrics":
        return openmetrics.text(doc)
    if form not in TREND:
        raise ReportError(f"unknown format {form!r}", f"choose {either(TREND)}")
    points = doc["points"]
    names = {"frame": "The frame", "cause": f"Cause {doc['what']}"}
    saving = " saving" if doc["of"] == "cause" else ""
    head = names.get(doc["of"]) or (doc["what"] if doc["of"] == "marker" else f"{doc['what']} ({doc['of']})")
    message = f"{head}: no durations."
    heights = [*(m["before_ns"] for m in doc["moved"][:1]), *(m["after_ns"] for m in doc["moved"])]
    # of several markers, what one added another may have saved
    back = set() if doc["of"] not in ("marker", "cause") else undone(np.log([ns or 1.0 for ns in heights]))
    rows = [_row(m) for m in doc["moved"]]
    for i in back:
        rows[i]["change"] += " (cancelled out)"
    if points:
        first, last = points[0], points[-1]
        message = f"{head}: {time(last['ns'], DIGITS)}{saving} at {build(last['build'])}"
        if len(points) > 1 and first["ns"]:
            net = signed(last["ns"] / first["ns"] - 1)
            message += f", {net} since {build(first['build'])}{', where it is new' * doc['new']}"
        message += f" (range {_span([p['ns'] for p in points])}, {plural(len(points), 'build')})."
        kept = [i for i in range(len(rows)) if i not in back]
        if kept:
            is_last = doc["moved"][kept[-1]]["by"] == last["build"]
            latest = rows[kept[-1]]
            message += f" Latest change: {latest['change']} at {latest['since']}{' (one build so far)' * is_last}."
        elif len(points) > 1:
            message += " No lasting change beyond noise."
    largest = [", ".join(map(part, parts)) for parts in doc["parts"]] or [""] * len(doc["moved"])
    if form == "html":
        return templates.render(
            declared.templates("history")["trend"],
            page=_shell(),
            title=f"{head} over {plural(len(points), 'build')}",
            verdict=message,
            caused=any(row["by"] for row in rows),
            chart=chart(doc["points"], doc["moved"]),
            rows=[{**row, "largest": text} for row, text in zip(rows, largest, strict=True)],
            points=[{**p, "date": date(p["build"]["at"]), "name": build(p["build"])} for p in reversed(points)],
            held=HELD,
        )
    lines = _wrapped(message)
    if points:
        newest = points[-WIDE:]
        lines += ["", f"{spark([p['ns'] for p in newest])}  {time(newest[-1]['ns'], DIGITS)}"]
        ends = f"{date(newest[0]['build']['at'])} {newest[0]['build']['revision'][:12]}"
        lines.append(f"{ends} to {date(newest[-1]['build']['at'])} {newest[-1]['build']['revision'][:12]}")
    if doc["moved"]:
        lines += ["", "Changes"]
    steps = list(zip(rows, largest, strict=True))
    for row, text in steps if full else steps[-DEFAULT_CHANGES:]:
        level = f"{row['date']}  level {time(row['before_ns'], DIGITS)} -> {time(row['after_ns'], DIGITS)}"
        lines += _wrapped(f"{level}: {_step(row, text)}", "  ")
    lines += ["", HELD] if doc["moved"] else []
    return "\n".join(lines) + "\n"


def _step(row: Mapping[str, Any], largest: str) -> str:
    by = f", top cause: {short(row['by'], 60)}" if row["by"] else ""
    where = f", {HEADS.largest_in.lower()} {largest}" if largest else ""
    return f"{row['change']} at {row['since']}{where}{by}"


def _span(values: Sequence[float]) -> str:
    return f"{time(min(values), DIGITS)} to {time(max(values), DIGITS)}"


def spark(values: Sequence[float]) -> str:
    """One character per value; of values all alike, the lowest."""
    low, high = min(values), max(values)
    if high - low <= 0.02 * high:
        return BARS[0] * len(values)
    return "".join(BARS[min(len(BARS) - 1, int((v - low) / (high - low) * len(BARS)))] for v in values)
