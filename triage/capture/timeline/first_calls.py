"""Idle time of a device while the host does what it does once: the first launch of a kernel, or filling a queue that a capture found empty."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Indices, Masks
from triage.capture.timeline.gaps import Gaps
from triage.capture.trace_nouns import KERNEL, Trace

# heuristics: before a first launch the host loads, compiles or tunes if it takes this long, ns, and so many times the median of its like
LONG, TIMES = 100_000, 5
# heuristics: with nearly all of its time in the first fifth, the host is ahead ever after
FILLING, NEARLY = 0.2, 0.95


def once_ns(trace: Trace, gaps: Gaps, host: Indices, rows: Indices) -> int:
    """ns that pass once; host: ns of each gap in the host's code; rows: operations of the device, by their starts."""
    ops, ends = trace.operations, gaps.ended_by
    filling = gaps.start < gaps.start[0] + FILLING * (gaps.end[-1] - gaps.start[0])
    if trace.grace is not None and host[filling].sum() >= NEARLY * host.sum():
        return int(host[filling].sum())
    kinds = [ops.name] if trace.operator is None else [ops.name, trace.operator]
    found = 0
    for i in np.flatnonzero((host >= LONG) & (ops.kind[ends] == KERNEL)).tolist():
        known = [kind for kind in kinds if kind[ends[i]] >= 0]
        found += max(_excess(kind[rows] == kind[ends[i]], rows, i, ends, host) for kind in known)
    return found


def _excess(alike: Masks, rows: Indices, gap: int, ends: Indices, host: Indices) -> int:
    """ns of a gap before the first of some alike operations beyond the median gap before the others; 0 for any other gap."""
    same = rows[alike]
    if len(same) < 2 or same[0] != ends[gap]:
        return 0
    later = host[gap + 1 :][np.isin(ends[gap + 1 :], same)]
    usual = float(np.median(later)) if len(later) else 0.0
    return int(host[gap] - usual) if host[gap] >= TIMES * usual else 0
