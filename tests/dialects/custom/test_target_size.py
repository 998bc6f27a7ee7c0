"""Pixels of a target from two columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.dialects.custom import target_size
from triage.reading import reader


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        (["Pass", "RT Width", "RT Height"], (1, 2)),
        (["Width", "Pass", "Height"], (0, 2)),
        (["Viewport Width", "RT Height"], None),
        (["Bandwidth", "Height"], None),
    ],
)
def test_sides_of_one_thing(headers: list[str], found: tuple[int, int] | None) -> None:
    assert target_size.columns(headers) == found


def test_a_table_with_both_sides(tmp_path: Path) -> None:
    file = tmp_path / "frame.csv"
    file.write_text("Marker,GPU ms,Draw Calls,Triangles,RT Width,RT Height\nMain,2,90,90000,1920,1080\nLUT,1,0,0,0,0\n")
    pixels = reader.read(str(file)).facts["target.pixels"]
    assert pixels[0] == 1920 * 1080 and pixels[1] != pixels[1]


def test_the_full_screen_work_of_a_flat_table(tmp_path: Path) -> None:
    file = tmp_path / "frame.csv"
    rows = ["Fire,2750,12000,11600,31000000", "Units,2100,271000,160000,740000", "Tonemap,460,1,1,2073600"]
    head = 'Name,"GPU Duration, us",IA Primitives,Clipper Primitives Out,PS Invocations\n'
    file.write_text(head + "\n".join(rows) + "\n")
    pixels = reader.read(str(file)).facts["target.pixels"]
    assert pixels.tolist() == [1920 * 1080] * 3
