from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_provenance, read
from triage.ground.errors import NotTriageable

TEXT = SAMPLES / "rocprof-compute-text" / "analyze_k0.txt"


def test_console_text_is_one_kernel_with_its_time_and_launch() -> None:
    t = read(TEXT, "rocprof-compute-text")
    assert list(t.names) == ["tiled_convolution(float const*, float*, int, int)"]  # wrapped over two lines
    values = {metric: float(column.values[0]) for metric, column in t.columns.items()}
    assert values["gpu.time"] == 33_680_000 and values["frame.calls"] == 4
    assert values["launch.grid_size"] == 4_194_304 / 256 and values["launch.shared"] == 65_536
    assert values["sched.insufficient_lds"] == pytest.approx(0.824)
    assert values["sm.throughput"] == pytest.approx(0.314) and values["vram.throughput"] == pytest.approx(
        0.0903 + 0.0391
    )
    check_provenance(t)


def test_rows_in_cycles_are_no_shares(tmp_path: Path) -> None:
    """Omniperf 1 counted cycles where later versions print a share."""
    old = (
        TEXT.read_text()
        .replace("Metric_ID", "Index    ")
        .replace("82.40 │ 82.40 │ 82.40 │ Pct    ", "93.00 │ 93.00 │ 93.00 │ Cu     ")
    )
    path = tmp_path / "omniperf1.txt"
    path.write_text(old)
    assert "sched.insufficient_lds" not in read(path, "rocprof-compute-text").columns


def test_several_kernels_are_all_dispatches_together(tmp_path: Path) -> None:
    row = "│  1 │ fill(float*)                             │    2.00 │   120000.00 │    60000.00 │     60000.00 │   0.36 │\n"
    lines = TEXT.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if "int, int)" in line)
    path = tmp_path / "two.txt"
    path.write_text("".join([*lines[: at + 1], "├────┼\n", row, *lines[at + 1 :]]))
    t = read(path, "rocprof-compute-text")
    assert list(t.names) == ["all analysed dispatches"] and np.isclose(t.columns["gpu.time"].values[0], 33_800_000)
    assert any("2 kernels" in note for note in t.notes)


def test_panels_without_a_share_are_refused_with_the_next_step(tmp_path: Path) -> None:
    path = tmp_path / "mix.txt"
    path.write_text(
        "10.1 Overall Instruction Mix\n╒═╕\n│ Metric_ID │ Metric │ Avg │ Min │ Max │ Unit │\n╞═╡\n│ 10.1.0 │ VALU │ 5 │ 5 │ 5 │ Instr │\n╘═╛\n"
    )
    with pytest.raises(NotTriageable, match="1 panels"):
        read(path, "rocprof-compute-text")


def test_wavefront_runtime_is_the_time_and_the_parts_of_a_waves_life(tmp_path: Path) -> None:
    rows = (
        ("Kernel Time (Nanosec)", 5000),
        ("Wave Cycles", 8000),
        ("Dependency Wait Cycles", 6000),
        ("Issue Wait Cycles", 1000),
    )
    drawn = "".join(
        f"│ 7.2.{i} │ {name} │ {value} │ {value} │ {value} │ Cycles │\n" for i, (name, value) in enumerate(rows)
    )
    path = tmp_path / "waves.txt"
    path.write_text(
        f"7.2 Wavefront Runtime Stats\n╒═╕\n│ Metric_ID │ Metric │ Avg │ Min │ Max │ Unit │\n╞═╡\n{drawn}╘═╛\n"
    )
    columns = read(path, "rocprof-compute-text").columns
    assert columns["gpu.time"].values[0] == 5000
    assert columns["waves.dependency_wait"].values[0] == 0.75 and columns["waves.issue_wait"].values[0] == 0.125
