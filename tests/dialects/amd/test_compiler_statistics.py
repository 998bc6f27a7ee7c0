"""Radeon GPU Analyzer's statistics beside a capture join its launches: spills and registers that no profiler printed."""

import csv
from pathlib import Path

import pytest

from tests.cases import vendor_kernels as amd
from tests.conftest import diagnose
from tests.helpers.dialects import read

HEAD = (
    "DEVICE,SCRATCH_MEM,THREADS_PER_WORKGROUP,WAVEFRONT_SIZE,AVAILABLE_LDS_BYTES,USED_LDS_BYTES,AVAILABLE_SGPRs,USED_SGPRs,SGPR_SPILLS,"
    "AVAILABLE_VGPRs,USED_VGPRs,VGPR_SPILLS,CL_WORKGROUP_X_DIMENSION,CL_WORKGROUP_Y_DIMENSION,CL_WORKGROUP_Z_DIMENSION,ISA_SIZE"
)
LAZY = {"valu": 0.1, "ta": 0.5, "vram": 0.2, "waiting": 0.85, "l1": 0.3}


def capture(folder: Path, more: dict[str, float], names: tuple[str, ...] = ("blur", "copy")) -> Path:
    rows = [(n, amd.WELL | (more if n == "blur" else {})) for n in names]
    return amd.v3(folder / "9_counter_collection.csv", amd.GPUS["RX 7900 XTX"], rows)


def analysed(folder: Path, cells: str, name: str = "gfx1100_blur_stats.csv") -> None:
    (folder / name).write_text(f"{HEAD}\n{cells}\n", encoding="utf-8")


def without(path: Path, column: str) -> None:
    """The export of a build that did not print a column."""
    with path.open(newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f))
    at = rows[0].index(column)
    with path.open("w", newline="", encoding="utf-8") as f:
        csv.writer(f).writerows([c for i, c in enumerate(r) if i != at] for r in rows)


@pytest.mark.slow
def test_spills_of_the_compiler_are_the_kernels(tmp_path: Path) -> None:
    path = capture(tmp_path, LAZY)
    first = diagnose(path, "--full")
    assert not [f for f in first["findings"] if f["cause"] == "register-spills"]
    analysed(tmp_path, "gfx1100,720,N/A,32,65536,0,106,45,0,256,256,180,N/A,N/A,N/A,4940")
    result = diagnose(path, "--full")
    names = {w["id"]: w["name"] for w in result["workloads"]}
    spilled = [names[f["workload"]] for f in result["findings"] if f["cause"] == "register-spills"]
    assert spilled == ["blur"]  # the other kernel has no statistics
    t = read(path, "rocprofv3-counters")
    assert t.columns["launch.vgpr_spills"].values[0] == 180
    assert "gfx1100_blur_stats.csv" in t.columns["launch.vgpr_spills"].formula


def test_what_the_profiler_printed_stands_and_what_it_left_out_is_filled(tmp_path: Path) -> None:
    path = capture(tmp_path, {"vgpr": 40}, ("blur",))
    analysed(tmp_path, "gfx1100,0,N/A,32,65536,0,106,45,0,256,240,0,N/A,N/A,N/A,4940")
    assert read(path, "rocprofv3-counters").columns["launch.registers"].values[0] == 40
    without(path, "VGPR_Count")
    assert read(path, "rocprofv3-counters").columns["launch.registers"].values[0] == 240


def test_another_gpus_statistics_are_left(tmp_path: Path) -> None:
    path = capture(tmp_path, {}, ("blur",))
    analysed(tmp_path, "gfx1030,720,N/A,32,65536,0,106,45,0,256,256,180,N/A,N/A,N/A,4940", "blur_stats.csv")
    assert "launch.vgpr_spills" not in read(path, "rocprofv3-counters").columns
