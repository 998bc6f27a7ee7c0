"""Iterations of a capture: the framework's steps, frames, or a sequence of kernels that repeats."""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Indices
from triage.capture.capture import Capture
from triage.capture.trace_nouns import KERNEL, Trace
from triage.products.noise import remarks

MIN_REPEATS = 4  # of fewer repeats nothing is known; of those that a framework marks, one will do
SAME = (
    0.875  # part of the kernels that recur one period later, beyond what chance makes of so few names (Cohen's kappa)
)
SHORTEST = 3  # kernels of a sequence
NAMES = 64  # kernels, by how often they ran, whose distances are tried as periods


class Iterations(Struct, frozen=True):
    """What repeats in a capture. unit: step, frame or sequence; times: of each, ns. kernels: of one sequence; device: of several, the one it runs on."""

    unit: str
    times: list[float]
    kernels: int = 0
    device: str = ""

    @property
    def outliers(self) -> list[tuple[int, float]]:
        """(number, from 1, and time in ns) of those that took much longer or shorter than the others."""
        far, _ = remarks([t for t in self.times if t > 0])
        return [(i, t) for i, t in enumerate(self.times, 1) if any(abs(t - f) <= 1e-9 * f for f in far)]


def iterations(c: Capture, device: str | None = None) -> Iterations | None:
    """The iterations of a capture; None where it shows none. device: whose sequences, None for the one that works longest."""
    if c.frames is not None and len(c.frames) >= MIN_REPEATS:
        return Iterations("frame", [float(t) for t in c.frames])
    if (trace := c.table.trace) is None:
        return None
    if trace.steps:
        return Iterations("step", [float(s.ns) for s in trace.steps])
    return _sequences(trace, device)


def _sequences(trace: Trace, device: str | None) -> Iterations | None:
    """Repeats of a sequence of kernels in the stream that works longest, of one device or of all."""
    ops = trace.operations
    mine = [i for i, (key, _) in enumerate(trace.devices) if device in (None, key)]
    rows = np.flatnonzero((ops.kind == KERNEL) & np.isin(ops.device, mine))
    if len(rows) < 2 * MIN_REPEATS:
        return None
    streams, of = np.unique(np.stack([ops.device[rows], ops.stream[rows]]), axis=1, return_inverse=True)
    most = np.bincount(of.ravel(), (ops.end - ops.start)[rows], streams.shape[1]).argmax()
    rows = rows[of.ravel() == most]
    rows = rows[np.argsort(ops.start[rows], kind="stable")]
    name = ops.name[rows]
    if not (period := _period(name)):
        return None
    # what runs once per sequence marks its start, wherever kernels were left out or added
    anchor = next((n for n, k in Counter(name.tolist()).items() if abs(k - len(name) / period) < 1), None)
    times = np.diff(ops.start[rows[name == anchor]]).astype(np.float64).tolist()
    device = trace.devices[int(ops.device[rows[0]])][0] if len(np.unique(ops.device)) > 1 else ""
    return Iterations("sequence", times, period, device) if len(times) >= MIN_REPEATS - 1 else None


def _period(name: Indices) -> int:
    """Kernels after which most of the names recur; 0 where they do not."""
    tried: Counter[int] = Counter()
    for kernel, count in Counter(name.tolist()).most_common(NAMES):
        if count >= MIN_REPEATS:
            tried.update(np.diff(np.flatnonzero(name == kernel)).tolist())
            tried.update([len(name) // count])
    chance = float(np.square(np.bincount(name) / len(name)).sum())
    for period in sorted(p for p, _ in tried.most_common(NAMES) if SHORTEST <= p <= len(name) // MIN_REPEATS):
        if float((name[period:] == name[:-period]).mean()) - chance >= SAME * (1 - chance):
            return period
    return 0
