"""A comparison document (triage-compare/1) -> terminal, Markdown, HTML, JUnit or JSON text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from triage import dialects
from triage.files import plain_json
from triage.ground.errors import ReportError
from triage.ground.units import show
from triage.ground.voice import names_of, speaking, voice
from triage.ground.wording import either, percent, plural, upper_first, whole_percent
from triage.products.compare import drawings
from triage.products.compare.promise import REACHES_NOTHING, TOO_WIDE, UNSURE, UNTRIED, WIDEST
from triage.products.compare.result import Change, Comparison, Judged, Paired, Row
from triage.products.compare.verdict import change, longer, regressed, signed, spread
from triage.products.noise import SAME, SLOWER, UNKNOWN, unknown
from triage.rendering import declared, templates
from triage.rendering.escape import clean, short
from triage.rendering.html.packed import blob
from triage.rendering.html.page import GRID_SCRIPTS, GRID_STYLES, shell
from triage.rendering.junit_xml import Case, Failure, Suite, junit_xml
from triage.rendering.phrases import number, time

FORMATS = ("terminal", "markdown", "html", "json", "junit")
FEW = 5  # pairs that are all shown, changed or not
CARDS = 60  # pairs whose counters the page shows without --full: a card is a hundred elements
SHORT = 12  # counters listed per pair
LONG = 1_000  # characters of a name in JUnit: test viewers show them whole
CAME = {
    "below": "less than predicted",
    "within": "as predicted",
    "above": "more than predicted",
    TOO_WIDE: f"the prediction was too wide to tell: more than {whole_percent(WIDEST)} of the time lies inside it",
    REACHES_NOTHING: "the prediction was too wide to tell: no effect at all, within the noise, would have met it as well",
    UNSURE: "the runs cannot tell whether it came true",
    UNTRIED: "not put to the test, what promised it is still there",
}


def render(doc: Comparison, format: str, full: bool = False) -> str:
    """The report; raises ReportError for an unknown format. full: every pair and counter."""
    if format == "json":
        return _json(doc)
    if format == "junit":
        return junit(doc)
    with speaking(_noun(doc), _whose(doc)):
        return _written(doc, format, full)


def _json(doc: Comparison) -> str:
    """The document; where it lists everything, its lists say what the totals say."""
    whole = all(doc["totals"][k] == len(doc[k]) for k in ("pairs", "unmatched"))
    return "".join(plain_json.entries({k: v for k, v in doc.items() if k != "totals" or not whole})) + "\n"


def _whose(doc: Comparison) -> tuple[str, ...]:
    """Whose words fit: those of the captures' GPUs, where all agree."""
    found = {names_of(c["setting"]) for c in (*doc["before"], *doc["after"])}
    return found.pop() if len(found) == 1 else ()


def _written(doc: Comparison, format: str, full: bool) -> str:
    if format not in declared.templates("compare"):
        raise ReportError(f"unknown format {format!r}", f"choose {either(FORMATS)}")
    pairs = [p for p in doc["pairs"] if full or len(doc["pairs"]) <= FEW or _worth(p, doc["margin"])]
    # regressions first, whatever their size: they are why people look; then what may become one
    order = {SLOWER: 0, UNKNOWN: 2}
    pairs.sort(key=lambda p: (order.get(p["verdict"], 1), -abs((p["before_ns"] or 0) - (p["after_ns"] or 0))))
    listed = [_pair(p, full) for p in pairs]
    names: dict[str, object] = {
        "listed": listed,
        "hidden": len(doc["pairs"]) - len(pairs),
        "noise_words": _filled(_noise(doc), format),
        "frame_remarks": [_filled(f"{_whole(doc).capitalize()}, {r}.", format) for r in doc["frame"]["remarks"]],
        "warned": [_filled(f"WARNING: {w}.", format) for w in doc["warnings"]],
        "unlisted": [_filled(text, format) for text in _unlisted(doc)],
        "nouns": voice(),
        "strip": [_figure(r) for r in doc["timeline"]],
        "headline": _filled(headline(doc), format),
        "verdict": (doc["outside"] or {"workloads": doc["frame"]})["workloads"]["verdict"],
    }
    if format == "html":
        names |= _page(doc, pairs, listed, full)
    return templates.render(declared.templates("compare")[format], **{**doc, **names})


def _page(doc: Comparison, pairs: Sequence[Paired], listed: Sequence[dict[str, Any]], full: bool) -> dict[str, object]:
    """What only the page shows: drawings and their common scales."""
    most = max((ns or 0.0 for p in pairs for ns in (p["before_ns"], p["after_ns"])), default=0.0)
    reach, cards = drawings.reach(pairs), len(listed) if full else CARDS
    scale = f"\u2212{reach * 100:.0f} to +{reach * 100:.0f} %"
    return {
        "page": shell((*GRID_STYLES, "compare.css.j2"), (*GRID_SCRIPTS, "pairs.js.j2")),
        "draw": {"look": drawings.look, "pair": drawings.pair, "change": drawings.change},
        "most_ns": most,
        "reach": reach,
        "scale": scale,
        "packed": Markup(blob(_packed(doc, listed, cards, most, reach, scale))),
        "counts": list(doc["totals"]["verdicts"].items()),
        "cards": cards,
        "explained": any(_told(p) for p in listed),
    }


def _packed(
    doc: Comparison, listed: Sequence[dict[str, Any]], cards: int, most: float, reach: float, scale: str
) -> dict[str, object]:
    """The pairs as columns, for a table whose rows exist while they are seen."""
    verdicts = sorted({p["verdict"] for p in listed})
    intervals = [p["interval"] or (None, None) for p in listed]
    return {
        "item": voice().item.capitalize(), "most": most, "reach": reach, "margin": doc["margin"], "scale": scale,
        "verdicts": verdicts, "verdict": [verdicts.index(p["verdict"]) for p in listed],
        "name": [short(p["name"], LONG) for p in listed], "path": [short(" / ".join(p["path"]), LONG) for p in listed],
        "before": [p["before_ns"] for p in listed], "after": [p["after_ns"] for p in listed],
        "change": [p["change"] for p in listed], "changed": [p["changed"] for p in listed],
        "low": [low for low, _ in intervals], "high": [high for _, high in intervals],
        "why": [clean(p["why"]) for p in listed], "card": [n if n <= cards and _told(p) else 0 for n, p in enumerate(listed, 1)],
    }  # fmt: skip


def _told(p: dict[str, Any]) -> bool:
    """Is there more to say of a pair than its times?"""
    return any(p[k] for k in ("shown", "predicted", "outcomes", "remarks"))


def _figure(r: Row) -> dict[str, str]:
    """A row of two timelines in words."""
    change = "new" if r["ratio"] is None else "gone" if not r["after"] else signed(r["ratio"] - 1)
    return {"what": r["what"], "before": show(r["before"] or 0.0, r["unit"]), "after": show(r["after"] or 0.0, r["unit"]), "change": change}  # fmt: skip


def _filled(text: str, format: str) -> str:
    return textwrap.fill(text, 80, break_on_hyphens=False) if format == "terminal" else text


def _worth(p: Paired, margin: float) -> bool:
    """Is a pair worth its lines? What did not change, or cannot be told and looks small, is not."""
    if p["fixed"] or p["new"] or (p["verdict"] == UNKNOWN and p["remarks"]):
        return True
    return abs(longer(p) - 1) > margin if p["verdict"] == UNKNOWN else p["verdict"] != SAME


def _unlisted(doc: Comparison) -> list[str]:
    """How much was left out of a document of very many pairs."""
    of = doc["totals"]
    pairs, alone = (of[k] - len(doc[k]) for k in ("pairs", "unmatched"))
    said = [
        f"{plural(pairs, 'pair')} of {of['pairs']:,} judged and counted, but not listed: of so many only those that matter most are (--full lists all).",
        f"{plural(alone, _noun(doc))} of {of['unmatched']:,} without a counterpart not listed: they take less time than those that are.",
    ]
    return [text for count, text in zip((pairs, alone), said, strict=True) if count]


def _noise(doc: Comparison) -> str:
    """How the verdicts were come by: the last line of every report."""
    runs = "Changes are parts of the time before: \u221220 % takes a fifth less. "
    runs += f"{plural(len(doc['before']), 'run')} before, {len(doc['after'])} after"
    if not doc["frame"]["measured"]:
        return (
            f"{runs}: the noise was not measured; less than {percent(3 * doc['noise_floor'])} is taken for it. "
            "Repeats tell more: triage compare --before A... --after B..."
        )
    return (
        f"{runs}: each verdict comes from the spread of the runs, so that of all of them one is wrong in twenty "
        f"comparisons at most; same means no change of {percent(doc['margin'])} or more."
    )


def failed(doc: Comparison) -> str:
    """One line that names what took longer by more than was allowed; "" where nothing did."""
    limit = doc["threshold"]
    if limit is None or not doc["regressions"]:
        return ""
    bad = sorted((p for p in doc["pairs"] if regressed(p, limit)), key=lambda p: -longer(p))
    named = [f"{' / '.join([*p['path'], p['name']])} {change(p)}" for p in bad[:3]] or [
        f"{_whole(doc)} {change(doc['frame'])}"
    ]
    count = doc["totals"]["regressed"]
    more = f" and {count - 3:,} more" if count > 3 else ""
    return f"failed on regression, allowed {percent(limit)}: {'; '.join(named)}{more}"


def open_questions(doc: Comparison) -> str:
    """One line for a gate whose runs cannot tell about something that looks too slow; "" where there is nothing."""
    limit = doc["threshold"]
    if limit is None:
        return ""
    asked: list[tuple[str, Judged]] = [(p["name"], p) for p in doc["pairs"]]
    asked = [(n, j) for n, j in [*asked, (_whole(doc), doc["frame"])] if j["verdict"] == UNKNOWN]
    asked = [(n, j) for n, j in asked if longer(j) - 1 > limit]
    if not asked:
        return ""
    name, worst = max(asked, key=lambda a: longer(a[1]))
    # those that are not listed count as well
    count = doc["totals"]["open"] + sum(j is doc["frame"] for _, j in asked)
    return f"{plural(count, 'workload')} looks slower than allowed, but the runs cannot tell; first {name}: {change(worst)}"


def headline(doc: Comparison) -> str:
    """One sentence: did it get faster, by how much, in how many workloads."""
    frame, of = doc["frame"], doc["totals"]
    counts = [f"{n:,} {v}" for v, n in of["verdicts"].items()]
    if of["verdicts"].get(UNKNOWN):
        counts[-1] += f" ({_needs(of['needs'])})"
    noun = _noun(doc)
    told = (
        f"{plural(of['pairs'], f'matched {noun}')}: {', '.join(counts)}"
        if of["pairs"]
        else f"no {noun} of one side is on the other"
    )
    if frame["speedup"] is None:
        return f"{told[0].upper()}{told[1:]}; no times to compare."
    said = f"{time(frame['before_ns'])} before, {time(frame['after_ns'])} after: {change(frame)}"
    if apart := doc["outside"]:
        work = apart["workloads"]
        said = (
            f"The workloads took {time(work['before_ns'])} before, {time(work['after_ns'])} after: {change(work)}. "
            f"With what lies under none of them, {time(apart['before_ns'])} before and {time(apart['after_ns'])} after, "
            f"the whole took {time(frame['before_ns'])} before, {time(frame['after_ns'])} after"
        )
    return f"{said}. {told[0].upper()}{told[1:]}."


def _whole(doc: Comparison) -> str:
    return "all kernels together" if _noun(doc) == "kernel" else "the whole frame"


def _noun(doc: Comparison) -> str:
    return dialects.noun(c["dialect"] for c in (*doc["before"], *doc["after"]))


def _needs(half: int | None) -> str:
    """`half of them need at most 2 more runs`."""
    if half is None:
        return "no number of runs would tell"
    return unknown(half).partition("(")[2].rstrip(")").replace("needs", "half of them need at most")


def _pair(p: Paired, full: bool) -> dict[str, Any]:
    moved = [c for c in p["changes"] if (c["moved"] or full) and c["metric"] != "gpu.time"]
    shown = moved if full else moved[:SHORT]
    rest = len(p["changes"]) - len(shown) - any(c["metric"] == "gpu.time" for c in p["changes"])
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
        "why": _why(p, moved),
        "text": _wrap(f"{time(p['before_ns'])} -> {time(p['after_ns'])}: {p['reading']}"),
        "remarks_text": [_wrap(r) for r in p["remarks"]],
        "outcomes": [(word, ids) for word, ids in words if ids],
        "promise": upper_first(promise(p)),
        "promise_text": _wrap(promise(p)),
        "changed": "\u2013" if p["change"] is None else signed(p["change"]),
    }


def _why(p: Paired, moved: Sequence[Change]) -> str:
    """What explains a pair, in a cell: the factors of its time, else the counters that moved most."""
    said = next((r for r in p["remarks"] if r.startswith("time x ")), "")
    told = [f"{c['label']} {number(c['before'], c['unit'])} \u2192 {number(c['after'], c['unit'])}" for c in moved[:2]]
    return said or ", ".join(told) or ("nothing moved" if p["verdict"] == SAME else "")


def promise(p: Paired) -> str:
    """What was predicted, what came, and what follows; "" where nothing was."""
    if not (said := p["predicted"]):
        return ""
    low, high = (end or 0.0 for end in said["interval"])
    text = f"predicted time {spread(low, high)}, likely {signed(said['change'] or 0.0)} ({said['rule']})"
    if word := CAME.get(said["doubt"] or said["came_true"] or ""):
        text += f"; came {signed(longer(p) - 1)}: {word}"
    return text


def _counter(c: Change) -> dict[str, object]:
    before, after = number(c["before"], c["unit"]), number(c["after"], c["unit"])
    line = _wrap(f"{short(c['label'], 26):26} {before:>9} -> {after:9} {c['reading']}", 8)
    return {**c, "before_text": before, "after_text": after, "line": line}


def _wrap(text: str, hang: int = 4) -> str:
    # runs of spaces hold the columns; textwrap keeps them within a line
    return textwrap.fill(text, 80, initial_indent="  ", subsequent_indent=" " * hang, break_on_hyphens=False)


def junit(doc: Comparison) -> str:
    """One test case per listed pair; a failure where it is slower by more than the threshold (any slower one without)."""
    limit = doc["threshold"] or 0.0
    cases = [_case(p, limit) for p in doc["pairs"]]
    cases += _rest(doc, sum(c.failure is not None for c in cases))
    return "".join(junit_xml("triage compare", [Suite("triage compare", cases)]))


def _rest(doc: Comparison, failed: int) -> list[Case]:
    """One case for all that is not listed. failed: listed pairs that are slower than allowed."""
    if not (told := _unlisted(doc)):
        return []
    more = doc["totals"]["regressed"] - failed
    why = f"{plural(more, 'pair')} that took longer than allowed not listed"
    return [Case("triage compare", "what is not listed", 0.0, Failure(why, "regression", told) if more else None, told)]


def _case(p: Paired, limit: float) -> Case:
    told = f"{time(p['before_ns'])} -> {time(p['after_ns'])}. {p['reading']}"
    group, name = clean(".".join(p["path"]) or "frame")[:LONG], clean(p["name"])[:LONG]
    seconds = (p["after_ns"] or 0) / 1e9
    if regressed(p, limit):
        why = f"time {signed(longer(p) - 1)}, allowed {percent(limit)}"
        return Case(group, name, seconds, Failure(why, "regression", [told]))
    return Case(group, name, seconds, out=[told])
