"""Logs of frame times: MangoHud, CapFrameX, gfxinfo, Unity, FrameView; and which side sets the frame rate."""

import json

import numpy as np
import pytest

from tests.conftest import SAMPLES
from tests.helpers.dialects import read, refusal
from triage.dialects.frames import pacing


def _bound(table: object) -> str:
    return next(q.message for q in table.quality if q.check in ("frame-bound", "frame-pacing"))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("file", "frames", "interval", "words"),
    [
        ("mangohud/game.csv", 4, 16.69e6, "GPU-bound"),
        ("capframex/game.json", 4, 15.2e6, "GPU-bound"),
        ("gfxinfo/app.txt", 2, 11.5e6, "CPU times are not exported"),
        ("unity-frames/frameTime.csv", 4, 16.61e6, "25.0 % stutter"),
        ("unity-frames/frame-timings.csv", 3, 16.6e6, "GPU-bound"),
    ],
)
def test_frames_are_read(file: str, frames: int, interval: float, words: str) -> None:
    table = read(SAMPLES / file)
    assert len(table) == frames and table.columns["present.interval"].values[0] == pytest.approx(interval)
    assert words in _bound(table)


@pytest.mark.parametrize(
    "head",
    [
        "os,cpu,gpu,ram,kernel,driver\nLinux,x,y,16,6,570\n",  # five years of MangoHud
        "os,cpu,gpu,ram,kernel,driver,cpuscheduler\n'Gentoo, old',x,y,16,6,,performance\n--------------------DATA---------------------\n",
        "v1\n0.8.0\n---------------------SYSTEM INFO---------------------\nos,cpu,gpu,ram,kernel,driver,cpuscheduler\nL,x,y,1,6,,p\n--------------------FRAME METRICS--------------------\n",
        "",
    ],
)
def test_blocks_of_mangohud(head: str) -> None:
    table = read(f"{head}fps,frametime,cpu_load,gpu_load,elapsed\n60,16.6,50,71,1\n40,25,50,71,2\n")
    assert table.dialect == "mangohud" and table.columns["present.interval"].values.tolist() == pytest.approx(
        [16.6e6, 25e6]
    )


def test_samples_of_mangohud_are_not_all_frames() -> None:
    rows = "".join(f"240,4.2,50,84,{i * 100_000_000}\n" for i in range(1, 9))
    table = read(f"fps,frametime,cpu_load,gpu_load,elapsed\n{rows}")
    assert table.sampled and not {"present.low", "present.stutter"} & table.columns.keys()
    assert any("only one frame every 100 ms" in q.message for q in table.quality)
    assert "recorded frames" in _bound(table) and "stutter" not in _bound(table)


@pytest.mark.parametrize(
    ("load", "verdict"),
    [(97, "probably GPU-bound"), (84, "which side sets the pace is open"), (20, "probably not GPU-bound")],
)
def test_a_sampled_load_is_not_gpu_time(load: int, verdict: str) -> None:
    bound = _bound(read(f"fps,frametime,gpu_load,elapsed\n60,16.6,{load},1\n60,16.6,{load},16600001\n"))
    assert f"GPU load {load}%, sampled by the driver: {verdict}" in bound


def test_a_gpu_that_is_busy_for_longer_than_the_frames_is_remarked_on() -> None:
    row = "game.exe,1,0x1,{0},{1}\n"
    head = "Application,ProcessID,SwapChainAddress,MsBetweenPresents,MsGPUBusy\n"
    table = read(head + row.format(4, 4) + row.format(4, 12))
    assert table.columns["present.gpu_share"].values.tolist() == [1.0, 1.0]
    assert any("16 ms in frames of 8 ms" in q.message for q in table.quality)


def test_columns_on_the_system_in_the_first_row_alone() -> None:
    """As OCAT writes them."""
    head = "Application,ProcessID,SwapChainAddress,MsBetweenPresents,Motherboard,OS,GPU,Comment\n"
    row = "game.exe,1,0x1,{0}"
    first = row.format(9.5) + ',"A, board",Windows 10,GeForce RTX 2080 Ti,\n'
    table = read(head + first + "".join(row.format(ms) + "\n" for ms in (12, 10, 11)))
    assert table.columns["present.interval"].values.tolist() == pytest.approx([9.5e6, 12e6, 10e6, 11e6])
    assert table.device == "GeForce RTX 2080 Ti"
    assert "most rows are like this" in refusal(
        head + first + first + "".join(row.format(ms) + "\n" for ms in (12, 10, 11, 9, 8))
    )


def test_frames_that_miss_refreshes_are_said_where_presents_are_even() -> None:
    row = "game.exe,1,0x1,16.7,{0}\n"
    head = "Application,ProcessID,SwapChainAddress,MsBetweenPresents,MsBetweenDisplayChange\n"
    table = read(head + row.format(16.7) * 5 + row.format(33.3))
    gaps = next(q.message for q in table.quality if q.check == "display-gaps")
    assert "1 frame of 6 stayed on the screen for up to 33.3 ms (usual 16.7 ms)" in gaps
    assert not any(q.check == "display-gaps" for q in read(head + row.format(16.7) * 5).quality)


def test_frameview_is_not_told_to_track_the_gpu() -> None:
    head = "Application,GPU,ProcessID,SwapChainAddress,MsBetweenPresents,MsRenderPresentLatency,GPU0Util(%)\n"
    table = read(head + "game.exe,NVIDIA GeForce RTX 4060,1,0x1,15.2,2.8,99\n" * 3)
    assert table.device == "NVIDIA GeForce RTX 4060"
    assert any(
        "FrameView has no GPU time per frame (GPU load 99%, sampled by the driver: probably GPU-bound" in q.message
        for q in table.quality
    )


def test_the_histogram_of_gfxinfo_is_read() -> None:
    table = read(
        "** Graphics info for pid 1 [com.app] **\nTotal frames rendered: 6\nJanky frames: 1 (16.67%)\n"
        "HISTOGRAM: 5ms=0 8ms=4 16ms=1 150ms=1\nGPU HISTOGRAM: 1ms=0 4ms=3 7ms=3\n"
    )
    assert len(table) == 6 and table.columns["present.median"].values[0] == 8e6
    assert any("5.5 ms per frame on average" in q.message for q in table.quality)
    assert any("7 ms at most: not what makes 2 frames take more than 14 ms" in q.message for q in table.quality)
    assert any("1 janky frame of 6 (16.67 %)" in q.message for q in table.quality)
    part = read("Total frames rendered: 9\nJanky frames: 1 (11.11%)\nHISTOGRAM: 5ms=0 8ms=4 20ms=1\n").quality
    assert any("1 janky frame of 9 (11.11 %)" in q.message for q in part)
    assert any("5 of the 9 frames" in q.message for q in part)


def test_units_of_frame_times_follow_from_the_rest_of_the_row() -> None:
    old = read("os,cpu,gpu,ram,kernel,driver\nL,x,y,1,6,5\nfps,frametime,gpu_load\n60,16600,97\n50,20000,96\n")
    assert old.columns["present.interval"].values.tolist() == pytest.approx([16.6e6, 20e6])
    unity = read(
        "frame,fps,frameTime,cpuFrameTime,gpuFrameTime,drawCalls\n1,60,0.0166,9.1,15.9,800\n2,50,0.02,9.3,19.0,800\n"
    )
    assert unity.columns["present.interval"].values.tolist() == pytest.approx([16.6e6, 20e6])
    assert unity.columns["gpu.busy_time"].values.tolist() == pytest.approx([15.9e6, 19e6])


def test_records_of_capframex_without_gpu_times() -> None:
    run = {"CaptureData": {"MsBetweenPresents": [10, None, "x", 12.5]}}
    table = read(json.dumps({"Info": {}, "Runs": [run, run, {"CaptureData": None}, 5]}))
    assert (
        len(table) == 8
        and np.isnan(table.columns["present.interval"].values[1:3]).all()
        and "gpu.time" not in table.columns
    )
    assert "damaged JSON" in refusal('{"Runs":[{"CaptureData":{"MsBetweenPresents":[1,')
    assert "without frame times" in refusal('{"Runs":[{"CaptureData":{}}]}')


def test_a_frameview_log_is_read_as_presents() -> None:
    head = "Application,GPU,CPU,Resolution,Runtime,AllowsTearing,ProcessID,SwapChainAddress,SyncInterval,PresentFlags,PresentMode,Dropped,TimeInSeconds,MsBetweenPresents,MsBetweenDisplayChange,MsInPresentAPI,MsRenderPresentLatency,MsUntilDisplayed,Render Queue Depth,MsPCLatency,GPU0Clk(MHz),GPU0Util(%),CPUUtil(%)"  # fmt: skip
    row = "game.exe,NVIDIA GeForce RTX 3080,i9,1920x1080,DXGI,0,42,0x1,0,0,Hardware: Independent Flip,0,1.5,16.6,16.6,0.2,14,20,1,30,1900,97,40"
    table = read(f"{head}\n{row}\n{row}\n")
    assert table.dialect == "presentmon" and table.columns["present.interval"].values[0] == pytest.approx(16.6e6)


def test_a_summary_without_frames_is_refused() -> None:
    assert "without frames" in refusal("Total frames rendered: 42\nJanky frames: 31 (73.81%)\n50th percentile: 17ms\n")


@pytest.mark.parametrize(
    ("gpu", "cpu", "facts", "verdict"),
    [
        (
            0.98,
            1.28,
            {"present.gpu_bound": 0.9, "present.cpu_bound": 0.8},
            "GPU-bound, and the render thread is busy as long",
        ),
        (0.98, 0.4, {}, ": GPU-bound"),
        (0.5, 0.97, {}, ": CPU-bound, the render thread"),
        (0.92, 0.3, {"present.gpu_bound": 0.3, "present.cpu_bound": 0.0}, "neither"),
        (0.5, np.nan, {}, "CPU times are not exported"),
        (np.nan, 0.97, {}, ""),
    ],
)
def test_one_sentence_says_which_side_sets_the_frame_rate(
    gpu: float, cpu: float, facts: dict[str, float], verdict: str
) -> None:
    text = pacing.sentence(gpu, cpu, facts, {"cpu": "the render thread"})
    assert verdict in text if verdict else not text


@pytest.mark.parametrize(
    ("head", "tool"),
    [
        (
            "        Date        , GPU Clock [MHz] , Memory Clock [MHz] ,\n2024-03-01 12:00:01 , 1905.0 , 1187.6 ,\n",
            "GPU-Z",
        ),
        (
            "TIME STAMP,GPU UTIL,GPU SCLK,GPU PWR,GPU TEMP,GPU MEM UTIL\n2026-05-08 17:25:44,14,2340,37,58,6883\n",
            "Adrenalin",
        ),
        (
            "00, 05-05-2024 10:00:00, Hardware monitoring log v1.6 \n02, 05-05-2024, GPU temperature, GPU usage\n",
            "Afterburner",
        ),
        (
            "timestamp, name, utilization.gpu [%], memory.used [MiB]\n2026/01/03 15:36:53.507, RTX, 1 %, 9 MiB\n",
            "nvidia-smi",
        ),
        ("2025/09/08 14:14:37.120, 0, 11409\n2025/09/08 14:14:38.120, 0, 11410\n", "nvidia-smi"),
        (
            "# gpu   pwr gtemp mtemp    sm   mem\n# Idx     W     C     C     %     %\n    0    73    37     -    29     4\n",
            "nvidia-smi",
        ),
        ("GPUId,TimeStampUs,Field,Values\n0,1718783836956328,power_usage_instant,71.20\n", "dcgmi"),
        ("#Entity   SMACT   DRAMA\nID\nGPU 0     0.955   0.400\n", "dcgmi"),
        ("RAM 2345/7850MB (lfb 4x4MB) CPU [5%@1190] GR3D_FREQ 45%@921\n", "tegrastats"),
        ("VTX, IDX, inPosition.x\n0, 0, 329.03\n", "mesh data of RenderDoc"),
        ("Processing [a.sqlite] with [/opt/nsys/rules/cuda_memcpy_async.py]...\n", "nsys analyze"),
        ("TRITON KERNELS BANDWIDTH INFO (a.py)\n0.160ms\t0.453 GB\t2826.25GB/s\t10.80%\ttriton_red\n", "Inductor"),
        ('Date,Time,"GPU Temperature [C]","GPU Clock [MHz]"\n1.1.2024,10:00,61,1900\n', "HWiNFO"),
        (
            '<?xml version="1.0"?>\n<trace-query-result>\n<node xpath="x"><schema name="metal-gpu-intervals">\n',
            "Instruments",
        ),
        ('[\n{\n\t"period": {\n\t\t"duration": 16.488,\n\t\t"unit": "ms"\n\t},\n', "intel_gpu_top"),
        (" (Type)   Total Time, Call Count, Avg. Time per Call, %Total Time in Kernels\n- axpby\n", "Kokkos"),
        ("Path         Host Time GPU Time GPU %\nmain             0.210    0.100  47.6\n", "Caliper"),
        ("%Time    Exclusive    Inclusive       #Call      #Subrs  Inclusive Name\n", "TAU"),
        ("|----|\n|      REAL-CLOCK TIMER (I.E. WALL-CLOCK TIMER)      |\n|----|\n", "ROCm Systems Profiler"),
    ],
)
def test_logs_without_gpu_work_are_named(head: str, tool: str) -> None:
    assert tool in refusal(head)
