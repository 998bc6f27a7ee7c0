"""A trace at a glance, over all its devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TypedDict

from triage.document.entries import FrameEntry, ItemEntry, Result
from triage.document.trace_entries import DeviceEntry, GapEntry, KernelEntry
from triage.ground.gap_reasons import GAP_WORDS
from triage.ground.phrasing import over

MAX_GAPS = 10
MIN_GAP_SHARE = (
    1e-4  # heuristic: part of the trace below which no gap is listed, such as the nanoseconds inside a graph
)


class IdleEntry(TypedDict):
    """Idle time of one cause over all devices. share: of their spans together."""

    cause: str
    name: str
    meaning: str
    limiter: str
    ns: float
    share: float


class DeviceGap(GapEntry):
    """A gap with its device."""

    device: str


class TimelineEntry(TypedDict):
    """A trace at a glance; devices: by the names that reports give them; length_ns: from the first start to the last end of any device; busy: share of it, of all devices. by_rank: each device is a rank of one job, which all run the same work at once."""

    span_ns: int
    busy_ns: int
    idle_ns: int
    gap_count: int
    devices: dict[str, DeviceEntry]
    by_rank: bool
    length_ns: int
    busy: float
    idle: list[IdleEntry]
    gaps: list[DeviceGap]
    kernels: list[KernelEntry]


def length(d: DeviceEntry) -> int:
    """Time in which a device could have worked, ns: all of the trace, whenever its own work begins and ends."""
    return d["before_ns"] + d["span_ns"] + d["after_ns"]


def device_names(frame: FrameEntry) -> dict[str, str]:
    """What reports call each device: `device 0`, of a job `rank 3`, of several captures `capture 2 device 0`."""
    keys = list(frame["timeline"] or ())
    if _is_by_rank(frame):
        return dict(zip(keys, (f"rank {r['rank']}" for r in frame["ranks"] or ()), strict=True))
    return {key: f"capture {key.replace(':', ' device ')}" if ":" in key else f"device {key}" for key in keys}


def _is_by_rank(frame: FrameEntry) -> bool:
    """True if each device is one rank of a job, with a trace and a number of its own."""
    keys, ranks = list(frame["timeline"] or ()), [r["rank"] for r in frame["ranks"] or ()]
    return 0 < len({*ranks}) == len(ranks) == len({key.partition(":")[0] for key in keys}) == len(keys)


def over_devices(frame: FrameEntry) -> str:
    """` over 2 devices`, after a sum over several; "" elsewhere."""
    return over(len(frame["timeline"] or ()), "device")


def only_device(item: ItemEntry, doc: Result) -> str:
    """`device 0`: of several in one capture the one that has all the time of an item; "" elsewhere."""
    if len(doc["captures"]) > 1:
        return ""
    sources = [e["source"] for f in doc["findings"] if f["rank"] in item["findings"] for e in f["evidence"]]
    found = {key for s in sources if "formula" in s for key in s.get("devices", ())}
    return f"device {found.pop()}" if len(found) == 1 else ""


def timeline(frame: FrameEntry, shown: Collection[str | None] = ()) -> TimelineEntry | None:
    """A trace at a glance: span, busy and idle time of all devices, idle time by cause, the longest gaps.

    shown: commands that the report has already shown, which no kernel repeats.
    """
    if not frame["timeline"]:
        return None
    names = device_names(frame)
    devices = {names[key]: d for key, d in frame["timeline"].items()}
    blamed: Counter[str] = Counter()
    for d in devices.values():
        blamed.update({g["cause"]: g["blamed_ns"] for g in d["gaps"]} or {"unknown": d["idle_ns"]})
    span, busy = sum(d["span_ns"] for d in devices.values()), sum(d["busy_ns"] for d in devices.values())
    gaps: list[DeviceGap] = [
        {**g, "device": key}
        for key, d in devices.items()
        for g in d["longest_gaps"]
        if g["length_ns"] >= MIN_GAP_SHARE * length(d)
    ]
    return {
        "span_ns": span,
        "busy_ns": busy,
        "idle_ns": sum(d["idle_ns"] for d in devices.values()),
        "gap_count": sum(d["gap_count"] for d in devices.values()),
        "devices": devices,
        "by_rank": _is_by_rank(frame),
        "length_ns": max(map(length, devices.values())),
        "busy": busy / whole if (whole := sum(map(length, devices.values()))) else 0.0,
        "idle": [
            {"cause": c, "name": GAP_WORDS[c].name, "meaning": GAP_WORDS[c].meaning, "limiter": GAP_WORDS[c].limiter, "ns": ns,
             "share": ns / span}
            for c, ns in sorted(blamed.items(), key=lambda kv: (-kv[1], kv[0]))
            if ns
        ],
        "gaps": sorted(gaps, key=lambda g: (-g["length_ns"], g["device"]))[:MAX_GAPS],
        "kernels": [k if k["profile"] not in shown else {**k, "profile": None} for k in frame["kernels"] or ()],
    }  # fmt: skip
