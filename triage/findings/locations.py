"""Source lines or instructions of a finding, where the export counts them.

The metric that its cause names, else the first of its evidence that is also counted per instruction, gives the place.
Causes of the launch or of the host have no place in a kernel's code; for low occupancy it is where the warps stall.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from triage.capture.capture import Capture
from triage.capture.location import Late, Location, Producer
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
    return {
        "file": place.file or None,
        "line": place.line or None,
        "function": place.function,
        "offset": place.offset if place.offset >= 0 else None,
        "pc": place.pc,
        "instructions": place.instructions,
        "share": number(place.share),
        "what": place.what,
        "metric": place.metric,
        "value": number(place.value),
        "access": place.access or None,
        "reason": place.reason or None,
        "reason_share": number(place.reason_share) if place.reason else None,
        "excess": number(place.excess) if place.excess else None,
        "source": place.source or None,
        "result": place.record,
        "mnemonic": place.mnemonic or None,
        "waits_for": [_producer(p) for p in place.waits_for],
        "waits_unknown": place.waits_unknown or None,
    }


def _producer(p: Producer) -> ProducerEntry:
    return {
        "share": number(p.share),
        "reason": p.reason,
        "waiter": p.waiter,
        "kind": p.kind,
        "mnemonic": p.mnemonic,
        "file": p.file or None,
        "line": p.line or None,
        "function": p.function,
        "offset": p.offset,
        "pc": p.pc,
        "instructions": p.instructions,
        "candidates": p.candidates,
        "argument": p.argument or None,
        "type": p.type or None,
        "per_request": number(p.per_request) if p.per_request else None,
        "figures": [number(f) for f in p.figures],
        "unit": p.unit or None,
        "operations": number(p.operations) if p.operations else None,
        "operands": p.operands,
        "queue": p.queue,
        "pipe": p.pipe or None,
        "number": p.number,
        "late": _late(p.late) if p.late else None,
        "meaning": p.meaning or None,
    }


def _late(x: Late) -> LateEntry:
    return {
        "share": number(x.share),
        "function": x.function,
        "offset": x.offset,
        "pc": x.pc,
        "file": x.file or None,
        "line": x.line or None,
        "reason": x.reason or None,
        "kind": x.kind or None,
        "mnemonic": x.mnemonic or None,
        "argument": x.argument or None,
    }
