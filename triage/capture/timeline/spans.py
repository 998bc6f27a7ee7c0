"""Arithmetic of intervals: unions, how much of one lies in another, what was going on at an instant.

All times are whole ns; intervals are given as two arrays, and a union is one, disjoint and in order.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Codes, Floats, Indices


class Union(Struct, frozen=True):
    """Disjoint intervals in order. first: which of the intervals it was made of (in their order by start) opens each."""

    start: Indices
    end: Indices
    first: Indices
    before: Indices  # length of all intervals in front of each, and of all at the end

    @property
    def length(self) -> int:
        """Time inside, ns."""
        return int(self.before[-1])

    def until(self, times: Indices) -> Indices:
        """Time inside the union up to each of some instants."""
        if not len(self.start):
            return np.zeros(len(times), dtype=np.int64)
        at = np.searchsorted(self.start, times, "right") - 1
        inside = np.clip(times, self.start[at], self.end[at]) - self.start[at]
        return np.where(at < 0, 0, self.before[at] + inside)

    def shared(self, other: Union) -> int:
        """Time inside both."""
        return int((other.until(self.end) - other.until(self.start)).sum())


def union(start: Indices, end: Indices) -> Union:
    """The union of intervals; those that only touch are one. `first` counts them in the order of their starts."""
    if not len(start):
        none = np.zeros(0, dtype=np.int64)
        return Union(none, none, none, np.zeros(1, dtype=np.int64))
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    fresh = np.empty(len(start), dtype=bool)
    fresh[0] = True
    np.greater(start[1:], reach[:-1], out=fresh[1:])
    first = np.flatnonzero(fresh)
    begin, finish = start[first], reach[np.append(first[1:] - 1, len(start) - 1)]
    return Union(begin, finish, first, np.concatenate([[0], np.cumsum(finish - begin)]))


def shared_out(start: Indices, end: Indices, blocks: Union) -> tuple[Floats, int]:
    """(each interval's time where n at once count a n-th each, time with two or more at once); blocks: their union."""
    own = (end - start).astype(np.float64)
    sizes = np.diff(np.append(blocks.first, len(start)))
    crowded = np.add.reduceat(end - start, blocks.first) > blocks.end - blocks.start
    some = np.flatnonzero(np.repeat(crowded, sizes))
    if not len(some):
        return own, 0
    times = np.concatenate([start[some], end[some]])
    order = np.argsort(times, kind="stable")
    step = np.where(order < len(some), 1, -1)
    times = times[order]
    running, length = np.cumsum(step)[:-1], np.diff(times)
    # time as one of n at once feels it, up to each boundary
    felt = np.concatenate([[0.0], np.cumsum(np.where(running > 0, length / np.maximum(running, 1), 0.0))])
    own[some] = felt[np.searchsorted(times, end[some])] - felt[np.searchsorted(times, start[some])]
    return own, int(length[running > 1].sum())


class Steps:
    """What one thread was doing at any instant: of the classes that hold there, the smallest number; `idle` where none does."""

    def __init__(self, start: Indices, end: Indices, kind: Codes, idle: int) -> None:
        times = np.concatenate([start, end])
        order = np.argsort(times, kind="stable")
        opens = order < len(start)
        whose = kind[np.where(opens, order, order - len(start))]
        self.idle = idle
        self.times = times[order]
        label = np.full(len(times), idle, dtype=np.int8)
        self.kinds = np.flatnonzero(np.bincount(kind, minlength=1)).tolist() if len(kind) else []
        for k in reversed(self.kinds):
            mine = whose == k
            label[np.cumsum(np.where(mine, np.where(opens, 1, -1), 0)) > 0] = k
        self.label = label
        self._length: Indices = np.diff(self.times, append=self.times[-1:]).astype(np.int64)

    def at(self, times: Indices) -> Codes:
        """The class at each of some instants; an interval holds from its start to just before its end."""
        if not len(self.times):
            return np.full(len(times), self.idle, dtype=np.int8)
        where = np.searchsorted(self.times, times, "right") - 1
        out: Codes = np.where(where < 0, np.int8(self.idle), self.label[where])
        return out

    def spent(self, begin: Indices, end: Indices) -> dict[int, Indices]:
        """Class -> time in it within each window, for the classes of the thread; the rest of a window is `idle`."""
        if not len(self.times):
            return {}
        out: dict[int, Indices] = {}
        (a, rest_a), (b, rest_b) = self._place(begin), self._place(end)
        for k in self.kinds:
            mine = self.label == k
            total: Indices = np.concatenate([[0], np.cumsum(np.where(mine, self._length, 0))])
            mine = np.append(mine, False)  # for instants before the first boundary, which are placed at -1
            until_b, until_a = total[b] + np.where(mine[b], rest_b, 0), total[a] + np.where(mine[a], rest_a, 0)
            out[k] = until_b - until_a
        return out

    def _place(self, times: Indices) -> tuple[Indices, Indices]:
        """(boundary before each instant, time since it); what lies before the first is put there."""
        at = np.maximum(np.searchsorted(self.times, times, "right") - 1, 0)
        return at, np.maximum(times - self.times[at], 0)


def spread(edges: Indices, start: Indices, end: Indices, weight: Indices) -> Floats:
    """Weight between neighbouring edges, where each of some disjoint, ordered intervals spreads its own evenly."""
    if not len(start):
        return np.zeros(len(edges) - 1)
    times = np.stack([start, end], axis=1).ravel()
    total = np.cumsum(weight)
    reached = np.stack([total - weight, total], axis=1).ravel()
    return np.diff(np.interp(edges, times, reached))
