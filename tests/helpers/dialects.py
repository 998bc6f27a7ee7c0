"""Reading through a dialect, and checking that every value leads back to the cell it came from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from triage import dialects, schema
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import Options
from triage.ground import units
from triage.ground.errors import CaptureError, TriageError


def read(what: Source | Path | bytes | str, dialect: str = "", **options: Any) -> Table:
    """A source, a file or folder, or content, by the dialect that recognises it; `dialect` says which that must be."""
    if isinstance(what, Path):
        what = Source(str(what))
    elif not isinstance(what, Source):
        what = Source("x.csv", what.encode() if isinstance(what, str) else what)
    module, _ = dialects.pick(what)
    assert not dialect or dialect == module.NAME
    table: Table = module.read(what, Options(**options))
    assert table.dialect == module.NAME
    return table


def read_as(dialect: str, data: bytes, name: str = "x.csv") -> Table:
    """Content read by a dialect that need not recognise it."""
    table: Table = dialects.dialects()[dialect].read(Source(name, data), Options())
    return table


@st.composite
def damaged(draw: st.DrawFn, samples: list[bytes], tokens: list[bytes], most: int = 6) -> bytes:
    """A sample in which a few pieces are replaced by tokens that mean something to a reader."""
    data = bytearray(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(1, most))):
        at = draw(st.integers(0, len(data) - 1))
        data[at : at + draw(st.integers(0, 30))] = draw(st.sampled_from(tokens))
    return bytes(data)


def read_or_refuse(dialect: Any, data: bytes) -> None:
    """Whatever a dialect takes for its own is read, or refused in one line."""
    source = Source("x.csv", data)
    try:
        if dialect.recognise(source):
            dialect.read(source, Options())
    except TriageError as e:
        assert "\n" not in str(e)


def refusal(what: Source | Path | bytes | str) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(CaptureError) as caught:
        read(what)
    text = str(caught.value)
    assert "\n" not in text and text
    return text


def values(table: Table) -> dict[str, list[float | None]]:
    """metric -> its values to twelve digits, None where there is none."""
    return {m: [None if v != v else float(f"{v:.12g}") for v in c.values] for m, c in table.columns.items()}


def line_of(table: Table, column: Column, row: int) -> int:
    """The line of the file that a value was read from."""
    return int(column.lines[row]) if column.lines is not None else table.line(row)


def text_of(table: Table, column: Column, row: int) -> str:
    """The cell that a value was read from, as it stands in the file."""
    line = line_of(table, column, row)
    return table.files[column.file].records([line])[line][column.column - 1]


def check_cells(table: Table) -> int:
    """Every exported value must be its cell, read again and scaled. Returns how many cells were compared."""
    compared = 0
    for metric, column in table.columns.items():
        if column.column == 0 or column.formula:
            continue
        lines = [line_of(table, column, row) for row in range(len(table))]
        records = table.files[column.file].records([n for n in lines if n > 0])
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
            assert value == pytest.approx(cell * column.factor, rel=1e-9, abs=1e-12), (metric, row, line, text)
            compared += 1
    return compared


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
