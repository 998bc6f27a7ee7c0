"""What each queue of a GPU did over a frame: when it worked, beside which others, and when it waited for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from triage.capture.arrays import Floats, Indices

PARTS = 60  # equal parts of the span in which a lane is drawn
LISTED = 8  # queues of a capture, the busiest


class Lane(NamedTuple):
    """Times in ns. busy: union of the queue's work; beside: of that with work on another queue; waits: without work while
    another queue has some; parts: share of each of PARTS equal parts of the span in which it works."""

    name: str
    busy: float
    beside: float
    waits: float
    parts: list[float]


def lanes(names: Sequence[str], queue: Indices, start: Floats, end: Floats) -> tuple[float, list[Lane]]:
    """(span of all work in ns, the busiest queues in their order); (0, []) for fewer than two with work.

    queue: position in names of the queue of each piece of work; start, end: ns.
    """
    good = np.isfinite(start) & np.isfinite(end) & (end > start)
    queue, start, end = queue[good], start[good], end[good]
    found = [q for q in range(len(names)) if (queue == q).any()]
    if len(found) < 2:
        return 0.0, []
    whole = _union(start, end)
    first, last = float(whole[0][0]), float(whole[1][-1])
    edges = np.linspace(first, last, PARTS + 1)
    total = _length(whole)
    out = []
    for q in found:
        mine = _union(start[queue == q], end[queue == q])
        others = _union(start[queue != q], end[queue != q])
        busy = _length(mine)
        worked = _until(mine, edges)
        parts = np.diff(worked) / max((last - first) / PARTS, 1e-9)
        drawn = np.clip(parts, 0, 1).round(4).tolist()
        out.append(Lane(names[q], busy, busy + _length(others) - total, total - busy, drawn))
    kept = sorted(out, key=lambda lane: -lane.busy)[:LISTED]
    return last - first, [lane for lane in out if lane in kept]


def by_shares(lengths: Floats, shares: Mapping[str, Floats]) -> tuple[float, list[Lane]]:
    """Lanes of ranges that follow each other, of which only the part is known in which each queue works: drawn at their starts.

    lengths: ns per range. shares: queue -> part of each range; a queue that never works is left out.
    """
    start = np.cumsum(lengths) - lengths
    works = {name: np.clip(np.nan_to_num(part), 0, 1) for name, part in shares.items()}
    names = [name for name, part in works.items() if (part * lengths).any()]
    queue = np.repeat(np.arange(len(names)), len(lengths))
    ends = [start + works[name] * lengths for name in names]
    return lanes(names, queue, np.tile(start, len(names)), np.concatenate(ends) if ends else np.empty(0))


def _union(start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Intervals without overlap, in order."""
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    begins = np.concatenate([[True], start[1:] > reach[:-1]])
    ends = np.concatenate([np.flatnonzero(begins)[1:] - 1, [len(start) - 1]])
    return start[begins], reach[ends]


def _length(intervals: tuple[Floats, Floats]) -> float:
    return float((intervals[1] - intervals[0]).sum())


def _until(intervals: tuple[Floats, Floats], times: Floats) -> Floats:
    """Time covered by the intervals before each of some times."""
    begin, end = intervals
    before = np.concatenate([[0.0], np.cumsum(end - begin)])
    at = np.searchsorted(begin, times, "right")
    inside: Floats = before[at] - np.where(at > 0, np.maximum(end[at - 1] - times, 0.0), 0.0)
    return inside
