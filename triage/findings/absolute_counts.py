"""Absolute counts of workloads: a ratio of a small thing is small, and only its count tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from triage import schema
from triage.diagnosis.outcomes import Outcomes
from triage.document.page_entries import CountEntry

METRICS = (
    "launch.grid_size", "launch.block_size", "launch.registers", "launch.shared_static", "launch.shared_dynamic", "inst.executed",
    "vram.bytes_read", "vram.bytes_written", "work.needed_bytes", "l2.sectors", "global_load.requests", "global_load.sectors",
    "global_store.requests", "global_store.sectors", "local_load.sectors", "local_store.sectors", "shared.wavefronts",
    "shared.bank_conflicts", "atomics.requests", "flop.fp32", "draw.count", "prims.input", "pixels.shaded",
)  # fmt: skip


class Counts(Sequence[list[CountEntry]]):
    """The counts of each shown workload that are known, measured or derived; worked out when they are asked for."""

    def __init__(self, outcomes: Sequence[Outcomes]) -> None:
        self._outcomes = outcomes

    def __len__(self) -> int:
        return sum(len(o.rows) for o in self._outcomes)

    @overload
    def __getitem__(self, i: int) -> list[CountEntry]: ...
    @overload
    def __getitem__(self, i: slice) -> list[list[CountEntry]]: ...
    def __getitem__(self, i: int | slice) -> list[CountEntry] | list[list[CountEntry]]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        for o in self._outcomes:
            if 0 <= i < len(o.rows):
                return _of(o, int(o.rows[i]))
            i -= len(o.rows)
        raise IndexError(i)


def _of(o: Outcomes, workload: int) -> list[CountEntry]:
    view, facts = o.view.part([workload]), o.capture.facts
    values = {m: float(np.broadcast_to(view[m], 1)[0]) for m in METRICS}
    return [
        {
            "metric": m,
            "value": value,
            "unit": schema.get(m).unit,
            "derived": m not in facts or not np.isfinite(facts[m][workload]),
        }
        for m, value in values.items()
        if np.isfinite(value)
    ]
