"""Budgets of a frame, its passes and markers: what is over, by how much, and which items would bring it under."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from triage.document.budget_entries import BudgetEntry
from triage.document.bundle import Bundle
from triage.document.entries import FrameEntry, ItemEntry
from triage.document.todo_items import is_accepted
from triage.products.settings import matches
from triage.rendering import phrases

WHOLE = "frame"  # the glob of the frame's own budget


def apply(b: Bundle, budgets: Sequence[tuple[str, float]], owners: Sequence[tuple[str, str]] = ()) -> Bundle:
    """The bundle with `budgets` in its frame, largest excess first; unchanged without budgets or times.

    budgets: (glob over markers, or `frame`; ns), as `triage.products.project` reads them. Several frames in one capture: times
    are per frame, of the whole frame the median.
    """
    total = b.frame["duration_ns"]
    medians = [c["frames"]["median_ns"] for c in b.head["captures"] if c["frames"]]
    if not budgets or not (total or medians):
        return b
    own = [([*w["path"], w["name"]], w["id"], w["self_ns"] or 0.0) for w in b.workloads]
    frames = sum(c["frames"]["count"] for c in b.head["captures"] if c["frames"]) or 1
    entries: list[BudgetEntry] = []
    for glob, allowed in budgets:
        whole = glob.lower() == WHOLE
        inside = {i: ns for path, i, ns in own if whole or matches(path, glob)}
        ns = sum(inside.values()) / frames
        if whole:
            ns = medians[0] if len(medians) == 1 and medians[0] else (total or 0.0) / frames
        over = max(ns - allowed, 0.0)
        chosen = _enough(b.todo, None if whole else inside, {i: ns for _, i, ns in own}, over, frames)
        owner = next((who for pattern, who in owners if pattern == glob or matches([glob], pattern)), None)
        entries.append(
            {
                "marker": glob,
                "ns": round(ns, 1),
                "allowed_ns": allowed,
                "over_ns": round(over, 1),
                "items": [rank for rank, _ in chosen],
                "saves_ns": round(sum(saved for _, saved in chosen), 1),
                "owner": owner,
                "matched": len(inside),
            }
        )
    entries.sort(key=lambda e: -e["over_ns"])
    frame: FrameEntry = {**b.frame, "budgets": entries}
    return replace(b, head={**b.head, "frame": frame})


def _enough(
    todo: Sequence[ItemEntry], inside: dict[str, float] | None, times: dict[str, float], over: float, frames: int
) -> list[tuple[int, float]]:
    """(rank, ns saved within the budget) of the first items that together save the excess; all where none do."""
    out: list[tuple[int, float]] = []
    for item in todo:
        if over <= sum(saved for _, saved in out):
            break
        saved = (item["saved_ns"] or 0.0) * _part(item["workloads"], inside, times) / frames
        if saved > 0 and not is_accepted(item):
            out.append((item["rank"], saved))
    return out


def _part(workloads: Sequence[str], inside: dict[str, float] | None, times: dict[str, float]) -> float:
    """Share of an item's saving that falls into a budget: by the time of its workloads there; 1 for the whole frame."""
    if inside is None:
        return 1.0
    whole = sum(times.get(w, 0.0) for w in workloads)
    return sum(inside.get(w, 0.0) for w in workloads) / whole if whole > 0 else 0.0


def exceeded(b: Bundle) -> list[str]:
    """Budgets that are exceeded, a line each."""
    return [
        f"{e['marker']} takes {phrases.time(e['ns'])}, over its budget of {phrases.time(e['allowed_ns'])}"
        for e in b.frame.get("budgets", [])
        if e["over_ns"] > 0
    ]
