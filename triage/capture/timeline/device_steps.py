"""Steps as the device works them off: a queue lets the host run ahead, so that its own ranges say little of the work.

A step lasts from the instant when all that was submitted before it is done to the instant when all that was submitted up
to its end is done, inside the time between the first and the last work. Of a loop that waits for each step these are the host's ranges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from triage.capture.arrays import Indices
from triage.capture.trace_nouns import Step, Trace


def device_steps(trace: Trace, steps: Sequence[Step]) -> list[Step]:
    """The steps with the instants at which the devices have worked off what the host had submitted."""
    ops = trace.operations
    first, last = (int(ops.start.min()), int(ops.end.max())) if len(ops) else (0, 0)
    begin, end = (
        np.clip(_worked_off(trace, np.array(instants, dtype=np.int64)), first, last)
        for instants in ([s.start for s in steps], [s.end for s in steps])
    )
    return [replace(s, start=int(a), end=int(b)) for s, a, b in zip(steps, begin, end, strict=True)]


def _worked_off(trace: Trace, instants: Indices) -> Indices:
    """For each instant of the host the end of the last work submitted before it, or the instant if that is later."""
    ops, calls = trace.operations, trace.calls
    named = ops.call >= 0
    if not named.any():
        return instants
    # work in front of all whose call is known was submitted before the capture began
    earlier = np.flatnonzero(~named & (ops.start < ops.start[named].min()))
    known = np.append(earlier, np.flatnonzero(named))
    submitted = np.where(ops.call[known] >= 0, calls.start[ops.call[known]], np.iinfo(np.int64).min)
    order = np.argsort(submitted, kind="stable")
    reach = np.maximum.accumulate(ops.end[known][order])
    at = np.searchsorted(submitted[order], instants) - 1
    return np.where(at < 0, instants, np.maximum(instants, reach[at]))
