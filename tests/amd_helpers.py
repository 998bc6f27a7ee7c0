"""Reading bytes through a dialect, and checking that every value leads back to the text it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from triage import dialects, schema
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import Options

SAMPLES = Path(__file__).parent.parent / "sample_captures"


def read(what: Source | Path | bytes | str, name: str = "") -> Table:
    if isinstance(what, str):
        what = what.encode()
    source = (
        Source("input.csv", what) if isinstance(what, bytes) else Source(str(what)) if isinstance(what, Path) else what
    )
    module, _ = dialects.pick(source)
    if name:
        assert name == module.NAME
    return module.read(source, Options())


def text_of(table: Table, column: Column, row: int) -> str:
    line = int(column.lines[row]) if column.lines is not None else table.line(row)
    return table.files[column.file].records([line])[line][column.column - 1]


def check_provenance(table: Table) -> None:
    """Cells parse back to values; computed columns name inputs that exist; ids are canonical; nothing is listed twice."""
    for metric, column in table.columns.items():
        assert schema.known(metric), metric
        assert len(column.values) == len(table)
        for row in range(len(table)):
            value = float(column.values[row])
            if not column.column:
                assert column.formula, metric
                continue
            text = text_of(table, column, row).strip()
            if np.isfinite(value):
                shown = float(text.replace(",", "")) * column.factor
                assert np.isclose(shown, value, rtol=1e-12), (metric, row, text, value)
    known: dict[str, Any] = {**table.columns, **table.raw}
    for metric, column in known.items():
        for name in column.inputs:
            assert name in known, (metric, name)
    for name, column in table.raw.items():
        if column.column:
            for row in range(len(table)):
                if np.isfinite(column.values[row]):
                    assert float(text_of(table, column, row)) == column.values[row], name
    used = {c.header for c in known.values() if c.column}
    assert not used & set(table.unmapped)
