"""Units that a custom table states beside its headers: in a row of their own, or in every cell (`1.25 ms`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects.tables import wide_table
from triage.ground import units
from triage.ground.errors import BadCapture

_RULE_RE = re.compile(r"[ |:-]*---[ |:-]*")  # what Markdown writes below a header
_MEASURED = ("ns", "byte", "byte/s", "hz", "flop/s")  # cells in % are read without a unit in the header


def with_units(source: Source, line: int, headers: Sequence[str]) -> tuple[list[str], Sequence[int]]:
    """The headers with the units below them, and the line of a row of units or of Markdown's rule; no line where there is none.

    line: 1-based, of the header. Raises BadCapture where header and row state different units.
    """
    complete, unit_row = _with_unit_row(source, line, headers)
    if unit_row:
        return complete, unit_row
    rule = [line + 1] if any(map(_RULE_RE.fullmatch, source.head_lines[line : line + 1])) else []
    below = source.head_lines[line + len(rule) :]
    body = (cells(text, source.delimiter, source.skip_space) for text in below if text.strip())
    first = next(body, [])
    # of most tables the first row tells that no column has units in its cells
    may_have = [i for i, h in enumerate(headers) if not wide_table.stated_unit(h) and _may_state(first[i : i + 1])]
    rows = [first, *body] if may_have else []
    for i in may_have:
        if unit := _of_cells([row[i].strip() for row in rows if i < len(row)]):
            complete[i] = f"{headers[i]} [{unit}]"
    return complete, rule


def _may_state(first: Sequence[str]) -> bool:
    """False for a column whose first cell is there, and has no unit."""
    return all(cell.strip().lower() in units.MISSING or units.glued(cell.strip()) for cell in first)


def _of_cells(column: Sequence[str]) -> str:
    """The unit of the first cell, where every cell is a number with a unit of that kind; "" where not."""
    seen = [units.glued(cell) for cell in column if cell.lower() not in units.MISSING]
    if not seen or not all(unit and units.known(unit) for unit in seen):
        return ""
    kinds = {units.unit(unit)[0] for unit in seen}
    return seen[0] if len(kinds) == 1 and kinds <= {*_MEASURED} else ""


def _with_unit_row(source: Source, line: int, headers: Sequence[str]) -> tuple[list[str], Sequence[int]]:
    """The headers with the units of a row of their own below them, and that row's line; no line where there is none."""
    below = source.head_lines[line] if len(source.head_lines) > line else ""
    row = [c.strip().strip("[]()") for c in cells(below, source.delimiter, source.skip_space)] if below.strip() else []
    if len(row) > len(headers) or not any(row) or not all(not u or (not u.isdigit() and units.known(u)) for u in row):
        return list(headers), ()
    complete = list(headers)
    for i, unit in enumerate(row):
        stated = wide_table.stated_unit(headers[i])
        if unit and not stated:
            complete[i] = f"{headers[i]} [{unit}]"
        elif unit and units.unit(unit) != units.unit(stated):
            raise BadCapture(
                f"{source.path}:{line + 1}: second unit {unit!r} for {headers[i][:60]!r}",
                "remove one of them",
            )
    return complete, (line + 1,)
