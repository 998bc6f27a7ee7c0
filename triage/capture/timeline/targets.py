"""Which kernels a timeline says to profile next, and which launch of each."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Indices
from triage.capture.trace_nouns import KERNEL, Trace
from triage.ground.kernel_names import is_collective

NAMED = 10  # kernels listed
WORTH = 0.05  # heuristic: below a twentieth of the time, idle time included, tuning a kernel is not the next step


class Target(Struct, frozen=True):
    """A kernel of a trace. function: what profilers call it, "" where the export does not say. ns: of all its launches.

    skip: launches of the function that its process makes before the one to look at, which lasts as long as the kernel's
    launches mostly do; None where the kernel is not worth a run. share: of the time of all kernels.
    """

    name: str
    function: str
    launches: int
    ns: int
    share: float
    skip: int | None


def targets(trace: Trace, most: int | None = NAMED) -> list[Target]:
    """The kernels that take most time, longest first; most: how many, None for all."""
    import pandas as pd

    ops = trace.operations
    rows = np.flatnonzero(ops.kind == KERNEL)
    if not len(rows):
        return []
    length = (ops.end - ops.start)[rows].astype(np.float64)
    # names may stand in the list twice, when they came from several tables
    word, words = pd.factorize(np.array(trace.names, dtype=object))
    name = word[ops.name[rows]]
    time, count = np.bincount(name, length, len(words)), np.bincount(name, minlength=len(words))
    function = pd.factorize(np.array(trace.functions, dtype=object))[0][ops.name[rows]]
    total = float(time.sum()) or 1.0
    whole = max(total, float(ops.end.max() - ops.start.min()))
    out = []
    for k in np.argsort(-time, kind="stable")[:most].tolist():
        if not count[k]:
            break
        mine = np.flatnonzero(name == k)
        called = trace.functions[int(ops.name[rows[mine[0]]])]
        skip = None
        # profiled alone, a collective would wait for the other devices for ever
        if called and time[k] >= WORTH * whole and not is_collective(str(words[k])):
            skip = _launch(trace, rows[function == function[mine[0]]], rows[mine])
        out.append(Target(str(words[k]), called, int(count[k]), int(time[k]), float(time[k] / total), skip))
    return out


def next_step(trace: Trace | None, names: Collection[str] | None = None) -> Callable[[list[str]], str] | None:
    """What to run after a trace: the command that profiles the longest of these kernels, None for all; None without one."""
    if trace is None or trace.command is None:
        return None
    mine = targets(trace) if names is None else (t for t in targets(trace, None) if t.name in names)
    first = next((t for t in mine if t.skip is not None), None)
    run = "" if first is None else trace.command(first.function, first.skip or 0)
    return (lambda _metrics: run) if run else None


def _launch(trace: Trace, same: Indices, mine: Indices) -> int:
    """How many launches of a function (`same`) come before the typical one of the kernel (`mine`) in its process."""
    ops = trace.operations
    length = ops.end[mine] - ops.start[mine]
    # the median of what takes most of the time: a thousand short launches say little of ten long ones
    order = np.argsort(length, kind="stable")
    reached = np.cumsum(length[order])
    chosen = int(mine[order[min(int(np.searchsorted(reached, reached[-1] / 2)), len(mine) - 1)]])
    begun = np.where(ops.call[same] >= 0, trace.calls.start[ops.call[same]] if len(trace.calls) else 0, ops.start[same])
    process = ops.process[same]
    at = int(np.flatnonzero(same == chosen)[0])
    earlier = (begun < begun[at]) | ((begun == begun[at]) & (ops.start[same] < ops.start[chosen]))
    return int((earlier & (process == process[at])).sum())
