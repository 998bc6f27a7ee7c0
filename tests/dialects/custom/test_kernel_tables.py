"""Tables of kernels from people's own scripts: whose they are, what their words mean, and which causes come first."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.headers import by_words
from triage import api, dialects
from triage.capture.source import Source
from triage.derive import View


def _table(folder: Path, *lines: str) -> Path:
    path = folder / "kernels.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "dialect"),
    [
        ("kernel_name,grid_size,duration_us,sm_throughput_pct", "generic"),  # a name and a grid are anybody's
        ("Kernel Name,Grid Size,Time (us),SM %,DRAM %", "generic"),
        ("Kernel_Name,Grid_Size,Workgroup_Size,SGPR_Count", "rocprof"),
        ("Kernel_Name,Grid_Size,SQ_WAVES,GRBM_GUI_ACTIVE", "rocprof"),
        ("Dispatch_ID,Kernel_Name,Grid_Size,SQ_WAVES", "rocprof"),
    ],
)
def test_a_name_and_a_grid_make_no_table_of_rocprof(header: str, dialect: str, tmp_path: Path) -> None:
    cells = ",".join("saxpy" if "name" in h.lower() else "64" for h in header.split(","))
    picked, _ = dialects.pick(Source(_table(tmp_path, header, cells)))
    assert dialect == picked.NAME


@pytest.mark.parametrize(
    ("header", "metric"),
    [
        ("limit_regs", "occupancy.limit_registers"),
        ("Block limit (shared mem)", "occupancy.limit_shared"),
        ("limit_warps", "occupancy.limit_warps"),
        ("occupancy limit blocks", "occupancy.limit_groups"),
        ("Register limited %", ""),
        ("warp_cycles_per_inst", "warp.cycles_per_issue"),
        ("avg_not_pred_off_threads", "warp.unpredicated_threads_per_inst"),
        ("ld_sectors_per_request", "global_load.sectors_per_request"),
        ("sectors per req (st)", "global_store.sectors_per_request"),
        ("st_long_scoreboard", "stall.long_scoreboard"),  # `st` is a stall elsewhere
        ("Bytes/sector store", "global_store.bytes_per_sector"),
        ("Host memory read [MB]", "pcie.read_bytes"),
        ("Zeit / time [ms]", "gpu.time"),
        ("grid", ""),  # of what?
        ("block", ""),
    ],
)
def test_words_of_kernels(header: str, metric: str) -> None:
    assert by_words(header) == [metric]


def test_sizes_of_a_launch_are_called_so_beside_each_other_or_its_registers() -> None:
    assert by_words("grid", "block") == ["launch.grid_size", "launch.block_size"]
    assert by_words("regs/thread", "block")[1] == "launch.block_size"


def test_counts_of_atomics_are_no_share_of_them(tmp_path: Path) -> None:
    found = api.read(_table(tmp_path, "kernel,ms,grid,block,L2 %,Atomic requests", "a,1,9,64,9,0", "b,1,9,64,9,50000"))
    assert found.facts["atomics.requests"].tolist() == [0, 50_000]
    assert "atomics.share" not in found.facts


REASONS = "stall_barrier,stall_long_scoreboard,stall_wait,stall_selected"


@pytest.mark.parametrize(
    ("more", "rows", "cycles"),
    [
        ("", ("0.2,7.1,1.5,1.0", "3.0,0.4,2.5,1.0"), True),  # an issued warp's own cycle in every row
        ("warp_cycles_per_inst,", ("9.75,0.2,7.1,1.5,0.95", "7.0,3.0,0.4,2.5,1.1"), True),  # they add up to all
        ("", ("2,71,15,12", "30,4,25,41"), False),
        ("", ("0.02,0.71,0.15,0.12", "0.3,0.04,0.25,0.41"), False),
    ],
)
def test_reasons_that_count_cycles_are_no_shares(
    more: str, rows: tuple[str, ...], cycles: bool, tmp_path: Path
) -> None:
    lines = [f"k{i},1,{row}" for i, row in enumerate(rows)]
    found = api.read(_table(tmp_path, f"kernel,ms,{more}{REASONS}", *lines))
    assert ("stall_cycles.long_scoreboard" in found.facts) == cycles
    assert not any(remark.check == "impossible-value" for remark in found.quality)


def test_rows_of_several_gpus_have_the_limits_of_none(tmp_path: Path) -> None:
    head = "GPU,kernel,ms,grid,block,SM %"
    mixed = api.read(_table(tmp_path, head, "Tesla T4,a,1,90,256,20", "GeForce RTX 4090,b,1,90,256,20"))
    assert mixed.device is None
    assert any("2 GPUs" in note for note in mixed.notes)
    same = api.read(_table(tmp_path, head, "Tesla T4,a,1,90,256,20", "NVIDIA Tesla T4,b,1,90,256,20"))
    assert same.device is not None
    assert same.device.name == "Tesla T4"


def test_kernels_with_a_grid_and_a_block_are_no_frame(tmp_path: Path) -> None:
    head = "kernel,ms,grid,block,SM %,L1 %,L1 hit %,L2 hit %,DRAM %,tensor pipe %"
    path = _table(tmp_path, head, "tile,0.6,16384,256,93,93,0,81,5,0", "mma,0.45,1080,256,33,64,0,82,39,33")
    rules = {f["rule"] for f in api.diagnose(path).to_dict()["findings"]}
    assert not [r for r in rules if r.startswith(("GFX", "MOB"))]


HEAD = (
    "kernel,us,grid,block,regs/thread,SM %,DRAM %,L2 %,L1 %,L1 hit %,L2 hit %,theor. occ %,achieved occ %,issue slots busy %,"
    "threads/warp,sectors/req load,LSU pipe %,TEX pipe %,tensor pipe %,smem bank conflicts %,smem atomics,host memory read [MB],"
    "stall long scoreboard %,stall short scoreboard %,stall lg throttle %,stall mio throttle %,stall tex throttle %,"
    "stall math pipe throttle %,stall not selected %,stall no instruction %,stall barrier %,stall wait %"
)
WELL = "k,600,20000,256,32,30,30,25,20,40,60,100,90,30,32,4,12,0,0,0,0,0,28,4,2,2,0,5,8,2,0,20"
ILL = {
    "the bus is busier than the GPU": ("bus-traffic", {"SM %": 1, "DRAM %": 2, "L2 %": 2, "L1 %": 1, "LSU pipe %": 1,
        "host memory read [MB]": 9, "issue slots busy %": 1, "stall long scoreboard %": 96, "stall wait %": 0}),
    "a full queue before idle L1 and L2": ("atomics-contention", {"SM %": 2, "DRAM %": 24, "L2 %": 7, "L1 %": 2, "LSU pipe %": 2,
        "issue slots busy %": 2, "stall long scoreboard %": 30, "stall lg throttle %": 61, "stall wait %": 0}),
    "few atomics keep shared memory busy": ("atomics-contention", {"L1 %": 86, "LSU pipe %": 5, "SM %": 8, "L1 hit %": 0,
        "smem atomics": 3_000_000, "issue slots busy %": 8, "stall long scoreboard %": 6, "stall short scoreboard %": 48,
        "stall mio throttle %": 42, "stall wait %": 1}),
    "the texture pipe leads the SM": ("texture-queue", {"SM %": 87, "TEX pipe %": 87, "L1 hit %": 88, "L1 %": 34,
        "stall tex throttle %": 50, "stall wait %": 6}),
    "registers, but code that does not arrive": ("instruction-fetch", {"regs/thread": 100, "theor. occ %": 31, "achieved occ %": 30,
        "SM %": 24, "DRAM %": 4, "L2 %": 4, "L1 %": 3, "issue slots busy %": 22, "stall no instruction %": 62, "stall long scoreboard %": 9}),
    "barriers and loads beside a half-busy L1": ("barrier-waits", {"L1 %": 64, "L2 %": 63, "LSU pipe %": 24, "tensor pipe %": 33, "SM %": 33,
        "L1 hit %": 0, "issue slots busy %": 15, "stall barrier %": 55, "stall long scoreboard %": 24, "stall wait %": 5}),
}  # fmt: skip


def _lead(folder: Path, changes: dict[str, object]) -> str:
    """The cause that leads the first of two kernels, the second of which is well."""
    row = dict(zip(HEAD.split(","), WELL.split(","), strict=True)) | {name: str(v) for name, v in changes.items()}
    found = api.diagnose(_table(folder, HEAD, ",".join(row.values()), "well" + WELL[1:])).to_dict()
    return next(str(w["chain"][0]) for w in found["workloads"] if w["name"] == "k")


@pytest.mark.slow
@pytest.mark.parametrize("name", ILL)
def test_the_cause_that_the_figures_prove_comes_first(name: str, tmp_path: Path) -> None:
    expected, changes = ILL[name]
    assert _lead(tmp_path, changes) == expected


TRACE = "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name"


@pytest.mark.parametrize(("us", "told"), [(1_900, True), (3, False)])
def test_a_timeline_names_launches_of_a_few_groups_that_last(us: int, told: bool, tmp_path: Path) -> None:
    """No unit's share is known there: half of the SMs without a group are enough, but not in a launch that is over at once."""
    ends = [
        f"{i * (us + 1) * 1000},{us * 1000},{i},4,1,1,256,1,1,40,0,0,,,,,NVIDIA A100-SXM4-80GB (0),1,7,merge(float*)"
        for i in range(3)
    ]
    found = api.diagnose(_table(tmp_path, TRACE, *ends)).to_dict()
    assert ("CMP001" in {f["rule"] for f in found["findings"]}) == told


QUEUES = "kernel,us,grid,block,SM %,DRAM %,L2 %,L1 %,L1 hit %,iss %,stall long sb %,stall lg throttle %,stall mio throttle %,stall tex throttle %"


def first_causes(path: Path) -> dict[str, str]:
    """Kernel -> the cause of its first finding that is a root."""
    told = api.diagnose(path).to_dict()
    names = {w["id"]: w["name"] for w in told["workloads"]}
    found: dict[str, str] = {}
    for f in told["findings"]:
        if f["root"] and f["cause"] not in ("near-limit", "low-throughput"):
            found.setdefault(names[f["workload"]], f["cause"])
    return found


def test_queues_of_an_sm_tell_whose_gpu_a_table_of_kernels_is_of(tmp_path: Path) -> None:
    """The article's words for textures are not said of a kernel whose full queue is known."""
    rows = ("resample,264,10200,256,32,22,9,67,54,33,16,1,1,62", "triad,530,65536,256,16,92,30,6,0,16,79,0,1,0")
    path = _table(tmp_path, QUEUES, *rows)
    assert first_causes(path)["resample"] == "texture-queue"
    view = View(api.read(path))
    assert view["device.is_nvidia"].tolist() == [1, 1]
    frame = api.read(_table(tmp_path, QUEUES.replace("block", "CROP %"), *rows))  # a frame may call anything so
    assert np.isnan(View(frame)["device.is_nvidia"]).all()


def test_a_figure_that_is_no_share_contradicts_none(tmp_path: Path) -> None:
    found = api.read(_table(tmp_path, "kernel,ms,SM %,DRAM %,DRAM BW", "a,1,20,81,622", "b,1,30,79,603"))
    assert not [q for q in found.quality if q.check == "columns-disagree"]


def test_what_was_stated_tells_which_resource_holds_warps_back_without_shared_memory(tmp_path: Path) -> None:
    head = "kernel,us,grid,block,regs,SM %,DRAM %,occupancy theoretical %"
    rows = ("explained,910,1600,128,232,34,9,25", "something else,910,1600,128,40,34,9,25")
    view = View(api.read(_table(tmp_path, "# Tesla T4", head, *rows)))
    assert view["limited_by.registers"][0] == 1
    assert np.isnan(view["limited_by.registers"][1])  # 40 registers fill every slot: what holds them back is not told


def test_what_l1_moves_is_no_math_although_the_sm_counts_it_too(tmp_path: Path) -> None:
    head = "kernel,us,SM %,L1 %,L2 %,DRAM %,issue active %,FMA pipe %"
    view = View(
        api.read(_table(tmp_path, head, "stencil,733,90.4,90.4,31,67,72,49", "product,733,90.4,60,31,67,72,49"))
    )
    assert view["unit.math"].tolist()[1] == pytest.approx(0.904)
    assert not view["unit.math"][0] > 0.5


def test_loads_that_wait_for_the_host_are_its_and_few_conflicts_are_no_wait(tmp_path: Path) -> None:
    head = f"{QUEUES},L2 hit %,sysmem share of L2 misses %,shared wavefronts per access,stall short sb %"
    rows = (
        "host table,3900,4320,256,2,1,1,1,7,2,83,1,0,0,68,91,1.0,0",
        "device table,3900,4320,256,2,40,20,10,7,2,83,1,0,0,68,1,1.0,0",
        "lookups,197,10200,256,40,13,6,45,20,37,0,1,21,0,71,0,1.12,51",
        "columns,197,10200,256,20,13,6,45,20,15,0,1,31,0,71,0,9.0,51",
    )
    assert first_causes(_table(tmp_path, head, *rows)) == {
        "host table": "far-memory",
        "device table": "memory-latency",
        "lookups": "shared-memory-latency",
        "columns": "bank-conflicts",
    }


def test_a_full_pipe_of_double_precision_has_no_matrix_engine_to_go_to(tmp_path: Path) -> None:
    head = "kernel,ms,XVE Active [%],XVE Stalled [%],FP64 Pipe [%],XMX Active [%],HBM Bandwidth Utilization [%]"
    rows = ("dgemm_blocked,5,94,4,89,0,12", "sgemm_naive,5,94,4,0,0,12")
    found = first_causes(_table(tmp_path, "# Intel Data Center GPU Max 1550", head, *rows))
    assert found == {"dgemm_blocked": "fp64-bound", "sgemm_naive": "matrix-unused"}


@pytest.mark.parametrize(("threads", "size"), [(("256", "128"), [256, 128]), (("40960", "128"), None)])
def test_fewer_threads_than_blocks_are_one_blocks(
    threads: tuple[str, str], size: list[int] | None, tmp_path: Path
) -> None:
    rows = (f"k{i},1,{160 * 10**i},{n},40" for i, n in enumerate(threads))
    found = api.read(_table(tmp_path, "kernel,ms,blocks,threads,registers per thread", *rows))
    told = found.facts.get("launch.block_size")
    assert (None if told is None else told.tolist()) == size


@pytest.mark.parametrize(
    ("header", "cells", "ns"),
    [
        ("kernel,calls,avg_us,total_ms", "a,100,5,0.5", 5e5),  # whatever stands first
        ("Kernel,Calls,Total ms,Max us,Median us", "a,100,0.5,9,4", 5e5),
        ("kernel,calls,avg_us", "a,100,5", 5e5),
        ("Run,Main kernel name,Calls,Average duration (us)", "one,a,100,5", 5e5),
        ("op,calls,Total,Share", "a,100,0.5ms,30%", 5e5),
        ("kernel,calls,Total ms", 'a,"26,000",0.5', 5e5),
        ("pass,calls,avg_us,SM %", "a,100,5,40", 5e3),  # of a frame, an average is over frames
    ],
)
def test_time_of_all_calls(header: str, cells: str, ns: float, tmp_path: Path) -> None:
    found = api.read(_table(tmp_path, header, cells))
    assert found.duration_ns.tolist() == pytest.approx([ns]) and list(found.names) == ["a"]
    assert found.calls.tolist() == [26_000 if "26" in cells else 100]
    assert not any(q.check == "columns-disagree" for q in found.quality)


def test_a_share_of_the_gpu_is_no_time() -> None:
    assert by_words("GPU share") == [""] and by_words("GPU (ms)") == ["gpu.time"]


@pytest.mark.parametrize(
    ("first", "second", "noun"),
    [
        ("triton_poi_fused_add_0", "void gemm<4>(float*)", "kernels"),
        ("triton_poi_fused_add_0", "Bloom", "markers"),
        ("Post::Bloom (half)", "FScene::Render", "markers"),
    ],
)
def test_compiled_names_are_kernels(first: str, second: str, noun: str, tmp_path: Path) -> None:
    file = _table(tmp_path, "name,time (us),SM %,DRAM %", f"{first},700,12,88", f"{second},300,30,40")
    api.diagnose(file).save(tmp_path / "report.txt", "terminal")
    assert f"in 2 {noun}" in (tmp_path / "report.txt").read_text("utf-8")
