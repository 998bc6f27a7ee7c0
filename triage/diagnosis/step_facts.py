"""Facts of a framework's steps for frame rules: one that takes longer than the others, and the optimizer's part of them."""

from __future__ import annotations

import statistics

import numpy as np
from msgspec.structs import replace

from triage.capture.arrays import Facts, Indices
from triage.capture.timeline.optimizers import is_fused
from triage.capture.timeline.spans import union
from triage.capture.trace_nouns import KERNEL, LOAD, Step, Trace
from triage.ground.units import show

MIN_STEPS = 3  # of two steps either may be the usual one


def step_facts(trace: Trace, frame_ns: float) -> Facts:
    """Facts of a trace's steps; those that it has no ranges for are left out."""
    out: Facts = {}
    steps = _alike([_from_first_work(trace, s) if i == 0 else s for i, s in enumerate(trace.steps)])
    if len(steps) >= MIN_STEPS:
        worst, median = max(steps, key=lambda s: s.ns), statistics.median(s.ns for s in steps)
        if median > 0:
            usual = min(steps, key=lambda s: abs(s.ns - median))
            working = union(trace.operations.start, trace.operations.end)  # any device
            of_worst, of_usual = (int(np.ptp(working.until(np.array([s.start, s.end])))) for s in (worst, usual))
            more = of_worst - of_usual
            text = (
                f"{worst.name} {show(float(worst.ns), 'ns')}, median {show(float(median), 'ns')}; "
                f"its device time is {show(float(abs(more)), 'ns')} {'longer' if more >= 0 else 'shorter'}"
            )
            out["steps.variance"] = (worst.ns / median, text)
            out["steps.count"] = (float(len(trace.steps)), "ranges of the framework's profiler")
            out["steps.waiting"] = (_waiting(trace), "median over the steps")
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
    time = int((ops.end[rows] - ops.start[rows]).sum())
    text = f"{trace.optimizer[0].name}: kernels {show(float(time), 'ns')}"
    return {
        "optimizer.kernels": (len(rows) / len(trace.optimizer), text),
        "optimizer.fused": (float(is_fused(trace, rows).mean()), text),
        "optimizer.time": (time / frame_ns, text),
    }


def _alike(steps: list[Step]) -> list[Step]:
    """Steps of the batch that most of them have: of a server's, one that takes new requests in does other work."""
    batches = [s.batch for s in steps]
    usual = max(dict.fromkeys(batches), key=batches.count, default="")
    return [s for s in steps if s.batch == usual]


def _from_first_work(trace: Trace, step: Step) -> Step:
    """The first step from its first work on: what the host does before, as the profiler starts, no other step repeats."""
    starts = trace.operations.start
    later = starts[starts >= step.start]
    return replace(step, start=min(int(later.min()), step.end)) if len(later) else step


def _waiting(trace: Trace) -> float:
    """Median share of a step in the waits for a data loader: the first of them lies before the devices' span."""
    if trace.loading is None or not len(trace.loading[0]):
        return 0.0
    waits = union(*trace.loading)
    begun, ended = (np.array([getattr(s, side) for s in trace.steps]) for side in ("start", "end"))
    # steps begin with the first work at the earliest, and the wait for the first batch ends before
    begun[0] = min(begun[0], waits.start[max(np.searchsorted(waits.start, begun[0], side="right") - 1, 0)])
    return float(np.median((waits.until(ended) - waits.until(begun)) / np.maximum(ended - begun, 1)))


def _loading(trace: Trace, step: Step) -> int:
    """Time of a step in calls that load or compile code, on any thread."""
    calls = trace.calls
    rows: Indices = np.flatnonzero((calls.kind == LOAD) & (calls.start >= step.start) & (calls.end <= step.end))
    return union(calls.start[rows], calls.end[rows]).length
