"""Two timelines side by side: busy time, idle time by reason, launches, copies; medians of repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from triage.capture.trace_nouns import GAPS, Timeline
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.ground.gap_reasons import GAP_WORDS
from triage.products.compare.compare_result import Row, row

MAX_DEVICES = 8  # whose times are listed
IDLE = {
    f"idle: {words.name}": words.name for words in GAP_WORDS.values()
}  # row of a timeline -> the reason of its idle time
BETWEEN = "idle between its work"  # time before the first and after the last is in no sum


def timeline(before: Diagnosis, after: Diagnosis) -> list[Row]:
    """Rows known on both sides; empty where a side has no timeline."""
    sides = [[p.capture.timeline for p in d.parts if p.capture.timeline] for d in (before, after)]
    if not all(sides):
        return []
    out = []
    for what, unit, of in _measures():
        a, b = (median(of(t) for t in side) for side in sides)
        if a or b:
            out.append(row(what, unit, a, b))
    return out + _devices(sides)


def _devices(sides: list[list[Timeline]]) -> list[Row]:
    """Busy and idle time of each of several devices that all captures have."""
    keys = [d.key for d in sides[0][0].devices]
    alike = all([d.key for d in t.devices] == keys for side in sides for t in side)
    if not alike or not 1 < len(keys) <= MAX_DEVICES:
        return []
    out: list[Row] = []
    for i, key in enumerate(keys):
        busy = [median(t.devices[i].busy_ns for t in side) for side in sides]
        idle = [median(t.devices[i].idle_ns for t in side) for side in sides]
        for what, times in (("busy", busy), (BETWEEN, idle)):
            out.append({**row(of_device(key, what), "ns", *times), "device": key})
    return out


def of_device(key: str, what: str) -> str:
    """Name of a row about one device: `device 1: busy`."""
    return f"device {key}: {what}"


def _measures() -> Iterator[tuple[str, str, Callable[[Timeline], float]]]:
    """(what, unit, how): times of all devices together, but for the span."""
    yield "span", "ns", lambda t: t.end - t.start
    yield "busy", "ns", lambda t: sum(d.busy_ns for d in t.devices)
    yield "idle", "ns", lambda t: sum(d.idle_ns for d in t.devices)
    for cause in GAPS:
        yield f"idle: {GAP_WORDS[cause].name}", "ns", _blamed(cause)
    yield "exposed copies", "ns", lambda t: sum(d.copies_alone_ns for d in t.devices)
    yield "kernels", "count", lambda t: sum(d.kernels for d in t.devices)
    yield "graph launches", "count", lambda t: sum(d.graph_launches for d in t.devices)
    yield "launch calls", "count", lambda t: t.host.launches if t.host else 0
    yield "host syncs", "count", lambda t: t.host.syncs if t.host else 0
    yield "copies", "count", lambda t: sum(d.copies for d in t.devices)
    yield "host-to-device bytes", "byte", lambda t: sum(d.h2d_bytes for d in t.devices)
    yield "device-to-host bytes", "byte", lambda t: sum(d.d2h_bytes for d in t.devices)
    yield "collective wait", "ns", lambda t: sum(d.wait_ns for d in t.devices)


def _blamed(cause: str) -> Callable[[Timeline], float]:
    return lambda t: sum(d.gap(cause).blamed_ns for d in t.devices)
