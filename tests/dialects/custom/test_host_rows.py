"""Custom tables with rows of the host, mapped names and units, and names that a tool cut."""

from pathlib import Path

import pytest

from triage.api import read
from triage.ground.errors import CaptureError

SLICES = "name,category,gpu.time [ns]\nmain,host,9000000\nhipLaunchKernel,rocm_hip_api,5000000\na.kd,rocm_kernel_dispatch,2000000\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8")
    return path


def test_rows_of_the_host_are_no_gpu_work(tmp_path: Path) -> None:
    capture = read(written(tmp_path, SLICES))
    assert capture.names.tolist() == ["a.kd"] and capture.frame_ns == 2e6
    with pytest.raises(CaptureError, match="host only"):
        read(written(tmp_path, SLICES.rpartition("a.kd")[0]))


def test_a_mapped_time_needs_a_unit(tmp_path: Path) -> None:
    path = written(tmp_path, "id,who,total\n1,a,5000\n2,b,7000\n")
    with pytest.raises(CaptureError, match="states no unit"):
        read(path, mapping={"total": "gpu.time", "id": "name"})
    capture = read(path, mapping={"total": "gpu.time [ms]", "id": "name"})
    assert capture.names.tolist() == ["1", "2"] and capture.frame_ns == 12e9


def test_threads_of_anything_are_no_lanes(tmp_path: Path) -> None:
    assert "warp.threads_per_inst" not in read(written(tmp_path, "name,time_ms,n_threads\na,1,16\nb,2,16\n")).facts
