"""Rows that a reader cuts out of a log or JSON itself: their texts as columns in canonical units, found again by number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage import schema
from triage.capture.capture import Column, Table
from triage.capture.unused_cells import Odd
from triage.ground import units

Spec = Sequence[tuple[str, str, str]]  # (metric, header, unit) of each cell; metric "" for texts


def enter(table: Table, spec: Spec, cells: Sequence[Sequence[str]]) -> None:
    """Add the columns of a table whose row i has the texts cells[i] and the number table.lines[i].

    Cells that are no numbers are missing, with a remark; a column without any number is left out.
    """
    assert table.lines is not None
    odd, numbers = Odd(), [int(n) for n in table.lines]
    for place, (metric, header, unit) in enumerate(spec):
        if not metric:
            continue
        factor = units.factor(unit, schema.get(metric).unit) if unit else 1.0
        values = np.array([odd.number(row[place], "us", header, n) for row, n in zip(cells, numbers, strict=True)])
        if np.isfinite(values).any():
            table.columns[metric] = Column(values * factor, header, place + 1, unit, factor)
    table.quality += odd.remarks()
    kept = dict(zip(numbers, cells, strict=True))
    table.files[0].find = lambda wanted: {n: list(kept[n]) for n in wanted if n in kept}
