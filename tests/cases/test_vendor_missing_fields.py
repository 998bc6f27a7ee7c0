"""What exports of AMD's and Intel's tools leave unsaid: the GPU, the unit of a counter, what threads wait for. Figures made up."""

from pathlib import Path

import pytest

from tests.helpers.dialects import check_provenance, read
from triage import api, devices


@pytest.mark.parametrize(
    ("text", "vendor", "name"),
    [
        ("nightly_mi300x_counter_collection.csv", "amd", "MI300X"),
        ("7900xtx.csv", "amd", "Radeon RX 7900 XTX"),
        ("RX-9070-XT", "amd", "Radeon RX 9070 XT"),  # an RX 9070 is another product
        ("run gfx90a.csv", "amd", "gfx90a"),
        ("Running on Intel(R) Arc(TM) B580 Graphics", "intel", "Arc B580"),
        ("a770", "intel", "Arc A770"),
    ],
)
def test_a_name_tells_the_gpu(text: str, vendor: str, name: str) -> None:
    found = devices.named(text, vendor)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "text",
    ["results.csv", "mi210_against_mi250x.csv", "arc_results", "run580.csv", "64_100_90.csv", "mi300", "h100", ""],
)
def test_no_guess_where_a_name_tells_none_or_several(text: str) -> None:
    assert devices.named(text, "amd") is None
    assert devices.named(text, "intel") is None


V1 = "Index,KernelName,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,Wavefronts,VALUBusy,FetchSize,WriteSize,DurationNs"


def _rocprof(path: Path) -> Path:
    # 1.36 GB in a millisecond: 83 % of what an MI210 can
    path.write_text(f'{V1}\n0,"copy(float*)",4194304,256,0,0,16,0,32,64,65536,4,664062,664062,1000000\n')
    return path


def _first(path: Path, device: str = "") -> dict[str, str]:
    """Workload -> its first root cause."""
    result = api.diagnose(path, device=device).to_dict()
    first: dict[str, str] = {}
    for f in result["findings"]:
        if f["root"]:
            first.setdefault(f["workload"], f["cause"])
    return {w["name"]: first.get(w["id"], "") for w in result["workloads"]}


def test_the_files_name_gives_the_peaks_that_shares_need(tmp_path: Path) -> None:
    """rocprof v1 states no GPU: bytes and time make no share of peak without one."""
    told, folder = _rocprof(tmp_path / "run_mi210.csv"), tmp_path / "MI210"
    folder.mkdir()
    for path in (told, _rocprof(folder / "results.csv")):
        table = read(path, "rocprof")
        assert table.device == "MI210"
        assert table.columns["vram.throughput"].values[0] == pytest.approx(0.83, abs=0.01)
        assert any("MI210" in q.message and "--device" in q.message for q in table.quality)
        assert _first(path) == {"copy(float*)": "vram-bandwidth"}
    unsaid = read(_rocprof(tmp_path / "results.csv"), "rocprof")
    assert unsaid.device == ""
    assert "vram.throughput" not in unsaid.columns
    assert api.read(told, device="MI300X").device.name == "MI300X"  # what somebody says comes first


def test_a_launch_of_a_few_waves_is_small_on_any_gpu(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    rows = ["1024,256,0,0,16,0,32,64,16,0.5,500,100,140000", "1048576,256,0,0,16,0,32,64,16384,0.5,500,100,140000"]
    path.write_text("\n".join([V1, *(f"{i},scan{i},{row}" for i, row in enumerate(rows))]) + "\n")
    assert _first(path) == {"scan0": "small-grid", "scan1": ""}


@pytest.mark.parametrize(
    ("name", "cause"), [("Cijk_Ailk_Bjlk_HHS_BH_MT128x256x32_MI32x32x8x1", ""), ("orbitals", "occupancy-shared-memory")]
)
def test_a_librarys_product_holds_few_waves_by_design(name: str, cause: str, tmp_path: Path) -> None:
    """Nobody counted matrix instructions: Tensile's name and accumulation registers tell of them."""
    path = tmp_path / "mi210.csv"
    path.write_text(f"{V1}\n0,{name},563200,256,49152,0,128,128,64,64,8800,9,150000,280000,1800000\n")
    assert _first(path) == {name: cause}


WIDE = (
    "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,wave_size,obj,"
    "GRBM_GUI_ACTIVE,SQ_WAVES,SQ_BUSY_CU_CYCLES,SQ_WAVE_CYCLES,SQ_WAIT_ANY,wave_size_1,Start_Timestamp,End_Timestamp"
)


@pytest.mark.parametrize(("busy", "active"), [(101_000_000, 0.971), (25_250_000, 0.971), (50_500_000, 0.486)])
def test_busy_units_counted_in_cycles_or_in_fours(busy: int, active: float, tmp_path: Path) -> None:
    """AMD documents fours, measured exports hold cycles: no more waves are resident than there are slots."""
    path = tmp_path / "mi210_pmc_perf.csv"
    path.write_text(
        f"{WIDE}\n0,walk(int*),0,4194304,256,0,0,32,0,32,64,0x1,1000000,65536,{busy},350000000,300000000,64,0,600000\n"
    )
    table = read(path, "rocprof-compute")
    assert table.columns["sm.active"].values[0] == pytest.approx(active, abs=0.001)
    assert table.columns["sm.active_warps"].values[0] <= 32
    assert any("quad-cycles" in note for note in table.notes) == (busy == 25_250_000)
    check_provenance(table)
    few = tmp_path / "few_mi210_pmc_perf.csv"  # waves that wait are resident too
    few.write_text(path.read_text().replace("SQ_WAVE_CYCLES", "SQ_INSTS_GDS"))
    assert read(few, "rocprof-compute").columns["sm.active"].values[0] == pytest.approx(active, abs=0.001)


VTUNE = [
    "Computing Task", "Work Size:Global", "Work Size:Local", "Computing Task:Total Time", "Computing Task:Instance Count",
    "XVE Array:Active(%)", "XVE Array:Stalled(%)", "XVE Array:Idle(%)", "XVE Threads Occupancy(%)", "XVE Stall Reasons:SBID(%)",
    "XVE Stall Reasons:Barrier(%)", "XVE Stall Reasons:Instruction Fetch(%)", "XVE Stall Reasons:Send(%)",
    "GPU Memory Bandwidth, GB/sec:Read", "GPU Memory Bandwidth, GB/sec:Write", "GPU Shared Local Memory:Bank Conflicts",
    "GPU Shared Local Memory:Average Bandwidth, GB/s", "GPU L3:Average Bandwidth, GB/s:Read", "TLB Misses",
]  # fmt: skip
TASKS = """
merge_tree 8388608 512 0.2 10 22 77 1 95 14 58 0 1 40 30 0 700 100 1000
tile_columns 8388608 256 0.1 10 11 88 1 95 70 3 0 10 60 60 2000000000 300 100 1000
big_switch 8388608 256 0.1 10 30 69 1 95 12 0 50 1 40 20 0 0 100 1000
chase 8388608 256 0.1 10 9 90 1 95 84 0 0 1 40 20 0 0 100 1000
touch 131072 256 0.00003 10 5 75 20 70 25 0 5 40 1 90 0 0 100 1000
"""


def test_what_vtune_says_threads_wait_for(tmp_path: Path) -> None:
    """Stalls with their reasons are no latency of memory only; conflicts count per access of the task's own bandwidth."""
    path = tmp_path / "kernels.csv"
    path.write_text("\t".join(VTUNE) + TASKS.replace(" ", "\t"))
    table = read(path, "vtune")
    assert table.columns["eu.stall_barrier"].values[0] == pytest.approx(0.58)
    assert table.columns["slm.accesses"].values[0] == pytest.approx(700e9 * 0.2 / 64)
    assert table.columns["l3.reads"].values[0] == pytest.approx(100e9 * 0.2 / 64)
    assert not table.unmapped
    check_provenance(table)
    causes = _first(path)
    assert causes["merge_tree"] == "barrier-waits"
    assert causes["tile_columns"] == "bank-conflicts"
    assert causes["big_switch"] == "instruction-fetch"
    assert causes["chase"] == "memory-latency"
    assert causes["touch"] not in ("memory-latency", "lsu-pressure")  # the first answer is most of three microseconds


PTI = (
    "Kernel,GlobalInstanceId,SubDeviceId,GpuTime[ns],XVE_ACTIVE[%],XVE_STALL[%],XVE_THREADS_OCCUPANCY_ALL[%],XVE_ATOMIC_ACCESS_COUNT[messages],"
    "XVE_STALL_SBID[%],XVE_STALL_SENDWR[%],GPU_MEMORY_BYTE_READ[bytes],GPU_MEMORY_BYTE_WRITE[bytes],L3_HIT[events],L3_MISS[events],"
    "LOAD_STORE_CACHE_ACCESS[events],LOAD_STORE_CACHE_HIT[events],"
)


@pytest.mark.parametrize(
    ("said", "device"), [("Running on Intel(R) Arc(TM) B580 Graphics", "Arc B580"), ("run", ""), ("A770, B580", "")]
)
def test_unitraces_application_names_the_gpu(said: str, device: str, tmp_path: Path) -> None:
    """Above the table an application often prints what it runs on; without, misses behind an empty queue may be either."""
    path = tmp_path / "metrics.77.csv"
    rows = [
        '"stream[SIMD32 {65536; 1; 1} {256; 1; 1}]",1,0,1000000,11,88,95,0,70,15,210000000,200000000,100000,6000000,6200000,0,',
        '"chain[SIMD32 {65536; 1; 1} {256; 1; 1}]",3,0,1000000,9,90,95,0,86,0,90000000,1000000,100000,2000000,2100000,0,',
        '"count_words[SIMD32 {65536; 1; 1} {256; 1; 1}]",2,0,1000000,5,94,95,4000000,65,28,9000000,1000000,9000000,200000,9500000,0,',
    ]
    path.write_text("\n".join([said, "=== Device #0 Metrics ===", "", PTI, *rows]) + "\n")
    assert read(path, "intel-pti").device == device
    causes = _first(path)
    assert causes["count_words"] == "atomics-contention"
    assert causes["stream"] == "vram-bandwidth"  # told by its share of the peak, else by the queue that is full
    assert causes["chain"] == ("memory-latency" if device else "")
