"""Shares of the time: not diagnosed, and at a hardware limit."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from typing import TypedDict

from triage.document.bundle import column
from triage.document.disambiguate import distinct_names
from triage.document.entries import VERDICT_CLASSES, FrameEntry, Result, UnitEntry
from triage.ground.kernel_names import function

MIN_PRESSURE = 60.0  # percent of peak from which a unit is worth a word (NVIDIA, Compute Triage Guide)
MAX_NAMES = 6  # of workloads at a hardware limit
MIN_SHOWN_SHARE = 0.0005  # of the time: less is no part of a sum that anybody sees
IDLE, IDLE_TO_FIX = "idle", "idle-to-fix"
MIN_UNDIAGNOSED_SHARE = 0.2  # heuristic: a larger share of the time comes first, or before a list that saves less


class UndiagnosedEntry(TypedDict):
    """All time that is not diagnosed.

    uncovered_ns: under no marker. top: busiest unit of the longest workload, whose name is in names. collect: command for most. count: of all; copies: of these.
    function: the kernel with most time, its time and its launches, where it has several rows.
    """

    ns: float
    share: float
    top: UnitEntry | None
    collect: str | None
    uncovered_ns: float
    names: list[str]
    count: int
    copies: int
    function: tuple[str, float, int] | None


class AtLimitEntry(TypedDict):
    """Time at a hardware limit, how many workloads, and the names of the longest."""

    ns: float
    share: float | None
    count: int
    names: list[str]


class VerdictEntry(TypedDict):
    """Time of one verdict (a word of VERDICT_CLASSES, IDLE, or IDLE_TO_FIX) and its number of workloads; time outside all is not diagnosed."""

    verdict: str
    ns: float
    share: float
    count: int


def time_by_verdict(doc: Result) -> list[VerdictEntry]:
    """Time per verdict, which together is the whole time; [] without times."""
    frame, total = doc["frame"], doc["frame"]["duration_ns"]
    if not total:
        return []
    own, verdicts = column(doc["workloads"], "self_ns"), column(doc["workloads"], "verdict_class")
    count = Counter(v for v, ns in zip(verdicts, own, strict=True) if ns)
    times = {v: (frame["time_by_verdict"].get(v) or 0.0) for v in VERDICT_CLASSES}
    times["not-diagnosed"] += frame["uncovered_ns"] or 0.0
    if frame["timeline"] and (idle := total - sum(times.values())) > MIN_SHOWN_SHARE * total:
        # between the work of a timeline: no workload's, and judged by items of its own
        rests = {f["rank"] for f in doc["findings"] if any(e["metric"].startswith("idle.") for e in f["evidence"])}
        mine = [i["bound_ns"] or 0.0 for i in doc["todo"] if i["findings"] and i["findings"][0] in rests]
        times[IDLE_TO_FIX] = min(idle, sum(mine))
        times[IDLE] = idle - times[IDLE_TO_FIX]
    return [{"verdict": v, "ns": ns, "share": ns / total, "count": count[v]} for v, ns in times.items() if ns]


def is_unjudged(frame: FrameEntry) -> bool:
    """True if much of the time is not diagnosed, and of a timeline more than the to-do list saves."""
    total, ns = frame["duration_ns"], frame["time_by_verdict"]["not-diagnosed"]
    least = frame["recoverable_ns"] or 0.0 if frame["timeline"] else 0.0
    return bool(total and ns and ns >= MIN_UNDIAGNOSED_SHARE * total and ns > least)


def needed(top: UnitEntry) -> str:
    """What is not known of a unit at its peak: `needed bytes` of DRAM, else `needed work`."""
    return "needed bytes" if top["unit"] == "VRAM" else "needed work"


def undiagnosed_time(doc: Result, item: str = "workload") -> UndiagnosedEntry | None:
    """All time that is not diagnosed, however little, with the largest workloads of it; None where all is diagnosed."""
    frame = doc["frame"]
    total, uncovered = frame["duration_ns"], frame["uncovered_ns"] or 0
    ns = (frame["time_by_verdict"]["not-diagnosed"] or 0) + uncovered
    if not total or ns < MIN_SHOWN_SHARE * total:
        return None
    verdicts, own = column(doc["workloads"], "verdict_class"), column(doc["workloads"], "self_ns")
    kinds = column(doc["workloads"], "kind")
    mine = [i for i, ns in enumerate(own) if ns and verdicts[i] == "not-diagnosed"]
    longest = [max(mine, key=lambda i: own[i])] if mine else []
    units = doc["workloads"][longest[0]]["sol"] if longest else []
    names, calls = column(doc["workloads"], "name"), column(doc["workloads"], "calls")
    functions = [function(names[i]) for i in mine] if item == "kernel" else []
    times = Counter[str]()
    for name, i in zip(functions, mine, strict=False):
        times[name] += own[i]
    most = max(times, key=lambda name: times[name], default="")
    launches = sum(max(int(calls[i] or 1), 1) for name, i in zip(functions, mine, strict=False) if name == most)
    return {
        "ns": ns,
        "share": ns / total,
        "top": next((u for u in units if u["pct"] is not None), None),
        "uncovered_ns": uncovered,
        "names": distinct_names(doc["workloads"], longest),
        "count": len(mine),
        "copies": sum(kinds[i] == "copy" for i in mine) if item == "kernel" else 0,
        "collect": frame["unjudged_collect"],
        "function": (most, times[most], launches) if functions.count(most) > 1 else None,
    }


def time_at_limit(doc: Result) -> AtLimitEntry:
    """Self time of workloads at a hardware limit."""
    total, works = doc["frame"]["duration_ns"], doc["workloads"]
    own, verdicts = column(works, "self_ns"), column(works, "verdict_class")
    # a marker that only holds others has no self time
    mine = [i for i, ns in enumerate(own) if verdicts[i] == "at-limit" and (ns or not total)]
    ns, longest = sum(own[i] or 0 for i in mine), nlargest(MAX_NAMES, mine, key=lambda i: own[i] or 0)
    names = distinct_names(works, longest)
    return {"ns": ns, "share": ns / total if total else None, "count": len(mine), "names": names}
