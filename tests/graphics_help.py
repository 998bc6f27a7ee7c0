"""What the tests of the graphics dialects share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Options, dialects, pick
from triage.ground import units
from triage.ground.errors import CaptureError

SAMPLES = Path(__file__).parent.parent / "sample_captures"


def load(path: Path | str, **options: Any) -> Table:
    """A file or folder through detection and its dialect."""
    source = Source(str(path))
    module, _ = pick(source)
    table = module.read(source, Options(**options))
    assert table.dialect == module.NAME
    return table


def load_bytes(data: bytes, name: str = "x.csv", dialect: str = "") -> Table:
    source = Source(name, data)
    module = dialects()[dialect] if dialect else pick(source)[0]
    return module.read(source, Options())


def check_cells(table: Table) -> int:
    """Every exported value must be its cell, read again and scaled. Returns how many cells were compared."""
    compared = 0
    for metric, column in table.columns.items():
        if column.column == 0 or column.formula:
            continue
        source = table.files[column.file]
        lines = [
            int(n) for n in (column.lines if column.lines is not None else [table.line(i) for i in range(len(table))])
        ]
        records = source.records([n for n in lines if n > 0])
        for row, line in enumerate(lines):
            value = column.values[row]
            if line <= 0:
                assert np.isnan(value)
                continue
            record = records[line]
            text = record[column.column - 1] if column.column <= len(record) else ""
            try:
                cell = units.parse(text)
            except ValueError:
                cell = None
            if cell is None or np.isnan(value):
                assert np.isnan(value), (metric, row, text)
                continue
            assert value == pytest.approx(cell * column.factor, rel=1e-9, abs=1e-12), (
                metric,
                row,
                line,
                text,
            )
            compared += 1
    return compared


def refusal(path: Path | str) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(CaptureError) as caught:
        load(path)
    text = str(caught.value)
    assert "\n" not in text and text
    return text
