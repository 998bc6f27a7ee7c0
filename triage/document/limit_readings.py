"""What the longest workloads at a hardware limit do, at which rate, and how they get shorter: by less work."""

from __future__ import annotations

from heapq import nlargest
from typing import TypedDict

from triage.document.bundle import column
from triage.document.entries import Result, WorkloadEntry
from triage.ground.phrasing import percent
from triage.ground.terminology import localize
from triage.ground.units import show

WHOLE = 1.05  # times its longest range that a pass takes at most, for its bytes to be those of the range
MIN_SHARE = 0.1  # heuristic: of the time; a shorter one is not what the frame waits for
MAX_READINGS = 2
SAME_PCT = 0.05  # percentages that print alike


class LimitReading(TypedDict):
    """A workload at a hardware limit. text: its rates and what limits it; advice: how it does less work."""

    id: str
    name: str
    path: list[str]
    ns: float
    share: float
    text: str
    advice: list[str]


def limit_readings(doc: Result, item: str) -> list[LimitReading]:
    """Readings of the longest workloads at their limit, in frames; kernels are read under their roofs. item: what reports call a workload."""
    total = doc["frame"]["duration_ns"]
    if not total or item != "marker":
        return []
    own, verdicts = column(doc["workloads"], "self_ns"), column(doc["workloads"], "verdict_class")
    mine = [i for i, ns in enumerate(own) if verdicts[i] == "at-limit" and (ns or 0.0) >= MIN_SHARE * total]
    longest = [doc["workloads"][i] for i in nlargest(MAX_READINGS, mine, key=lambda i: own[i])]
    return [_reading(doc, w, total) for w in longest]


def _reading(doc: Result, w: WorkloadEntry, total: float) -> LimitReading:
    found = [f for f in doc["findings"] if f["workload"] == w["id"]]
    best = max(found, key=lambda f: (f["gain"] and f["gain"]["saved_ns"]) or 0.0, default=None)
    message, top = best["message"] if best else "", w["sol"][0]["pct"] if w["sol"] else None
    stated = [e["value"] for e in best["evidence"] if "stated" in e] if best else []
    tops = [] if any(v is not None and top is not None and abs(v - top) < SAME_PCT for v in stated) else w["sol"][:2]
    units = " and ".join(f"{localize(u['unit'])} at {u['pct']:.0f} % of peak" for u in tops if u["pct"])
    facts = ". ".join(text for text in ("; ".join(text for text in (units, _traffic(doc, w)) if text), message) if text)
    ns = w["self_ns"] or 0.0
    return {
        "id": w["id"],
        "name": w["name"],
        "path": w["path"],
        "ns": ns,
        "share": ns / total,
        "text": f"{show(ns, 'ns')} ({percent(ns / total)}): {facts}" if facts else "",
        "advice": best["advice"][:2] if best else [],
    }


def _traffic(doc: Result, w: WorkloadEntry) -> str:
    """`19.3 MB of memory traffic, 734 MB/s`: of the pass that consists of this workload; "" where bytes were not counted."""
    full = [*w["path"], w["name"]]
    for p in doc["passes"]:
        place = [*p["path"], p["name"]]
        moved = (p["read_bytes"] or 0.0) + (p["written_bytes"] or 0.0)
        ns = p["duration_ns"] or 0.0
        if (
            p["capture"] == w["capture"]
            and place == full[: len(place)]
            and moved
            and 1 / WHOLE <= (w["self_ns"] or 0.0) / (ns or 1.0) <= 1
        ):
            return f"{show(moved, 'byte')} of memory traffic, {show(moved / ns * 1e9, 'byte/s')}"
    return ""
