"""The gate: whether a build is slower than those before it, since which build, and by which top cause.

Rolling: the builds before on the same branch (or on another, `against`); every marker is looked at over all of them,
so a step that one build's few runs cannot show is found a build or two later, and named where it began. Named: the
runs of one build, such as a release, against those of the judged one, at the noise of all builds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from triage.capture.arrays import Floats
from triage.capture.capture import SEP
from triage.document.numbers import number
from triage.ground.phrasing import first_of, percent
from triage.products.history.baseline import builds_before, choose
from triage.products.history.changepoints import (
    KNOWN,
    NOISIEST,
    Levels,
    Limits,
    Shift,
    Sums,
    detectable,
    limit,
    with_frame,
)
from triage.products.history.gate_lines import DIGITS, doubt, is_own, line
from triage.products.history.history_chart import build
from triage.products.history.history_result import SCHEMA, Gate, Moved, Named, Over, Unsure
from triage.products.history.record import names_whole, shown
from triage.products.history.store import Build, Database
from triage.products.history.trend import FRAME, Trend, load, parts_of
from triage.products.noise import FLOOR, MAX_EXTRA_RUNS, UNREPEATED, unmeasured
from triage.products.settings import matches as named_by
from triage.rendering.phrases import time

MAX_BUILDS_REPORTED = 20  # builds for which a change is still reported; older ones are the new level
_SUSPECT = 0.05  # chance, over all markers, that noise alone lists an inconclusive one
MAX_NAMED_MARKERS = 2  # markers that a note names
Changes: TypeAlias = tuple[list[Moved], list[Moved], tuple[int, int, int] | None]  # the last: builds of the frame's


def gate(
    db: Database,
    found: Sequence[Build],
    judged: Build,
    *,
    against: str = "",
    baseline: str = "",
    threshold: float = 0.0,
    floor: float = FLOOR,
    budgets: Mapping[str, float] | None = None,
    strict: bool = False,
) -> Gate:
    """Judge a build. found: all builds of its scope and device. against: branch that is the baseline; default its own.

    baseline: label or commit of one build to compare with instead. threshold: least slow-down that fails. budgets: glob
    over markers -> most ns. strict: inconclusive markers fail, too. Raises TriageError for an unknown branch or build.
    """
    fixed = choose([b for b in found if b.id != judged.id], baseline) if baseline else None
    order, late = builds_before(found, judged, against, fixed)
    if fixed:
        words = build(named(fixed))
    else:
        count = len(order) - 1
        words = f"the previous {count} builds" if count > 1 else "the previous build"
        words += f" on {against}" if against else ""
    doc = judge(load(db, order), words, order.index(fixed) if fixed else None, threshold, floor, budgets or {})
    doc["notes"][:0] = late
    if strict:
        doc["failed"] += _open(doc)
    return doc


def judge(
    trend: Trend,
    against: str,
    first: int | None = None,
    threshold: float = 0.0,
    floor: float = FLOOR,
    budgets: Mapping[str, float] = MappingProxyType({}),
) -> Gate:
    """Judge the last build of a trend. against: the baseline in words. first: the build that is the baseline, None for all."""
    level, steps = with_frame(trend.times, trend.of, len(trend.builds), floor)
    slower, faster, span = (
        _rolling(trend, level, steps, floor) if first is None else _fixed(trend, level, steps, floor, first)
    )
    if (trend.times[:, :-1] == trend.times[:, -1:]).all(axis=0).any():  # a frame that is one marker
        slower, faster = ([m for m in side if m["marker"] != [FRAME]] for side in (slower, faster))
        span = None
    for m in slower:
        m["failing"] = m["change"] > threshold
    seen = detectable(level, steps, max(floor, threshold), first)
    parts = parts_of(trend, steps, span) if span else []
    for m in (*slower, *faster):
        if m["marker"] == [FRAME] and (mine := [p["by"] for p in parts if p["adds_ns"] * m["change"] > 0]):
            by = next(b for b in trend.builds if b.key.revision == mine[0])
            m["by"], m["between"] = named(by), [by.key.revision]
    key = trend.builds[-1].key
    doc: Gate = {
        "schema": SCHEMA,
        "kind": "gate",
        "scope": key.scope,
        "of": key.scope if names_whole(key.scope, trend.markers) else "",
        "device": key.device,
        "build": named(trend.builds[-1]),
        "against": against,
        "builds": len(trend.builds),
        "runs": len(trend.of),
        "visible": _visible(seen, np.max),
        "typical": _visible(seen, np.median),
        "noisiest": trend.markers[int(np.argmax(np.where(np.isfinite(seen), seen, -1)))].split(SEP),
        "slower": slower,
        "faster": faster,
        "since": trend.builds[span[1] - 1].key.revision if span else "",
        "parts": parts,
        "cannot_tell": _unsure(trend, level, {tuple(m["marker"]) for m in (*slower, *faster)}, threshold, first),
        "over_budget": _over(trend, budgets),
        "notes": _notes(trend, level, slower, seen, [SEP.join(p["marker"]) for p in parts]),
        "failed": [],
    }
    doc["failed"] = _failed(doc)
    kept = [m["by"] for m in slower if m["failing"]]
    if kept and not any(is_own(m, doc) for m in slower):
        last = max(kept, key=lambda b: b["at"])["revision"][:12]
        doc["notes"].append(f"kept on purpose? --baseline {last} accepts all changes up to that build")
    return doc


def named(b: Build) -> Named:
    """A build as plain data."""
    return {
        "revision": b.key.revision,
        "branch": b.key.branch,
        "at": b.at,
        "labels": list(b.labels),
        "runs": len(b.runs),
    }


def _rolling(trend: Trend, level: Levels, steps: Sequence[Shift], floor: float) -> Changes:
    """Lasting changes of the last builds; those of the frame as one, from before the first that is left until now."""
    last = len(trend.builds)
    out: tuple[list[Moved], list[Moved]] = ([], [])
    span = None
    for m in sorted({s.marker for s in steps if trend.middle(s.marker, last - 1, last) > 0}):
        mine = [s for s in steps if s.marker == m]
        ends = [0, *(s.at for s in mine), last]
        levels = [trend.middle(m, *pair) for pair in pairwise(ends)]
        gone = undone(np.log(levels), math.log1p(floor)) - {i for i, s in enumerate(mine) if s.last == last - 1}
        kept = [
            i
            for i, s in enumerate(mine)
            if s.at >= last - MAX_BUILDS_REPORTED and i not in gone and (levels[-1] > levels[i]) == (s.change > 0)
        ]
        if trend.markers[m] == FRAME and kept:
            first = next((i for i in kept if mine[i].change > 0), kept[0])
            way = (ends[first], mine[first].at, mine[-1].at)
            if step := _step(Sums(level), limit(level), m, way, mine[first:], floor):
                span = way
                out[0 if step.change > 0 else 1].append(moved(trend, step, way[0], (way[2], last), way[1]))
            continue
        for i in kept:
            s = mine[i]
            out[0 if s.change > 0 else 1].append(moved(trend, s, ends[i]) | {"now_ns": number(levels[-1], 1)})
    return sorted(out[0], key=_weight), sorted(out[1], key=_weight), span


def undone(level: Floats, close: float = math.log1p(FLOOR)) -> set[int]:
    """Slow-downs that a later step took back, with that step, and gains that one did. level: logarithms, step i from i to i + 1."""
    out: set[int] = set()
    i, count = 0, len(level) - 1
    while i < count:
        back = next((k for k in range(count - 1, i, -1) if abs(level[k + 1] - level[i]) <= close), i)
        end = back if level[back + 1] > level[back] else back + 1  # a slow-down stays one
        out.update(range(i, end) if back > i else ())
        i = max(i + 1, end)
    return out


def _weight(m: Moved) -> tuple[bool, float, list[str]]:
    # a marker says more than the frame it stands in
    return m["marker"] == [FRAME], -abs((m["after_ns"] or 0) - (m["before_ns"] or 0)), m["marker"]


def moved(trend: Trend, s: Shift, start: int, after: tuple[int, int] | None = None, until: int | None = None) -> Moved:
    """A step as plain data. start, until: builds of the level before it, default until s.at; after: those with the new one."""
    b, after, until = trend.builds, after or (s.at, s.until), s.at if until is None else until
    levels = trend.middle(s.marker, start, until), trend.middle(s.marker, *after)
    change = levels[1] / levels[0] - 1  # of the levels that are shown, by whose means the step was found
    cause, was = trend.cause_of(s.marker, *after), trend.cause_of(s.marker, start, until)
    return {
        "marker": trend.markers[s.marker].split(SEP),
        "verdict": "slower" if s.change > 0 else "faster",
        "before_ns": number(levels[0], 1),
        "after_ns": number(levels[1], 1),
        "now_ns": number(levels[1], 1),
        "change": round(change, 6),
        "interval": [round(min(s.low, change), 6), round(max(s.high, change), 6)],
        "by": named(b[s.at]),
        "between": [b[i].key.revision for i in range(s.first, s.last + 1)],
        "seen": b[s.seen].key.revision,
        "cause": cause[0] if cause else None,
        "title": cause[1] if cause else None,
        "was": was[0] if was else None,
        "failing": False,
    }


def _fixed(trend: Trend, level: Levels, steps: Sequence[Shift], floor: float, first: int) -> Changes:
    """The last build against build `first`: by the levels around steps in between, else by the runs of these two."""
    far, sums, last = limit(level), Sums(level), len(trend.builds) - 1
    out: tuple[list[Moved], list[Moved]] = ([], [])
    span = None
    for m in range(len(trend.markers)):
        own = [s for s in steps if s.marker == m]
        mine = [s for s in own if s.at > first]
        ways = [(first, first + 1, last)]
        if mine:
            ways.insert(0, (max((s.at for s in own if s.at <= first), default=0), mine[0].at, mine[-1].at))
        for way in ways:
            if (step := _step(sums, far, m, way, mine, floor)) is None:  # also where it did not run on one side
                continue
            if trend.markers[m] == FRAME:
                span = (first, first + 1, way[2])
            out[0 if step.change > 0 else 1].append(moved(trend, step, way[0], (way[2], last + 1), way[1]))
            break
    return sorted(out[0], key=_weight), sorted(out[1], key=_weight), span


def _step(
    sums: Sums, far: Limits, m: int, way: tuple[int, int, int], mine: Sequence[Shift], floor: float
) -> Shift | None:
    """The change of a marker from builds start..until-1 to those from `at` on (way), None within noise. mine: its steps in between."""
    start, until, at = way
    last = len(sums.weight) - 2
    row = (np.array([x]) for x in (start, at, last + 1, m, until))
    gap, error, assumed = (float(x[0]) for x in sums.step(*row))
    half = float(far.half(np.array(error), np.array(assumed), m))
    if abs(gap) <= max(half, math.log1p(floor)):
        return None
    best = max((s for s in mine if (s.change > 0) == (gap > 0)), key=lambda s: abs(s.change), default=None)
    # no single step: it crept in, or there are too few runs to say where
    where = (best.at, best.seen, best.first, best.last) if best else (last, last, until, last)
    return Shift(m, *where, math.expm1(gap), math.expm1(gap - half), math.expm1(gap + half), last + 1)


def _unsure(
    trend: Trend, level: Levels, reported: set[tuple[str, ...]], threshold: float, first: int | None
) -> list[Unsure]:
    """Markers of the last build that look slower, inconclusively; the largest difference first."""
    last, count = len(trend.builds) - 1, len(trend.markers)
    if last < 1:
        return []
    start, end = (0, last) if first is None else (first, first + 1)
    begin, at, stop, until = (np.full(count, x) for x in (start, last, last + 1, end))
    gap, error, assumed = Sums(level).step(begin, at, stop, until=until)
    # where noise is an assumption, what two captures of one build seldom differ by
    near = limit(level, _SUSPECT / count).measured * error
    near = np.where(level.free >= 1, np.minimum(near, limit(level).assumed * assumed), np.log1p(UNREPEATED * FLOOR))
    half = limit(level).half(error, assumed, np.arange(count))
    suspect = np.flatnonzero((gap > np.log1p(max(threshold, 2 * FLOOR))) & (gap > near) & np.isfinite(half))
    out: list[Unsure] = []
    for m in sorted(suspect.tolist(), key=lambda m: -gap[m]):
        marker = trend.markers[m].split(SEP)
        if tuple(marker) not in reported:
            low, high = (math.expm1(min(700.0, float(x[m]))) for x in (gap - half, gap + half))
            change, needs = math.expm1(float(gap[m])), _needs(trend, level, m, float(gap[m]), float(error[m]))
            out.append({"marker": marker, "change": round(change, 6), "interval": [round(low, 6), round(high, 6)], "needs": needs, "measured": bool(level.free[m] >= 1)})  # fmt: skip
    return out


def _needs(trend: Trend, level: Levels, m: int, gap: float, error: float) -> int | None:
    """Further runs of the last build that would decide on a marker; None where no number would."""
    if level.free[m] < 1:
        return 2  # runs that tell the noise
    runs, own = len(trend.builds[-1].runs), float(level.variance[-1, m])
    # how many runs in all would bring the limit below what is seen
    room = (gap / float(limit(level).measured[m])) ** 2 - (error**2 - own)
    needs = max(1, math.ceil(own * runs / room) - runs) if room > 0 else None
    return None if needs is None or needs > MAX_EXTRA_RUNS else needs


def _over(trend: Trend, budgets: Mapping[str, float]) -> list[Over]:
    """Markers of the last build over their budgets; a budget holds for all markers below it together."""
    last = len(trend.builds) - 1
    out: list[Over] = []
    for glob, most in budgets.items():
        mine = [m for m, name in enumerate(trend.markers) if matches(name, glob)]
        rows = trend.times[trend.of == last][:, mine]
        if not mine or not np.isfinite(rows).any():
            continue
        ns = float(np.median(np.nansum(rows, axis=1)))
        if ns > most:
            out.append({"marker": [glob], "budget": glob, "allowed_ns": most, "ns": round(ns, 1)})
    return out


def matches(marker: str, glob: str) -> bool:
    """True if a glob names this marker (levels joined by SEP). The frame is `frame`."""
    if marker == FRAME:
        return glob.lower() in ("frame", FRAME)
    return named_by(marker.split(SEP), glob)


def _visible(seen: Floats, of: Callable[[Floats], np.floating[Any]]) -> float | None:
    """The largest or typical detectable change of the markers that can be judged, a share; None where none can."""
    known = seen[np.isfinite(seen)]
    return number(float(of(known))) if len(known) else None


def _notes(trend: Trend, level: Levels, slower: Sequence[Moved], seen: Floats, named: Sequence[str]) -> list[str]:
    out = []
    last = len(trend.builds) - 1
    there, before = (np.isfinite(level.mean[i]) for i in (last, last - 1))
    if not last:
        out.append("first build: nothing to compare with")
    elif not level.free[there].any():
        fails = f"a build fails beyond {percent(NOISIEST)} per run"
        out.append(f"{unmeasured(FLOOR)}; {fails}; add three runs per build")
    elif not level.spread[there].any():
        out.append(f"judged by the runs: the spread between builds is measured from {KNOWN + 2} builds on")
    alone = np.flatnonzero(there & ~np.isfinite(seen)).tolist()
    if last and (alone := [m for m in alone if trend.markers[m] not in named]):
        out.append(f"new: {_with_times(trend, alone, last)}")
    if last and (gone := np.flatnonzero(before & ~there).tolist()):
        out.append(f"gone: {_with_times(trend, gone, last - 1)}")
    for revision in dict.fromkeys(m["by"]["revision"] for m in slower):
        mine = [m for m in slower if m["by"]["revision"] == revision]
        middle = float(np.median([m["change"] for m in mine]))
        alike = sum(abs(m["change"] - middle) < 0.5 * middle for m in mine)
        if len(mine) >= 5 and len(mine) > 0.5 * len(trend.markers) and 5 * alike > 4 * len(mine):
            slowed = f"{len(mine)} of {len(trend.markers)} markers slowed alike in {revision[:12]}"
            out.append(f"{slowed}: suspect clocks, driver or machine first")
    return out


def _with_times(trend: Trend, markers: Sequence[int], at: int) -> str:
    """`Frame / Fog, 2 ms`: markers of one build, the longest first."""
    ns = {m: trend.middle(m, at, at + 1) for m in markers}
    names = [f"{shown(trend.markers[m])}, {time(ns[m], DIGITS)}" for m in sorted(ns, key=lambda m: -ns[m])]
    return first_of(names, MAX_NAMED_MARKERS)


def _failed(doc: Gate) -> list[str]:
    over = [f"{o['budget']}: {time(o['ns'])}, over its budget of {time(o['allowed_ns'])}" for o in doc["over_budget"]]
    own_first = sorted(doc["slower"], key=lambda m: not is_own(m, doc))
    return [line(m, doc) for m in own_first if m["failing"]] + over


def _open(doc: Gate) -> list[str]:
    """What fails where inconclusive markers do."""
    if doc["builds"] > 1 and doc["visible"] is None:
        return ["inconclusive: no marker of this build has a baseline"]
    return [doubt(u) for u in doc["cannot_tell"]]
