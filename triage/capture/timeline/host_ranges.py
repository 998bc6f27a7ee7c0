"""What the program says its host did while a device was idle: ranges of the launching threads, by name."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.timeline.gaps import Gaps
from triage.capture.trace_nouns import API, HOST, Calls, Trace

MAX_NAMED = 3  # names in a sentence
MIN_SHARE = 0.05  # heuristic: of the host's idle time; what is less explains nothing


def during(trace: Trace, gaps: Gaps, blamed: dict[int, Indices]) -> list[tuple[str, int]]:
    """(name, ns) of the innermost ranges in idle time of host code, longest first; what takes little is left out.

    In a gap that is the host's in part, that part is taken as spread evenly.
    """
    ranges = trace.ranges
    if ranges is None or HOST not in blamed or not len(ranges):
        return []
    mine = blamed[HOST] + blamed.get(API, 0)
    if gaps.loading is not None:
        mine = mine - np.minimum(blamed[HOST], gaps.loading)
    times, reached = np.stack([gaps.start, gaps.end], axis=1).ravel(), np.cumsum(mine)
    upto = np.stack([reached - mine, reached], axis=1).ravel()
    call = trace.operations.call[gaps.ended_by]
    rows = _innermost(ranges, np.unique(trace.calls.thread[call[call >= 0]]))
    inside = np.interp(ranges.end[rows], times, upto) - np.interp(ranges.start[rows], times, upto)
    total = np.bincount(ranges.name[rows], inside, len(ranges.names))
    longest = np.argsort(-total, kind="stable")[:MAX_NAMED]
    return [(ranges.names[i], int(total[i])) for i in longest if total[i] >= max(MIN_SHARE * reached[-1], 1)]


def _innermost(ranges: Calls, threads: Indices) -> Indices:
    """Ranges of some threads that hold no other one."""
    rows = np.flatnonzero(np.isin(ranges.thread, threads))
    rows = rows[np.lexsort((-ranges.end[rows], ranges.start[rows], ranges.thread[rows]))]
    thread, start, end = ranges.thread[rows], ranges.start[rows], ranges.end[rows]
    alone = np.ones(len(rows), dtype=bool)
    alone[:-1] = (thread[1:] != thread[:-1]) | (start[1:] >= end[:-1])
    return rows[alone]
