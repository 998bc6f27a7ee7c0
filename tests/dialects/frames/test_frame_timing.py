"""Frame-level timing: PresentMon and the Unreal CSV profiler."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_cells, read, read_as
from triage import schema
from triage.dialects.frames import presentmon, unreal
from triage.ground.errors import BadCapture, NotTriageable, TriageError
from triage.reading import reader

PM = SAMPLES / "presentmon" / "game-gpu-bound.csv"
UE = next((SAMPLES / "unreal-csv").glob("*.csv"))


def test_presents_group_by_application() -> None:
    table = read(PM)
    assert len(table) == 14 and set(table.names) == {"game.exe", "launcher.exe"} and check_cells(table) > 100
    share = table.columns["present.gpu_share"]
    assert share.values[0] == pytest.approx(0.978, abs=1e-3) and share.inputs == ("gpu.busy_time", "present.interval")
    assert "GPU-bound" in next(q.message for q in table.quality if q.check == "frame-bound" and "game.exe" in q.message)
    assert np.isnan(table.columns["display.latency"].values[-1])


def test_means_are_not_weighted_by_gpu_time() -> None:
    capture, table = reader.read(str(PM)), read(PM)
    game = list(capture.names).index("game.exe")
    assert capture.calls[game] == 10
    assert capture.facts["present.interval"][game] == pytest.approx(
        table.columns["present.interval"].values[:10].mean()
    )
    assert capture.duration_ns[game] == pytest.approx(table.columns["gpu.time"].values[:10].sum())


@pytest.mark.parametrize(
    "head, row, want",
    [
        (
            "Application,ProcessID,SwapChainAddress,Runtime,Dropped,TimeInSeconds,msInPresentAPI,msBetweenPresents,msGPUActive",
            "a.exe,1,0x1,DXGI,0,1.5,0.1,16.0,8.0",
            {"present.interval": 16e6, "gpu.busy_time": 8e6, "gpu.time": 8e6, "cpu.present": 1e5},
        ),
        (
            "Application,ProcessID,SwapChainAddress,MsBetweenPresents,MsCPUBusy,MsCPUWait,MsGPULatency,MsGPUTime,MsGPUBusy,MsGPUWait",
            "a.exe,1,0x1,16,15.5,0.5,1,9,8,1",
            {"present.interval": 16e6, "gpu.time": 9e6, "gpu.busy_time": 8e6, "gpu.wait": 1e6},
        ),
    ],
)
def test_versions_of_presentmon(head: str, row: str, want: dict[str, float]) -> None:
    table = read(f"{head}\n{row}\n".encode())
    assert {m: table.columns[m].values[0] for m in want} == pytest.approx(want)


def test_several_swap_chains_are_told_apart() -> None:
    head = "Application,ProcessID,SwapChainAddress,FrameTime,GPUBusy\n"
    table = read((head + "a.exe,1,0x1,10,5\na.exe,1,0x2,20,5\nb.exe,2,0x9,10,1\n").encode())
    assert sorted(set(table.names)) == [
        "a.exe (process 1, swap chain 0x1)",
        "a.exe (process 1, swap chain 0x2)",
        "b.exe",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Application,ProcessID,SwapChainAddress,msBetweenPresents\na.exe,1,0x1,16\n",
        "Application,ProcessID,SwapChainAddress,FrameTime,GPUBusy\na.exe,1,0x1,16,NA\n",
    ],
)
def test_presents_without_gpu_times_say_so(text: str) -> None:
    table = read(text.encode())
    assert table.columns["present.interval"].values[0] == 16e6 and "gpu.time" not in table.columns
    assert "no-times" in [q.check for q in table.quality]


def test_passes_of_the_unreal_profiler() -> None:
    table = read(UE)
    assert list(table.names) == [
        "Frame",
        "ShadowDepths",
        "Prepass",
        "Basepass",
        "Lights",
        "Postprocessing",
        "Translucency",
    ]
    assert list(table.paths) == ["", *["Frame"] * 6] and table.kinds[0] == "frame"
    assert table.columns["gpu.time"].values[6] == pytest.approx(0.42e6, rel=0.03)
    assert table.columns["present.gpu_share"].values[0] == pytest.approx(0.95, abs=0.02)
    assert any("GPU-bound" in q.message for q in table.quality)
    assert {"EVENTS", "RHI/DrawCalls"} <= set(table.unmapped)
    assert table.raw["GPU/Translucency"].column == 12


def test_cpu_bound_frames() -> None:
    table = read(b"EVENTS,FrameTime,GameThreadTime,RenderThreadTime,GPUTime\n,20,19.8,6,7\n,20,19.6,6,7\n")
    assert len(table) == 1 and any("CPU-bound, the game thread" in q.message for q in table.quality)
    assert any("the end of the file is missing" in n for n in table.notes)


def test_the_header_at_the_end_is_the_whole_one() -> None:
    table = read(
        b"FrameTime,GPUTime,GPU/A\n10,9,4\n10,9,4,3\n\nFrameTime,GPUTime,GPU/A,GPU/B\n[HasHeaderRowAtEnd],1,[Commandline],-a,-b\n"
    )
    assert list(table.names) == ["Frame", "A", "B"] and table.columns["gpu.time"].values[2] == pytest.approx(3e6)
    assert any("2 frames" in n for n in table.notes)


def test_profiles_without_gpu_times_or_frames_are_refused() -> None:
    with pytest.raises(NotTriageable, match="without GPU times"):
        read(b"EVENTS,FrameTime,GameThreadTime\n,20,19\n")
    with pytest.raises(BadCapture):
        read(b"FrameTime,GameThreadTime,GPUTime\nFrameTime,GameThreadTime,GPUTime\n[HasHeaderRowAtEnd],1\n")


@pytest.mark.parametrize("module", [presentmon, unreal])
def test_names_promise_only_known_metrics(module: object) -> None:
    promised = module.names()  # type: ignore[attr-defined]
    table = read(PM if module is presentmon else UE)
    assert all(schema.known(m) for m in promised) and set(table.columns) <= set(promised)
    assert "GPU Trace" in module.collect([])  # type: ignore[attr-defined]


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for name, head in (
        ("presentmon", b"Application,ProcessID,SwapChainAddress,FrameTime,GPUBusy,CPUBusy\n"),
        ("unreal-csv", b"FrameTime,GameThreadTime,GPUTime,GPU/A\n"),
    ):
        with contextlib.suppress(TriageError):
            read_as(name, head + data)
