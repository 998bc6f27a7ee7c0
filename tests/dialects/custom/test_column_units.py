"""Units that a custom table states in its cells: `1.25 ms`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.dialects import read, values
from triage import api
from triage.ground.errors import TriageError


def _table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "frame.csv"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "Pass,GPU Time\nShadow,1.25 ms\nGBuffer,850 us\nPost,2.1ms\n",
        "Pass;GPU Time\nShadow;1,25 ms\nGBuffer;850 us\nPost;2,1ms\n",
        "Pass\tGPU Time\nShadow\t0.00125s\nGBuffer\t0.00085 s\nPost\t0.0021 s\n",
    ],
)
def test_a_time_may_have_its_unit_in_every_cell(text: str, tmp_path: Path) -> None:
    assert api.read(_table(tmp_path, text)).duration_ns.tolist() == pytest.approx([1_250_000, 850_000, 2_100_000])


def test_cells_of_several_kinds_state_no_unit(tmp_path: Path) -> None:
    with pytest.raises(TriageError, match="no numeric cells"):
        api.read(_table(tmp_path, "Pass,GPU Time\nShadow,1.25 ms\nGBuffer,850 MB\n"))


def test_the_unit_of_the_header_stands(tmp_path: Path) -> None:
    table = api.read(_table(tmp_path, "Pass,GPU Time (us)\nShadow,1.25 ms\nGBuffer,850 us\n"))
    assert table.duration_ns.tolist() == [1_250_000, 850_000]


def test_the_rule_of_a_markdown_table_is_no_row() -> None:
    table = read("| Kernel | Time | Count |\n|:---|---:|---|\n| `a` | 1.5 ms | 3 |\n| b | 2.5 ms | 4 |\n")
    assert [n.strip() for n in table.names] == ["a", "b"] and values(table)["gpu.time"] == pytest.approx([1.5e6, 2.5e6])


def test_a_unit_may_follow_a_comma_as_intel_writes_it(tmp_path: Path) -> None:
    head = '"GPU Time, ns","XVE Stall, %","ICache Hit, events","ICache Miss, events","Pixels, last"'
    facts = api.read(
        _table(tmp_path, f"Name,{head}\nProps,1920000,66,700000,300000,5\nSky,80000,20,900000,1000,6\n")
    ).facts
    assert [facts[m][0] for m in ("gpu.time", "eu.stall", "icache.hits")] == pytest.approx([1.92e6, 0.66, 7e5])
