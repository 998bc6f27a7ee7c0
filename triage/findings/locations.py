"""Which lines or instructions a finding is about, where the export counts them.

A finding rests on metrics; the first of them that is also counted per instruction says where it comes from. Causes of the
launch or of the host have no place in a kernel's code; for too little occupancy it is where the warps wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from triage.capture.capture import Capture
from triage.capture.location import Location
from triage.findings.finding_types import Check, Origin
from triage.rulebook.cause import Cause

_WAITING = "stall.top_share"
_EVIDENCE = ("memory", "latency", "compute")  # families whose evidence is about instructions
_WAITS = ("occupancy",)  # families about who covers the waiting


def locations(capture: Capture, workload: int, cause: Cause | None, checks: Sequence[Check]) -> tuple[Location, ...]:
    """Places of one finding on a workload, those with most of it first; of its longest launch where it has several."""
    locate = capture.table.locate
    if locate is None or workload < 0 or cause is None:
        return ()
    if cause.family in _EVIDENCE:
        rests_on = [m for c in checks for m in (c.metric, *_inputs(c.source))]
        metrics = list(dict.fromkeys((*rests_on, *cause.decides, _WAITING)))
    elif cause.family in _WAITS:
        metrics = [_WAITING]
    else:
        return ()
    rows = np.asarray(capture.rows_of(workload), dtype=np.int64)
    time = capture.table.columns.get("gpu.time")
    row = int(rows[np.argmax(np.nan_to_num(time.values[rows]))]) if time is not None else int(rows[0])
    return tuple(locate(row, metrics))


def _inputs(o: Origin) -> Iterator[str]:
    for i in o.inputs:
        yield i.metric
        yield from _inputs(i)
