"""Panels of single units (16.1, 17.1, 18.1, ...) are read as one workload, and cold calls do not speak for the others."""

from pathlib import Path

import pytest

from tests.conftest import diagnosis_of
from tests.helpers.dialects import check_provenance, read
from triage.reading import reader
from triage.rulebook import packs

L1 = "Metric,Avg,Unit\nHit rate,0.0,Pct of Peak\nBandwidth,8.64,Pct of Peak\nUtilization,87.71,Pct of Peak\nCoalescing,25.0,Pct of Peak\n"
L2 = (
    "Metric,Avg,Unit\nUtilization,98.66,pct\nBandwidth,28.1,pct\nHit Rate,93.45,pct\nL2-Fabric Read BW,125.03,GB/s\n"
    "L2-Fabric Write and Atomic BW,None,GB/s\nHBM Bandwidth,1638.4,GB/s\n"
)
CHANNELS = (
    "Metric,Avg,Std Dev,Min,Max,Unit\nL2 Cache Hit Rate,33.1,1.2,30,36,pct\nReq,1000.0,400,100,4000,Req per wave\n"
)
# panels of gfx1151 (ROCm/rocm-systems, rocprofiler-compute, analysis_configs/gfx1151)
RDNA = (
    "Metric,Avg,Unit,Peak,Pct of Peak\nIPC,1.5,Instr/cycle,5,30\nWavefront Occupancy,320,Wavefronts,640,50\n"
    "L2 Cache Hit Rate,61.5,Percent,100,61.5\nL2-Fabric Read BW,120000000000,Bytes/s,None,None\n"
    "LDS Bank Conflicts,12,Conflicts,None,None\nWave Dependency Wait,72,Percent,100,72\nWave Issue Wait,9,Percent,100,9\n"
    "TCP Cache Hit Rate,40,Percent,100,40\nScalar Data Cache Hit Rate,98,Percent,100,98\nInstruction Cache Hit Rate,99,Percent,100,99\n"
)
RDNA_WAITS = (
    "Metric,Avg,Min,Max,Unit\nWait for Any,72,60,80,Percent\nWait for Instruction Fetch,3,1,4,Percent\n"
    "Wait for Barrier,31,20,40,Percent\nWait for Counter,44,40,50,Percent\n"
)
RDNA_L2 = "Metric,Avg,Min,Max,Unit\nGL2C Hit Rate,61.5,60,63,Percent\nGL2C Hits,100,90,110,Count per wave\n"
LOOKUPS = "Metric,Avg,Min,Max,Units\nReq,100,90,110,Req\nHit Ratio,55,50,60,pct\nTranslation Misses,45,40,50,Req\n"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (L1, {"l1tex.hit_rate": 0.0, "l1tex.throughput": 0.0864, "l1tex.busy": 0.8771, "l1tex.coalescing": 0.25}),
        (L2, {"l2.busy": 0.9866, "l2.throughput": 0.281, "l2.hit_rate": 0.9345, "fabric.read_throughput": 0.07631}),
        (
            L2.replace("HBM Bandwidth,1638.4", "HBM Bandwidth,None"),
            {"l2.busy": 0.9866, "l2.throughput": 0.281, "l2.hit_rate": 0.9345, "vram.bandwidth": 125.03e9},
        ),
        (CHANNELS, {"l2.hit_rate": 0.331, "l2.channel_imbalance": 0.75}),
        (LOOKUPS, {"tlb.miss_rate": 0.45}),
        (
            RDNA,
            {
                "cu.ipc": 1.5,
                "sm.occupancy_elapsed": 0.5,
                "l2.hit_rate": 0.615,
                "waves.dependency_wait": 0.72,
                "waves.issue_wait": 0.09,
                "l1tex.hit_rate": 0.4,
                "sl1d.hit_rate": 0.98,
                "l1i.hit_rate": 0.99,
            },
        ),
        (RDNA_WAITS, {"waves.dependency_wait": 0.72, "waves.fetch_wait": 0.03, "waves.barrier_wait": 0.31}),
        (RDNA_L2, {"l2.hit_rate": 0.615}),
    ],
)
def test_a_panel_is_one_workload(text: str, facts: dict[str, float], tmp_path: Path) -> None:
    path = tmp_path / "panel.csv"
    path.write_text(text)
    t = read(path)
    assert {m: float(c.values[0]) for m, c in t.columns.items()} == pytest.approx(facts, rel=1e-3)
    check_provenance(t)


def test_one_l2_figure_is_no_list_of_top_units(tmp_path: Path) -> None:
    path = tmp_path / "1701.csv"
    path.write_text(L2)
    found = diagnosis_of([reader.read(str(path))], packs.load())
    assert found.total == 0  # L2 at 28 % and memory at 8 %: the compute units were not measured


TRACE = (
    '"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp",'
    '"End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X",'
    '"Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)


def test_a_cold_first_call_is_named_and_not_averaged(tmp_path: Path) -> None:
    at, rows = 1000, ""
    for i in range(20):
        took = 68_000_000 if i == 0 else 100_000
        rows += f'"KERNEL_DISPATCH",1,1,9,{i + 1},7,"spmv",{i},{at},{at + took},0,0,32,0,32,256,1,1,16777216,1,1\n'
        at += took + 1000
    path = tmp_path / "1_kernel_trace.csv"
    path.write_text(TRACE + rows)
    capture = reader.read(str(path))
    assert capture.facts["gpu.time_median"][0] == 100_000
    assert capture.facts["gpu.time_max"][0] == 68_000_000
    found = diagnosis_of([capture], packs.load())
    assert [found.cause_index.names[i.cause] for i in found.items] == ["cold-start"]


def test_counters_of_a_cold_call_weigh_nothing(tmp_path: Path) -> None:
    head = "Index,KernelName,gpu-id,grd,wgr,lds,scr,VALUBusy,DurationNs\n"
    rows = "".join(f"{i},k,0,65536,256,0,0,{1 if i == 0 else 80},{900000 if i == 0 else 1000}\n" for i in range(5))
    path = tmp_path / "results.csv"
    path.write_text(head + rows)
    assert reader.read(str(path)).facts["valu.busy"][0] == pytest.approx(0.8)
