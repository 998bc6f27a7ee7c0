"""Nsight Graphics GPU Trace: the demo frame, its provenance, and the ways such exports vary."""

import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_cells, read, read_as, refusal
from triage import schema
from triage.capture.capture import SEP
from triage.capture.source import Source
from triage.dialects.graphics import gpu_trace, gpu_trace_folder, perfworks
from triage.ground.errors import BadCapture
from triage.reading import reader

DEMO = SAMPLES / "gpu-trace" / "demo_frame"
P = ".avg.pct_of_peak_sustained_elapsed"


def by_name(table: object, name: str) -> int:
    return int(np.flatnonzero(table.names == name)[0])  # type: ignore[attr-defined]


def test_demo_frame_is_read_whole() -> None:
    table = read(DEMO)
    assert len(table) == 76 and table.device == "NVIDIA GeForce RTX 3080" and table.arch == "GA102"
    assert table.frame_ns == pytest.approx(14.2265e6)
    row = by_name(table, "Cascade 2")
    assert table.paths[row] == SEP.join(("Frame", "Shadows")) and table.kinds[row] == "geometry"
    assert table.columns["gpu.time"].values[row] == pytest.approx(349_000)
    assert table.columns["vpc.throughput"].values[row] == pytest.approx(0.76, rel=0.01)
    assert check_cells(table) > 3000


def test_demo_frame_adds_up() -> None:
    capture = reader.read(str(DEMO))
    assert len(capture) == 76 and capture.frame_ns == pytest.approx(14_226_500)
    assert np.nansum(capture.self_ns) + capture.uncovered_ns == pytest.approx(capture.frame_ns)
    for i in range(len(capture)):
        children = np.flatnonzero(capture.parent == i)
        if len(children):
            assert capture.duration_ns[children].sum() == pytest.approx(capture.duration_ns[i], rel=1e-4)
            assert capture.self_ns[i] < 1e-3 * capture.duration_ns[i] + 20


def test_demo_generator_is_deterministic(tmp_path: Path) -> None:
    script = shutil.copy(SAMPLES / "gpu-trace" / "make_demo.py", tmp_path / "make_demo.py")
    runpy.run_path(str(script))["main"]()
    for made in (tmp_path / "demo_frame" / "BASE").iterdir():
        assert made.read_bytes() == (DEMO / "BASE" / made.name).read_bytes()


def test_stalls_are_shares_of_the_resident_warps() -> None:
    table = read(DEMO)
    stalls = [m for m in table.columns if m.startswith("stall.")]
    total = sum(table.columns[m].values for m in stalls)
    known = np.isfinite(total)
    assert known.sum() == 74 and np.allclose(total[known], 1.0)
    row = by_name(table, "Coarse AO")
    assert table.columns["stall.long_scoreboard"].values[row] == pytest.approx(0.64, abs=1e-3)
    assert table.columns["stall.long_scoreboard"].formula and set(table.columns["stall.long_scoreboard"].inputs) <= set(
        table.raw
    )
    assert [q for q in table.quality if q.check == "stalls-unavailable"]


def test_stalls_of_few_reasons_are_shares_of_the_slots_in_use() -> None:
    counters = (f"tpc__warps_active_shader_{stage}_realtime{P}" for stage in ("ps", "cs"))
    sampled = (f"GPUTrace.PCSampler.tpc__warps_issue_stalled_{r}{P}" for r in ("wait", "barrier"))
    table = read(
        regimes("a\t40\t0\t10\t5", "b\t12\t0\t10\t5", header="\t".join(["flattened_event_name", *counters, *sampled]))
    )
    assert table.columns["stall.wait"].values.tolist() == pytest.approx([0.25, 2 / 3])


def test_occupancy_and_activity_follow_from_warp_slots() -> None:
    table = read(DEMO)
    row = by_name(table, "Coarse AO")
    assert table.columns["sm.occupancy"].values[row] == pytest.approx(0.70, rel=1e-3)
    assert table.columns["sm.active_warps"].values[row] == pytest.approx(0.70 * 48, rel=1e-3)
    assert table.columns["sm.issue_per_active"].values[row] == pytest.approx(0.48, rel=1e-3)
    for metric in ("sm.occupancy", "sm.active_warps", "sm.issue_per_active"):
        column = table.columns[metric]
        assert column.formula and column.inputs and all(i in table.columns or i in table.raw for i in column.inputs)


def test_columns_nobody_uses_are_listed() -> None:
    table = read(DEMO)
    headers = (DEMO / "BASE" / "GPUTRACE_REGIMES.xls").read_text().split("\n")[0].strip().split("\t")[1:]
    used = {c.header for c in table.columns.values()} | set(table.raw)
    assert set(headers) <= used | set(table.unmapped)


@pytest.mark.parametrize("place", ["demo_frame", "demo_frame/BASE", "demo_frame/BASE/GPUTRACE_REGIMES.xls"])
def test_folder_base_and_file_give_the_same(place: str) -> None:
    table, whole = read(SAMPLES / "gpu-trace" / place), read(DEMO)
    assert list(table.names) == list(whole.names) and list(table.paths) == list(whole.paths)
    assert table.columns.keys() == whole.columns.keys()
    assert check_cells(table) == check_cells(whole)


def test_unlocked_folder_and_settings_are_remarked(tmp_path: Path) -> None:
    shutil.copytree(DEMO / "BASE", tmp_path / "run" / "BASE_UNLOCKED")
    (tmp_path / "run" / "ReportGeneratorTags.txt").write_text("x")
    assert [q.check for q in read(tmp_path / "run").quality].count("unlocked-clocks") == 1
    repro = tmp_path / "run" / "BASE_UNLOCKED" / "REPRO_INFO.xls"
    repro.write_text(repro.read_text().replace("Locked to Base", "Unaltered"))
    found = [
        q.message
        for q in read(tmp_path / "run" / "BASE_UNLOCKED" / "GPUTRACE_REGIMES.xls").quality
        if q.check == "unlocked-clocks"
    ]
    assert len(found) == 1 and "Unaltered" in found[0]


def test_a_lock_to_boost_is_a_lock(tmp_path: Path) -> None:
    shutil.copytree(DEMO / "BASE", tmp_path / "run" / "BASE")
    repro = tmp_path / "run" / "BASE" / "REPRO_INFO.xls"
    repro.write_text(repro.read_text().replace("Locked to Base", "Lock to Boost"))
    table = read(tmp_path / "run")
    assert "unlocked-clocks" not in [q.check for q in table.quality] and "GPU clocks: Lock to Boost" in table.notes


def test_renamed_file_alone_still_reads(tmp_path: Path) -> None:
    shutil.copy(DEMO / "BASE" / "GPUTRACE_REGIMES.xls", tmp_path / "frame42.txt")
    table = read(tmp_path / "frame42.txt")
    assert len(table) == 76 and "gpu.time" not in table.columns
    assert [q.check for q in table.quality if q.check == "no-times"]
    assert table.paths[by_name(table, "Cascade 2")] == SEP.join(("Frame", "Shadows"))


def test_companions_with_a_common_prefix(tmp_path: Path) -> None:
    for name in ("GPUTRACE_REGIMES", "D3DPERF_EVENTS", "FRAME", "REPRO_INFO"):
        shutil.copy(DEMO / "BASE" / f"{name}.xls", tmp_path / f"64-{name}.xls.tsv")
    table = read(tmp_path / "64-GPUTRACE_REGIMES.xls.tsv")
    assert table.device and table.frame_ns and np.isfinite(table.columns["gpu.time"].values).all()
    assert len(read(tmp_path)) == 76


def test_two_frames_become_means() -> None:
    table = read(SAMPLES / "gpu-trace" / "regimes-two-frames.xls")
    assert len(table) == 3 and any("2 times" in n for n in table.notes)
    sm = table.columns["sm.throughput"]
    assert sm.values[0] == pytest.approx((0.412 + 0.420) / 2) and "mean of 2 frames" in sm.formula
    assert [table.raw[i].values[0] for i in sm.inputs] == pytest.approx([0.412, 0.42])
    assert [table.raw[i].column for i in sm.inputs] == [4, 5]
    assert list(table.names) == ["scene.raster", "UI: Text/Icons", "post"]
    assert table.paths[1] == SEP.join(("frame.5", "scene.raster"))


def regimes(
    *rows: str, header: str = f"flattened_event_name\tsm__throughput{P}\tTriageAC.gr__cycles_active{P}"
) -> bytes:
    return "\r\n".join([header, *rows, ""]).encode()


def write(folder: Path, **files: str | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.xls").write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def test_names_with_slashes_and_colons_come_from_the_events(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "BASE",
        GPUTRACE_REGIMES=regimes("A: b/c\t1\t99", "A: b/c/D/E\t2\t98", "X/Y\t3\t97"),
        D3DPERF_EVENTS="event_text\ttime_ms\r\nA: b/c\t2\r\n        D/E\t1.5\r\nX/Y\t0.25\r\n",
    )
    table = read(folder)
    assert list(table.names) == ["A: b/c", "D/E", "X/Y"] and list(table.paths) == ["", "A: b/c", ""]
    assert table.columns["gpu.time"].values == pytest.approx([2e6, 1.5e6, 0.25e6])
    assert list(table.columns["gpu.time"].lines) == [2, 3, 4]


def test_other_layouts_of_the_same_tables(tmp_path: Path) -> None:
    """Header words, more events than counters, another order: joined by path."""
    folder = write(
        tmp_path / "out",
        **{
            "trace.nsight.GPUTRACE_REGIMES": regimes(
                "Replay\t55\t81",
                "Replay/composite\t57\t83",
                "Copy\t99\t99",
                header=f"Marker\tsm__throughput{P}\tdramc__throughput{P}",
            ),
            "trace.nsight.D3DPERF_EVENTS": (
                "Event\tFrame 0\tFrame 1\r\nCopy\t2\t2\r\nReplay\t5\t6\r\n        composite\t4\t5\r\nTail\t20\t20\r\n"
            ),
            "trace.nsight.FRAME": "GPU frame time\t27\t28",
        },
    )
    table = read(folder)
    assert table.columns["gpu.time"].values == pytest.approx([5.5e6, 4.5e6, 2e6])
    assert any("1 markers of D3DPERF_EVENTS have no counters" in n for n in table.notes)
    assert table.frame_ns == pytest.approx(27.5e6)


def test_repeated_instances_are_rows_of_one_workload(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "BASE",
        GPUTRACE_REGIMES=regimes("p\t10\t99", "p\t20\t99", "p\t30\t99"),
        D3DPERF_EVENTS="event_text\ttime_ms\np\t1\np\t2\np\t3\n",
    )
    capture = reader.read(str(folder))
    assert (capture.input.rows, len(capture), capture.calls[0]) == (3, 1, 3)
    assert capture.duration_ns[0] == pytest.approx(6e6)


def test_duration_and_stamp_pairs_are_told_apart(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "BASE",
        GPUTRACE_REGIMES=regimes("a\t10\t99", "b\t20\t99"),
        FRAME="GPU frame time\t16",
        D3DPERF_EVENTS="event_text\ttime_ms\r\na\t2\t19.5\r\nb\t3\t20.5\r\n",
    )
    table = read(folder)
    assert table.columns["gpu.time"].values == pytest.approx([2e6, 3e6])
    assert "paired-times" in [q.check for q in table.quality]


def test_negative_and_sentinel_times_are_missing(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "BASE",
        GPUTRACE_REGIMES=regimes("a\t10\t99", "b\t20\t99", "c\t1\t1"),
        D3DPERF_EVENTS="event_text\ttime_ms\r\na\t-1\r\nb\t1.84467e+13\r\nc\t0.5\r\n",
    )
    table = read(folder)
    assert np.isnan(table.columns["gpu.time"].values[:2]).all() and table.columns["gpu.time"].values[2] == 5e5
    assert next(q.message for q in table.quality if q.check == "no-duration").startswith("2 markers")


def test_all_zero_sampler_is_unavailable() -> None:
    head = "\t".join(
        [
            "flattened_event_name",
            *(f"GPUTrace.PCSampler.tpc__warps_issue_stalled_{r}{P}" for r in ("wait", "barrier", "drain")),
        ]
    )
    table = read(regimes("a\t0\t0\t0", "b\t0\t0\t0", header=head))
    assert not [m for m in table.columns if m.startswith("stall.")]
    assert [q.check for q in table.quality if q.check == "stalls-unavailable"] == ["stalls-unavailable"]


def test_prefixes_do_not_matter() -> None:
    for prefix in ("", "SM_A.TriageSCG.", "TriageAC.", "Top_Level_Triage.", "GPUTrace."):
        assert perfworks.metric_of(f"{prefix}sm__throughput{P}") == "sm.throughput"
    assert perfworks.metric_of(f"GPUTrace.WorldPipe_throughput{P}") == "world_pipe.throughput"
    assert perfworks.metric_of("not a counter") == ""


@pytest.mark.parametrize("value, hertz", [("1440", 1.44e9), ("1.44e9", 1.44e9), ("10491.5", 1.04915e10)])
def test_clocks_are_mhz_or_hz_by_size(value: str, hertz: float) -> None:
    table = read(regimes(f"a\t{value}", header="flattened_event_name\tdramc__cycles_elapsed.avg.per_second"))
    assert table.columns["vram.frequency"].values[0] == pytest.approx(hertz)


def test_clock_of_no_plausible_size_is_not_used() -> None:
    table = read(
        regimes("a\t3\t1", header=f"flattened_event_name\tdramc__cycles_elapsed.avg.per_second\tsm__throughput{P}")
    )
    assert "vram.frequency" not in table.columns and "dramc__cycles_elapsed.avg.per_second" in table.unmapped


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b"\xef\xbb\xbf" + b,
        lambda b: b.replace(b"\r\n", b"\n"),
        lambda b: b.replace(b"\r\n", b"\r\r\n"),
        lambda b: b.decode().encode("utf-16"),
        lambda b: b.replace(b"\r\n", b"\t\r\n"),
        lambda b: b"\r\n" + b,
    ],
)
def test_encodings_and_line_ends(change: object) -> None:
    table = read(change(regimes('say "hi"\t10\t99', "ß\t20\t98")))  # type: ignore[operator]
    assert list(table.names) == ['say "hi"', "ß"]
    assert table.columns["sm.throughput"].values == pytest.approx([0.1, 0.2])


def test_blanks_are_missing_and_short_rows_refused() -> None:
    table = read(regimes("a\t10\t", "b\t\t98", "c\tN/A\t97"))
    assert np.isnan(table.columns["sm.throughput"].values[1:]).all() and np.isnan(table.columns["gpu.active"].values[0])
    with pytest.raises(BadCapture, match="2 cells, header has 3"):
        read(regimes("a\t10", "b\t\t98", "c\tN/A\t97"))


def test_whole_capture_averages_are_no_marker() -> None:
    table = read(DEMO / "BASE" / "GPUTRACE_FRAME.xls")
    assert len(table) == 1 and table.kinds[0] == "frame" and "whole-capture" in [q.check for q in table.quality]
    assert table.columns["gpu.time"].values[0] == pytest.approx(14.2265e6)
    assert check_cells(table) > 40


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [("\t44.221", "\t", "not-a-number"), ("GPUTrace.sm__throughput.avg.pct_of_peak_sustained_elapsed", "5", "no-name")],
)
def test_a_line_without_a_figure_or_a_name_is_named(tmp_path: Path, old: str, new: str, check: str) -> None:
    text = (DEMO / "BASE" / "GPUTRACE_FRAME.xls").read_text("utf-8")
    (tmp_path / "GPUTRACE_FRAME.xls").write_text(text.replace(old, new, 1), "utf-8")
    (said,) = (q.message for q in read(tmp_path / "GPUTRACE_FRAME.xls").quality if q.check == check)
    assert "line 1" in said


def test_a_marker_that_lost_its_time_is_named(tmp_path: Path) -> None:
    text = (DEMO / "BASE" / "D3DPERF_EVENTS.xls").read_text("utf-8")
    lines = text.splitlines()
    (tmp_path / "D3DPERF_EVENTS.xls").write_text(
        "\n".join([lines[0], lines[1].partition("\t")[0] + "\t", *lines[2:], ""]), "utf-8"
    )
    assert "line 2" in next(
        q.message for q in read(tmp_path / "D3DPERF_EVENTS.xls").quality if q.check == "not-a-number"
    )


def test_times_without_counters(tmp_path: Path) -> None:
    shutil.copy(DEMO / "BASE" / "D3DPERF_EVENTS.xls", tmp_path / "D3DPERF_EVENTS.xls")
    table = read(tmp_path / "D3DPERF_EVENTS.xls")
    assert len(table) == 76 and list(table.columns) == ["gpu.time"] and check_cells(table) == 76


@pytest.mark.parametrize(
    "name, words", [("FRAME.xls", "only the frame time"), ("REPRO_INFO.xls", "only the capture's settings")]
)
def test_side_files_are_refused(name: str, words: str) -> None:
    assert words in refusal(DEMO / "BASE" / name)


def test_export_without_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ReportGeneratorTags.txt").write_text("x")
    assert "no tables" in refusal(tmp_path)


def test_header_only_is_refused(tmp_path: Path) -> None:
    assert "no markers" in refusal(write(tmp_path / "BASE", GPUTRACE_REGIMES=regimes()))


def test_several_exports_must_be_chosen(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name / "BASE", GPUTRACE_REGIMES=regimes("x\t1\t2"))
    assert "2 GPU Trace exports" in refusal(tmp_path)


def test_names_promise_only_known_metrics() -> None:
    promised = gpu_trace.names()
    assert all(schema.known(m) for m in promised)
    for metric in read(DEMO).columns:
        assert metric in promised, metric
    assert "--real-time-shader-profiler" in gpu_trace.collect(["stall.barrier"])


level = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="\t/"), min_size=1, max_size=8)


@given(st.lists(st.lists(level, min_size=1, max_size=4), min_size=1, max_size=12))
def test_paths_come_back_as_they_were_joined(chains: list[list[str]]) -> None:
    full = dict.fromkeys("/".join(c[: k + 1]) for c in chains for k in range(len(c)))
    names, parents = gpu_trace_folder.levels(list(full), None, None)
    assert ["/".join([*(p.split(SEP) if p else []), n]) for n, p in zip(names, parents, strict=True)] == list(full)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    from triage.ground.errors import TriageError

    text = b"flattened_event_name\tsm__throughput" + P.encode() + b"\n" + data
    try:
        gpu_trace.recognise(Source("x.xls", text))
        read_as("gpu-trace", text, "x.xls")
    except TriageError:
        pass


def test_an_async_queue_is_a_lane_of_the_leaf_ranges(tmp_path: Path) -> None:
    head = "flattened_event_name\tFE_B.TriageAC.gr__cycles_active.avg.pct_of_peak_sustained_elapsed\tFE_A.TriageAC.gr__compute_cycles_active_queue_async.avg.pct_of_peak_sustained_elapsed"
    rows = f"{head}\nFrame\t100\t30\nFrame/Opaque\t100\t50\nFrame/Post\t50\t0\n"
    events = "event_text\ttime_ms\nFrame\t10\n        Opaque\t6\n        Post\t4\n"
    (tmp_path / "GPUTRACE_REGIMES.xls").write_text(rows)
    (tmp_path / "D3DPERF_EVENTS.xls").write_text(events)
    direct, beside = read(tmp_path).queues[1]
    assert (direct.name, direct.busy) == ("direct queue", 8e6)
    assert (beside.name, beside.busy, beside.beside) == ("async compute queue", 3e6, 3e6)


def test_times_may_stand_beside_the_counters(tmp_path: Path) -> None:
    """Tables joined with D3DPERF_EVENTS; warp slots that add up to less than the SM works say nothing of its idle time."""
    file = tmp_path / "joined.txt"
    heads = [
        "flattened_event_name",
        "time_ms",
        f"sm__throughput{P}",
        f"tpc__warps_active_shader_ps_realtime{P}",
        f"tpc__warps_active_shader_cs_realtime{P}",
        f"tpc__warps_inactive_sm_active_realtime{P}",
    ]
    rows = ["Lighting\t1.25\t84\t0\t60\t4", "Bloom\t0.5\t30\t0\t50\t40"]
    file.write_text("\t".join(heads) + "\n" + "\n".join(rows) + "\n")
    table = read(file)
    assert table.columns["gpu.time"].values.tolist() == [1_250_000, 500_000]
    assert "sm.active" not in table.columns and [q.check for q in table.quality] == ["warp-slots"]
    file.write_text("\t".join(heads) + "\n" + rows[1] + "\n")
    assert read(file).columns["sm.active"].values.tolist() == [0.9]
