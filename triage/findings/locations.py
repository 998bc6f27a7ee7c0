"""Source lines or instructions of a finding, where the export counts them.

The metric that its cause names, else the first of its evidence that is also counted per instruction, gives the place.
Causes of the launch or of the host have no place in a kernel's code; for low occupancy it is where the warps stall.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from triage.capture.capture import Capture
from triage.capture.location import Late, Location, Producer
from triage.document.as_entry import as_entry
from triage.document.location_entries import LateEntry, LocationEntry, ProducerEntry
from triage.document.numbers import number
from triage.findings.finding_types import Check, Origin
from triage.rulebook.cause import Cause

_WAITING = "stall.top_share"
_EVIDENCE = ("memory", "latency", "compute")  # families whose evidence is about instructions
_WAITS = ("occupancy",)  # families about hiding latency


def locations(capture: Capture, workload: int, cause: Cause | None, checks: Sequence[Check]) -> list[LocationEntry]:
    """Places of one finding on a workload, largest share first; of its longest launch where it has several."""
    locate = capture.table.locate
    if locate is None or workload < 0 or cause is None:
        return []
    if cause.place:  # what is spread over many instructions has no place, and another counter's would mislead
        metrics = [cause.place]
    elif cause.family in _EVIDENCE:
        rests_on = [m for c in checks for m in (c.metric, *_inputs(c.source))]
        metrics = list(dict.fromkeys((*rests_on, *cause.decides, _WAITING)))
        if cause.family == "latency":  # the line where warps wait, before that which they wait for
            metrics.sort(key=lambda m: not m.startswith("stall."))
    elif cause.family in _WAITS:
        metrics = [_WAITING]
    else:
        return []
    rows = np.asarray(capture.rows_of(workload), dtype=np.int64)
    time = capture.table.columns.get("gpu.time")
    row = int(rows[np.argmax(np.nan_to_num(time.values[rows]))]) if time is not None else int(rows[0])
    return [_entry(place) for place in locate(row, metrics)]


def _inputs(o: Origin) -> Iterator[str]:
    for i in o.inputs:
        yield i.metric
        yield from _inputs(i)


def _entry(place: Location) -> LocationEntry:
    """A line or an instruction; null where the code carries no line information, or nothing is known."""
    return as_entry(
        LocationEntry,
        place,
        line=place.line or None,
        offset=place.offset if place.offset >= 0 else None,
        share=number(place.share),
        value=number(place.value),
        reason_share=number(place.reason_share) if place.reason else None,
        excess=number(place.excess) if place.excess else None,
        result=place.record,
        waits_for=[_producer(p) for p in place.waits_for],
    )


def _producer(p: Producer) -> ProducerEntry:
    return as_entry(
        ProducerEntry,
        p,
        share=number(p.share),
        line=p.line or None,
        argument=p.argument or None,
        per_request=number(p.per_request) if p.per_request else None,
        figures=[number(f) for f in p.figures],
        operations=number(p.operations) if p.operations else None,
        late=_late(p.late) if p.late else None,
    )


def _late(x: Late) -> LateEntry:
    return as_entry(LateEntry, x, share=number(x.share), line=x.line or None, argument=x.argument or None)
