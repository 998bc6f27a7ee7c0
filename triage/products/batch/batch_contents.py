"""What a batch produced: what its index shows of each capture, and what recurs over them."""

from __future__ import annotations

from msgspec import Struct, field

from triage.ground.limiters import CONFIDENCE, SURENESS
from triage.ground.phrasing import plural
from triage.products.batch.batch_result import Listed, Overview, Recurring, Same
from triage.rendering.phrases import time

_CONFIDENCE = tuple(CONFIDENCE)  # least sure first


class Batch(Struct):
    """What a batch produced. captures: largest recoverable time first. errors: (name, reason); passed: the same of files that are no captures.

    causes: root causes over all captures, as `ranked` has them. drawn: path -> saved ns by cause, of the first captures.
    same: captures that hold the rows of one of `captures`, in the order of their paths; they count with it. limiters:
    the classes that took time anywhere.
    """

    captures: list[Listed] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    passed: list[tuple[str, str]] = field(default_factory=list)
    causes: list[Recurring] = field(default_factory=list)
    drawn: dict[str, dict[str, float]] = field(default_factory=dict)
    same: list[Same] = field(default_factory=list)
    limiters: set[str] = field(default_factory=set)
    findings: int = 0
    kept: int = 0

    def line(self) -> str:
        """One line: what was done."""
        ns = sum(c.recoverable_ns or 0 for c in self.captures)
        parts = [plural(len(self.captures), "capture"), plural(self.findings, "finding"), f"{time(ns)} recoverable"]
        if self.same:
            parts.append(plural(len(self.same), "duplicate"))
        if self.kept:
            parts.append(f"{self.kept} kept from before")
        skipped = f"; {plural(len(self.errors), 'file')} skipped (reasons: errors.csv)" if self.errors else ""
        return f"{', '.join(parts)}{skipped}"


def recur(found: dict[str, Recurring], c: Overview, report: str) -> None:
    """Enter a capture's root causes, by cause: the same one in several captures is one item. report: of the capture."""
    for cause in c["causes"]:
        item = found.setdefault(
            cause["cause"],
            {
                "cause": cause["cause"],
                "title": cause["title"],
                "captures": 0,
                "workloads": 0,
                "saved_ns": 0.0,
                "confidence": "high",
                "worst": c["path"],
                "worst_ns": -1.0,
                "report": report,
                "message": "",
            },
        )
        item["captures"] += 1
        item["workloads"] += cause["workloads"]
        item["saved_ns"] += cause["saved_ns"] or 0.0
        item["confidence"] = min(item["confidence"], cause["confidence"], key=_CONFIDENCE.index)
        if (cause["saved_ns"] or 0.0) > item["worst_ns"]:
            item["worst"], item["worst_ns"] = c["path"], cause["saved_ns"] or 0.0
            item["report"], item["message"] = report, cause["message"]


def ranked(found: dict[str, Recurring]) -> list[Recurring]:
    """Root causes over captures, largest saving first, weighed by its confidence."""
    return sorted(
        found.values(), key=lambda i: (-i["saved_ns"] * SURENESS[i["confidence"]], -i["captures"], i["cause"])
    )
