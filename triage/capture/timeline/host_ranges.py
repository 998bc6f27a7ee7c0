"""What the host did while a device was idle: operators that compute on it, or ranges that the program marked, by name."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.timeline.gaps import Gaps
from triage.capture.trace_nouns import Calls, Trace

MAX_NAMED = 3  # names in a sentence
MIN_SHARE = 0.05  # heuristic: of the host's idle time; what is less explains nothing
# heuristic: of it; then such operators, or calls of the operating system, explain it, and no range around them
MAIN_SHARE = 0.5


def during(trace: Trace, gaps: Gaps, mine: Indices) -> tuple[int, list[tuple[str, int]]]:
    """(ns of host code in idle time that computes on the host, (name, ns) of what explains that time, longest first).

    mine: ns of each gap in the host's code, spread evenly over it. Of ranges the innermost count.
    """
    if not mine.any():
        return 0, []
    times, reached = np.stack([gaps.start, gaps.end], axis=1).ravel(), np.cumsum(mine)
    upto = np.stack([reached - mine, reached], axis=1).ravel()
    call = trace.operations.call[gaps.ended_by]
    threads = np.unique(trace.calls.thread[call[call >= 0]])

    def named(ranges: Calls | None) -> tuple[int, list[tuple[str, int]]]:
        if ranges is None or not len(ranges):
            return 0, []
        rows = _innermost(ranges, threads)
        inside = np.interp(ranges.end[rows], times, upto) - np.interp(ranges.start[rows], times, upto)
        total = np.bincount(ranges.name[rows], inside, len(ranges.names))
        longest = [i for i in np.argsort(-total, kind="stable") if total[i] >= max(MIN_SHARE * reached[-1], 1)]
        return int(inside.sum()), [(ranges.names[i], int(total[i])) for i in longest[:MAX_NAMED]]

    computed, operators = named(trace.host_work)
    mainly = [(computed, operators), named(trace.system)]
    return computed, next((names for ns, names in mainly if ns >= MAIN_SHARE * reached[-1]), named(trace.ranges)[1])


def _innermost(ranges: Calls, threads: Indices) -> Indices:
    """Ranges of some threads that hold no other one."""
    rows = np.flatnonzero(np.isin(ranges.thread, threads))
    rows = rows[np.lexsort((-ranges.end[rows], ranges.start[rows], ranges.thread[rows]))]
    thread, start, end = ranges.thread[rows], ranges.start[rows], ranges.end[rows]
    alone = np.ones(len(rows), dtype=bool)
    alone[:-1] = (thread[1:] != thread[:-1]) | (start[1:] >= end[:-1])
    return rows[alone]
