"""Savings that need each other's time: a data loader's worker hides behind the device's work, which other items make shorter;
where the host submits late, shorter work makes its gaps longer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from triage.diagnosis.diagnosis_result import Item, Part
from triage.diagnosis.root_causes import CauseIndex

if TYPE_CHECKING:
    from triage.capture.trace_nouns import DeviceTimeline

# heuristic: of the device's work; with most of it before gaps of the host, less work saves little
MIN_AHEAD_SHARE = 0.5
SEVERAL = 2  # waits; before the first one the capture does not know what the device did


class Shared(Struct, frozen=True):
    """What one worker of a data loader hides now, and after the items of the device's work; workers: that hide all waits then.

    cause: of those items, the one that saves most, -1 without one.
    """

    now_ns: float
    then_ns: float
    workers: int
    cause: int

    @property
    def shared_ns(self) -> float:
        """Time that one worker and the other items would both save."""
        return self.now_ns - self.then_ns


def shared(item: Item, items: Sequence[Item], parts: Sequence[Part], cause_index: CauseIndex) -> Shared | None:
    """How the waits for a data loader share time with other items; None of other items, and of loaders with workers."""
    if not cause_index.hides[item.rule]:
        return None
    waiting = _waiting(parts)
    busy = sum(d.busy_ns for p in parts if p.capture.timeline for d in p.capture.timeline.devices)
    if waiting is None or waiting.batches < SEVERAL or not busy:
        return None
    kernels = [i for i in items if not i.apart and i.saved_ns > 0]
    stays = max(1 - sum(i.saved_ns for i in kernels) / busy, 0.0)
    worked = waiting.loading_worked_ns * stays
    then = min(float(waiting.loading_hidden_ns), worked)
    most = max(kernels, key=lambda i: i.saved_ns).cause if kernels else -1
    return Shared(waiting.loading_hidden_ns, then, math.ceil(waiting.loading_ns / max(worked, 1)), most)


def hidden_by(item: Item, items: Sequence[Item], parts: Sequence[Part], cause_index: CauseIndex) -> list[int]:
    """Causes of items of a late host, largest first, that swallow what an item of the device's work saves."""
    mine = {p for p, _ in item.workloads}
    devices = [d for p in parts if p.number in mine and p.capture.timeline for d in p.capture.timeline.devices]
    if item.apart or sum(d.ahead_ns for d in devices) <= MIN_AHEAD_SHARE * sum(d.busy_ns for d in devices):
        return []
    return [i.cause for i in sorted(items, key=lambda i: -i.saved_ns) if i.apart and cause_index.of_host[i.rule]]


def _waiting(parts: Sequence[Part]) -> DeviceTimeline | None:
    """The device that waits most for a loader without workers."""
    devices = [d for p in parts if p.capture.timeline for d in p.capture.timeline.devices if d.loading_own_ns]
    return max(devices, key=lambda d: d.loading_ns, default=None)
