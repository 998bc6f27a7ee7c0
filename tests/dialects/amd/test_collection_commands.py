"""Printed commands of AMD's tools ask for counters that the GPU at hand has."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.cases import vendor_kernels as amd
from triage import api
from triage.dialects.amd import rcp
from triage.dialects.amd.counters import rdna

GFX9 = re.compile(r"\b(?:TCC_\w+|SPI_RA_\w+|TA_\w+_sum|SQ_LDS_\w+|SQ_ACTIVE_INST_\w+|TCP_(?:TCC|TOTAL|GATE|UTCL1)\w*)")
LACKING = re.compile(rf"\b(?:{'|'.join(sorted(rdna.LACKING))})\b")
RADEON = ("RX 6800 XT", "RX 7900 XTX", "RX 9070 XT")


def trace(path: Path) -> Path:
    head = "Kind Agent_Id Queue_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id Start_Timestamp End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count SGPR_Count Workgroup_Size_X Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z"
    row = [
        "KERNEL_DISPATCH",
        "Agent 4",
        1,
        7,
        1,
        3,
        "blur",
        1,
        10**15,
        10**15 + 900_000,
        0,
        0,
        40,
        32,
        256,
        1,
        1,
        1 << 22,
        1,
        1,
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head.split(), row])
    return path


def commands(path: Path, device: str) -> list[str]:
    b = api.diagnose(path, device=device).bundle
    return [s["collect"] for s in b.blind_spots] + [
        c for c in (b.frame["unjudged_collect"], b.frame["collect_all"]) if c
    ]


@pytest.mark.parametrize("device", RADEON)
def test_radeons_are_asked_for_their_own_counters(device: str, tmp_path: Path) -> None:
    gpu = amd.GPUS[device]
    for path in (
        trace(tmp_path / "1_kernel_trace.csv"),
        amd.v1(tmp_path / "results.csv", gpu, [("blur", amd.WELL)], ["Wavefronts"]),
        amd.v3(tmp_path / "2_counter_collection.csv", gpu, [("blur", amd.WELL)], ["SQ_WAVES"], agents=False),
    ):
        asked = commands(path, device)
        assert asked
        assert not [c for c in asked if GFX9.search(c)], path.name
        if not gpu.arch.startswith("gfx12"):  # which has VALUBusy
            assert not [c for c in asked if LACKING.search(c)], path.name


def test_instincts_are_asked_for_theirs(tmp_path: Path) -> None:
    asked = commands(trace(tmp_path / "1_kernel_trace.csv"), "MI300X")
    assert any("VALUBusy" in c or GFX9.search(c) for c in asked)
    assert not any("GL2C_" in c for c in asked)


def test_the_old_compute_profiler_is_asked_for_what_it_derives() -> None:
    assert "VALUBusy" in rcp.collect(["valu.busy"])
    assert not GFX9.search(rcp.collect(["valu.busy", "l2.throughput", "waves.dependency_wait", "lds.busy"]))
