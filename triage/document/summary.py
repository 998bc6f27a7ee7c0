"""What stands on top of every report: totals, the to-do list, shares by limiter, the longest markers.

Pure functions over the result document (schema triage/1), shared by single reports, batches and tickets.
"""

from __future__ import annotations

from typing import TypedDict

from triage.document.bundle import Bundle, column
from triage.document.entries import LimiterEntry
from triage.document.headline import counted, headline
from triage.document.limit_readings import LimitReading, limit_readings
from triage.document.markers_by_time import WorkloadsByTime
from triage.document.missing_counters import CollectEntry, missing_counters
from triage.document.time_shares import (
    AtLimitEntry,
    UndiagnosedEntry,
    VerdictEntry,
    is_unjudged,
    time_at_limit,
    time_by_verdict,
    undiagnosed_time,
)
from triage.document.timeline_summary import TimelineEntry, timeline
from triage.document.todo_items import TodoItem, is_insignificant, todo_items

TOP_ITEMS = 5  # items a short report lists


class AmountEntry(TypedDict):
    """Time in ns, and as a share of the frame."""

    ns: float | None
    share: float | None


class RecoverableEntry(TypedDict):
    """Recoverable time: low, likely, bound."""

    low: AmountEntry
    likely: AmountEntry
    bound: AmountEntry


class Summary(TypedDict):
    """What stands on top of every report; docs/templates.md says what each key is."""

    duration_ns: float | None
    counted: str
    recoverable: RecoverableEntry
    limiters: list[LimiterEntry]
    verdicts: list[VerdictEntry]
    causes: list[TodoItem]
    first: list[TodoItem]
    small: bool
    markers: WorkloadsByTime
    blind: list[CollectEntry]
    waiting: int
    headline: str
    unjudged: UndiagnosedEntry | None
    timeline: TimelineEntry | None
    dark: UndiagnosedEntry | None
    finished: AtLimitEntry
    limit_readings: list[LimitReading]
    collect_all: str | None
    copies: int


def summarise(b: Bundle) -> Summary:
    """Return what every report begins with; each number in it is a sum over listed findings or workloads."""
    doc = b.view
    frame, items = doc["frame"], todo_items(b.todo, doc)
    total, dark, blind = frame["duration_ns"], undiagnosed_time(doc, b.item), missing_counters(doc)
    first = dark if is_unjudged(frame) else None
    above = first["collect"] if first else frame["collect_all"] or (blind[0]["collect"] if blind else None)

    def amount(ns: float | None) -> AmountEntry:
        return {"ns": ns, "share": ns / total if total and ns is not None else None}

    return {
        "duration_ns": total,
        "counted": counted(doc, b.item),
        "recoverable": {
            "low": amount(frame["recoverable_low_ns"]),
            "likely": amount(frame["recoverable_ns"]),
            "bound": amount(frame["recoverable_bound_ns"]),
        },
        "limiters": [s for s in frame["limiters"] if s["self_ns"]] or frame["limiters"],
        "verdicts": time_by_verdict(doc),
        "causes": items,
        "first": [c for c in items[:TOP_ITEMS] if not is_insignificant(c)],
        "small": bool(items[:TOP_ITEMS]) and is_insignificant(items[:TOP_ITEMS][-1]),
        "markers": WorkloadsByTime(doc, {name: c["title"] for name, c in b.causes.items()}),
        "blind": blind,
        "waiting": len({r for spot in doc["blind_spots"] for r in spot["rules"]}),
        "headline": headline(doc, items, b.item, accepted=len(items) < len(b.todo)),
        "unjudged": first,
        "timeline": timeline(frame, (above,)),
        "dark": dark,
        "finished": time_at_limit(doc),
        "limit_readings": limit_readings(doc, b.item),
        "collect_all": frame["collect_all"],
        "copies": column(doc["workloads"], "kind").count("copy") if b.item == "kernel" else 0,
    }
