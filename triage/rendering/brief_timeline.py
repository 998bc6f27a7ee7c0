"""Devices and operators of a trace in the brief: times, copies and kernels, as absolute numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.document.entries import CaptureEntry, FrameEntry
from triage.document.timeline_summary import device_names
from triage.document.trace_entries import DeviceEntry, OperatorEntry
from triage.ground.gap_reasons import GAP_WORDS
from triage.ground.phrasing import percent, plural
from triage.ground.units import show
from triage.rendering import phrases, timeline_phrases
from triage.rendering.escape import clean
from triage.rendering.operator_table import bandwidths, of_roof

MAX_DEVICES = 4
MAX_OPERATORS = 5  # the longest


def timeline(frame: FrameEntry) -> Iterator[str]:
    """Lines per device."""
    devices, names = frame["timeline"] or {}, device_names(frame)
    for key, d in list(devices.items())[:MAX_DEVICES]:
        yield f"{clean(names[key])} {clean(d['name'] or '')}: {_time(d)}"
        yield f"  {_work(d)}"
    if len(devices) > MAX_DEVICES:
        yield f"({len(devices) - MAX_DEVICES} more devices)"


def operators(entries: Sequence[OperatorEntry], captures: Sequence[CaptureEntry]) -> Iterator[str]:
    """A line per operator: calls, time, rate over the roof."""
    peaks = bandwidths(captures)
    for o in sorted(entries, key=lambda o: -o["total_ns"])[:MAX_OPERATORS]:
        roof = f", ~{of_roof(o, peaks)}" if o["roof_share"] is not None else ""
        words = " ".join(x for x in (o["op"], o["dims"], o["type"]) if x)
        share = f" ({percent(o['share'])})" if o["share"] is not None else ""
        yield f"operator {clean(words)} x{o['calls']:,}: {phrases.time(o['total_ns'])}{share}{roof}"


def _time(d: DeviceEntry) -> str:
    """Busy and idle time, by what the host did meanwhile."""
    idle = [f"{GAP_WORDS[g['cause']].name} {phrases.time(g['total_ns'])}" for g in d["gaps"] if g["total_ns"]]
    why = f"; in its gaps: {', '.join(idle)}" if idle else ""
    return f"{timeline_phrases.device(d)}{why}"


def _work(d: DeviceEntry) -> str:
    """Kernels, copies and collectives."""
    parts = [f"kernels {d['kernels']:,} for {phrases.time(d['kernel_ns'])}"]
    if d["median_kernel_ns"]:
        parts.append(f"median kernel {phrases.time(d['median_kernel_ns'])}")
    if d["copies"]:
        moved = f"{show(d['h2d_bytes'], 'byte')} to, {show(d['d2h_bytes'], 'byte')} from the device"
        hidden = f"{phrases.time(d['copy_hidden_ns'])} of it under kernels"
        parts.append(f"copies {d['copies']:,} for {phrases.time(d['copy_busy_ns'])}, {hidden} ({moved})")
    if d["comm_ns"]:
        parts.append(f"collectives {phrases.time(d['comm_ns'])}, {phrases.time(d['exposed_comm_ns'])} of it exposed")
    return "; ".join([*parts, plural(d["streams"], "stream")])
