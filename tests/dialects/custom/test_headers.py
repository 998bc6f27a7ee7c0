"""Custom tables: what names rows and columns, what a bare occupancy is, and what tells a frame from launches."""

import itertools
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT, run
from tests.helpers.headers import by_words
from triage import api, schema
from triage.derive import View
from triage.dialects.custom import vocabulary
from triage.dialects.custom.agree import agree
from triage.dialects.custom.say import say
from triage.inference.rule_context import setting

HEAD = "SM SOL%,TEX SOL%,L2 SOL%,DRAM SOL%,CROP SOL%"
FIGURES = "35,28,22,18,{crop}"


def chains(text: str, tmp_path: Path) -> dict[str, list[str]]:
    """Marker -> its chain of causes, of a table."""
    path = tmp_path / "frame.csv"
    path.write_text(text)
    return {w["name"]: w["chain"] for w in api.diagnose(path).to_dict()["workloads"]}


@pytest.mark.parametrize(
    ("header", "metric"),
    [
        ("Warp Launch Stall: Register Allocation", "launch_stall.register_allocation"),
        ("PS launch stalled: registers (%)", "launch_stall.ps_register_allocation"),
        ("VTG launch stalled: attributes (%)", "launch_stall.vtg_attr_allocation"),
        ("Warp Launch Stalled: Shared Memory Allocation", "launch_stall.cs_shmem_allocation"),
        ("launch_stall_ooo_warp_completion_pct", "launch_stall.ps_ooo_warp_completion"),
        ("SM Throughput while Active (%)", "sm.throughput_active"),
        ("Shader Core Utilization When Active %", "sm.throughput_active"),
        ("Waiting for Idle (%)", "wfi.sync"),
        ("L1TEX Sector Hit Rate", "l1tex.hit_rate"),
        ("Active Lanes per Instruction", "warp.threads_per_inst"),
        ("Threads per Threadgroup", "launch.block_size"),
        ("sharedMemoryBytes", "launch.shared"),
        ("ZCull Rejects (%)", "zcull.reject_rate"),
        ("PES+VPC Throughput", "vpc.throughput"),
        ("Memory Read (MB)", "vram.bytes_read"),
        ("Memory Read (%)", ""),  # a share of what?
        ("Launch Stall", ""),  # of what?
        ("SMs active (% of time)", "sm.active"),
        ("Occupancy (% of slots)", "sm.occupancy"),
        ("Colour output (CROP) %", "crop.throughput"),  # what stands in brackets says it
        ("ROP depth %", "zrop.throughput"),
        ("Constant cache stall %", "stall.imc_miss"),
        ("Compute dispatches", "dispatch.count"),
        ("Framebuffer", ""),  # a target, not its traffic
        ("Colour output unit load", "crop.throughput"),
        ("SM active share", "sm.active"),
        ("Wait.Idle", "wfi.sync"),
        ("Shader.SharedMemoryBytes", "launch.shared"),
        ("Overdraw [x]", "pixels.overdraw"),
    ],
)
def test_further_words_of_frames(header: str, metric: str) -> None:
    assert by_words(header) == [metric]


def test_several_words_are_united_as_if_each_phrase_were_looked_for() -> None:
    """Phrases are looked for where their first word stands; what one becomes may begin another."""
    texts = [f"{many}s rate of {other}" for (many, _), (other, _) in itertools.pairwise(vocabulary._joined())]
    texts += ["memory controllers", "shared rop colour", "crops rop", "nothing of that"]
    for text in texts:
        plain = text
        for many, one in vocabulary._joined():
            plain = re.sub(rf"\b{many}s?\b", one, plain)
        assert vocabulary._united(text) == plain


def test_a_pipe_is_called_by_its_name_only_beside_units_that_are() -> None:
    assert by_words("FMA") == [""]
    assert agree(say(["sm.throughput", "FMA"], (), {})).used.keys() == {"sm.throughput"}
    assert "pipe.fma" in agree(say(["sm.throughput", "l2.throughput", "FMA"], (), {})).used


def test_a_word_that_several_columns_begin_with_sorts_them() -> None:
    headers = ["units.sm", "units.tex", "units.dram", "pipes.fma", "fps.sm"]
    assert by_words(*headers) == ["sm.throughput", "l1tex.throughput", "vram.throughput", "pipe.fma", ""]


ROWS = {
    "paths of parents": ("Marker,Parent", "Frame,", "Post,Frame", "SSR,Frame/Post"),
    "numbers of parents": ("Id,ParentId,Marker", "1,,Frame", "2,1,Post", "3,2,SSR"),
    "a pass beside a marker": ("Pass,Marker", "Frame,", "Frame/Post,", "Frame/Post,SSR"),
    "a pass that names its rows' own": ("Pass,Event", "Frame 7,", "Post,", "Post,SSR"),
    "depth": ("Depth,Marker", "0,Frame", "1,Post", "2,SSR"),
}


@pytest.mark.parametrize("how", ROWS)
def test_rows_stand_where_their_columns_say(how: str, tmp_path: Path) -> None:
    head, *rows = ROWS[how]
    lines = [f"{head},GPU Time (us),{HEAD}"] + [f"{row},{time},{FIGURES.format(crop=9)}" for row, time in zip(rows, (820, 810, 800), strict=True)]  # fmt: skip
    path = tmp_path / "frame.csv"
    path.write_text("\n".join(lines))
    capture = api.read(path)
    assert capture.names.tolist() == [rows[0].rstrip(",").split(",")[-1], "Post", "SSR"]
    assert capture.depth.tolist() == [0, 1, 2]


def test_a_blank_within_a_quoted_header_does_not_take_names_apart(tmp_path: Path) -> None:
    """Names are set in by blanks, and only blanks behind every delimiter are none of theirs."""
    path = tmp_path / "frame.csv"
    path.write_text('Event,GPU time (us),SM [%],"Stall, barrier [%]"\nPost,900,35,2\n    SSR,880,35,3\n')
    assert api.read(path).depth.tolist() == [0, 1]
    path.write_text("Event, GPU time (us), SM [%]\nPost, 900, 35\n    SSR, 880, 35\n")
    assert sorted(api.read(path).names) == ["Post", "SSR"]


def test_a_column_gpu_over_words_names_the_gpu(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    path.write_text(f"Marker,GPU Time (us),{HEAD},GPU\nSSR,800,{FIGURES.format(crop=9)},NVIDIA GeForce RTX 3080\n")
    capture = api.read(path)
    assert capture.device is not None
    assert capture.device.arch == "sm_86"
    path.write_text("Marker,GPU,SM SOL%,TEX SOL%\nSSR,0.8,35,28\nAO,0.25,30,28\n")
    assert "gpu.time" in api.read(path).facts


@pytest.mark.parametrize(
    ("header", "values", "more", "metric"),
    [
        ("SM Occupancy", (37.0, 62.0), "", "sm.active_warps"),  # the article's column, beside shares with a sign
        ("SM Occupancy", (37.0, 68.0), "", "sm.occupancy"),  # no SM holds 68 warps
        ("SM Occupancy", (25.0, 44.0), "33.3", "sm.occupancy"),  # 25 of 64 warps are more than a third
        ("SM Occupancy", (0.25, 0.62), "", "sm.occupancy"),
        ("SM Occupancy [%]", (37.0, 62.0), "", "sm.occupancy"),
    ],
)
def test_a_bare_occupancy_is_read_by_evidence(
    header: str, values: tuple[float, float], more: str, metric: str, tmp_path: Path
) -> None:
    path = tmp_path / "frame.csv"
    theory = ",Theoretical Occupancy (%)" if more else ""
    rows = [f"{name},800,{FIGURES.format(crop=9)},{v}{',' + more if more else ''}" for name, v in zip("ab", values, strict=True)]  # fmt: skip
    path.write_text("\n".join([f"Marker,GPU Time (us),{HEAD},{header}{theory}", *rows]))
    capture = api.read(path)
    assert metric in capture.facts
    assert any(q.check == "occupancy-unit" for q in capture.quality) == ("%" not in header)


def test_bare_occupancy_beside_bare_shares_is_a_share(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    path.write_text(
        "Marker,GPU Time (us),SM Throughput,L2 Throughput,SM Occupancy\nSSR,800,35,28,31\nAO,300,40,20,44\n"
    )
    assert "sm.occupancy" in api.read(path).facts


def test_few_reasons_to_stall_without_a_unit_are_shares(tmp_path: Path) -> None:
    """Nsight Compute counts cycles under these names; of a few reasons cycles would be no shares, and people mean shares."""
    path = tmp_path / "frame.csv"
    head = "Marker,GPU Time (us),SM,TEX,L2,Stall Long Scoreboard,Stall Barrier"
    path.write_text(f"{head}\nSSR,500,33,29,22,58,1\nBlur,400,30,20,15,12,46\n")
    assert api.read(path).facts["stall.long_scoreboard"].tolist() == [0.58, 0.12]
    path.write_text(
        f"{head},Stall Selected\nSSR,500,33,29,22,8,1,1\nBlur,400,30,20,15,2,6,1\n"
    )  # an issue takes a cycle
    assert "stall_cycles.barrier" in api.read(path).facts


def test_a_phones_word_beside_an_sm_means_the_sms_part(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    path.write_text("Marker,GPU Time (us),sm_util,tex_util,alu_util\nSkin,500,92,20,91.5\n")
    assert {"pipe.alu", "l1tex.throughput"} <= api.read(path).facts.keys()


def test_counts_under_the_name_of_a_share_say_nothing_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    path.write_text("name,gpu.time [us],sm.throughput,l2.throughput,prims.culled\nSSR,800,0.35,0.28,120000\nAO,300,0.4,0.2,0\n")  # fmt: skip
    capture = api.read(path)
    assert capture.facts["sm.throughput"].tolist() == [0.35, 0.4]
    assert "prims.culled" not in capture.facts


STALLED = "Marker,GPU Time (us),Group Size," + HEAD + ",Warp Stall imc_miss %,Warp Stall long_scoreboard %\n{0},800,64," + FIGURES + ",44,15\nDraws,500,0,30,25,22,20,30,3,20\n"  # fmt: skip


def test_a_dispatch_of_a_frame_is_no_kernel_of_a_compute_api(tmp_path: Path) -> None:
    """Its group size says nothing of that: the draws beside it move units that no kernel moves."""
    assert chains(STALLED.format("Cull", crop=0.2), tmp_path)["Cull"] == ["constant-misses"]


def test_a_full_load_store_queue_leads_though_l1_is_the_busiest_unit(tmp_path: Path) -> None:
    row = "Voxels,800,36,74,35,22,0.2,98,37,50,15"
    found = chains(f"Marker,GPU Time (us),{HEAD},SM Active%,SM Throughput for Active Cycles,Warp Stall lg_throttle %,Warp Stall long_scoreboard %\n{row}\n", tmp_path)  # fmt: skip
    assert found["Voxels"][0] == "lsu-pressure"


def test_tiny_draws_are_told_apart_from_large_ones(tmp_path: Path) -> None:
    head = f"Marker,GPU Time (us),Draws,Primitives In,SM Active%,{HEAD}\n"
    found = chains(head + "Props,600,300,12000,45,8,4,6,5,3\nCascade,600,150,1100000,52,20,4,15,12,0\n", tmp_path)
    assert found["Props"][0] == "launch-overhead"
    assert found["Cascade"][0] != "launch-overhead"


def test_a_tabbed_table_with_times_is_no_export_without_them(tmp_path: Path) -> None:
    """GPU Trace keeps times in a file of their own; a table of PerfWorks counters that has them is somebody's own."""
    path = tmp_path / "frame.tsv"
    path.write_text("Name\tGPU Time [us]\tsm__sol_pct\tlts__sol_pct\tdram__sol_pct\nSSR\t800\t35\t20\t18\n")
    capture = api.read(path)
    assert capture.table.dialect == "generic"
    assert capture.duration_ns.tolist() == [800_000]


LISTED = dict(
    line.split(": ", 1)
    for line in (ROOT / "tests" / "data" / "custom_headers.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
BESIDE = {"gpu.time": "GPU time (ms)", "vpc.throughput": "VPC SOL%", "prop.throughput": "PROP SOL%", "stall.selected": "Stall: selected %"}  # fmt: skip


@pytest.mark.parametrize("metric", LISTED)
def test_every_way_of_writing_a_header_is_read(metric: str) -> None:
    """`none`: called like a metric, and no metric: beside the units and stalls of a frame such a column is left."""
    wanted = "" if metric == "none" else metric
    assert not wanted or schema.known(wanted.removeprefix("1 - "))
    found = {}
    for header in LISTED[metric].split("; "):
        headers = ["Pass", *(h for m, h in BESIDE.items() if m != metric), header]
        used = agree(say(headers, [0], {})).used
        read = next(((m, h) for m, h in used.items() if h.place == len(headers) - 1), None)
        found[header] = "" if read is None else f"1 - {read[0]}" if read[1].reading.lacks else read[0]
    assert {h: m for h, m in found.items() if m != wanted} == {}


@pytest.mark.parametrize(
    ("header", "cell", "metric", "value"),
    [
        ("SM throughput (0-1)", "0.41", "sm.throughput", 0.41),
        ("L2 hit rate [0..100]", "41", "l2.hit_rate", 0.41),
        ("Occupancy (normalized)", "0.41", "sm.occupancy", 0.41),
        ("Warps per SM (max 48)", "12", "sm.occupancy", 0.25),
        ("Active lanes %", "40", "warp.threads_per_inst", 12.8),
        ("lane_utilization", "40", "warp.threads_per_inst", 12.8),
        ("Active lanes (0-1)", "0.5", "warp.threads_per_inst", 16),
        ("Active lanes", "12", "warp.threads_per_inst", 12),
        ("L2 miss rate %", "30", "l2.hit_rate", 0.7),
        ("l1_miss_frac", "0.25", "l1tex.hit_rate", 0.75),
        ("Stalled on memory (%)", "30", "stall.long_scoreboard", 0.3),
        ("PS invocations (M)", "3.5", "invocations.ps", 3.5e6),
        ("Overdraw [fragments/pixel]", "2.5", "pixels.overdraw", 2.5),
        ("Active threads per warp (of 32)", "12", "warp.threads_per_inst", 12),
        ("Long scoreboard (% of warp stalls)", "41", "stall.long_scoreboard", 0.41),
        ("GPU micros", "41", "gpu.time", 41_000),
        ("ms (GPU)", "41", "gpu.time", 41e6),
        ("ms/frame", "41", "gpu.time", 41e6),
    ],
)
def test_a_header_says_what_its_figures_are_of(
    header: str, cell: str, metric: str, value: float, tmp_path: Path
) -> None:
    path = tmp_path / "frame.csv"
    time = "" if metric == "gpu.time" else "GPU Time (us),"
    path.write_text(f"Marker,{time}TEX SOL%,DRAM SOL%,{header}\nSSR,{'800,' if time else ''}28,18,{cell}\n")
    assert api.read(path).facts[metric][0] == pytest.approx(value)


def test_numbers_of_events_name_nothing_beside_a_column_of_words(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    path.write_text(f"Event,Marker path,Draw,GPU us,{HEAD}\n304,Frame/Base,Draw(6),800,{FIGURES.format(crop=9)}\n")
    capture = api.read(path)
    assert capture.names.tolist()[-1] == "Draw(6)"


def test_a_column_that_has_words_where_names_are_blank_holds_the_outer_markers(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    row = f"800,{FIGURES.format(crop=9)}"
    path.write_text(f"Queue part,Workload,GPU us,{HEAD}\nPost,,{row}\nPost,Bloom,{row}\n")
    capture = api.read(path)
    assert capture.names.tolist() == ["Post", "Bloom"]
    assert capture.depth.tolist() == [0, 1]


def test_warps_of_the_stages_are_an_occupancy(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    path.write_text(
        f"Marker,GPU us,{HEAD},PS warps %,VTG warps %\nSSR,800,{FIGURES.format(crop=9)},30,12\nOff,9,{FIGURES.format(crop=9)},0,0\n"
    )
    capture = api.read(path)
    assert View(capture)["sm.occupancy"].tolist()[0] == pytest.approx(0.42)


WAITS = "SM Throughput (%),L1/TEX Throughput (%),L2 Throughput (%),DRAM Throughput (%),Stall Long Scoreboard (%),Stall Barrier (%),Achieved Occupancy (%),Registers/Thread"
WAITING = {"barriers": "33,23,8,5,12,51,63,40", "loads": "33,30,11,6,53,0,32,128", "busy": "72,30,12,8,20,2,92,32"}


def test_draws_without_a_group_size_make_the_dispatches_beside_them_a_frame(tmp_path: Path) -> None:
    rows = [f"Fog {i},800,128,{WAITING['barriers']}\nProps {i},400,,{WAITING['loads']}" for i in range(3)]
    found = chains(f"Pass,Duration (us),Group Size,{WAITS}\n" + "\n".join(rows) + "\n", tmp_path)
    assert (found["Fog 0"][0], found["Props 0"][0]) == ("barrier-waits", "occupancy-registers")


def test_a_table_of_launches_alone_holds_kernels(tmp_path: Path) -> None:
    rows = "\n".join(f"{name},800,9000,128,{row}" for name, row in WAITING.items())
    found = chains(f"Dispatch,Duration (us),Grid Size (groups),Block Size (threads),{WAITS}\n{rows}\n", tmp_path)
    assert found["barriers"][0] == "barrier-waits"
    assert found["loads"][0] in ("occupancy-registers", "memory-latency")


def test_a_lost_group_size_makes_no_frame_of_kernels(tmp_path: Path) -> None:
    rows = "\n".join(f"{name},800,9000,{'' if name == 'busy' else 128},{row}" for name, row in WAITING.items())
    path = tmp_path / "kernels.csv"
    path.write_text(f"Dispatch,Duration (us),Grid Size (groups),Block Size (threads),{WAITS}\n{rows}\n")
    assert setting(View(api.read(path)))["work"] == "compute"


def test_copies_between_launches_make_no_frame_of_kernels(tmp_path: Path) -> None:
    kernels = "\n".join(f"{name},800,9000,128,{row}" for name, row in WAITING.items())
    copies = "\n".join(f"[CUDA memcpy HtoD] {i},90,,,,,,,,,," for i in range(4))
    path = tmp_path / "kernels.csv"
    path.write_text(f"Dispatch,Duration (us),Grid Size (groups),Block Size (threads),{WAITS}\n{kernels}\n{copies}\n")
    assert setting(View(api.read(path)))["work"] == "compute"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "rows", "noun"),
    [
        ("kernel,time us,block size,SM %,DRAM %", "a,12,256,40,20\nb,15,128,30,20\n", "2 kernels"),
        ("pass,time us,SM %,DRAM %,primitives", "a,12,40,20,5000\nb,15,30,20,300\n", "2 markers"),
    ],
)
def test_rows_of_a_custom_table_are_called_what_they_are(tmp_path: Path, header: str, rows: str, noun: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(f"{header}\n{rows}")
    assert f" in {noun}" in run("diagnose", path, "-f", "markdown").stdout


def test_no_column_in_a_unit_of_its_own_is_a_share() -> None:
    """Of every way to call a share, with a unit of time or traffic behind it."""
    shares = [
        (" ".join(sorted(words)), unit)
        for words, ids in vocabulary.metrics().items()
        if any(schema.get(m).unit == "ratio" for m in ids)
        for unit in ("(ms)", "[us]", "(GB/s)")
    ]
    texts = [f"{words} {unit}" for words, unit in shares]
    used = agree(say(texts, (), {})).used
    assert [h.text for metric, h in used.items() if schema.get(metric).unit == "ratio"] == []
