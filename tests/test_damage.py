"""A damaged export is refused or remarked, never read as something else: one seed of what `make hard` does twenty times."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import SAMPLES, generic
from tests.helpers import damage
from triage import api
from triage.ground.errors import TriageError
from triage.reading import reader

EXPORTS = damage.exports(SAMPLES)
ROW = {"sm.throughput": 40.0, "gpu.time": 0.62, "l2.hit_rate": 71.5}


@pytest.mark.parametrize("seed", EXPORTS, ids=[s.label for s in EXPORTS])
def test_one_damage_never_changes_a_value_silently(tmp_path: Path, seed: damage.fuzzing.Seed) -> None:
    silent = [o for o in damage.campaign(seed, tmp_path / "case", 1) if o.how == "silent"]
    assert not silent, silent


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return generic(tmp_path / "a.csv", [{"name": f"m{i}", **ROW} for i in range(8)])


def changed(path: Path, line: int, old: str, new: str) -> Path:
    lines = path.read_text("utf-8").splitlines()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("71.5", "71.5,3", "line 4: 5 cells where the header has 4"),
        ("0.62,", "", "line 4: 3 cells where the header has 4"),
        ("71.5", "71,5", "line 4: 5 cells"),
        ("m2", '"m2', "line 4: a quote is open"),
    ],
)
def test_rows_that_do_not_fit_are_set_aside_and_counted(export: Path, old: str, new: str, said: str) -> None:
    capture = reader.read(str(changed(export, 4, old, new)))
    assert list(capture.names) == [f"m{i}" for i in range(8) if i != 2]
    (remark,) = [q.message for q in capture.quality if q.check == "rows-set-aside"]
    assert remark.startswith("1 of 8 row was set aside") and said in remark
    assert capture.table.line(2) == 5  # the lines of the others are still theirs


def test_rows_set_aside_lower_confidence(tmp_path: Path) -> None:
    export = Path(shutil.copy(SAMPLES / "generic" / "p3_workloads_v2.csv", tmp_path))
    sure = api.diagnose(str(export)).to_dict()["findings"]
    doubted = api.diagnose(str(changed(export, 3, ",", ",3,"))).to_dict()["findings"]
    below = {"high": "medium", "medium": "low", "low": "low"}
    rules = {f["rule"]: f["confidence"] for f in sure}
    assert len(doubted) > 3 and all(f["confidence"] == below[rules[f["rule"]]] for f in doubted)
    assert all(any("set aside" in c for c in f["caveats"]) for f in doubted)


@pytest.mark.parametrize(
    ("old", "new", "value", "check"),
    [
        ("0.62", "900 us", 900e3, "own-unit"),
        ("0.62", "3furlong", None, "foreign-unit"),
        ("0.62", '"1,234"', None, "not-a-number"),
        ("0.62", "nan", None, "not-finite"),
        ("0.62", "1e999", None, "not-finite"),
        ("0.62", "-3", None, "impossible-value"),
        ("0.62", "1e11", None, "impossible-value"),
        ("0.62", "true", None, "not-a-number"),
    ],
)
def test_cells_are_honoured_or_missing_with_a_remark(
    export: Path, old: str, new: str, value: float | None, check: str
) -> None:
    capture = reader.read(str(changed(export, 2, old, new)))
    got = capture.facts["gpu.time"][0]
    assert got == pytest.approx(value) if value else got != got
    assert check in [q.check for q in capture.quality]
    assert any(("line 2" in q.message) for q in capture.quality if q.check == check)


def test_a_quoted_decimal_comma_is_refused_or_missing(export: Path) -> None:
    with pytest.raises(TriageError, match="contradict"):
        reader.read(str(changed(export, 2, "0.62", '"0,7"')))


def test_impossible_shares_are_no_evidence(export: Path) -> None:
    found = api.diagnose(str(changed(export, 2, "40.0", "2508"))).to_dict()
    cells = [e["source"].get("text", "") for f in found["findings"] for e in f["evidence"]]
    assert "2508" not in cells
    assert any("2508.0 %" in q["message"] for q in found["quality"])


def test_a_header_that_no_row_fits_is_refused(export: Path) -> None:
    with pytest.raises(TriageError, match="no row can be trusted"):
        reader.read(str(changed(export, 1, "name,", "name,more,")))


def test_a_trailing_comma_on_every_row_is_no_cell_too_many(export: Path) -> None:
    head, *rows = export.read_text("utf-8").splitlines()
    export.write_text("\n".join([head, *(r + "," for r in rows)]) + "\n", "utf-8")
    assert len(reader.read(str(export))) == 8


def test_a_last_line_without_end_is_remarked(export: Path) -> None:
    export.write_bytes(export.read_bytes().rstrip(b"\r\n")[:-1])
    assert "no-last-line-end" in [q.check for q in reader.read(str(export)).quality]
