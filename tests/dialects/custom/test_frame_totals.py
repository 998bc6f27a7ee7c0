"""The total of a frame beside the times of its passes: the passes' times are read, whichever stands first."""

from pathlib import Path

import pytest

from tests.helpers.dialects import read
from triage.ground.errors import BadCapture

HEAD = "frame,{first},pass,{second}\n"
PASSES = {"Shadow": 1.1, "GBuffer": 2.0, "Lighting": 1.0}


def _table(path: Path, first: str, second: str, total_first: bool) -> Path:
    lines = [HEAD.format(first=first, second=second)]
    for frame in range(2):
        for name, ms in PASSES.items():
            a, b = (4.1 + frame, ms) if total_first else (ms, 4.1 + frame)
            lines.append(f"{frame},{a},{name},{b}\n")
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("total_first", [True, False])
def test_pass_times_are_read_beside_the_total_of_their_frame(tmp_path: Path, total_first: bool) -> None:
    names = ("total_gpu_ms", "pass_gpu_ms") if total_first else ("pass_gpu_ms", "total_gpu_ms")
    table = read(_table(tmp_path / "passes.csv", *names, total_first))
    assert table.columns["gpu.time"].values == pytest.approx([ms * 1e6 for ms in PASSES.values()] * 2)
    assert not [q for q in table.quality if q.check in ("columns-disagree", "columns-unread")]


def test_totals_alone_are_no_times_of_passes(tmp_path: Path) -> None:
    path = _table(tmp_path / "totals.csv", "gpu_frame_ms", "triangles", total_first=True)
    with pytest.raises(BadCapture, match="'gpu_frame_ms' is the same in all rows of a frame"):
        read(path)


def test_equal_times_of_different_kernels_stay() -> None:
    table = read("kernel,duration [us],max duration [us]\na,5,6\nb,5,7\nc,8,9\n")
    assert table.columns["gpu.time"].values.tolist() == [5e3, 5e3, 8e3]
