"""Exports of GPU times by pass: Unreal logs and timers, trace events, Tracy, apitrace, INTEL_MEASURE."""

import json
import re

import numpy as np
import pytest

from tests.conftest import SAMPLES
from tests.helpers.dialects import read, refusal
from triage.capture.capture import SEP
from triage.capture.source import Source
from triage.dialects.frames import unreal_gpu_log
from triage.reading import reader

LOG = "LogRHI: Perf marker hierarchy, total GPU time 10.00ms\n"


def test_dumps_of_unreal_are_frames_and_spikes_are_named() -> None:
    capture = reader.read(str(SAMPLES / "unreal-gpu-log" / "two-dumps-4.27.log"))
    assert capture.frames is not None and capture.frames.tolist() == pytest.approx([9.2e6, 15.6e6])
    assert any(q.message.startswith("ShadowDepths takes 7.8 ms in frame 2, median 1.9 ms") for q in capture.quality)
    assert capture.facts["prims.input"][list(capture.names).index("BasePass")] == 396_000


def test_events_beside_frame_lie_within_it() -> None:
    """Unreal 5 prints the events of a frame no deeper than the frame itself."""
    table = read(LOG + "LogRHI:  2.3% 8.86ms   Frame 17781 5 draws\nLogRHI:  1.9% 7.42ms   Scene 3 draws 4 prims 5 verts\nLogRHI:     0.1% 0.50ms   GPU KeyGen & Sort 23 dispatches\n")  # fmt: skip
    assert list(table.names) == ["Frame", "Scene", "GPU KeyGen & Sort"]
    assert list(table.paths) == ["", "Frame", f"Frame{SEP}Scene"]
    assert table.columns["draw.count"].values[:2].tolist() == [5, 3]
    assert reader.capture(table, unreal_gpu_log, "").frame_ns == 8.86e6


def test_the_table_of_later_versions_reads_its_inclusive_times() -> None:
    table = read(SAMPLES / "unreal-gpu-log" / "table-5.6.log")
    assert table.columns["gpu.time"].values.tolist() == pytest.approx([8.4e6, 8.2e6, 2.1e6, 3.7e6, 2.1e6])
    assert (
        table.paths is not None
        and table.paths[2] == f"Frame{SEP}Scene"
        and table.columns["prims.input"].values[0] == 46620
    )
    assert any("Compute queue: 1.25 ms beside" in q.message for q in table.quality)


EVENTS = "{0}100.0% 4.33ms   FRAME 635 draws 16087 prims 18018 verts\n{0}97.1% 4.20ms   Scene 633 draws 15751 prims 17346 verts\n{0}    1.1% 0.05ms   PrePass 141 draws 5744 prims 5634 verts\n{0}       0.1% 0.00ms   Clear 1 draws 0 prims 0 verts\n"


@pytest.mark.parametrize("heading", [True, False])
@pytest.mark.parametrize(
    "line", ["", "LogRHI: ", "    [2018.08.26-07.56.40:412][295]LogRHI: ", "> [2018.08.26-07.56.40:412][295]LogRHI: "]
)
def test_quoted_logs_are_read(line: str, heading: bool) -> None:
    text = (f"{line}Perf marker hierarchy, total GPU time 4.33ms\n" if heading else "") + EVENTS.format(line)
    table = read(text)
    assert list(table.names) == ["Frame", "Scene", "PrePass"]
    assert table.columns["gpu.time"].values.tolist() == pytest.approx([4.33e6, 4.2e6, 5e4])
    assert any("1 event of 0.00 ms" in n for n in table.notes)


def test_a_dump_that_states_more_time_than_its_frame_takes_says_so() -> None:
    table = read("LogRHI: Perf marker hierarchy, total GPU time 384.92ms\nLogRHI:  2.3% 8.86ms   Frame 17781 5 draws\n")
    assert any("states 384.92 ms of GPU time, its frame takes 8.86 ms" in q.message for q in table.quality)


def test_a_log_without_events_is_refused() -> None:
    assert "without GPU events" in refusal(LOG + "LogRHI: Warning: Profiled range was continuous.\n")


def test_timers_are_per_frame_and_cpu_timers_no_gpu_work() -> None:
    table = read(SAMPLES / "unreal-timers" / "gpu.csv")
    assert list(table.names) == ["Frame", "BasePass", "ShadowDepths", "LumenScreenProbeGather"]
    assert table.columns["gpu.time"].values.tolist() == pytest.approx([6e5, 4.2e6, 2.2e6, 3e6])
    head = "Name,Count,Incl,Excl\n"
    assert "no GPU work" in refusal(head + "FEngineLoop::Tick,600,9,1\nGameThread,600,9,1\n")
    assert list(read(head + "BasePass,600,3,3\nWaitForTasks,600,9,9\n").names) == ["BasePass"]


def test_a_timer_that_runs_twice_a_frame_does_not_count_the_frames() -> None:
    head = "Name,Count,Incl,Excl\n"
    passes = "VisBuffer,1200,0.6,0.6\nDistance,1200,0.3,0.3\nShadows,600,3,2.4\n"
    table = read(head + passes + "FSceneRenderer_Render,598,3,0.1\nShadows,598,0.6,0.1\nFrame 812,1,0.1,0.1\n")
    assert list(table.names) == ["VisBuffer", "Distance", "Shadows"]
    assert table.columns["gpu.time"].values.tolist() == pytest.approx([1e6, 5e5, 4e6])
    assert next(q for q in table.quality if q.check == "gpu-timers").doubt
    alone = read(head + "VisBuffer,1200,0.6,0.6\nShadows,600,3,2.4\n")  # 1,200 frames, or 600
    assert alone.columns["gpu.time"].values.tolist() == pytest.approx([6e8, 2.4e9])
    assert any(q.check == "no-frames" for q in alone.quality)


def _trace(*rows: dict[str, object]) -> str:
    return json.dumps({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 5, **r} for r in rows]})


def test_zones_of_a_gpu_track_are_read_and_those_of_a_thread_are_not() -> None:
    table = read(SAMPLES / "gpu-zones" / "two-queues.json")
    assert sorted(zip(table.names, table.paths, strict=True)) == [("Frame", ""), ("G-buffer", "Frame"), ("Post", "Frame"), ("Shadows", "Frame")]  # fmt: skip
    by = dict(zip(table.names, table.columns["gpu.time"].values, strict=True))
    assert by["Shadows"] == pytest.approx(2e6) and any("1 CPU zone left out" in n for n in table.notes)


@pytest.mark.parametrize(
    "text",
    [
        _trace({"name": "Update", "cat": "game"}, {"name": "Physics", "cat": "game"}),
        _trace({"name": "main", "tid": "CPU main"}),
        "name,src_file,src_line,total_ns,total_perc,counts,mean_ns,min_ns,max_ns,std_ns\nTick,a.cpp,1,600,6,2,300,200,400,10\n",
        "name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\nTick,a.cpp,1,600,6,2,\n",
        "Name, Median Time, Min Time, Max Time, Median Frame Index, Min Frame Index\nGfx.WaitForPresent, 1.5,1,2,3,4\n",
        "Name; Median Time; Min Time; Max Time; Median Frame Index; Min Frame Index\nCamera.Render; 1.5;1;2;3;4\n",
    ],
)
def test_cpu_zones_are_no_gpu_work(text: str) -> None:
    assert "GPU work" in refusal(text)


def test_passes_of_a_trace_without_tracks_are_told_by_their_names() -> None:
    table = read(
        _trace({"name": "frame", "dur": 90}, {"name": "shadow pass"}, {"name": "main pass", "ts": 7, "dur": "nan"})
    )
    assert list(table.names) == ["frame", "shadow pass"] and any(q.check == "gpu-zones" for q in table.quality)
    assert any(q.check == "rows-left-out" for q in table.quality)


def test_tracy_zones_nest_by_time() -> None:
    capture = reader.read(str(SAMPLES / "tracy-gpu" / "zones.csv"))
    assert list(capture.names) == ["Frame", "Shadow pass", "G-buffer", "Lighting"] and list(capture.depth) == [
        0,
        1,
        1,
        1,
    ]
    assert capture.frame_ns == pytest.approx(16.5e6)


def test_a_column_of_mesh_shaders_is_no_time() -> None:
    table = read(SAMPLES / "intel-measure" / "rt.csv")
    assert (
        table.columns["gpu.time"].values[0] == pytest.approx(812.5e3)
        and table.names[0] == "draw renderpass 1 vs 0xa1f3, fs 0x77b2"
    )
    text = (SAMPLES / "intel-measure" / "rt.csv").read_text().splitlines()
    zero = "\n".join([text[0], *(line.rpartition(",")[0] + ",0.0" for line in text[1:])])
    assert "no time above 0" in refusal(zero + "\n")


def test_calls_of_apitrace_without_gpu_time_are_left_out() -> None:
    table = read(SAMPLES / "apitrace" / "profile.txt")
    assert len(table) == 6 and table.names[1] == "glDrawElements (program 12)" and table.paths[5] == "Frame 2"
    assert "without GPU times" in refusal(
        "# call no gpu_start gpu_dura cpu_start cpu_dura pixels program name\ncall 1 0 0 5 6 -1 0 glClear\n"
    )


def test_queue_cycles_of_arm_are_times_at_an_assumed_clock() -> None:
    table = read(SAMPLES / "arm-layer" / "frame_00600.csv")
    assert table.columns["gpu.time"].values[1] == pytest.approx(4.42e6) and table.kinds is not None
    assert list(table.kinds) == ["geometry", "geometry", "compute", "copy"] and any(
        q.check == "assumed-clock" for q in table.quality
    )


def test_regions_of_streamline_are_workloads() -> None:
    text = (SAMPLES / "arm-streamline" / "timeline.csv").read_text()
    table = read(text)
    assert list(table.names) == ["Opaque", "Smoke", "Interface"]
    at = {m: c.values.tolist() for m, c in table.columns.items()}
    assert at["gpu.time"] == pytest.approx([3e6, 2e6, 1e6]) and at["vram.bytes_read"] == [15.4e6, 6.5e6, 0.9e6]
    assert at["alu.utilization"] == pytest.approx([0.6233, 0.49, 0.22], abs=1e-3) and "gpu.active" not in at
    whole = read(text.replace(",Region,", ",Chart,"))
    assert list(whole.names) == ["whole GPU"] and any(q.check == "aggregate" for q in whole.quality)


def test_times_of_streamline_may_have_a_unit_and_lengths() -> None:
    head = "Time (ms),Duration (ms),Pass,Mali Core Unit Utilization:Texture unit,Mali Fragment:Fragment overdraw,Mali Primitive Culling:Input primitives"
    table = read(f"{head}\n0,4,Opaque,50,1.2,9000\n4,3,Smoke,30,7.7,100\n")
    assert table.columns["gpu.time"].values.tolist() == pytest.approx([4e6, 3e6])
    begun = "Annotation,Start (s),Duration (ms),Mali Overdraw:Fragments/pixel,Mali ZS Unit Test Rate:Late ZS kill rate,Mali Texture Unit CPI:Filtering CPI,Mali External Bus Stall Rate:Read stall rate"
    short = read(f"{begun}\nFoliage,3.25,4,3.5,53,2.4,9\n")
    values = {m: c.values[0] for m, c in short.columns.items()}
    assert values == pytest.approx({"gpu.time": 4e6, "pixels.overdraw": 3.5, "postz.quads_killed": 0.53, "texture_filter.cycles": 2.4, "vram.stalled": 0.09})  # fmt: skip
    other = "Time,Mali Job Slots:Slot 0,Mali Job Slots:Slot 1,Mali Job Slots:Slot 2"
    assert "without a series" in refusal(f"{other}\n0,1,2,3\n1,1,2,3\n")


def test_shaders_of_malioc_say_what_bounds_them() -> None:
    table = read(SAMPLES / "malioc" / "lighting.txt")
    assert table.columns["launch.registers"].values[0] == 48 and table.columns["occupancy.theoretical"].values[0] == 0.5
    assert "texture-bound: 9 cycles" in table.quality[0].message and "32 bytes spilled" in table.quality[0].message


def test_reports_of_malioc_with_loops_and_older_fields() -> None:
    report = (SAMPLES / "malioc" / "lighting.txt").read_text()
    loop = re.sub(r"(Longest path cycles:).*", r"\1  N/A  N/A  N/A  N/A  N/A  N/A  N/A  N/A", report)
    assert "9 cycles on the whole code" in read(loop).quality[0].message
    older = report.replace("Stack use: 32 bytes\n - Spill region: 32 bytes\n", "Stack spilling: false\n")
    assert "spilled" not in read(older).quality[0].message
    assert "malioc" in refusal(
        "Arm Mali Offline Compiler v6.4.0\n\nInstructions Emitted: 17.5 14 0\nCompilation succeeded.\n"
    )
    assert "malioc" in refusal('{"producer": {"name": "Mali Offline Compiler"}, "shaders": []}')


def test_shaders_of_malioc_in_json() -> None:
    cycles = {"bound_pipelines": ["arith_fma"], "cycle_count": [1.40625, 0.8125, 0.25]}
    variant = {
        "name": "Binning",
        "performance": {
            "pipelines": ["arith_fma", "arith_sfu", "texture"],
            "total_cycles": cycles,
            "longest_path_cycles": None,
        },
        "properties": [
            {"name": n, "value": v}
            for n, v in (("work_registers_used", 48), ("thread_occupancy", 50), ("stack_spill_bytes", 32))
        ],
    }
    shader = {
        "hardware": {"core": "Mali-G78", "revision": "r1p1"},
        "shader": {"api": "Vulkan", "type": "Vertex"},
        "variants": [variant],
    }
    report = {"producer": {"name": "Mali Offline Compiler"}, "shaders": [shader]}
    table = read(json.dumps(report))
    assert table.device == "Mali-G78 r1p1" and table.names.tolist() == ["Vulkan Vertex, binning"]
    assert table.columns["launch.registers"].values[0] == 48 and table.columns["occupancy.theoretical"].values[0] == 0.5
    assert (
        "FMA-bound: 1.40625 cycles on the whole code, next special functions with 0.8125; 32 bytes"
        in table.quality[0].message
    )
    del shader["hardware"]
    assert "damaged" in refusal(json.dumps(report))


def test_series_of_adreno_are_aggregates() -> None:
    table = read(SAMPLES / "adreno-series" / "realtime.csv")
    assert list(table.names) == ["org.example.game"]
    assert table.columns["shader.busy"].values[0] == pytest.approx(0.945) and table.columns["gpu.idle"].values[
        0
    ] == pytest.approx(0.029)
    assert table.columns["l1tex.hit_rate"].values[0] == pytest.approx(0.917) and table.quality[0].check == "time-series"
    surfaces = read(SAMPLES / "adreno-series" / "surfaces.txt")
    assert (
        surfaces.names[0] == "Surface 1 1216x1344 MSAA 4" and surfaces.columns["target.pixels"].values[0] == 1216 * 1344
    )


@pytest.mark.parametrize("number", ["nan", "-5", "1e400", "9" * 400, "", "0x10"])
def test_hostile_numbers_are_missing_or_refused(number: str) -> None:
    texts = (
        LOG + f"LogRHI: 100.0% {number}ms   FRAME 1 draws\nLogRHI:  50.0% 5.00ms   Scene 1 draws\n",
        f"Name,Count,Incl,Excl\nGPU/A,600,3,{number}\nGPU/B,{number},3,3\n",
        f"name,src_file,Time from start of program,GPU execution time\nA,a.cpp,{number},5\nB,b.cpp,9,{number}\n",
        _trace({"name": "GPU a", "dur": 7}, {"name": "b", "ts": number}, {"name": "c", "dur": number}),
        f"# call no gpu_start gpu_dura cpu_start cpu_dura pixels program name\ncall 1 0 {number} 5 6 {number} 0 glClear\ncall 2 0 5 5 6 -1 0 glClear\n",
        f"fps,frametime,gpu_load\n60,{number},90\n60,16.6,{number}\n",
        f"Process,Metric,Timestamp,Value\ng,% Shaders Busy,1,{number}\ng,% Shaders Busy,2,50\n",
    )
    for text in texts:
        try:
            capture = reader.read(Source("x.csv", text.encode()))
        except Exception as e:
            assert type(e).__module__ == "triage.ground.errors" and "\n" not in str(e)
        else:
            time = capture.facts.get("gpu.time")
            assert time is None or not (np.nan_to_num(time) < 0).any()


def test_a_scene_beside_its_frame_says_what_its_log_leaves_out() -> None:
    log = "LogRHI: Perf marker hierarchy, total GPU time 4.33ms\nLogRHI: 100.0% 4.33ms   FRAME 635 draws 16087 prims 18018 verts\n"
    log += "LogRHI: 97.1% 4.20ms   Scene 633 draws 15751 prims 17346 verts\nLogRHI:     1.1% 0.05ms   PrePass 141 draws 5744 prims 5634 verts\n"
    (remark,) = (q.message for q in read(log).quality if q.check == "unlisted-events")
    assert remark.startswith("Scene: 492 of 633 draws (4.15 ms)")
