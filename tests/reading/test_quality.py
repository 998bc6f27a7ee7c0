"""Remarks on what the figures themselves say of the way they were taken."""

from __future__ import annotations

import numpy as np
import pytest

from triage.capture.capture import Column, Table
from triage.reading import quality

KERNEL = {
    "gpu.time": 1e6,
    "sm.frequency": 1.5e9,
    "device.max_clock": 2.6e6,
    "sm.throughput": 0.80,
    "vram.throughput": 0.53,
}


def remarks(**changed: float) -> list[str]:
    """Remarks on the clock of one launch. changed: metrics by name, dots as underscores."""
    facts = KERNEL | {name.replace("__", "."): value for name, value in changed.items()}
    columns = {m: Column(np.array([v]), m) for m, v in facts.items() if v == v}
    table = Table("test", [], np.array(["gemm"], dtype=object), columns)
    return [q.message for q in quality.check(table) if q.check == "locked-clock"]


def test_a_locked_clock_is_told_where_another_unit_leads_without_it() -> None:
    (text,) = remarks()
    assert "profiled at 1.5 GHz, 58 % of the device's 2.6 GHz" in text
    assert "DRAM (53 % busy here) passes the SM (80 %)" in text


@pytest.mark.parametrize(
    "changed",
    [
        {"vram__throughput": 0.40},  # 69 % at full clock
        {"sm__frequency": 2.5e9},
        {"sm__throughput": 0.45},
        {"vram__throughput": 0.90},  # DRAM limits at both
        {"device__max_clock": float("nan")},
    ],
)
def test_and_nowhere_else(changed: dict[str, float]) -> None:
    assert remarks(**changed) == []
