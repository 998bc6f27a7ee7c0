"""RenderDoc counters, alone and joined with the event tree."""

import contextlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_cells, read, read_as, refusal
from triage import api, schema
from triage.capture.capture import SEP
from triage.capture.source import Source
from triage.dialects.graphics import renderdoc, renderdoc_events
from triage.ground.errors import BadCapture, TriageError, UnknownDialect
from triage.reading import reader

HOME = SAMPLES / "renderdoc"
COUNTERS, EVENTS = HOME / "frame-counters.csv", HOME / "frame-events.txt"


def test_joined_with_the_tree_beside_it() -> None:
    table = read(COUNTERS)
    assert [n.split("(")[0] for n in table.names] == [
        "Frame",
        "ClearDepthStencilView",
        "GBuffer",
        "DrawIndexed",
        "DrawIndexed",
        "SSAO {half | res}",
        "Dispatch",
        "Draw",
        "Present",
    ]
    assert table.paths[3] == SEP.join(("Frame", "GBuffer")) and table.paths[6] == SEP.join(
        ("Frame", "SSAO {half | res}")
    )
    assert list(table.kinds) == ["marker", "", "marker", "draw", "draw", "marker", "compute", "fullscreen", ""]
    assert table.columns["gpu.time"].values[3] == pytest.approx(1_204_200) and table.columns["gpu.time"].unit == "µs"
    grid = table.columns["launch.grid_size"]
    assert grid.values[6] == 240 * 135 and grid.lines[6] == 11 and table.files[grid.file].name == "frame-events.txt"
    assert table.leaf_time and check_cells(table) > 70
    assert "times-disagree" in [q.check for q in table.quality]


def test_registers_come_from_percent_with_the_formula() -> None:
    column = read(COUNTERS).columns["registers_per_thread.ps"]
    assert column.values[3] == pytest.approx(64) and np.isnan(column.values[6]) and "256" in column.formula


def test_markers_are_summed_from_their_actions() -> None:
    capture = reader.read(str(COUNTERS))
    assert capture.frame_ns == pytest.approx(sum([9728, 1204200, 612480, 803070, 411648, 2048]))


def test_alone_events_are_called_by_their_id(tmp_path: Path) -> None:
    shutil.copy(COUNTERS, tmp_path / "c.csv")
    table = read(tmp_path / "c.csv")
    assert table.names[0] == "EID 11" and table.paths is None and any("--events" in n for n in table.notes)


def test_events_by_option(tmp_path: Path) -> None:
    shutil.copy(COUNTERS, tmp_path / "c.csv")
    assert read(tmp_path / "c.csv", events=str(EVENTS)).paths[7] == "Frame"
    with pytest.raises(BadCapture):
        read(tmp_path / "c.csv", events=str(COUNTERS))


def test_two_trees_that_fit_are_not_chosen_between(tmp_path: Path) -> None:
    shutil.copy(COUNTERS, tmp_path / "c.csv")
    shutil.copy(EVENTS, tmp_path / "one.txt")
    shutil.copy(EVENTS, tmp_path / "two.txt")
    assert any("choose one with --events" in n for n in read(tmp_path / "c.csv").notes)
    shutil.copy(EVENTS, tmp_path / "c-events.txt")
    assert read(tmp_path / "c.csv").names[7] == "Draw(3)"


def test_a_tree_of_another_frame_is_left_alone(tmp_path: Path) -> None:
    shutil.copy(COUNTERS, tmp_path / "c.csv")
    (tmp_path / "e.txt").write_text(" EID  | Event | Action #\n---\n7 | - Draw(3) | 1\n")
    assert read(tmp_path / "c.csv").names[0] == "EID 11"


def test_tree_alone_is_refused() -> None:
    assert "event tree without counters" in refusal(EVENTS)


def test_a_comma_inside_a_counter_name() -> None:
    table = read(b"EID,GPU Duration (ms),Busy (a, b) (%),PS Invocations\n4,0.5,12,7\n")
    assert table.columns["invocations.ps"].values[0] == 7 and "Busy (a, b) (%)" in table.unmapped


@pytest.mark.parametrize("unit, factor", [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("µs", 1e3), ("ns", 1.0)])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-8-sig"])
def test_time_units_and_encodings(unit: str, factor: float, encoding: str) -> None:
    table = read(f"EID,GPU Duration ({unit}),PS Invocations\r\n4,0.5,7\r\n9,2.5E-01,8\r\n".encode(encoding))
    assert table.columns["gpu.time"].values == pytest.approx([0.5 * factor, 0.25 * factor])


def test_nothing_but_unknown_counters_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("EID,Something Odd\n4,1\n")
    assert "none of the 1 counters" in refusal(tmp_path / "x.csv")


NAMES = st.text(
    st.characters(codec="ascii", categories=("L", "N"), include_characters="(){},. -"), min_size=1, max_size=12
)


@given(st.lists(st.tuples(st.integers(0, 3), NAMES.map(str.strip).filter(bool)), min_size=1, max_size=15))
def test_trees_printed_as_renderdoc_does_come_back(items: list[tuple[int, str]]) -> None:
    depth, lines, want = 0, ["x.rdc - Frame #1", "", " EID  | Event | Action #", "---"], []
    previous, chain = -1, []
    for eid, (d, name) in enumerate(items, 1):
        depth = min(d, previous + 1)
        first = depth > previous
        indent = " " * (2 * depth) + ("\\- " if first and depth else " - ") if depth else " - "
        lines.append(f"{eid:<6}|{indent}{name} | {eid}     ")
        chain = [*chain[:depth], name]
        want.append(tuple(chain[:-1]))
        previous = depth
    tree = renderdoc_events.parse(Source("e.txt", "\n".join(lines).encode()))
    assert [tree.names[i] for i in range(1, len(items) + 1)] == [n for _, n in items]
    assert [tree.parents[i] for i in range(1, len(items) + 1)] == want


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(TriageError):
        read_as("renderdoc", b"EID,GPU Duration (ms),PS Invocations\n" + data)


def test_names_promise_only_known_metrics() -> None:
    promised = renderdoc.names()
    assert all(schema.known(m) for m in promised) and set(read(COUNTERS).columns) <= set(promised)
    assert "GPU Duration" in renderdoc.collect(["gpu.time"])


@pytest.mark.parametrize("count, more", [(1, ""), (3, "one of 3 of this kind; or all: triage batch")])
def test_a_folder_with_captures_names_the_file_to_give(count: int, more: str, tmp_path: Path) -> None:
    """The counters are named, not the event tree beside them, which holds none."""
    for n in range(count):
        (tmp_path / f"frame{n}-counters.csv").write_bytes((SAMPLES / "renderdoc" / "frame-counters.csv").read_bytes())
    (tmp_path / "a-frame-events.txt").write_bytes((SAMPLES / "renderdoc" / "frame-events.txt").read_bytes())
    (tmp_path / "readme.txt").write_text("nothing")
    with pytest.raises(UnknownDialect) as e:
        api.read(tmp_path)
    assert str(tmp_path / "frame0-counters.csv") in e.value.hint and more in e.value.hint
    assert "events" not in e.value.hint


def test_a_folder_with_nothing_says_what_it_saw(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("nothing")
    with pytest.raises(UnknownDialect, match=r"unknown format \(first files: "):
        api.read(tmp_path)


def test_gpuperfapi_counters_of_stages_and_targets(tmp_path: Path) -> None:
    head = "EID,GPU Duration (ms),GPUTime,GPUBusy,PSBusy,CSBusy,PostZSamplesPassing,CBMemRead,CBMemWritten,CBSlowPixelPct,FetchSize,WriteSize"
    file = tmp_path / "frame-counters.csv"
    file.write_text(f"{head}\n12,2.1,2100000,99,95,0,8000000,66000000,180000000,50,90000000,190000000\n")
    t = read(file)
    at = {m: c.values[0] for m, c in t.columns.items()}
    assert (
        at["stage.pixel_busy"] == pytest.approx(0.95)
        and at["crop.slow_pixels"] == 0.5
        and at["pixels.passed_late"] == 8e6
    )
    assert at["crop.bytes_read"] == 66e6 and at["crop.bytes_written"] == 180e6 and t.isolated


def test_short_replayed_actions_keep_their_counts_only(tmp_path: Path) -> None:
    file = tmp_path / "frame-counters.csv"
    file.write_text(
        "EID,GPU Duration (us),PS Invocations,Samples Passed,sm__throughput.avg.pct_of_peak_sustained_elapsed\n1,5,900,800,40\n2,900,90000,80000,40\n"
    )
    capture = reader.read(str(file))
    assert np.isnan(capture.facts["sm.throughput"][0]) and capture.facts["sm.throughput"][1] == pytest.approx(0.4)
    assert capture.facts["invocations.ps"][0] == 900 and any(q.check == "short-replay" for q in capture.quality)
    assert "range.chain" not in capture.facts


def test_names_may_stand_beside_the_counters(tmp_path: Path) -> None:
    file = tmp_path / "joined.csv"
    file.write_text("EID,Action,GPU Duration (ms),PS Invocations\n12,Sky,0.5,900\n20,,0.25,80\n")
    table = read(file)
    assert table.names.tolist() == ["Sky", "EID 20"] and not [n for n in table.notes if "no event names" in n]
