"""Counters under the names that vendors' tools print, in tables of one's own: the one ill marker's cause comes first."""

from pathlib import Path

import pytest

from triage import api
from triage.derive import View
from triage.dialects.tables import tool_names

ILL = {
    # AMD, rocprof-compute's panel of the workgroup manager
    "registers": ("occupancy-registers", {"Mean Duration (us)": 1461, "VALU Utilization %": 30, "VALU Active Threads %": 98, "Wavefront Occupancy %": 24, "Dependency Wait %": 66, "Issue Wait %": 5, "Not-scheduled Rate %": 21, "Insufficient SIMD VGPRs %": 84, "Insufficient CU LDS %": 0, "Insufficient CU Barriers %": 0, "Insufficient SIMD Waveslots %": 2}),
    "tiles": ("occupancy-shared-memory", {"Mean Duration (us)": 1153, "VALU Utilization %": 27, "Wavefront Occupancy %": 24, "Dependency Wait %": 65, "Not-scheduled Rate %": 12, "Insufficient SIMD VGPRs %": 0, "Insufficient CU LDS %": 91}),
    "waits": ("memory-latency", {"Mean Duration (us)": 951, "VALU Utilization %": 26, "VALU Active Threads %": 97, "Wavefront Occupancy %": 88, "Dependency Wait %": 76, "Issue Wait %": 4, "L2-Fabric Read BW (% of peak)": 27}),
    # AMD, GPUPerfAPI's counters per stage: the dispatch's are read, whatever stands first
    "tile lights": ("bank-conflicts", {"GPUTime (ms)": 0.8, "GPUBusy": 99, "PSVALUBusy": 0, "CSVALUBusy": 31, "MemUnitBusy": 33, "MemUnitStalled": 6, "CSLDSBankConflict": 43, "CSALUStalledByLDS": 48, "L2CacheHit": 88}),
    "lighting": ("fp32-bound", {"GPUTime (ms)": 2, "GPUBusy": 99, "PSVALUBusy": 0, "CSVALUBusy": 96, "MemUnitBusy": 32, "MemUnitStalled": 5, "L2CacheHit": 87}),
    "hair cards": ("late-depth", {"GPUTime": 2300000, "GPUBusy": 99, "PSBusy": 90, "TexUnitBusy": 35, "DepthStencilTestBusy": 60, "PreZSamplesPassing": 0, "PreZSamplesFailingZ": 0, "PostZSamplesPassing": 1200000, "PostZSamplesFailingZ": 13100000, "FetchSize": 138000000}),
    "depth of field": ("l1-locality", {"us": 1203, "VALU busy %": 23, "LDS busy %": 4, "L0 hit %": 25, "L2 hit %": 88, "DRAM %": 28, "wave occupancy %": 74}),
    "reflections": ("ray-traversal", {"GPUTime (ms)": 2.3, "GPUBusy": 99, "CSThreads": 2073600, "CSVALUBusy": 23, "CSVALUUtilization": 88, "MemUnitBusy": 56, "MemUnitStalled": 12, "L2CacheHit": 72, "RayBoxTests": 306892800, "RayTriTests": 64281600}),
    # Intel, metrics discovery
    "fire": ("crop-bound", {"GPU Duration (us)": 2750, "EU Active %": 29, "EU Stall %": 58, "EU Idle %": 13, "EU Thread Occupancy %": 78, "Samples Written": 31000000, "PS Output Available %": 91, "GTI Read Bytes": 46000000}),
    "leaves": ("late-depth", {"GPU Duration (us)": 1681, "EU Active %": 67, "EU Stall %": 29, "EU Idle %": 4, "Rasterized Pixels": 6735102, "Pixels Failing Post PS Tests": 4002017}),
    "march": ("memory-latency", {"GPU Duration (us)": 1580, "XVE Active %": 26, "XVE Stall %": 71, "XVE Idle %": 3, "XVE Threads Occupancy %": 79, "Sampler Busy %": 39, "Sampler Bottleneck %": 3, "L3 Hit %": 81, "GPU Memory Bandwidth Utilization %": 34}),
    # Arm, Streamline
    "ground": ("texture-format", {"GPU time (ms)": 3.4, "Arithmetic unit utilization %": 32, "Texture unit utilization %": 95, "Texture filtering cycles per instruction": 3.9, "Load/store unit utilization %": 14}),
    "branches": ("divergence", {"GPU time (ms)": 1.5, "Arithmetic unit utilization %": 73, "Texture unit utilization %": 28, "Warp divergence percentage": 67}),
    "cascade": ("raster-bound", {"GPU time (ms)": 1.6, "Tiler utilization (%)": 86, "Execution core utilization (%)": 33, "FMA pipe utilization (%)": 20, "Texture unit utilization (%)": 6, "External bandwidth utilization (%)": 30}),
    # Qualcomm, Snapdragon Profiler
    "crowd": ("vertex-fetch", {"Time (us)": 1498, "% Shaders Busy": 34, "% Time ALUs Working": 22, "% Texture Pipes Busy": 12, "% Texture Fetch Stall": 2, "% Vertex Fetch Stall": 64}),
    "targets": ("vram-bandwidth", {"Time (us)": 1498, "% Shaders Busy": 34, "% Time ALUs Working": 22, "% Texture Pipes Busy": 12, "GPU % Bus Busy": 88}),
    "long shader": ("instruction-fetch", {"Time (us)": 620, "% Shaders Busy": 60, "% Shaders Stalled": 70, "% Time ALUs Working": 25, "% Texture Pipes Busy": 20, "% Texture Fetch Stall": 3, "% Instruction Cache Miss": 47}),
    # Apple, Xcode
    "masks": ("integer-bound", {"GPU Time (ms)": 1.3, "ALU Limiter %": 95, "ALU Utilization %": 83, "F32 Limiter %": 30, "Integer and Conditional Limiter %": 96, "Texture Sample Limiter %": 12}),
    "history": ("vram-bandwidth", {"GPU Time (ms)": 0.9, "ALU Limiter %": 27, "ALU Utilization %": 22, "Texture Sample Limiter %": 41, "Last Level Cache Limiter %": 47, "Device Memory Bandwidth %": 79}),
    # NVIDIA
    "polls": ("sleeping-warps", {"Duration [us]": 530, "SM Throughput %": 14, "L1/TEX Throughput %": 9, "L2 Throughput %": 12, "VRAM Throughput %": 8, "Stall Sleeping %": 71, "Stall Barrier %": 1, "Stall Wait %": 4}),
    "odd groups": ("partial-warps", {"Duration [us]": 611, "SM Throughput %": 66, "L1/TEX Throughput %": 38, "L2 Throughput %": 26, "DRAM Throughput %": 21, "SM Active %": 99, "Issue Active %": 68, "Block Size": 72, "Grid Size": 40800, "Theoretical Occupancy %": 100, "Achieved Occupancy %": 88}),
    "uploads": ("blocking-copy", {"GPU Time (ms)": 1.2, "GPU Idle %": 1.6, "SM Active %": 55, "Sync Copy Engine Active %": 42, "SM Throughput %": 26, "L1TEX Throughput %": 21, "L2 Throughput %": 19, "VRAM Throughput %": 15, "Achieved Occupancy %": 60}),
    "bins": ("atomics-contention", {"gpu__time_duration.sum (us)": 1421, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 6, "l1tex__throughput.avg.pct_of_peak_sustained_elapsed": 9, "lts__throughput.avg.pct_of_peak_sustained_elapsed": 21, "dram__throughput.avg.pct_of_peak_sustained_elapsed": 4, "smsp__issue_active.avg.pct_of_peak_sustained_active": 7, "sm__warps_active.avg.pct_of_peak_sustained_active": 72, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1168000, "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum": 4477300, "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct": 44, "smsp__warp_issue_stalled_drain_per_warp_active.pct": 38}),
    "contacts": ("divergence", {"Duration [us]": 1261, "Compute (SM) Throughput [%]": 70, "L1/TEX Cache Throughput [%]": 36, "L2 Cache Throughput [%]": 31, "DRAM Throughput [%]": 23, "Issue Slots Busy [%]": 75, "Achieved Occupancy [%]": 75, "Block Size": 256, "Waves Per SM": 5.2, "Avg. Active Threads Per Warp": 7.6}),
    "scatter": ("uncoalesced-stores", {"Duration [us]": 1179, "Compute (SM) Throughput [%]": 24, "L1/TEX Cache Throughput [%]": 69, "L2 Cache Throughput [%]": 75, "DRAM Throughput [%]": 52, "Block Size": 256, "Waves Per SM": 8.3, "L1 Global Load Sectors/Req": 4.1, "L1 Global Store Sectors/Req": 27, "Stall LG Throttle [%]": 62}),
    "gather": ("l1-locality", {"GPU time (us)": 1437, "SM %": 32, "L1 hit %": 28, "L2 hit %": 91, "VRAM %": 22, "Occupancy %": 78}),
    "masked": ("late-depth", {"GPU (ms)": 2.2, "Draws": 620, "Late Z failed %": 53, "SM %": 67, "L1TEX %": 46, "VRAM %": 40, "CROP %": 41}),
    "props": ("small-triangles", {"GPU Duration (ms)": 1.9, "Input Primitives": 1721039, "Rasterized Primitives": 890891, "VS Invocations": 1275594, "PS Invocations": 1397079, "sm__throughput.avg.pct_of_peak_sustained_elapsed (%)": 37, "raster__throughput.avg.pct_of_peak_sustained_elapsed (%)": 67}),
}  # fmt: skip


def _frame(folder: Path, *lines: str) -> Path:
    """A table of these lines."""
    path = folder / "frame.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_counters_of_amds_library_are_read_by_its_names(tmp_path: Path) -> None:
    head = ("GPUTime", "GPUBusy", "PSPixelsIn", "TexUnitBusy", "PrimitivesIn", "FetchSize", "PostZSamplesPassing")
    file = _frame(tmp_path, f"Name,{','.join(head)}", "Hair,2300000,99,4000000,35,90000,138000000,1200000", "Fur,900000,97,900000,3,8000,9000000,4000")  # fmt: skip
    facts = api.read(file).facts
    got = {m: facts[m][0] for m in ("texture_pipe.busy", "invocations.ps", "prims.input", "vram.bytes_read")}
    assert got == pytest.approx(
        {"texture_pipe.busy": 0.35, "invocations.ps": 4e6, "prims.input": 90000, "vram.bytes_read": 138e6}
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ILL)
def test_the_cause_comes_first(name: str, tmp_path: Path) -> None:
    cause, counters = ILL[name]
    path = tmp_path / "frame.csv"
    path.write_text(f"Path,{','.join(counters)}\nFrame/{name},{','.join(map(str, counters.values()))}\n", "utf-8")
    found = api.diagnose(path).to_dict()
    assert not found["captures"][0]["unmapped"]
    assert found["todo"][0]["cause"] == cause
    assert found["workloads"][-1]["chain"][0] == cause


def test_averages_per_thread_are_no_sums_of_a_launch(tmp_path: Path) -> None:
    path = _frame(
        tmp_path, "Event,GPUTime (ms),GPUBusy,CSBusy,CSVALUInsts,CSVFetchInsts,PSVALUInstCount", "A,2,99,98,3600,190,0"
    )
    table = api.read(path).table
    assert table.unmapped == ["CSVALUInsts", "CSVFetchInsts", "PSVALUInstCount"] and "valu.insts" not in table.columns


def test_a_share_of_misses_is_no_number_of_them(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    path.write_text("Path,ms,L2 Throughput %,L2 Misses to System Memory %,Late Vertices %\nA,3,60,81,4\n", "utf-8")
    table = api.read(path).table
    assert table.columns["l2.sysmem_share"].values[0] == 0.81 and "l2.sysmem_misses" not in table.columns


def test_counters_of_stages_are_one(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    path.write_text(
        "Event,GPUTime (ms),PSVALUBusy,CSVALUBusy,PSBusy,CSBusy\nDraw,2,60,0,99,0\nDispatch,2,0,70,0,99\n", "utf-8"
    )
    capture = api.read(path)
    table = capture.table
    assert View(capture)["valu.busy"].tolist() == pytest.approx([0.6, 0.7]) and not table.unmapped
    # a busy stage is no share of a peak
    assert table.columns["stage.pixel_busy"].values.tolist() == pytest.approx([0.99, 0])


@pytest.mark.parametrize(
    ("head", "dialect"),
    [("Range\tgpu__time_duration.sum (us)", "generic"), ("Range Name\tgpu__time_duration.sum (us)", "nvperf")],
)
def test_a_time_with_its_unit_is_read(head: str, dialect: str, tmp_path: Path) -> None:
    path = tmp_path / "ranges.tsv"
    counters = "sm__throughput.avg.pct_of_peak_sustained_elapsed\tdram__throughput.avg.pct_of_peak_sustained_elapsed"
    path.write_text(f"{head}\t{counters}\nShadows\t1421.5\t40\t30\n", "utf-8")
    capture = api.read(path)
    assert capture.input.dialect == dialect and capture.duration_ns.tolist() == [1_421_500]


def test_a_busy_pipe_of_a_phone_is_its_limiter(tmp_path: Path) -> None:
    head = "Pass,GPU time (ms),Texture unit utilization (%),FMA pipe utilization (%),SFU pipe utilization (%),Diverged instructions (%),External bandwidth utilization (%)"
    path = _frame(tmp_path, head, "Sea,1.5,18,36,93,2,13", "Opaque,2,30,35,20,2,25")
    found = api.diagnose(path).to_dict()
    assert [w["limiter_class"] for w in found["workloads"]] == ["compute", "unknown"]
    asked = {m for spot in found["blind_spots"] for m in spot["missing"]}
    assert "texture_pipe.stalled" not in asked and not any(m.startswith("sm.") for m in asked)
    own = {named.counter for named in tool_names.of("mali").values()}
    assert {
        c for spot in found["blind_spots"] for c in spot["collect"].removeprefix("add columns: ").split(", ")
    } <= own


def test_of_two_sources_the_sum_is_no_whole(tmp_path: Path) -> None:
    """60.9 % of L2's traffic stays that where only the ROPs' columns stand in the table."""
    head = "Pass,ms,CROP SOL %,SM SOL %,L1TEX SOL %,L2 SOL %,VRAM SOL %,L2 traffic from CROP %,L2 traffic from ZROP %"
    path = _frame(tmp_path, head, "GBuffer,1.9,62,30,25,65,70,60.9,11.8")
    said = [f["message"] for f in api.diagnose(path).to_dict()["findings"] if f["rule"] == "GFX006"]
    assert said and all("60.9 %" in s for s in said)
    view = View(api.read(path))
    assert view["l2_share.crop"].tolist() == pytest.approx([0.609])


def test_the_root_cause_tells_the_limiter_where_no_unit_does(tmp_path: Path) -> None:
    head = "Surface,Time (us),% Shaders Busy,% Time ALUs Working,% Texture Pipes Busy,% Texture Fetch Stall,% Vertex Fetch Stall"
    path = _frame(tmp_path, head, "Crowd,1498,34,22,12,2,64", "Walls,900,40,30,35,3,2")
    found = api.diagnose(path).to_dict()
    assert [w["limiter_class"] for w in found["workloads"]] == ["front-end", "unknown"]
    assert found["workloads"][0]["verdict"].startswith("Front-end-bound (index, vertex, culling, raster)")
    assert [part["limiter_class"] for part in found["frame"]["limiters"]] == ["front-end", "unknown"]


def test_a_phones_bandwidth_is_its_systems(tmp_path: Path) -> None:
    head = "Render pass,GPU time (ms),Execution core utilization (%),Texture unit utilization (%),External bandwidth utilization (%)"
    path = _frame(tmp_path, head, "Bloom,1.5,22,26,96")
    item = api.diagnose(path).to_dict()["todo"][0]
    assert (item["cause"], item["rule"]) == ("vram-bandwidth", "MOB021")
    assert not any("shared memory" in advice for advice in item["advice"])
