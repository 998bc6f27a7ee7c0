"""Timelines and kernels of traces as entries of the result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from triage.diagnosis.diagnosis_result import Part
from triage.diagnosis.operator_roofs import roof_share
from triage.document.as_entry import as_entry
from triage.document.numbers import number
from triage.document.trace_entries import (
    DeviceEntry,
    GapClassEntry,
    GapEntry,
    KernelEntry,
    OperatorEntry,
    RankEntry,
    StepEntry,
)

if TYPE_CHECKING:
    from triage.capture.trace_nouns import DeviceTimeline, Gap, Trace


def timelines(parts: Sequence[Part]) -> dict[str, DeviceEntry] | None:
    """Device -> its timeline; of several captures the device's key follows the capture's number. None where no part has one."""
    many = len(parts) > 1
    out: dict[str, DeviceEntry] = {}
    for part in parts:
        found = part.capture.timeline
        for d in found.devices if found else ():
            out[f"{part.number + 1}:{d.key}" if many else d.key] = _device(d, part, many)
    return out or None


def kernels(parts: Sequence[Part]) -> list[KernelEntry] | None:
    """Kernels of all traces by total time, the long ones with the command that profiles them; None without a trace."""
    if not any(p.capture.timeline for p in parts):
        return None
    from triage.capture.timeline.targets import targets  # only traces need it
    from triage.diagnosis.claimed_kernels import unclaimed

    out: list[KernelEntry] = []
    found = ((p, p.capture.table.trace) for p in parts if p.capture.timeline)
    traces = [(part, trace, targets(trace)) for part, trace in found if trace is not None]
    whole = sum(mine[0].ns / mine[0].share for _, _, mine in traces if mine)  # of all kernels, listed or not
    for part, trace, mine in traces:
        dark = unclaimed(part.verdict, part.capture, part.leaders, part.claims)
        out += [
            {
                "capture": part.capture.input.path,
                "name": t.name,
                "function": t.function or None,
                "launches": t.launches,
                "total_ns": t.ns,
                "share": number(t.ns / whole),
                "skip": t.skip,
                "profile": trace.command(t.function, t.skip)
                if trace.command and t.skip is not None and t.name in dark
                else None,
            }
            for t in mine
        ]
    return sorted(out, key=lambda k: -k["total_ns"])


def operators(parts: Sequence[Part]) -> list[OperatorEntry] | None:
    """Operators of all traces by total time, and those whose work an export states; None where none names any."""
    out: list[OperatorEntry] = []
    busy = sum(map(_busy_ns, parts))
    for part in parts:
        trace = part.capture.table.trace if part.capture.timeline is not None else None
        peaks = part.capture.device.peaks if part.capture.device else None
        out += [
            {
                "capture": part.capture.input.path,
                "op": o.name,
                "kind": o.kind,
                "type": o.type,
                "dims": o.dims,
                "calls": o.calls,
                "total_ns": o.ns,
                "share": number(o.ns / busy, 4) if busy else None,
                "flops": o.flops,
                "bytes": o.bytes,
                "B": o.batch or None,
                "M": o.m or None,
                "N": o.n or None,
                "K": o.k or None,
                "roof_share": None if (share := roof_share(o, peaks)) is None else number(share, 6),
                "kernel": o.kernels[0],
            }
            for o in (trace.operators if trace else part.capture.table.operators)
        ]
    return sorted(out, key=lambda o: -o["total_ns"]) or None


def _busy_ns(part: Part) -> float:
    """Time in which devices worked; of a table the sum of its times."""
    if part.capture.timeline is not None:
        return sum(d.busy_ns for d in part.capture.timeline.devices)
    times = part.capture.table.columns.get("gpu.time")
    return float(np.nansum(times.values)) if times is not None else 0.0


def ranks(parts: Sequence[Part]) -> list[RankEntry] | None:
    """Ranks of a job whose traces were read together; None elsewhere."""
    job = next((p.capture.timeline.job for p in parts if p.capture.timeline and p.capture.timeline.job), [])
    return [as_entry(RankEntry, r) for r in job] or None


def steps(parts: Sequence[Part]) -> list[StepEntry] | None:
    """Steps of all traces in their order; None where no trace names any."""
    return [
        as_entry(StepEntry, step, capture=part.capture.input.path)
        for part in parts
        for step in (part.capture.table.trace.steps if part.capture.table.trace else ())
    ] or None


def _device(d: DeviceTimeline, part: Part, many: bool) -> DeviceEntry:
    capture = part.capture
    assert capture.timeline is not None
    classes = (
        d.gaps if capture.timeline.host is not None else []
    )  # without calls "unknown" would be no class but all there is
    start, end = capture.timeline.start, capture.timeline.end
    return as_entry(
        DeviceEntry,
        d,
        gaps=[as_entry(GapClassEntry, g) for g in classes],
        longest_gaps=[_gap(g, part, many, start) for g in d.longest],
        short_kernel_share=number(d.short_kernels / d.kernels, 4) if d.kernels else None,
        collective_wait_ns=d.wait_ns,
        before_ns=d.first - start,
        after_ns=end - d.first - d.span_ns,
    )


def _loading(g: Gap, trace: Trace) -> int:
    """Time of a gap in which the host waited for its data loader."""
    if trace.loading is None:
        return 0
    starts, ends = (x.clip(g.start, g.end) for x in trace.loading)
    return min(int((ends - starts).sum()), g.end - g.start)


def _gap(g: Gap, part: Part, many: bool, start: int) -> GapEntry:
    table, trace = part.capture.table, part.capture.table.trace
    assert trace is not None
    ids = [
        part.workload_id(int(part.capture.owners([r])[0]), many) if r < len(table) else None
        for r in (g.before, g.after)
    ]
    names = [trace.names[int(trace.operations.name[r])] for r in (g.before, g.after)]
    return {
        "start_ns": g.start - start,
        "length_ns": g.end - g.start,
        "cause": g.cause,
        "cause_ns": g.cause_ns,
        "loading_ns": _loading(g, trace),
        "led_by": g.led_by,
        "call": re.sub(r"_v\d{4,5}$", "", g.call) or None,  # the API's version tells nothing here
        "before": names[0],
        "after": names[1],
        "before_id": ids[0],
        "after_id": ids[1],
    }
