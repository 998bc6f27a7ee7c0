"""Several frames in one capture, units that a table does not say, frame pacing: told by evidence, or asked about."""

from pathlib import Path

import numpy as np
import pytest

from triage import api
from triage.capture.capture import Capture
from triage.dialects.frames.pacing import pacing
from triage.ground.errors import BadCapture
from triage.rendering import formats

PASSES = (("Shadows", "geometry", 1.0), ("GBuffer", "geometry", 4.0), ("Lighting", "compute", 3.0))


def read(tmp_path: Path, lines: list[str]) -> Capture:
    file = tmp_path / "capture.csv"
    file.write_text("\n".join(lines) + "\n")
    return api.read(file)


def frames(count: int, spike: int = -1) -> list[str]:
    return [
        f"{name},{kind},{ms * (9 if f == spike and name == 'Shadows' else 1):g},40"
        for f in range(count)
        for name, kind, ms in PASSES
    ]


HEAD = "name,kind,gpu.time [ms],sm.throughput [%]"


def test_a_sequence_that_repeats_is_several_frames(tmp_path: Path) -> None:
    capture = read(tmp_path, [HEAD, *frames(4, spike=2)])
    assert capture.frames is not None and capture.frames.tolist() == pytest.approx([8e6, 8e6, 16e6, 8e6])
    said = [q.message for q in capture.quality]
    assert any("4 frames in one capture, median 8 ms, longest 16 ms (frame 3)" in s for s in said)
    assert any(s.startswith("Shadows takes 9 ms in frame 3, median 1 ms") for s in said)


def test_one_frame_and_kernels_are_no_frames(tmp_path: Path) -> None:
    assert read(tmp_path, [HEAD, *frames(1)]).frames is None
    assert read(tmp_path, [HEAD, *frames(2), "Extra,compute,1,40", *frames(1)]).frames is None
    kernels = [
        "name,kind,gpu.time [ms],launch.grid_size,launch.block_size",
        *(f"{n},compute,1,64,128" for n in "abcabc"),
    ]
    assert read(tmp_path, kernels).frames is None


def test_numbered_frames_are_one_tree(tmp_path: Path) -> None:
    lines = ["name,path,kind,gpu.time [ms],sm.throughput [%]"]
    for f in (41, 42):
        lines.append(f"Frame {f},,marker,9,40")
        lines += [f"{name},Frame {f},{kind},{ms:g},40" for name, kind, ms in PASSES]
    capture = read(tmp_path, lines)
    assert len(capture) == 4 and capture.frames is not None
    assert capture.frames.tolist() == pytest.approx([9e6, 9e6])  # what lies between its markers is the frame's too
    assert capture.frame_ns == pytest.approx(18e6)


def test_a_column_of_frame_numbers_tells_frames_apart(tmp_path: Path) -> None:
    lines = [f"Frame,{HEAD}"] + [f"{f},{name},{kind},{ms:g},40" for f in (7, 8, 9) for name, kind, ms in PASSES]
    lines.insert(5, "8,Explosion,geometry,2,40")  # no sequence repeats
    capture = read(tmp_path, lines)
    assert capture.frames is not None and capture.frames.tolist() == pytest.approx([8e6, 10e6, 8e6])
    assert sorted(capture.names) == ["Explosion", "GBuffer", "Lighting", "Shadows"]
    rows = ["Frame,GPU time (ms),SM [%]", *(f"Frame {i},{16 + i},40" for i in range(3))]
    assert read(tmp_path, rows).names.tolist() == ["Frame"]  # there it names the rows


def test_a_time_without_a_unit_is_read_by_evidence_or_asked_about(tmp_path: Path) -> None:
    head = "name,kind,gpu.time,sm.throughput [%]"
    capture = read(tmp_path, [head, "A,compute,0.43,30", "B,compute,1.2,40"])
    assert capture.duration_ns.tolist() == pytest.approx([0.43e6, 1.2e6])
    assert any("read as ms" in q.message for q in capture.quality)
    assert read(tmp_path, [head, "A,compute,430000,30"]).duration_ns.tolist() == [430000.0]
    with pytest.raises(BadCapture, match="may be ms or us"):
        read(tmp_path, [head, "A,compute,430,30", "B,compute,120,40"])


def test_fractions_among_percentages_are_read_as_such_and_said(tmp_path: Path) -> None:
    capture = read(
        tmp_path,
        [
            "name,kind,gpu.time [ms],sm.throughput,l2.hit_rate,gpu.idle",
            "A,compute,1,30,0.62,0.2",
            "B,compute,1,80,0.91,0",
        ],
    )
    assert capture.facts["l2.hit_rate"].tolist() == pytest.approx([0.62, 0.91])
    assert capture.facts["sm.throughput"].tolist() == pytest.approx([0.3, 0.8])
    assert capture.facts["gpu.idle"].tolist() == pytest.approx([0.002, 0.0])
    assert any("fractions of 1" in q.message for q in capture.quality)


def test_pacing_counts_frames(tmp_path: Path) -> None:
    interval = np.array([16.0] * 98 + [80.0, 90.0])
    gpu = np.where(np.arange(100) < 60, 15.5, 4.0)
    found = pacing(interval, gpu, np.full(100, 3.0))
    assert found["present.median"] == 16 and found["present.stutter"] == pytest.approx(0.02)
    assert found["present.gpu_bound"] == pytest.approx(0.6) and found["present.cpu_bound"] == 0
    assert found["present.low"] > 70
    assert pacing(np.array([np.nan]), None, None) == {}


def test_the_target_of_presentmon_is_no_compositor(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    rows = ["Application,ProcessID,SwapChainAddress,FrameTime,CPUBusy,GPUTime,GPUBusy,GPUWait"]
    rows += ["dwm.exe,1,0x1,16,2,16,1,15"] * 9 + ["game.exe,2,0x2,10,3,9.8,9.7,0.1"] * 4
    file.write_text("\n".join(rows) + "\n")
    found = api.diagnose(file)
    document = found.to_dict()
    assert document["workloads"][0]["name"] == "game.exe"
    assert document["frame"]["duration_ns"] == pytest.approx(4 * 9.8e6)
    assert document["frame"]["recoverable_ns"] == 0
    assert "gpu-limited-frames" in [f.rule.name for f in found.findings if f.workload_name == "game.exe"]


PRESENTS = """Application,ProcessID,SwapChainAddress,FrameTime,CPUBusy,GPUTime,GPUBusy,GPUWait
{dwm}
{game}
{ide}
"""


@pytest.mark.parametrize("cpu, gpu, rule", [(9.8, 2.0, "cpu-limited-frames"), (3.0, 9.7, "gpu-limited-frames"), (3.0, 2.0, "capped-frame-rate")])  # fmt: skip
def test_only_the_target_of_presentmon_is_judged(cpu: float, gpu: float, rule: str, tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    text = PRESENTS.format(
        dwm="\n".join(["dwm.exe,1,0x1,16,15.9,16,1,15", "dwm.exe,1,0x2,16,15.9,16,1,15"] * 6),
        game="\n".join([f"game.exe,2,0x{n % 2},10,{cpu},{gpu + 0.1},{gpu},0.1" for n in range(120)] + ["game.exe,2,0x1,45,1,2,1,0"]),
        ide="devenv.exe,3,0x9,500,499,1,0.5,0.5",
    )  # fmt: skip
    file.write_text(text)
    found = api.diagnose(file)
    assert {f.workload_name.split()[0] for f in found.findings} == {"game.exe"}
    assert {f.rule.name for f in found.findings} == {rule}
    document = found.to_dict()
    assert document["blind_spots"] == []  # frame timing has nothing more to give
    bound = [q["message"] for q in document["quality"] if q["check"] == "frame-bound"]
    assert len(bound) == 2 and all("1 % low" in b or "slowest of" in b for b in bound)
    (background,) = (q["message"] for q in document["quality"] if q["check"] == "background")
    assert "dwm.exe (12 presents), devenv.exe (1 present)" in background


def test_presents_without_gpu_times_ask_for_them_alone(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text("Application,ProcessID,SwapChainAddress,FrameTime,CPUBusy\n" + "a.exe,1,0x1,16,4\n" * 120)
    document = api.diagnose(file).to_dict()
    assert {b["collect"] for b in document["blind_spots"]} == {"record with PresentMon 2.x, or 1.9 with -track_gpu"}
    assert any("1 % low 16 ms (62 fps), none stutters" in q["message"] for q in document["quality"])


def test_markers_over_frames_name_the_one_that_made_the_spike(tmp_path: Path) -> None:
    """120 frames of three markers; particles take four times as long in two of them."""
    rows = ["name,path,gpu.time [ms],sm.throughput [%]"]
    for f in range(120):
        slow = 4 if f in (40, 41) else 1
        rows += [
            f"{n},Frame {f},{t},50" for n, t in (("Shadows", 1.0), ("Particles", 0.5 * slow), ("Post", 0.8 + f / 1000))
        ]
    path = tmp_path / "frames.csv"
    path.write_text("\n".join(rows) + "\n")
    document = api.diagnose(path)
    frames = document.to_dict()["captures"][0]["frames"]
    assert frames["count"] == 120 and frames["longest_ns"] > frames["p99_ns"] > frames["median_ns"]
    first, second, third = frames["markers"]
    assert (first["name"], first["median_ns"], first["worst_ns"], first["worst_frame"]) == ("Particles", 5e5, 2e6, 41)
    assert first["low_1_ns"] == 2e6 and 5e5 < first["p99_ns"] <= 2e6
    assert (second["name"], second["worst_frame"]) == ("Post", 120)
    assert (third["name"], third["worst_ns"]) == ("Shadows", 1e6)
    for fmt in ("markdown", "html", "terminal"):
        out: list[str] = []
        formats.render(document.bundle, fmt, out.append)
        assert ("Markers over the frames" in "".join(out)) == (fmt != "terminal")  # there it is one of --full


def test_few_frames_have_no_slowest_hundredth(tmp_path: Path) -> None:
    path = tmp_path / "frames.csv"
    path.write_text("name,path,gpu.time [ms]\n" + "".join(f"{n},Frame {f},{f + 1}\n" for f in range(3) for n in "ABC"))
    frames = api.diagnose(path).to_dict()["captures"][0]["frames"]
    assert frames["low_1_ns"] is None and {m["p99_ns"] for m in frames["markers"]} == {None}
    assert {(m["median_ns"], m["worst_frame"]) for m in frames["markers"]} == {(2e6, 3)}
