"""Tables whose last columns are filled in the first row alone: OCAT and others write the machine once, behind the first frame."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import isnan

from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects.tables.number_cells import lone

LOOKED_AT = 50  # rows
MIN_ROWS = 4  # that it takes to be no accident


def shorter_below(
    source: Source, header_line: int, width: int, numeric: Sequence[int], text: Sequence[int]
) -> list[int]:
    """Cells of all rows but the first, where only that is as long as the header; [] for any other table.

    numeric, text: 0-based columns that are read; they must stand before those that are missing.
    """
    below = (line for line in source.head_lines[header_line:] if line.strip())
    rows = [cells(line, source.delimiter, source.skip_space) for line in itertools.islice(below, LOOKED_AT)]
    counts = {len(row) for row in rows[1:-1]}  # the last one may be cut
    if len(rows) < MIN_ROWS or len(rows[0]) != width or len(counts) != 1:
        return []
    usual = counts.pop()
    if not max((*numeric, *text), default=width) < usual < width - 1:
        return []
    in_place = all(isnan(lone(row[c])) == isnan(lone(rows[0][c])) for row in rows[1:-1] for c in numeric)
    return [usual] if in_place else []
