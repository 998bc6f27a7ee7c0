"""How evenly work lies over the channels of L2 and over the dies (XCDs): from counters exported per channel (`TCC_REQ[17]`).

ROCm Compute Profiler numbers the channels of all dies in a row, each die's own together; a die's L2 serves its own compute
units alone, so a die's requests tell how much of the work it got.
"""

from __future__ import annotations

import numpy as np

from triage.capture.capture import Column, Table
from triage.dialects.amd.rocm_export import Export

COUNTER = "TCC_REQ"
# metric -> the columns that it comes from
NAMES = {"l2.channel_imbalance": [f"{COUNTER}[..]"], "die.imbalance": [f"{COUNTER}[..]"]}


def add(table: Table, export: Export) -> None:
    """`l2.channel_imbalance` and, on a GPU of several dies, `die.imbalance`: 1 - average / maximum."""
    headers = sorted((h for h in export.counters if h.startswith(f"{COUNTER}[")), key=_number)
    if len(headers) < 2 or [_number(h) for h in headers] != list(range(len(headers))):
        return
    requests = np.stack([export.counters[h].values for h in headers], axis=1)
    _share(table, export, "l2.channel_imbalance", requests, headers, "channels")
    dies = export.specs.get("num_xcd")
    count = int(np.nanmax(dies.values)) if dies is not None and np.isfinite(dies.values).any() else 1
    if count > 1 and len(headers) % count == 0:
        each = requests.reshape(len(requests), count, -1).sum(axis=2)
        _share(table, export, "die.imbalance", each, headers, f"{count} dies")


def _number(header: str) -> int:
    return int(header[len(COUNTER) + 1 : -1])


def _share(table: Table, export: Export, metric: str, loads: np.ndarray, headers: list[str], what: str) -> None:
    if metric in table.columns:
        return
    with np.errstate(all="ignore"):
        values = 1 - loads.mean(axis=1) / np.where(loads.max(axis=1) > 0, loads.max(axis=1), np.nan)
    if not np.isfinite(values).any():
        return
    table.raw |= {h: export.counters[h] for h in headers}
    formula = f"1 - average / maximum of {headers[0]} to {headers[-1]} over the {what}"
    table.columns[metric] = Column.computed(values, formula, tuple(headers))
