"""Real exports of Nsight Compute, Nsight Systems and nvprof, where they are at hand: dialect, rows, metrics or refusal."""

from pathlib import Path

import pytest

from tests.conftest import CORPUS, needs_corpus
from tests.helpers.dialects import read, refusal

SIDES = ("sm.throughput", "memory.throughput")
LAUNCH = ("launch.grid_size", "launch.block_size", "launch.registers", "launch.waves")
READ: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "ncu/n01": ("ncu-details", 1, (*SIDES, *LAUNCH, "gpu.time", "vram.bandwidth", "l2.hit_rate")),
    "ncu/n02": ("ncu-details", 112, (*SIDES, *LAUNCH, "gpu.time", "vram.bandwidth", "sm.issue_per_active")),
    "ncu/n04": ("ncu-details", 1, ("sm.throughput", "gpu.time", "vram.bytes_read", "vram.bytes_written", "launch.block_size")),
    "ncu/n06": ("ncu-details", 1, ("sm.throughput", "gpu.time", "shared.bank_conflicts", "global_load.sectors")),
    "ncu/n08": ("ncu-raw", 16, (*LAUNCH, "gpu.time", "pipe.alu", "sm.issue_per_elapsed", "occupancy.theoretical")),
    "ncu/n09": ("ncu-raw", 64, (*LAUNCH, "gpu.time", "pipe.fma")),
    "ncu/n12": ("ncu-details", 1, (*SIDES, "gpu.time", "vram.bytes_read", "vram.bandwidth", "occupancy.limit_registers")),
    "ncu/n13": ("ncu-details", 1, ("sm.throughput", "gpu.time", "vram.bytes_read", "vram.throughput")),
    "ncu/n14": ("ncu-details", 1, (*SIDES, "gpu.time", "sm.cycles_active")),
    "ncu/n15": ("ncu-details", 1, ("inst_rate.ffma", "peak.ffma_per_cycle", "vram.peak_bytes_per_cycle", "vram.bandwidth")),
    "ncu/n22": ("ncu-details", 82, ("gpu.time", "inst.dfma", "l2.bytes", "vram.bytes")),
    "ncu/n24": ("ncu-raw", 235, (*LAUNCH, "gpu.time", "vram.bytes_read", "inst.ffma", "device.sm_total")),
    "ncu/n28": ("ncu-raw", 3, (*SIDES, *LAUNCH, "gpu.time", "l2.hit_rate", "stall_cycles.long_scoreboard", "vram.throughput")),
    "ncu/n33": ("ncu-details", 10, (*SIDES, *LAUNCH, "gpu.time", "sm.occupancy", "inst.ffma")),
    "ncu/n35": ("ncu-details", 1, (*SIDES, *LAUNCH, "gpu.time")),
    "ncu/n38": ("ncu-details", 1, ()),
    "ncu/n41": ("ncu-details", 198, (*SIDES, "gpu.time", "vram.throughput")),
    "ncu/n47": ("ncu-details", 7, (*SIDES, "gpu.time", "sm.frequency")),
    "ncu_text/t02": ("ncu-text", 2, (*SIDES, *LAUNCH, "gpu.time", "vram.bandwidth")),
    "nsys/s01": ("nsys-kernels", 113, ("gpu.time", "frame.calls", "gpu.time_max")),
    "nsys/s02": ("nsys-kernels", 19, ("gpu.time", "frame.calls")),
    "nsys/s08": ("nsys-kernels", 175, ("gpu.time", "frame.calls")),
    "nvprof/v01": ("nvprof-metrics", 1, ("sm.occupancy", "sm.active", "vram.bandwidth", "stall.barrier", "pipe.fma")),
    "nvprof/v03": ("nvprof-metrics", 1, ("sm.occupancy", "sm.active", "pipe.fp64")),
    "nvprof/v05": ("nvprof-trace", 304, ("gpu.time", "launch.grid_size", "launch.registers", "launch.shared_static")),
    "nvprof/v08": ("nvprof-metrics", 1, ("inst.executed", "vram.bytes_read")),
    "nvprof/v10": ("nvprof-summary", 7, ("gpu.time", "frame.calls")),
    "nvprof/v17": ("nvprof-summary", 4, ("gpu.time", "frame.calls")),
}  # fmt: skip
REFUSED = {
    "ncu/n21": "did not match any section",
    "ncu_text/t03": "The application returned an error code",
    "nsys/s09": "cuda_gpu_mem_time_sum",
    "nsys/s10": "nvtx_sum",
    "nvprof/v16": "No kernels were profiled",
}
# figures checked by hand against the file: metric -> (row, canonical value)
FIGURES = {
    "ncu/n01": {"gpu.time": (0, 21058944), "vram.bandwidth": (0, 196456177859.63), "memory.throughput": (0, 0.6184)},
    "ncu/n12": {"gpu.time": (0, 6750), "vram.bytes_read": (0, 2.33e6), "vram.bandwidth": (0, 345.14e9)},
    "ncu/n22": {"gpu.time": (0, 692652.85 / 1311047944.43 * 1e9)},
    "ncu/n28": {"vram.bytes_read": (0, 7552), "gpu.time": (0, 2720), "sm.issue_per_active": (0, 0.032)},
    "ncu_text/t02": {"gpu.time": (0, 10940), "sm.cycles_elapsed": (0, 14495), "vram.bandwidth": (0, 11.27e9)},
    "nvprof/v01": {"vram.bandwidth": (0, 4.455447e9 + 9.667128e9), "sm.active": (0, 0.87266877)},
    "nvprof/v10": {"gpu.time_max": (0, 1791976), "gpu.time_min": (0, 43106)},
}

pytestmark = needs_corpus


def path(key: str) -> Path:
    folder, name = key.split("/")
    return next((CORPUS / folder).glob(f"{name}__*"))


def test_every_file_has_an_expectation() -> None:
    there = {
        f"{d}/{p.name[:3]}"
        for d in ("ncu", "ncu_text", "nsys", "nvprof")
        for p in (CORPUS / d).iterdir()
        if "__" in p.name
    }
    assert there == set(READ) | set(REFUSED)


@pytest.mark.parametrize("key", sorted(READ))
def test_read(key: str) -> None:
    dialect, rows, metrics = READ[key]
    table = read(path(key))
    assert (table.dialect, len(table)) == (dialect, rows)
    assert set(metrics) <= set(table.columns)
    assert all(len(c.values) == rows for c in table.columns.values())
    for metric, (row, value) in FIGURES.get(key, {}).items():
        assert table.columns[metric].values[row] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_refused(key: str) -> None:
    assert REFUSED[key] in refusal(path(key))
