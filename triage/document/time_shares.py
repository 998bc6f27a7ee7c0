"""Shares of the time: not diagnosed, and at a hardware limit."""

from __future__ import annotations

from typing import TypedDict

from triage.document.bundle import column
from triage.document.entries import FrameEntry, Result

MIN_UNDIAGNOSED_SHARE = 0.2  # heuristic: a larger undiagnosed share of the time comes before everything else


class UnjudgedEntry(TypedDict):
    """Time without counters to decide; collect: the command that diagnoses most of it."""

    ns: float
    share: float
    collect: str | None


class UndiagnosedEntry(UnjudgedEntry):
    """All time that is not diagnosed. uncovered_ns: under no marker. names: of the largest workloads; count: of all."""

    uncovered_ns: float
    names: list[str]
    count: int


class AtLimitEntry(TypedDict):
    """Time at a hardware limit, and how many workloads."""

    ns: float
    share: float | None
    count: int


def unjudged(frame: FrameEntry) -> UnjudgedEntry | None:
    """Time of workloads without counters to decide, and the command that diagnoses most of it; None where it is little."""
    total, ns = frame["duration_ns"], frame["time_by_verdict"]["not-diagnosed"]
    if not total or not ns or ns < MIN_UNDIAGNOSED_SHARE * total:
        return None
    return {"ns": ns, "share": ns / total, "collect": frame["unjudged_collect"]}


def undiagnosed_time(doc: Result) -> UndiagnosedEntry | None:
    """All time that is not diagnosed, however little, with the largest workloads of it; None where all is diagnosed."""
    frame = doc["frame"]
    total, uncovered = frame["duration_ns"], frame["uncovered_ns"] or 0
    ns = (frame["time_by_verdict"]["not-diagnosed"] or 0) + uncovered
    if not total or ns < 0.0005 * total:
        return None
    verdicts, own = column(doc["workloads"], "verdict_class"), column(doc["workloads"], "self_ns")
    mine = [i for i, ns in enumerate(own) if ns and verdicts[i] == "not-diagnosed"]
    mine.sort(key=lambda i: -own[i])
    return {
        "ns": ns,
        "share": ns / total,
        "uncovered_ns": uncovered,
        "names": [doc["workloads"][i]["name"] for i in mine[:3]],
        "count": len(mine),
        "collect": frame["unjudged_collect"],
    }


def time_at_limit(doc: Result) -> AtLimitEntry:
    """Self time of workloads at a hardware limit."""
    total, works = doc["frame"]["duration_ns"], doc["workloads"]
    at_limit = zip(column(works, "verdict_class"), column(works, "self_ns"), strict=True)
    # a marker that only holds others has no self time
    mine = [ns or 0 for verdict, ns in at_limit if verdict == "at-limit" and (ns or not total)]
    return {"ns": sum(mine), "share": sum(mine) / total if total else None, "count": len(mine)}
