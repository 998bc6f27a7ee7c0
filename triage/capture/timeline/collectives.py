"""Kernels in which devices wait for each other: how long each waited for the last to come.

All devices leave a collective at about the same time, so the device that came last runs it shortest; what the others
take longer they waited. The n-th launch of a kernel on one device belongs to the n-th on the others. On one device alone some
launches may take longer than the median of their like: a link does not change, a rank comes late. The first launch of a
record waits for profilers to start, and those of a program's start for the slowest to come up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.trace_nouns import KERNEL, DeviceTimeline, Trace
from triage.ground.kernel_names import is_collective

# heuristics: of fewer launches the median tells little, and medians of a few us are of messages of a few bytes; where more than a
# fourth of the launches take 10 times as long, the messages differ and not the ranks
MIN_LIKE = 5
MIN_MEDIAN_NS = 100_000
LARGER, MAX_LARGER_SHARE = 10, 0.25


def kernels(trace: Trace) -> Indices:
    """Rows of the kernels of collectives, in the order of their starts."""
    ops = trace.operations
    wanted = np.array([is_collective(n) for n in trace.names], dtype=bool)
    rows = np.flatnonzero((ops.kind == KERNEL) & wanted[ops.name]) if wanted.any() else np.zeros(0, dtype=np.int64)
    return rows[np.argsort(ops.start[rows], kind="stable")]


def enter(trace: Trace, devices: Sequence[DeviceTimeline], steady: int = 0) -> None:
    """Fill in collective_ns, wait_ns and what took longer than its like, of every device from `steady` on."""
    ops, rows = trace.operations, kernels(trace)
    rows = rows[ops.start[rows] >= steady]
    if not len(rows):
        return
    number = {key: i for i, (key, _) in enumerate(trace.devices)}
    length = ops.end - ops.start
    for d in devices:
        mine = rows[ops.device[rows] == number[d.key]]
        d.collective_ns = int(length[mine].sum())
        others = np.flatnonzero((ops.kind == KERNEL) & (ops.device == number[d.key]))
        d.late_ns = _late(trace, mine[1:], np.setdiff1d(others, mine, assume_unique=True))
    for name in np.unique(ops.name[rows]).tolist():
        same = rows[ops.name[rows] == name]
        by_device = [(d, same[ops.device[same] == number[d.key]]) for d in devices]
        by_device = [(d, mine) for d, mine in by_device if len(mine)]
        if len(by_device) < 2 or len({len(mine) for _, mine in by_device}) > 1:
            continue  # unknown which launches belong together
        starts, ends = (np.stack([side[mine] for _, mine in by_device]) for side in (ops.start, ops.end))
        together = starts.max(axis=0) < ends.min(axis=0)
        shortest = (ends - starts).min(axis=0)
        for (d, _), begun, ended in zip(by_device, starts, ends, strict=True):
            d.wait_ns += int(((ended - begun - shortest)[together]).sum())


def _late(trace: Trace, rows: Indices, others: Indices) -> int:
    """ns of collectives beyond the median of their like: of one name and message, with the same kernels of computation around them."""
    ops, found = trace.operations, 0
    if not len(others):
        return 0
    length = ops.end - ops.start
    others = others[np.argsort(ops.start[others], kind="stable")]
    at = np.searchsorted(ops.start[others], ops.start[rows])
    size = np.array([m.bytes if (m := trace.messages.get(r)) else 0 for r in rows.tolist()], dtype=np.int64)
    around = (ops.name[others[(at - 1).clip(0)]], ops.name[others[at.clip(max=len(others) - 1)]])
    like = np.unique(np.stack([ops.name[rows], size, *around]), axis=1, return_inverse=True)[1].ravel()
    for n in range(int(like.max(initial=-1)) + 1):
        lasted = length[rows[like == n]]
        median = float(np.median(lasted))
        differ = (lasted >= LARGER * median).mean() > MAX_LARGER_SHARE
        if len(lasted) >= MIN_LIKE and median >= MIN_MEDIAN_NS and not differ:
            found += int((lasted - median).clip(0).sum())
    return found
