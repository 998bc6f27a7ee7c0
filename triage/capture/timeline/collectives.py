"""Kernels in which devices wait for each other: how long each waited for the last to come.

All devices leave a collective at about the same time, so the device that came last runs it shortest; what the others
take longer they waited. The n-th launch of a kernel on one device belongs to the n-th on the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.trace_nouns import KERNEL, DeviceTimeline, Trace
from triage.ground.kernel_names import is_collective


def enter(trace: Trace, devices: Sequence[DeviceTimeline]) -> None:
    """Fill in collective_ns and wait_ns of every device."""
    ops = trace.operations
    wanted = np.array([is_collective(n) for n in trace.names], dtype=bool)
    rows = np.flatnonzero((ops.kind == KERNEL) & wanted[ops.name]) if wanted.any() else np.zeros(0, dtype=np.int64)
    if not len(rows):
        return
    rows = rows[np.argsort(ops.start[rows], kind="stable")]
    number = {key: i for i, (key, _) in enumerate(trace.devices)}
    length = ops.end - ops.start
    for d in devices:
        d.collective_ns = int(length[rows[ops.device[rows] == number[d.key]]].sum())
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
