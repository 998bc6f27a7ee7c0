"""Absolute counts of the longest workloads: a ratio of a small thing is small, and only its count tells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage import schema
from triage.diagnosis.outcomes import Outcomes
from triage.document.page_entries import CountEntry

MAX_WORKLOADS = 20  # whose counts are fetched, the longest
METRICS = (
    "launch.grid_size", "launch.block_size", "launch.registers", "launch.shared_static", "launch.shared_dynamic", "inst.executed",
    "vram.bytes_read", "vram.bytes_written", "work.needed_bytes", "l2.sectors", "global_load.requests", "global_load.sectors",
    "global_store.requests", "global_store.sectors", "local_load.sectors", "local_store.sectors", "shared.wavefronts",
    "shared.bank_conflicts", "atomics.requests", "flop.fp32", "draw.count", "prims.input", "pixels.shaded",
)  # fmt: skip


def counts(outcomes: Sequence[Outcomes]) -> dict[str, list[CountEntry]]:
    """Workload id -> the counts that are known, measured or derived; of the MAX_WORKLOADS longest workloads of all captures."""
    longest = sorted(
        (
            (-float(own), n, i)
            for n, o in enumerate(outcomes)
            for i, own in enumerate(np.nan_to_num(o.capture.self_ns[o.rows]))
        )
    )[:MAX_WORKLOADS]
    return {outcomes[n].ids[int(outcomes[n].rows[i])]: _of(outcomes[n], i) for _, n, i in longest}


def _of(o: Outcomes, i: int) -> list[CountEntry]:
    found: list[CountEntry] = []
    for metric in METRICS:
        values = np.broadcast_to(o.view[metric], o.view.size)
        if np.isfinite(values[i]):
            m = schema.get(metric)
            derived = metric not in o.capture.facts or bool(np.isnan(o.capture.facts[metric][o.rows][i]))
            found.append(
                {"metric": metric, "label": m.label, "value": float(values[i]), "unit": m.unit, "derived": derived}
            )
    return found
