"""Printed commands of AMD's tools ask for counters that the GPU at hand has."""

import csv
import re
from pathlib import Path

import pytest

from tests.cases import vendor_kernels as amd
from triage import api, devices
from triage.dialects.amd import rcp, rocprof
from triage.dialects.amd.counters import availability, counter_names
from triage.dialects.amd.rocprofv3 import rocprofv3_counters

METRICS = sorted(counter_names.exported())
DEVICES = ("MI210", "MI300X", "MI355X", "RX 6800 XT", "RX 7900 XTX", "RX 9070 XT", "gfx1151")
ARCHS = ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx1", "")


def unknown(command: str, arch: str) -> list[str]:
    """Names of counters in a command that the GPU lacks."""
    asked = re.findall(r"pmc:? ([^'-]*)", command)
    return [c for group in asked for c in group.split() if availability.spelled(c, arch) != c]


@pytest.mark.parametrize("arch", ARCHS)
def test_no_command_asks_for_a_counter_that_the_gpu_lacks(arch: str) -> None:
    for module in (rocprof, rocprofv3_counters):
        for asked in (METRICS, [], *([m] for m in METRICS)):
            assert not unknown(module.collect(asked, arch), arch), asked
        assert "pmc" in module.collect([], arch)
    assert rocprofv3_counters.collect(["tlb.miss_rate"], "gfx1100") == ""  # nothing that RDNA counts


def test_the_table_tells_generations_apart() -> None:
    assert not availability.spelled("TCC_EA0_RDREQ_sum", "gfx90a") and availability.spelled(
        "TCC_EA0_RDREQ_sum", "gfx942"
    )
    assert not availability.spelled("MemUnitBusy", "gfx942") and availability.spelled("MemUnitBusy", "gfx90a")
    assert not availability.spelled("VALUBusy", "gfx1151") and availability.spelled("VALUBusy", "gfx1201")
    assert availability.spelled("TCP_REQ_sum", "gfx1200") == "TCP_REQ"
    assert availability.behind("L2CacheHit", "gfx1100") == ("GL2C_HIT", "GL2C_MISS")
    assert availability.families("gfx1103") == ("gfx11",) and availability.families("gfx1152") == ("gfx115",)


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


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
def test_reports_ask_for_counters_of_the_gpu(device: str, tmp_path: Path) -> None:
    gpu = amd.GPUS.get(device, amd.GPUS["MI300X"])
    arch = devices.require(device).arch
    for path in (
        trace(tmp_path / "1_kernel_trace.csv"),
        amd.v1(tmp_path / "results.csv", gpu, [("blur", amd.WELL)], ["Wavefronts"]),
        amd.v3(tmp_path / "2_counter_collection.csv", gpu, [("blur", amd.WELL)], ["SQ_WAVES"], agents=False),
    ):
        asked = commands(path, device)
        assert asked
        assert not [u for c in asked for u in unknown(c, arch)], path.name


def test_the_old_compute_profiler_is_asked_for_what_it_derives() -> None:
    assert "VALUBusy" in rcp.collect(["valu.busy"])
    assert not re.search(
        r"TCC_|SPI_|SQ_", rcp.collect(["valu.busy", "l2.throughput", "waves.dependency_wait", "lds.busy"])
    )
