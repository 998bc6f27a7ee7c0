"""Idle time of a device inside an optimizer that updates its parameters one by one."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.arrays import Indices, Masks
from triage.capture.timeline.gaps import Gaps
from triage.capture.timeline.spans import union
from triage.capture.trace_nouns import API, HOST, LAUNCH, DeviceTimeline, Trace

# kernels of optimizers that update many parameters at once
FUSED_RE = re.compile(r"multi_tensor_apply|fused_adam|fused_sgd|foreach", re.IGNORECASE)


def is_fused(trace: Trace, rows: Indices) -> Masks:
    """True for operations of kernels that update many parameters at once."""
    fused = np.array([bool(FUSED_RE.search(n)) for n in trace.names] or [False], dtype=bool)
    found: Masks = fused[trace.operations.name[rows]]
    return found


def enter(made: DeviceTimeline, trace: Trace, gaps: Gaps, blamed: Indices) -> None:
    """Enter the idle time before kernels of such an optimizer: of launch calls, and of the host's code between them."""
    if not trace.optimizer or not len(trace.calls):
        return
    call = trace.operations.call[gaps.ended_by]
    steps = union(np.array([s.start for s in trace.optimizer]), np.array([s.end for s in trace.optimizer]))
    instant = np.where(call >= 0, trace.calls.start[call], -1)
    mine = (steps.until(instant + 1) > steps.until(instant)) & (call >= 0) & ~is_fused(trace, gaps.ended_by)
    made.optimizer_launch_ns, made.optimizer_host_ns = (
        int(blamed[kinds][:, mine].sum()) for kinds in ([LAUNCH], [HOST, API])
    )
