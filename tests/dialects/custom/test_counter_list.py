"""Lists of one row per workload and counter are read as the tables that they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage import api
from triage.ground.errors import BadCapture

HEAD = "Pass;Counter;Unit;Value\n"
ROWS = (
    "Sky;GPU time;ms;1,5\nSky;Mali Shader Core Unit Utilization:Texture unit utilization;%;93,1\nSea;GPU time;ms;2,5\n"
)


def _read(tmp_path: Path, text: str) -> api.Capture:
    path = tmp_path / "list.csv"
    path.write_text(text, "utf-8")
    return api.read(path)


def test_each_workload_is_a_row_and_each_counter_a_column(tmp_path: Path) -> None:
    capture = _read(tmp_path, HEAD + ROWS + "Sea;Texture unit utilization;%;41\n")
    assert capture.input.dialect == "counter-list"
    assert [str(n) for n in capture.names] == ["Sky", "Sea"]
    assert capture.duration_ns.tolist() == [1_500_000, 2_500_000]
    column = capture.table.columns["texture_pipe.busy"]
    assert column.values.tolist() == pytest.approx([0.931, 0.41])
    assert (
        column.column == 4 and column.lines is not None and column.lines.tolist() == [3, 5]
    )  # where each value stands


def test_a_counter_given_twice_is_said(tmp_path: Path) -> None:
    capture = _read(tmp_path, HEAD + ROWS + "Sea;Tiler utilization;%;41\nSea;GPU time;ms;9\n")
    assert capture.duration_ns.tolist() == [1_500_000, 2_500_000]
    assert "repeated-counter" in {q.check for q in capture.table.quality}


def test_a_row_of_another_width_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadCapture, match=r"list.csv:5: 3 cells, header has 4"):
        _read(tmp_path, HEAD + ROWS + "Sea;Texture unit utilization;41\n")
