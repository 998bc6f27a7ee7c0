"""Workloads by self time, each with the finding of its root cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict, overload

from triage.document.bundle import column
from triage.document.entries import FindingEntry, Result, WorkloadEntry


class MarkerRow(TypedDict):
    """One workload with its findings. best: the one of its root cause. title: of the root cause; "" without."""

    workload: WorkloadEntry
    findings: list[FindingEntry]
    best: FindingEntry | None
    title: str
    saved_ns: float | None


class WorkloadsByTime(Sequence[MarkerRow]):
    """Workloads by self time, longest first, each with its findings, the one of its root cause, its title and saving.

    Made when asked for: of 100,000 a report shows ten.
    """

    def __init__(self, doc: Result, titles: Mapping[str, str]) -> None:
        self._titles = titles
        self._works = doc["workloads"]
        self._whole = len(self._works) == doc["frame"]["workloads"]
        self._findings: dict[str, list[FindingEntry]] = {}
        for f in doc["findings"]:
            self._findings.setdefault(f["workload"], []).append(f)
        own, ids = column(self._works, "self_ns"), column(self._works, "id")
        timed = any(own)  # then what only holds others has no row
        shown = (i for i in range(len(own)) if own[i] or not timed or ids[i] in self._findings)
        self._order = sorted(shown, key=lambda i: -(own[i] or 0))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, i: int) -> MarkerRow: ...
    @overload
    def __getitem__(self, i: slice) -> list[MarkerRow]: ...
    def __getitem__(self, i: int | slice) -> MarkerRow | list[MarkerRow]:
        return [self._row(k) for k in self._order[i]] if isinstance(i, slice) else self._row(self._order[i])

    @property
    def roots(self) -> set[str]:
        """Root causes of all workloads."""
        return {chain[0] for chain in column(self._works, "chain") if chain}

    @property
    def saved_ns(self) -> float | None:
        """Saving of all workloads together; None where --top leaves some out."""
        return float(sum(ns or 0.0 for ns in column(self._works, "saved_ns"))) if self._whole else None

    def best_findings(self) -> Iterator[FindingEntry]:
        """The best finding of each workload that has a listed one."""
        ids = column(self._works, "id")
        rows = (self._row(i) for i in self._order if ids[i] in self._findings)
        return (row["best"] for row in rows if row["best"])

    def _row(self, i: int) -> MarkerRow:
        w = self._works[i]
        mine = self._findings.get(w["id"], [])
        root = next(iter(w["chain"]), None)
        # the root, as in the to-do list; where its finding is not listed, no other one takes its place
        best = next((f for f in mine if root in (None, f["cause"])), None)
        return {
            "workload": w,
            "findings": mine,
            "best": best,
            "title": self._titles.get(root or "") or (best["title"] if best and root else ""),
            # without a root cause a finding is in no sum and no list, so it saves nothing here either
            "saved_ns": w["saved_ns"] if root else None,
        }
