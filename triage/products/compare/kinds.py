"""What kind of change it is: real, method, hardware, work or noise, each with its evidence; several can hold.

Real is what changed per unit of work beyond noise, once the clock is divided out. Where sides were measured in another
way or on another GPU, only what moved against the other workloads is real: what all share may be the method.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from triage import schema
from triage.capture.arrays import Floats, Masks
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.ground.phrasing import first_of, percent, plural
from triage.ground.units import show
from triage.products.compare.comparability import UUID, devices, other_gpus
from triage.products.compare.compare_result import ALONE, Judged, Kind, Work
from triage.products.compare.item import SHAPE
from triage.products.compare.match import Pairs
from triage.products.compare.side import Side
from triage.products.compare.verdict import UNEQUAL, Verdicts, signed
from triage.products.compare.work import BYTES, OPERATIONS, amounts, chief_rows, counted, differs
from triage.products.noise import FASTER, SAME, SLOWER, student
from triage.rendering.escape import short

DRIVER = "driver"  # as dialects name its version
CLOCK = 0.02  # heuristic: a clock that differs by less is the same setting
FIXED, FREE = 0.002, 3  # part by which a locked clock varies between kernels at most, and how much more a free one does
MANY = 5  # workloads from which on a change that all share differs from changes of each
ALL = 0.75  # part of them that must share it
HALF = 0.5  # of the workloads whose counters move with their times
ALIKE = 0.35  # part of the common change by which theirs may differ
UNEVEN = 1.5  # how much further than normal noise a method may move single workloads
CACHED = 0.05  # points of an L2 hit rate; warm caches add more
COUNTERS = 0.05  # part of the counters that one side lacks
CHANCE = 0.01  # of calling noise real
MIN_ALONE = 0.05  # part of a side's time in workloads that the other lacks
QUIET = "no workload beyond noise"
NAMED = 3
TRIFLE = 0.001  # heuristic: part of the time below which no workload is named
CLOCKS = ("sm.frequency", "vram.frequency")


class Facts(Struct, frozen=True):
    """Figures of all pairs on both sides. log: logarithm of after / before of the times, NaN where unknown.

    limit: standard deviations that noise of so many seldom exceeds; beyond: the same of these, a logarithm. weight: ns
    before, of all calls.
    """

    log: Floats
    changed: Masks
    visible: Floats
    weight: Floats
    limit: float
    beyond: float
    names: list[str]


def kinds(
    d: tuple[Diagnosis, Diagnosis],
    sides: tuple[Side, Side],
    pairs: Pairs,
    verdicts: Verdicts,
    alone: tuple[list[int], list[int]],
    done: Work,
    frame: Judged,
) -> list[Kind]:
    """The kinds that hold, in the order in which they must be known before the next is believed; noise where none does."""
    with np.errstate(all="ignore"):
        log = np.log(verdicts.after_ns / verdicts.before_ns)
    names = [sides[1].who[i].name for i in pairs.after.tolist()]
    if done["unequal"]:
        # copies of other sizes take other times
        log[[sides[1].who[i].kind == "copy" for i in pairs.after.tolist()]] = np.nan
    places = zip(sides, (pairs.before, pairs.after), strict=True)
    weight, later = (np.nan_to_num(s.times.middle[at]) for s, at in places)
    # workloads that take no part of the time decide nothing, however their own time changed
    log[np.maximum(weight, later) < TRIFLE * max(weight.sum(), later.sum())] = np.nan
    changed = verdicts.are(FASTER) | verdicts.are(SLOWER)
    count = int(np.isfinite(log).sum())
    limit = student(1 - CHANCE / 2 / count, 1_000.0) if count >= MANY else 0.0
    facts = Facts(log, changed, verdicts.found.visible, weight, limit, limit * _beyond(verdicts, log), names)
    clocked = bool(np.isfinite(_ratio(sides, pairs, CLOCKS[0])).any())
    method = [*_tools(d), *_counters(sides), *_caches(sides, pairs)]
    versions, other = _versions(d), devices(d)
    gpus = [f"GPU: {differ}" for differ in other]
    gpus += [f"GPU: {', '.join(b)} before, {', '.join(a)} after" for b, a in other_gpus(d)]
    hardware = [*gpus, *filter(None, [versions.pop(DRIVER, "")])]
    versions.pop(UUID, "")
    for m in CLOCKS:
        hardware += _clock(m, sides, pairs, verdicts, frame)
        method += _locked(m, sides)
    shared = _shared(facts)
    if shared is not None and not (clocked or method or hardware or _counters_moved(sides, pairs)):
        many = f"{facts.changed.sum()} of {plural(len(log), 'workload')} changed alike"
        by = signed(float(np.expm1(shared)))
        hardware.append(f"{many} ({by}): suspect clocks, temperature or driver")
    # another GPU changes every workload by another factor
    alike = bool(method) or (shared is not None and bool(hardware) and not clocked)
    real = [] if other else _real(facts, _views(facts, sides, pairs, done["unequal"]), alike)
    rate, whole = done["per_iteration"], []
    if rate and rate["judged"]["verdict"] in (FASTER, SLOWER) and not (method or other):
        whole = [f"time per {rate['unit']} {signed(rate['judged']['change'] or 0.0)}"]
    method += versions.values()  # another version alone decides nothing
    found = [("method", method), ("hardware", hardware), ("work", _work(done, sides, alone)), ("real", [*whole, *real])]
    if not any(evidence for _, evidence in found):
        # many small changes that add up; less than that is one verdict in twenty by noise
        moved = frame["verdict"] in (FASTER, SLOWER) and abs(frame["change"] or 0.0) > CLOCK
        whole = [f"time per frame {signed(frame['change'] or 0.0)}"]
        found = [("real", whole)] if moved else [("noise", [_noise(facts)])]
    above = {
        QUIET,
        *gpus,
        *whole,
        *(map(amounts, chief_rows(done)) if done["unequal"] and frame["speedup"] is not None else ()),
    }
    if len(pairs) < 2 or not frame["measured"]:
        above.update(real)  # the verdicts of single runs say it
    return [
        {"kind": kind, "evidence": evidence, "further": [e for e in evidence if e not in above]}
        for kind, evidence in found
        if evidence
    ]


def _tools(d: tuple[Diagnosis, Diagnosis]) -> list[str]:
    first, second = (sorted({p.capture.input.dialect for p in side.parts}) for side in d)
    return [] if first == second else [f"profiler export: {', '.join(first)} before, {', '.join(second)} after"]


def _versions(d: tuple[Diagnosis, Diagnosis]) -> dict[str, str]:
    """Versions that both sides name and that differ: what has the version -> evidence."""
    before, after = ({k: v for p in side.parts for k, v in p.capture.table.versions.items()} for side in d)
    both = sorted(before.keys() & after.keys())
    return {k: f"{k}: {before[k]} before, {after[k]} after" for k in both if before[k] != after[k]}


def _counters(sides: tuple[Side, Side]) -> list[str]:
    """Other counters are other passes of the profiler, which change caches and clocks."""
    first, second = ({m for p in side.d.parts for m in p.capture.table.columns} for side in sides)
    gone, new = len(first - second), len(second - first)
    if gone + new <= COUNTERS * len(first | second):
        return []
    named = sorted(f"“{schema.get(m).label}”" for m in first ^ second if schema.known(m))
    return [f"counters: {gone} only before, {new} only after ({first_of(named, NAMED)})"]


def _both(sides: tuple[Side, Side], pairs: Pairs, metric: str) -> tuple[Floats, Floats]:
    """A counter of all pairs on both sides: mean of the runs."""
    out = []
    for side, places in zip(sides, (pairs.before, pairs.after), strict=True):
        runs = [
            np.where(rows[places] >= 0, p.capture.facts[metric][rows[places]], np.nan)
            for p, rows in zip(side.d.parts, side.rows, strict=True)
            if metric in p.capture.facts
        ]
        known = np.isfinite(runs).sum(axis=0) if runs else np.zeros(len(places))
        with np.errstate(all="ignore"):
            out.append(np.nansum(runs, axis=0) / known if runs else np.full(len(places), np.nan))
    return out[0], out[1]


def _ratio(sides: tuple[Side, Side], pairs: Pairs, metric: str) -> Floats:
    before, after = _both(sides, pairs, metric)
    with np.errstate(all="ignore"):
        ratio: Floats = after / before
    return ratio


def _clock(metric: str, sides: tuple[Side, Side], pairs: Pairs, verdicts: Verdicts, frame: Judged) -> list[str]:
    """Another clock, with what the change is in the SM's cycles: the verdict is of the time, which a clock can hide."""
    before, after = _both(sides, pairs, metric)
    known = np.isfinite(before) & np.isfinite(after) & (before > 0)
    if not known.any() or abs(float(np.median(after[known] / before[known])) - 1) <= CLOCK:
        return []
    text = _medians(metric, before[known], after[known])
    if metric != CLOCKS[0]:
        return [text]
    sums = ((verdicts.before_ns, before), (verdicts.after_ns, after))
    first, second = (float(np.nansum(t[known] * f[known])) for t, f in sums)
    if not (first and second):
        return [text]
    change = second / first - 1
    hides = frame["verdict"] == SAME and abs(change) > (frame["noise"] or 0.0)
    return [f"{text}; in cycles {signed(change)}{', beyond noise: the clock hides a change' if hides else ''}"]


def _medians(metric: str, before: Floats, after: Floats) -> str:
    """`SM clock: 1.6 GHz before, 1.36 GHz after`."""
    of = schema.get(metric)
    first, second = (show(float(np.median(x)), of.unit) for x in (before, after))
    return f"{of.label}: {first} before, {second} after"


def _locked(metric: str, sides: tuple[Side, Side]) -> list[str]:
    """One side at a clock that does not move, the other at clocks that do: the profiler's clock control."""
    first, second = (
        max((_spread(p.capture.facts[metric]) for p in side.d.parts if metric in p.capture.facts), default=np.nan)
        for side in sides
    )
    if not (min(first, second) <= FIXED and max(first, second) >= FREE * max(min(first, second), FIXED / FREE)):
        return []
    side = "before" if first < second else "after"
    return [f"{schema.get(metric).label}: locked {side}, free on the other side (clock control)"]


def _spread(values: Floats) -> float:
    """Standard deviation over the mean; NaN of few values."""
    values = values[np.isfinite(values)]
    return float(values.std() / values.mean()) if len(values) >= MANY else float("nan")


def _caches(sides: tuple[Side, Side], pairs: Pairs) -> list[str]:
    """L2 hit rates of all kernels that rise or fall together, at equal instructions: caches flushed on one side."""
    before, after = _both(sides, pairs, "l2.hit_rate")
    gap = (after - before)[np.isfinite(after - before)]
    same = _ratio(sides, pairs, "inst.executed")
    same = same[np.isfinite(same)]
    if len(gap) < MANY or len(same) < MANY or np.abs(same - 1).max() > CLOCK:
        return []
    share = max((gap > CACHED).mean(), (gap < -CACHED).mean())
    if share < ALL:
        return []
    way = "higher" if np.median(gap) > 0 else "lower"
    return [f"L2 hit rate {way} in {percent(float(share))} of the workloads at equal instructions (cache control)"]


def _shared(facts: Facts) -> float | None:
    """Logarithm of a change that nearly all of many workloads share; None where they differ."""
    log = facts.log[np.isfinite(facts.log)]
    if len(log) < MANY:
        return None
    middle = float(np.median(log))
    near = np.abs(log - middle) <= np.maximum(ALIKE * abs(middle), CLOCK / 2)
    return middle if abs(middle) > CLOCK and near.mean() >= ALL else None


def _counters_moved(sides: tuple[Side, Side], pairs: Pairs) -> bool:
    """True if the counters of most workloads changed, too: clocks change times alone."""
    moved = np.zeros(len(pairs), dtype=bool)
    for metric in sides[1].metrics:
        if metric in sides[0].metrics and metric not in (*CLOCKS, "gpu.time"):
            before, after = _both(sides, pairs, metric)
            ratio = schema.known(metric) and schema.get(metric).unit == "ratio"
            least = CACHED if ratio else CACHED * np.abs(before)
            moved |= np.abs(after - before) > np.nan_to_num(least, nan=np.inf)
    return bool(moved.mean() > HALF) if len(moved) else False


def _work(done: Work, sides: tuple[Side, Side], alone: tuple[list[int], list[int]]) -> list[str]:
    counted_work = any(r["what"] in OPERATIONS for r in done["rows"])
    differ = [r for r in done["rows"] if differs(r, done["rows"]) and not (counted_work and r["what"] == "threads")]
    if all(r["what"] == BYTES for r in differ):
        differ = []
    out = [amounts(r) for r in differ]
    for word, side, some in zip(("before", "after"), sides, alone, strict=True):
        whole, part = np.nansum(side.times.middle), np.nansum(side.times.middle[some])
        if some and whole and part > MIN_ALONE * whole:
            names = [side.who[i].name for i in sorted(some, key=lambda i: -np.nan_to_num(side.times.middle[i]))]
            out.append(f"{percent(float(part / whole))} of the time {word} is {ALONE[word]}: {first_of(names, NAMED)}")
    return out


def _real(facts: Facts, views: Sequence[Floats], relative: bool) -> list[str]:
    """Workloads that changed beyond noise however their time is counted. views: logarithms of after / before, the time first.

    relative: only against what the others changed by.
    """
    if relative:
        if np.isfinite(facts.log).sum() < MANY:
            return []
        views = [v - np.nanmedian(v) for v in views]
    beyond = facts.changed if len(views) == 1 and not relative else np.isfinite(facts.log)
    with np.errstate(all="ignore"):
        least = np.maximum(np.log1p(np.maximum(facts.visible, CLOCK / 2)), facts.beyond)
        for view in views:
            # what counts beside the time, and what all share, scatter by themselves
            own = facts.limit * _scatter(view) if relative or view is not views[0] else 0.0
            own *= UNEVEN if relative else 1.0
            beyond = beyond & (np.abs(view) > np.maximum(least, own)) & (np.sign(view) == np.sign(views[0]))
    log = views[-1]
    some = sorted(np.flatnonzero(beyond).tolist(), key=lambda i: -abs(log[i]) * facts.weight[i])
    how = " against the others" if relative else ""
    named = [f"{short(facts.names[i], 60)} {signed(float(np.expm1(log[i])))}{how}" for i in some[:NAMED]]
    return [*named, *([f"{len(some) - NAMED} more"] if len(some) > NAMED else [])]


def _views(facts: Facts, sides: tuple[Side, Side], pairs: Pairs, more: bool) -> list[Floats]:
    """The change in time, in cycles where clocks differ, per FLOP, else per thread, where there is more or less work."""
    views = [facts.log]
    clock = _ratio(sides, pairs, CLOCKS[0])
    if np.isfinite(clock).any() and abs(float(np.nanmedian(clock)) - 1) > CLOCK:
        views.append(facts.log + np.log(np.where(np.isfinite(clock) & (clock > 0), clock, 1.0)))
    if not more:
        return views
    threads = np.prod([_ratio(sides, pairs, m) for m in SHAPE], axis=0)
    flops = _flops(sides, pairs)
    amount = np.where(np.isfinite(flops), flops, threads)
    amount = np.where(np.isfinite(amount) & (amount > 0), amount, 1.0)
    if not np.allclose(amount, 1, rtol=UNEQUAL):
        views.append(facts.log - np.log(amount))
    return views


def _flops(sides: tuple[Side, Side], pairs: Pairs) -> Floats:
    """FLOPs of one call of each pair, after / before; NaN where unknown."""
    each = []
    for side, places in zip(sides, (pairs.before, pairs.after), strict=True):
        part, rows = side.d.parts[0], side.rows[0][places]
        all_calls = counted(part, "flop.fp32")[rows] / part.capture.calls[rows]
        each.append(np.where(rows >= 0, all_calls, np.nan))
    with np.errstate(all="ignore"):
        ratio: Floats = each[1] / each[0]
    return ratio


def _scatter(log: Floats) -> float:
    """Standard deviation of most of these values, not less than that of few may be."""
    log = log[np.isfinite(log)]
    return 1.4826 * (1 + 4 / len(log)) * float(np.median(np.abs(log - np.median(log)))) if len(log) else 0.0


def _beyond(verdicts: Verdicts, log: Floats) -> float:
    """Scatter of the differences: of the repeats of all pairs together, else of the pairs among themselves."""
    spread = []
    for n, m in set(zip(verdicts.before.count.tolist(), verdicts.after.count.tolist(), strict=True)):
        if min(n, m) and n + m > 2:
            some = (verdicts.before.count == n) & (verdicts.after.count == m)
            x, y = np.log(verdicts.before.ordered[:n, some]), np.log(verdicts.after.ordered[:m, some])
            free = n + m - 2
            pooled = (n * x.var(axis=0) + m * y.var(axis=0)) / free * (1 / n + 1 / m)
            spread += (pooled / (1 - 2 / (9 * free)) ** 3).tolist()  # from the median of chi squared to its mean
    return float(np.sqrt(np.median(spread))) if spread else _scatter(log)


def _noise(facts: Facts) -> str:
    """Why nothing is called a change: all below what can be seen, or no larger than the pairs scatter among themselves."""
    if several := int(facts.changed.sum()):
        scatter = percent(float(np.expm1(facts.beyond)))
        return f"{plural(several, 'workload')} faster or slower, none beyond what scatter alone explains ({scatter})"
    return QUIET
