"""Tuners and scripts collect single counters, not the shares of peak: what they hold still gets an answer."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import diagnosis

HEAD = "ID,Process ID,Process Name,Kernel Name,Block Size,Grid Size,Device,CC"
COUNTERS = {
    "gpu__time_duration.sum": ("ns", 1_000_000),
    "launch__registers_per_thread": ("register/thread", 64),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("%", 24),
    "smsp__cycles_active.avg.pct_of_peak_sustained_elapsed": ("%", 90),
    "smsp__issue_active.avg.pct_of_peak_sustained_active": ("%", 20),
    "smsp__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active": ("%", 10),
    "smsp__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": ("%", 0),
    "smsp__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active": ("%", 50),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed": ("%", 12),
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("%", 8),
}


def judged(tmp_path: Path, **changed: float) -> Any:
    """The one workload of a raw export of these counters."""
    cells = {c: changed.get(c.split(".")[0], v) for c, (_, v) in COUNTERS.items()}
    path = tmp_path / "tuned.csv"
    path.write_text(
        f"{HEAD},{','.join(cells)}\n,,,,,,,,{','.join(u for u, _ in COUNTERS.values())}\n"
        f'0,1,tuned,convolve,"(32, 8, 1)","(4096, 1, 1)",0,7.5,{",".join(map(str, cells.values()))}\n'
    )
    return diagnosis(path).to_dict()["workloads"][0]


def test_sub_partition_counters_are_read(tmp_path: Path) -> None:
    judged(tmp_path)
    doc = diagnosis(tmp_path / "tuned.csv").to_dict()
    assert [c for c in doc["captures"][0]["unmapped"] if "__" in c] == []


@pytest.mark.parametrize(
    ("changed", "limiter"),
    [
        ({}, "latency"),
        ({"smsp__issue_active": 95}, "compute"),
        ({"dram__throughput": 91}, "memory"),
        ({"l1tex__data_pipe_lsu_wavefronts_mem_shared": 91}, "memory"),
    ],
)
def test_the_limiter_is_told_from_the_parts(tmp_path: Path, changed: dict[str, float], limiter: str) -> None:
    assert judged(tmp_path, **changed)["limiter_class"] == limiter


def test_the_bound_is_what_the_instructions_need(tmp_path: Path) -> None:
    """Traffic can be saved, instructions stay: 50 % of 90 % of the time the FMA pipe is full."""
    assert judged(tmp_path)["bound_speedup"] == pytest.approx(1 / 0.45, abs=1e-3)
    assert judged(tmp_path, dram__throughput=60)["bound_speedup"] == pytest.approx(1 / 0.45, abs=1e-3)
    assert judged(tmp_path, smsp__issue_active=80)["bound_speedup"] == pytest.approx(1 / 0.72, abs=1e-3)
