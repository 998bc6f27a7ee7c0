"""How much work each side did: counts before times, and rates per iteration or launch where they differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Indices, Masks
from triage.capture.capture import Capture
from triage.capture.trace_nouns import KERNEL, DeviceTimeline, Trace
from triage.derive.vendor import of_kernels
from triage.diagnosis.diagnosis_result import Diagnosis, Part
from triage.document.numbers import number
from triage.ground.columns import is_column
from triage.ground.units import show
from triage.products.compare.compare_result import Rate, Row, Work, row
from triage.products.compare.item import SHAPE
from triage.products.compare.match import Pairs
from triage.products.compare.side import Side
from triage.products.compare.verdict import Limits, Verdicts, judge, steady
from triage.products.noise import remarks
from triage.rendering.phrases import time

MIN_REPEATS = 4  # of fewer repeats nothing is known; of those that a framework marks, one will do
# part of the kernels that recur one period later, beyond what chance makes of so few names (Cohen's kappa)
MIN_RECURRING = 0.875
SHORTEST = 3  # kernels of a sequence
NAMES = 64  # kernels, by how often they ran, whose distances are tried as periods
MAX_NAMED_ITERATIONS = 3  # outlying iterations that are named
CALLS = ("kernels", "launches", "calls")
OPERATIONS = ("FLOPs of operators", "FLOPs", "FLOPs (FP64)")
BYTES = "DRAM bytes"  # caches change them as well: they show no other work by themselves
# amounts of what a kernel executes, which other code changes for the same work -> amounts of which one must move with them
BORNE_OUT_BY = {
    "FLOPs": (BYTES, "threads"),
    "FLOPs (FP64)": (BYTES, "threads"),
    "threads": (BYTES, "FLOPs", "FLOPs (FP64)"),
}
ONE = {
    "kernels": "kernel",
    "launches": "launch",
    "calls": "call",
    "draws": "draw",
    "threads": "thread",
    "FLOPs of operators": "FLOP",
    "FLOPs": "FLOP",
    "FLOPs (FP64)": "FP64 FLOP",
}
MIN_AGREEMENT = 0.75  # of the logarithm of a ratio, by another that bears it out


def counted(p: Part, metric: str) -> Floats:
    """A counter of all workloads of a capture, over all their calls, measured or computed; NaN where unknown."""
    values = p.view[metric]
    return values if is_column(values) else np.full(len(p.capture), np.nan)


class Found(Struct, frozen=True):
    """What one side did: counts (what -> (unit, number)), and its iterations, of each capture."""

    counts: dict[str, tuple[str, float]]
    loops: list[Iterations]


def work(
    d: tuple[Diagnosis, Diagnosis], sides: tuple[Side, Side], pairs: Pairs, verdicts: Verdicts, limits: Limits
) -> Work:
    """Counts of both sides, and the change per unit of work. verdicts: on the pairs, per launch where counts differ."""
    before, after = (_side(x, side, at) for x, side, at in zip(d, sides, (pairs.before, pairs.after), strict=True))
    rows: list[Row] = []
    for what, (unit, count) in before.counts.items():
        if what in after.counts:
            rows.append(row(what, unit, count, after.counts[what][1]))
    loops = _changed_most(d, [before.loops, after.loops])
    # sequences of other kernels are other iterations
    alike = all(loops) and {(x.unit, x.kernels) for x in loops[0]} == {(x.unit, x.kernels) for x in loops[1]}
    if alike:
        rows.insert(0, row(f"{loops[0][0].unit}s", "count", *(median(len(x.times) for x in side) for side in loops)))
    weighted = _weighted(sides, pairs, verdicts)
    most = _chief(rows, weighted)
    ratio = most["ratio"] if most else None
    launches = most is not None and most["what"] in CALLS
    unequal = most is not None and (ratio is None or not steady(ratio - 1) or (launches and not steady(weighted - 1)))
    window = _window(d)
    return {
        "rows": rows,
        "what": most["what"] if most else None,
        "ratio": ratio,
        "weighted": number(weighted, 4),
        "unequal": unequal,
        "window": None if window is None else number(window, 4),
        "per_iteration": _per_iteration(loops, limits) if alike else None,
        "per_launch": _per_launch(sides, pairs, verdicts) if unequal and launches else None,
        "per_unit": number(window / ratio - 1) if unequal and not launches and window and ratio else None,
    }


def amounts(of: Row) -> str:
    """`kernels: 4,010 before, 3,587 after`."""
    return f"{of['what']}: {show(of['before'] or 0.0, of['unit'])} before, {show(of['after'] or 0.0, of['unit'])} after"


def chief_rows(done: Work) -> list[Row]:
    """The amounts of unequal work that the headline names: what stands for all, and the number of marked steps."""
    rate, marked = done["per_iteration"], ""
    if rate and not rate["kernels"]:  # of as many marked steps, other counts are another way to the same work
        marked = f"{rate['unit']}s"
    return [
        r for w in (done["what"], marked) for r in done["rows"] if r["what"] == w and (w != marked or r["ratio"] != 1)
    ]


def _changed_most(d: tuple[Diagnosis, Diagnosis], loops: list[list[Iterations]]) -> list[list[Iterations]]:
    """The sequences of the device on which their time changed most; these ones of captures without several devices."""
    if not all(x.device for side in loops for x in side):
        return loops
    found = [loops]
    for key, _ in d[0].parts[0].capture.table.trace.devices if d[0].parts[0].capture.table.trace else ():
        sides = [[one for p in x.parts if (one := iterations(p.capture, key))] for x in d]
        if [len(side) for side in sides] == [len(side) for side in loops]:
            found.append(sides)
    alike = [x for x in found if all(x) and len({one.kernels for side in x for one in side}) == 1]

    def change(sides: list[list[Iterations]]) -> float:
        before, after = (median(median(one.times) for one in side) for side in sides)
        return round(abs(math.log(after / before)), 2) if before and after else 0.0

    return max(alike, key=change, default=loops)


def _chief(rows: Sequence[Row], weighted: float) -> Row | None:
    """The amount that stands for all: calls where their numbers differ, else the operations, else the threads that do."""
    found = {r["what"]: r for r in rows}
    calls = next((found[w] for w in CALLS if w in found), None)
    if calls and (calls["ratio"] is None or not steady(calls["ratio"] - 1) or not steady(weighted - 1)):
        return calls
    known = [found[w] for w in OPERATIONS if w in found] or [found[w] for w in ("draws", "threads") if w in found]
    return next((r for r in known if r["ratio"] is not None and differs(r, rows)), calls)


def differs(one: Row, rows: Sequence[Row]) -> bool:
    """True for an amount of other work: it changed, and of the amounts that would change with it one did, or none is known.

    Atomics written as additions are more FLOPs, a row shared by a workgroup is more threads, both for the same bytes.
    """
    ratio = one["ratio"]
    if ratio is None or ratio <= 0:
        return True
    if steady(ratio - 1):
        return False
    others = [r["ratio"] for r in rows if r["what"] in BORNE_OUT_BY.get(one["what"], ()) and r["ratio"]]
    return not others or any(math.log(x) / math.log(ratio) >= MIN_AGREEMENT for x in others)


def equal(rows: Sequence[Row]) -> bool:
    """True where counted operations or bytes are the same on both sides."""
    return any(r["what"] in (*OPERATIONS, BYTES) and r["ratio"] is not None and steady(r["ratio"] - 1) for r in rows)


def _weighted(sides: tuple[Side, Side], pairs: Pairs, verdicts: Verdicts) -> float:
    """Calls after over calls before, each at the time that one took before; 1 where none differ."""
    some = verdicts.per_call & np.isfinite(verdicts.before_ns)
    before, after = (s.calls.middle[at] for s, at in zip(sides, (pairs.before, pairs.after), strict=True))
    first = np.nansum(np.where(some, verdicts.before_ns * before, verdicts.before_ns))
    second = np.nansum(np.where(some, verdicts.before_ns * after, verdicts.before_ns))
    return float(second / first) if first > 0 else 1.0


def _side(d: Diagnosis, side: Side, matched: Indices) -> Found:
    """What one side did, outside timelines in matched workloads alone: one that came or went is a change, no amount."""
    found: dict[str, tuple[str, float]] = {}
    some = [_leaves(p.capture, rows[matched]) for p, rows in zip(d.parts, side.rows, strict=True)]
    for what, unit, of in _measures():
        values = [of(p, leaf) for p, leaf in zip(d.parts, some, strict=True)]
        if values and all(v > 0 for v in values):
            found[what] = unit, median(values)
    loops = [one for p in d.parts if (one := iterations(p.capture))]
    return Found(found, loops if len(loops) == len(d.parts) else [])


def _leaves(c: Capture, rows: Indices) -> Masks:
    if c.timeline:
        return c.leaf
    return c.leaf & np.isin(np.arange(len(c)), rows)


def _measures() -> Iterator[tuple[str, str, Callable[[Part, Masks], float]]]:
    """(what, unit, how): amounts of work that no speed changes, in some workloads."""
    yield "kernels", "count", lambda p, _: sum(x.kernels for x in _devices(p.capture))
    yield "launches", "count", lambda p, leaf: _calls(p.capture, leaf) if of_kernels(p.capture.input.tells) else 0
    yield "calls", "count", lambda p, leaf: 0 if of_kernels(p.capture.input.tells) else _calls(p.capture, leaf)
    yield "draws", "count", lambda p, leaf: _total(p, leaf, "draw.count")
    yield "copies", "count", lambda p, _: sum(x.copies for x in _devices(p.capture))
    yield "bytes copied", "byte", lambda p, _: sum(x.h2d_bytes + x.d2h_bytes + x.d2d_bytes for x in _devices(p.capture))
    yield "threads", "count", _threads
    yield "FLOPs of operators", "count", lambda p, _: _operators(p.capture)
    yield "FLOPs", "count", lambda p, leaf: _total(p, leaf, "flop.fp32")
    yield "FLOPs (FP64)", "count", lambda p, leaf: _total(p, leaf, "flop.fp64")
    yield BYTES, "byte", lambda p, leaf: _total(p, leaf, "vram.bytes")


def _calls(c: Capture, leaf: Masks) -> float:
    return 0.0 if c.timeline else float(c.calls[leaf].sum())


def _devices(c: Capture) -> Sequence[DeviceTimeline]:
    return c.timeline.devices if c.timeline else ()


def _operators(c: Capture) -> float:
    return sum((o.flops or 0.0) * o.calls for o in c.table.trace.operators) if c.table.trace else 0.0


def _threads(p: Part, leaf: Masks) -> float:
    c = p.capture
    if not all(m in c.facts for m in SHAPE):
        return 0.0
    return float(np.nansum(np.prod([c.facts[m][leaf] for m in SHAPE], axis=0) * c.calls[leaf]))


def _total(p: Part, leaf: Masks, metric: str) -> float:
    return float(np.nansum(counted(p, metric)[leaf]))


def _window(d: tuple[Diagnosis, Diagnosis]) -> float | None:
    """Length of the measured window after over that before: span of all devices, else the frame."""
    lengths = []
    for side in d:
        times = [
            sum(x.span_ns for x in c.timeline.devices) if c.timeline else c.frame_ns
            for c in (p.capture for p in side.parts)
        ]
        lengths.append(median(times) if times else 0.0)
    return lengths[1] / lengths[0] if all(lengths) else None


def _per_iteration(loops: list[list[Iterations]], limits: Limits) -> Rate:
    """Iterations of one capture are repeats; of several captures, their medians are."""
    one = all(len(side) == 1 for side in loops)
    before, after = (side[0].times if one else [median(x.times) for x in side] for side in loops)
    named = [
        f"{side[0].unit} {n} {word}: {time(ns)}, median {time(median(side[0].times))}"
        for word, side in zip(("before", "after"), loops, strict=True)
        for n, ns in side[0].outliers[:MAX_NAMED_ITERATIONS]
        if one
    ]
    return {
        "unit": loops[0][0].unit,
        "kernels": loops[0][0].kernels,
        "device": loops[0][0].device,
        "judged": judge(before, after, limits),
        "outliers": named,
    }


def _per_launch(sides: tuple[Side, Side], pairs: Pairs, verdicts: Verdicts) -> float | None:
    """Change of the time that the launches before would take now: each pair's time per launch, weighted by its launches."""
    known = np.isfinite(verdicts.before_ns) & np.isfinite(verdicts.after_ns) & (verdicts.before_ns > 0)
    if not known.any():
        return None
    calls = sides[0].calls.middle[pairs.before][known]
    each = np.where(verdicts.per_call[known], calls, 1.0)
    before, after = verdicts.before_ns[known] * each, verdicts.after_ns[known] * each
    return number(float(after.sum() / before.sum()) - 1)


class Iterations(Struct, frozen=True):
    """What repeats in a capture. unit: step, frame or sequence; times: of each, ns. kernels: of one sequence; device: of several, the one it runs on."""

    unit: str
    times: list[float]
    kernels: int = 0
    device: str = ""

    @property
    def outliers(self) -> list[tuple[int, float]]:
        """(number, from 1, and time in ns) of those that took much longer or shorter than the others."""
        far, _ = remarks([t for t in self.times if t > 0])
        return [(i, t) for i, t in enumerate(self.times, 1) if any(abs(t - f) <= 1e-9 * f for f in far)]


def iterations(c: Capture, device: str | None = None) -> Iterations | None:
    """The iterations of a capture; None where it shows none. device: whose sequences, None for the one that works longest."""
    if c.frames is not None and len(c.frames) >= MIN_REPEATS:
        return Iterations("frame", [float(t) for t in c.frames])
    if (trace := c.table.trace) is None:
        return None
    if trace.steps:
        return Iterations("step", [float(s.ns) for s in trace.steps])
    return _sequences(trace, device)


def _sequences(trace: Trace, device: str | None) -> Iterations | None:
    """Repeats of a sequence of kernels in the stream that works longest, of one device or of all."""
    ops = trace.operations
    mine = [i for i, (key, _) in enumerate(trace.devices) if device in (None, key)]
    rows = np.flatnonzero((ops.kind == KERNEL) & np.isin(ops.device, mine))
    if len(rows) < 2 * MIN_REPEATS:
        return None
    streams, of = np.unique(np.stack([ops.device[rows], ops.stream[rows]]), axis=1, return_inverse=True)
    most = np.bincount(of.ravel(), (ops.end - ops.start)[rows], streams.shape[1]).argmax()
    rows = rows[of.ravel() == most]
    rows = rows[np.argsort(ops.start[rows], kind="stable")]
    name = ops.name[rows]
    if not (period := _period(name)):
        return None
    # what runs once per sequence marks its start, wherever kernels were left out or added
    anchor = next((n for n, k in Counter(name.tolist()).items() if abs(k - len(name) / period) < 1), None)
    times = np.diff(ops.start[rows[name == anchor]]).astype(np.float64).tolist()
    device = trace.devices[int(ops.device[rows[0]])][0] if len(np.unique(ops.device)) > 1 else ""
    return Iterations("sequence", times, period, device) if len(times) >= MIN_REPEATS - 1 else None


def _period(name: Indices) -> int:
    """Kernels after which most of the names recur; 0 where they do not."""
    tried: Counter[int] = Counter()
    for kernel, count in Counter(name.tolist()).most_common(NAMES):
        if count >= MIN_REPEATS:
            tried.update(np.diff(np.flatnonzero(name == kernel)).tolist())
            tried.update([len(name) // count])
    chance = float(np.square(np.bincount(name) / len(name)).sum())
    for period in sorted(p for p, _ in tried.most_common(NAMES) if SHORTEST <= p <= len(name) // MIN_REPEATS):
        if float((name[period:] == name[:-period]).mean()) - chance >= MIN_RECURRING * (1 - chance):
            return period
    return 0
