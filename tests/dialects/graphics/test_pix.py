"""PIX: pixtool's event list and the window's."""

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_cells, read, read_as, refusal
from triage import schema
from triage.capture.capture import SEP
from triage.dialects.graphics import markers, pix_gui, pix_tool
from triage.ground.errors import NotTriageable, TriageError, UnknownUnit

TOOL = SAMPLES / "pix-tool" / "nvidia-events.csv"
GUI = SAMPLES / "pix-gui" / "event-list.txt"


def test_tool_keeps_gpu_work_and_its_markers() -> None:
    table = read(TOOL)
    assert list(table.names) == [
        "Opaque",
        "DrawIndexedInstanced",
        "AccessModePass[Graphics] (Textures: 0, Buffers: 2)",
        "ResourceBarrier",
        "SSAO",
        "Dispatch",
        "DrawInstanced",
    ]
    assert list(table.paths) == ["", "Opaque", "Opaque", "", "", "SSAO", ""]
    assert list(table.kinds) == ["draw", "draw", "", "", "compute", "compute", "draw"]
    assert (
        table.columns["gpu.time"].values[0] == 2_104_000
        and table.columns["gpu.time"].header == "EOP to EOP Duration (ns)"
    )
    assert table.columns["vram.throughput"].values[-1] == pytest.approx(0.884)
    assert list(table.lines) == [4, 6, 7, 8, 9, 10, 11]
    assert check_cells(table) > 70 and "TOP to EOP Duration (ns)" in table.unmapped


def test_gui_ranges_are_markers() -> None:
    table = read(GUI)
    assert [n.split("(")[0] for n in table.names] == [
        "GBuffer",
        "DrawIndexedInstanced",
        "DrawIndexedInstanced",
        "ResourceBarrier",
        "Tonemap",
        "DrawInstanced",
    ]
    assert list(table.paths) == ["", "GBuffer", "GBuffer", "GBuffer", "", "Tonemap"]
    assert check_cells(table) == 6


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.removeprefix(b"\xef\xbb\xbf"),
        lambda b: b.replace(b"\r\n", b"\n"),
        lambda b: b.decode("utf-8-sig").encode("utf-16"),
    ],
)
def test_encodings(change: object) -> None:
    table = read(change(TOOL.read_bytes()))  # type: ignore[operator]
    assert len(table) == 7 and table.columns["gpu.time"].values[4] == 803_000


def test_columns_in_another_order() -> None:
    table = read(
        b"Name, GPU Duration (us), Global ID, Parent, Queue ID, EuActive\n"
        b"March, 26.5, , -1, 0, 98\nDispatch, 26.5, 1, 0, 1, 98\n"
    )
    assert list(table.paths) == ["", "March"] and table.columns["gpu.time"].values == pytest.approx([26500, 26500])
    assert table.columns["eu.active"].values == pytest.approx([0.98, 0.98])


def test_amd_counters() -> None:
    table = read(
        b"Queue ID, Parent, Name, Global ID, EOP to EOP Duration (ns), L2CacheHit, FetchSize, MemUnitBusy,"
        b" PSBusy\n0, -1, DrawInstanced, 1, 5000, 71, 4096, 44, 90\n"
    )
    assert {m: c.values[0] for m, c in table.columns.items()} == pytest.approx(
        # a busy stage is no share of a peak
        {"gpu.time": 5000, "l2.hit_rate": 0.71, "vram.bytes_read": 4096, "mem_unit.busy": 0.44, "stage.pixel_busy": 0.9}
    )


def test_only_top_to_eop_is_remarked() -> None:
    table = read(b"Queue ID, Parent, Name, Global ID, TOP to EOP Duration (ns)\n0, -1, DrawInstanced, 1, 5000\n")
    assert "overlapping-times" in [q.check for q in table.quality]


def test_a_duration_without_unit_is_not_guessed() -> None:
    with pytest.raises(UnknownUnit):
        read(b"Queue ID, Queue, Global ID, Name, GPU Duration\n0, 0, 1, Draw, 17\n")


def test_parents_that_loop_do_not_hang() -> None:
    table = read(
        b"Queue ID, Parent, Name, Global ID, EOP to EOP Duration (ns)\n0, 1, A, 1, 5000\n1, 0, B, 2, 6000\n1,"
        b" 1, C, 3, 7\n"
    )
    assert len(table) == 3


def test_untimed_list_is_refused() -> None:
    with pytest.raises(NotTriageable, match="without timing"):
        read(b"Global ID\tName\tQueue ID\tEOP to EOP Duration (ns)\r\n1\t Dispatch(X:1)\t2\t\r\n")


def test_console_output_is_refused(tmp_path: object) -> None:
    path = tmp_path / "out.csv"  # type: ignore[operator]
    path.write_text(
        "Microsoft.PIX 2507.11\nRunning: pixtool open-capture frame.wpix save-event-list out.csv\nOpening capture...\n"
    )
    assert "console output of pixtool" in refusal(path)


@pytest.mark.parametrize(
    "call, kind",
    [
        ("DrawIndexed(6)", "draw"),
        ("ID3D12GraphicsCommandList::Dispatch(1, 2, 3)", "compute"),
        ("vkCmdDispatch(4, 4, 1)", "compute"),
        ("DispatchMesh(8)", "draw"),
        ("DispatchRays()", "raytracing"),
        ("glDrawElements(3)", "draw"),
        ("CopyTextureRegion()", "copy"),
        ("ResolveSubresource()", "copy"),
        ("Draw the scene", ""),
        ("ClearRenderTargetView()", ""),
        ("DispatchIndirect(<0, 1, 1>)", "compute"),
    ],
)
def test_kinds_of_calls(call: str, kind: str) -> None:
    assert markers.kind(call) == kind


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 4)), min_size=1, max_size=20))
def test_ranges_nest(ranges: list[tuple[int, int]]) -> None:
    """A marker whose Global ID is a range of IDs is above the events of that range which follow it."""
    rows = [f"{f'{a}-{a + b}' if b else a}\tm{i}\t1\t5\r\n" for i, (a, b) in enumerate(ranges)]
    table = read_as("pix-gui", ("Global ID\tName\tQueue ID\tEOP to EOP Duration (ns)\r\n" + "".join(rows)).encode())
    assert list(table.names) == [f"m{i}" for i in range(len(ranges))]
    for i, path in enumerate(table.paths):
        above = [int(name[1:]) for name in path.split(SEP)] if path else []
        for p, q in itertools.pairwise([*above, i]):
            assert p < q
            assert ranges[p][0] <= ranges[q][0] and sum(ranges[q]) <= sum(ranges[p])


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for name, head in (
        ("pix-tool", b"Queue ID, Parent, Name, Global ID, EOP to EOP Duration (ns), EuActive\n"),
        ("pix-gui", b"Global ID\tName\tQueue ID\tEOP to EOP Duration (ns)\r\n"),
    ):
        with contextlib.suppress(TriageError):
            read_as(name, head + data)


def test_names_promise_only_known_metrics() -> None:
    promised = pix_tool.names()
    assert all(schema.known(m) for m in promised) and pix_gui.names() == promised
    assert set(read(TOOL).columns) <= set(promised)
    assert SEP not in pix_tool.collect([]) and "save-event-list" in pix_gui.collect([])
