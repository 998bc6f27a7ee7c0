"""Savings that need each other's time: where the host submits late, shorter work makes its gaps longer."""

from __future__ import annotations

from collections.abc import Sequence

from triage.diagnosis.diagnosis_result import Item, Part
from triage.diagnosis.root_causes import CauseIndex

# heuristic: of the device's work; with most of it before gaps of the host, less work saves little
MIN_AHEAD_SHARE = 0.5


def hidden_by(item: Item, items: Sequence[Item], parts: Sequence[Part], cause_index: CauseIndex) -> list[int]:
    """Causes of items of a late host, largest first, that swallow what an item of the device's work saves."""
    mine = {p for p, _ in item.workloads}
    devices = [d for p in parts if p.number in mine and p.capture.timeline for d in p.capture.timeline.judged]
    if item.apart or sum(d.ahead_ns for d in devices) <= MIN_AHEAD_SHARE * sum(d.busy_ns for d in devices):
        return []
    return [i.cause for i in sorted(items, key=lambda i: -i.saved_ns) if i.apart and cause_index.of_host[i.rule]]
