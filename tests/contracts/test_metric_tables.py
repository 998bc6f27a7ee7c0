"""The tables of metrics: known units, directions and traits, and no name given twice."""

import csv
from pathlib import Path

import pytest

from tests.conftest import ROOT

UNITS = {"ratio", "ns", "byte", "byte/s", "flop/s", "hz", "cycle", "count", "celsius"}


@pytest.mark.parametrize("path", sorted((ROOT / "triage" / "schema").glob("*.csv")), ids=lambda p: p.stem)
def test_every_row_is_well_formed(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            names = row["names"].split("; ")
            assert len(row) == 7 and None not in row.values(), row
            assert row["unit"] in UNITS and row["better"] in {"", "low", "high"}, row
            assert set(row["traits"].split()) <= {"flag", "unbounded", "additive"}, row
            assert len(set(names)) == len(names) and all(name == name.strip() for name in names), row
