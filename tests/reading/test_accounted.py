"""Every row of an export is read, merged into another, left out with a remark, or known to be of another kind."""

from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from triage import api
from triage.capture.capture import Rows
from triage.ground.errors import TriageError
from triage.reading import reader

# whose tables have a record of units, rows of other tables and calls, or samples that are summed into one row
OTHERS = frozenset(
    "adreno-series arm-streamline clintercept counter-list gfxinfo intel-stalls mangohud ncu-details nvprof-summary pix-gui pix-tool rocprof-compute-panel rocprof-compute-text"
    " rocprofv3-att rocprofv3-pc-samples unreal-csv unreal-timers vtune".split()
)


def texts() -> list[Path]:
    skipped = (".md", ".py", ".cu", ".hip", ".json", ".gz")
    found = [p for p in sorted(SAMPLES.rglob("*")) if p.is_file() and p.suffix not in skipped]
    truth = [p for p in found if "ground_truth" in p.parts]  # of one tool: a few stand for all
    return [p for p in found if p not in truth] + truth[::20]


@pytest.mark.parametrize("path", texts(), ids=lambda p: p.relative_to(SAMPLES).as_posix())
def test_the_rows_of_every_sample_are_accounted_for(path: Path) -> None:
    try:
        c = reader.read(str(path))
    except TriageError:
        return
    rows = c.table.accounted
    if rows is None:
        return
    assert rows.file == rows.read + rows.merged + rows.left_out + rows.other
    assert min(rows) >= 0 and rows.file
    assert not rows.left_out
    assert not rows.other or c.input.dialect in OTHERS


def read(path: Path, *lines: str) -> tuple[Rows | None, set[str]]:
    path.write_text("\n".join(["name,gpu.time [ms],l2.hit_rate [%]", *lines, ""]))
    c = reader.read(str(path))
    return c.table.accounted, {q.check for q in c.quality}


def test_rows_that_were_lost_are_counted_where_they_went(tmp_path: Path) -> None:
    whole = ["scan,1.25,40", "sort,2.5,35.5", "copy,0.75,20.25", "fill,1.5,41"]
    assert read(tmp_path / "a.csv", *whole)[0] == Rows(4, 4, 0, 0, 0, 0)
    rows, said = read(tmp_path / "b.csv", *whole, "pack,1.75,30,7")
    assert rows == Rows(5, 4, 0, 1, 0, 0) and "rows-set-aside" in said
    rows, said = read(tmp_path / "c.csv", *whole, "pack,,30")
    assert rows == Rows(5, 5, 0, 0, 0, 1) and "no-duration" in said
    rows, said = read(tmp_path / "d.csv", *whole, "Gesamt,6,34.2")
    assert rows == Rows(5, 4, 0, 1, 0, 0) and "total-row" in said


def test_a_report_says_it_where_not_all_rows_were_read(tmp_path: Path) -> None:
    read(tmp_path / "a.csv", "scan,1.25,40", "sort,2.5,35.5", "copy,0.75,20.25", "pack,1.75,30,7")
    found = api.diagnose(str(tmp_path / "a.csv"))
    assert found.to_dict()["captures"][0]["accounted"] == {
        "file": 4,
        "read": 3,
        "merged": 0,
        "left_out": 1,
        "other": 0,
        "untimed": 0,
    }
    assert "3 rows (of 4 in the file, 1 left out)" in found.save(tmp_path / "a.md").read_text()
