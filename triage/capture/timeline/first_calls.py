"""Idle time of a device while the host does what it does once, such as the first launch of a kernel or filling an empty queue, and stalls."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.timeline.gaps import Gaps
from triage.capture.trace_nouns import FEW, KERNEL, Trace

# heuristics: before a first launch the host loads, compiles or tunes if it takes this long, ns, and so many times the median of its like
MIN_ONCE_NS, MIN_TIMES = 100_000, 5
# heuristics: a thread that lost its core waits for a time slice, 1 ms or more, where operators take 5 to 50 us
MIN_STALL_NS, MIN_STALL_TIMES = 1_000_000, 20
# heuristics: with nearly all of its time in the first fifth, the host is ahead ever after
MAX_FILLING, MIN_EARLY = 0.2, 0.95


def beyond_usual(trace: Trace, gaps: Gaps, host: Indices, rows: Indices) -> tuple[int, int]:
    """(ns that pass once, ns in operators that stall); host: ns of each gap in the host's code; rows: operations of the device, by their starts."""
    ops, ends = trace.operations, gaps.ended_by
    if not host.any():
        return 0, 0
    filled = gaps.start[0] + MAX_FILLING * (gaps.end[-1] - gaps.start[0])
    filling, later = gaps.start < filled, ops.call[rows[ops.start[rows] >= filled]]
    # one call that launches a whole graph says nothing of who is ahead
    ahead = len(np.unique(later[later >= 0])) >= FEW and host[filling].sum() >= MIN_EARLY * host.sum()
    if trace.grace is not None and ahead:
        return int(host[filling].sum()), 0
    kinds = [ops.name] if trace.operator is None else [ops.name, trace.operator]
    excess, stalled = np.zeros((2, len(ends)), dtype=np.int64)
    inside = gaps.inside(*trace.framework) if trace.framework is not None else 0 * host
    still = (host >= MIN_STALL_NS) & (2 * inside >= host)
    for kind in kinds:
        words, first, launches = np.unique(kind[rows], return_index=True, return_counts=True)
        opens = np.isin(ends, rows[first[(words >= 0) & (launches > 1)]])
        order = np.argsort(kind[ends], kind="stable")  # gaps of one word beside each other
        of_gaps = kind[ends[order]]
        for i in np.flatnonzero((opens | still) & (ops.kind[ends] == KERNEL) & (host >= MIN_ONCE_NS)).tolist():
            like = order[slice(*np.searchsorted(of_gaps, [kind[ends[i]], kind[ends[i]] + 1]))]
            others = host[like[like > i if opens[i] else like != i]]
            usual = float(np.median(others)) if len(others) else 0.0
            if opens[i] and host[i] >= MIN_TIMES * usual:
                excess[i] = max(excess[i], int(host[i] - usual))
            elif len(others) > 1 and host[i] >= MIN_STALL_TIMES * usual:
                stalled[i] = max(stalled[i], int(host[i] - usual))
    stalled[excess > 0] = 0
    # until the last first call, others are slow for the same reasons
    warm = int(np.flatnonzero(excess).max(initial=-1)) + 1
    return int(excess.sum() + stalled[:warm].sum()), int(stalled[warm:].sum())
