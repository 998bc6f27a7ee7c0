"""Facts of a framework's steps for frame rules: one that takes longer than the others, and the optimizer's part of them."""

from __future__ import annotations

import re
import statistics
from dataclasses import replace

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.timeline.spans import union
from triage.capture.trace_nouns import KERNEL, LOAD, Step, Trace
from triage.ground.units import show

Facts = dict[str, tuple[float, str]]  # metric -> (value, formula)
MIN_STEPS = 3  # of two steps nothing tells which is the usual one
# kernels of optimizers that update many parameters at once
_FUSED_RE = re.compile(r"multi_tensor_apply|fused_adam|fused_sgd|foreach", re.IGNORECASE)


def step_facts(trace: Trace, frame_ns: float) -> Facts:
    """Facts of a trace's steps; those that it has no ranges for are left out."""
    out: Facts = {}
    if len(trace.steps) >= MIN_STEPS:
        steps = [_from_first_work(trace, trace.steps[0]), *trace.steps[1:]]
        worst, median = max(steps, key=lambda s: s.ns), statistics.median(s.ns for s in steps)
        if median > 0:
            usual = min(steps, key=lambda s: abs(s.ns - median))
            more = _busy(trace, worst) - _busy(trace, usual)
            text = (
                f"{worst.name} {show(float(worst.ns), 'ns')}, median {show(float(median), 'ns')}; "
                f"its device time is {show(float(abs(more)), 'ns')} {'longer' if more >= 0 else 'shorter'}"
            )
            out["steps.variance"] = (worst.ns / median, text)
            out["steps.loading"] = (_loading(trace, worst) / worst.ns, text)
    if trace.optimizer:
        out |= _optimizer(trace, frame_ns)
    return out


def _optimizer(trace: Trace, frame_ns: float) -> Facts:
    ops = trace.operations
    kernels = np.flatnonzero((ops.kind == KERNEL) & (ops.call >= 0))
    called = trace.calls.start[ops.call[kernels]]
    parts = [kernels[(called >= s.start) & (called < s.end)] for s in trace.optimizer]
    rows = np.concatenate(parts)
    if not len(rows):
        return {}
    order = np.argsort(ops.start, kind="stable")
    busy = union(ops.start[order], ops.end[order])
    begun, ended = (
        np.array([f(side[p]) for p in parts if len(p)]) for f, side in ((np.min, ops.start), (np.max, ops.end))
    )
    idle = int((ended - begun - (busy.until(ended) - busy.until(begun))).sum())
    time = int((ops.end[rows] - ops.start[rows]).sum())
    fused = sum(bool(_FUSED_RE.search(trace.names[int(n)])) for n in ops.name[rows].tolist())
    text = f"{trace.optimizer[0].name}: kernels {show(float(time), 'ns')}, idle between them {show(float(idle), 'ns')}"
    return {
        "optimizer.kernels": (len(rows) / len(trace.optimizer), text),
        "optimizer.fused": (fused / len(rows), text),
        "optimizer.time": (time / frame_ns, text),
        "optimizer.idle": (idle / frame_ns, text),
    }


def _from_first_work(trace: Trace, step: Step) -> Step:
    """The first step from its first work on: what the host does before, as the profiler starts, no other step repeats."""
    starts = trace.operations.start
    later = starts[starts >= step.start]
    return replace(step, start=min(int(later.min()), step.end)) if len(later) else step


def _busy(trace: Trace, step: Step) -> int:
    """Time of a step in which a device works."""
    ops = trace.operations
    order = np.argsort(ops.start, kind="stable")
    before, after = union(ops.start[order], ops.end[order]).until(np.array([step.start, step.end])).tolist()
    return int(after - before)


def _loading(trace: Trace, step: Step) -> int:
    """Time of a step in calls that load or compile code, on any thread."""
    calls = trace.calls
    rows: Indices = np.flatnonzero((calls.kind == LOAD) & (calls.start >= step.start) & (calls.end <= step.end))
    rows = rows[np.argsort(calls.start[rows], kind="stable")]
    return union(calls.start[rows], calls.end[rows]).length
