"""A column of cells that are not all plain numbers -> floats, and what was odd about them.

The fast parser reads plain numbers; what it hands over as text comes here: thousands in groups, decimal commas, units
glued to a number, words. Every distinct text is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Indices, Names, numbered
from triage.capture.unused_cells import Odd
from triage.ground import units
from triage.ground.errors import UnknownUnit

# a column of grouped thousands, one cell a line. No part can be cut in two ways.
_US = re.compile(r"(?:[+-]?(?:[1-9]\d{0,2}(?:,\d{3})++|\d++)(?:\.\d*+)?(?:[eE][+-]?\d++)?\n)*+")
_EU = re.compile(r"(?:[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})++|\d++)(?:,\d*+)?(?:[eE][+-]?\d++)?\n)*+")


# `1,234` is a thousand or a little more than one. Nothing else has this form; which, only the numbers around it tell.
_DOUBT = {"us": re.compile(r"[+-]?[1-9]\d{0,2},\d{3}"), "eu": re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")}
_SURE = {"us": re.compile(r",\d{3}[,.]"), "eu": re.compile(r"\.\d{3}[.,]")}


def groups(columns: Iterable[Floats | Names], style: units.Style) -> bool:
    """True if a table groups thousands; one cell that could be meant so is not enough."""
    doubtful: set[str] = set()
    for raw in columns:
        if raw.dtype == object:
            for cell in numbered(raw)[1]:
                if isinstance(cell, str) and _SURE[style].search(cell):
                    return True
                if isinstance(cell, str) and _DOUBT[style].fullmatch(cell.strip()):
                    doubtful.add(cell)
    return len(doubtful) > 1


def floats(
    raw: Floats | Names,
    style: units.Style,
    header: str,
    printed: str,
    line: Callable[[int], int],
    odd: Odd,
    grouped: bool = True,
) -> Floats:
    """Values in the column's printed unit, NaN where there is none.

    raw: floats, infinite where the parser found infinity or overflow, or objects: text, and numbers among text. printed:
    the column's unit as the header says it, "" where it does not. line: 1-based line of a row. A unit in a cell is
    honoured where it and the column's are of one kind, or where all cells have it and it is `%`; else the cell is odd.
    grouped: what `groups` says of the table.
    """
    if raw.dtype != object:
        values = raw.astype(np.float64, copy=False)
        return _without_infinite(values, values, np.arange(len(values)), header, line, odd)
    text = np.fromiter((isinstance(c, str) for c in raw), bool, len(raw))
    out = np.full(len(raw), np.nan)
    if not text.all():
        plain, rows = np.array([_number(c) for c in raw[~text]]), np.flatnonzero(~text)
        out[~text] = _without_infinite(plain, raw[~text], rows, header, line, odd)
    cells = raw[text]
    if (fast := _plain(cells, style)) is not None or (grouped and (fast := _grouped(cells, style)) is not None):
        out[text] = fast
        return out
    codes, distinct = numbered(cells)
    parsed = _parse(distinct, style)
    others = out[np.isfinite(out)]  # cells that are numbers already
    if parsed.doubtful and not (grouped and _may_be_grouped(parsed, style, others)):
        parsed.bad.update(dict.fromkeys(parsed.doubtful, "not-a-number"))
        parsed.values[parsed.doubtful] = np.nan
    _convert_units(parsed, printed, alone=not len(others))
    _report(parsed, codes, np.flatnonzero(text), header, line, odd)
    out[text] = parsed.values[codes]
    return out


def _without_infinite(
    values: Floats, shown: Floats | Names, rows: Indices, header: str, line: Callable[[int], int], odd: Odd
) -> Floats:
    """The values, NaN where infinite, which is noted. shown: the cells as they stand; rows: of the column."""
    infinite = np.isinf(values)
    if not infinite.any():
        return values
    first = int(np.argmax(infinite))
    odd.add("not-finite", str(shown[first]), header, line(int(rows[first])), int(infinite.sum()))
    return np.where(infinite, np.nan, values)


class _Parsed(Struct):
    """Distinct cells and their values. By position: doubtful ones (`1,234`), units in cells, and odd ones by kind."""

    cells: Names
    values: Floats
    doubtful: list[int]
    units: dict[int, str]
    bad: dict[int, str]


def _parse(cells: Names, style: units.Style) -> _Parsed:
    """Each cell as a number, with its unit where it has one."""
    parsed = _Parsed(cells, np.full(len(cells), np.nan), [], {}, {})
    for i, cell in enumerate(cells):
        try:
            value, unit = units.parse_glued(str(cell), style)
        except ValueError:
            parsed.bad[i] = "not-a-number"
            continue
        if value is None:
            if units.not_finite(str(cell)):
                parsed.bad[i] = "not-finite"
            continue
        parsed.values[i] = value
        if unit:
            parsed.units[i] = unit
        elif _DOUBT[style].fullmatch(str(cell).strip()):
            parsed.doubtful.append(i)
    return parsed


def _may_be_grouped(parsed: _Parsed, style: units.Style, others: Floats) -> bool:
    """True if doubtful cells can be whole thousands: no other number has a fraction, nor is above 999 without groups."""
    sure = np.concatenate([others, np.delete(parsed.values, parsed.doubtful)])
    sure = sure[np.isfinite(sure)]
    point = "." if style == "us" else ","
    texts = (str(c) for i, c in enumerate(parsed.cells) if i not in parsed.doubtful and np.isfinite(parsed.values[i]))
    bare = any(len(t.strip("+-").partition(point)[0]) > 3 and t.isdigit() for t in texts)
    return not bare and not (np.abs(others) >= 1000).any() and not (sure != np.floor(sure)).any()


def _convert_units(parsed: _Parsed, printed: str, alone: bool) -> None:
    """Values of cells with units of their own into the column's. alone: no cell of the column is a bare number."""
    everywhere = alone and {*parsed.units.values()} == {"%"} and np.isfinite(parsed.values).sum() == len(parsed.units)
    for i, unit in parsed.units.items():
        factor = 1.0 if everywhere and printed in ("", "%") else _factor(unit, printed)
        parsed.values[i] *= factor
        if not (everywhere and factor == factor) and unit != printed:
            parsed.bad[i] = "own-unit" if factor == factor else "foreign-unit"


def _report(parsed: _Parsed, codes: Indices, rows: Indices, header: str, line: Callable[[int], int], odd: Odd) -> None:
    """Add odd cells to the notes. codes: position of each cell among the distinct ones; rows: of the column."""
    if not parsed.bad:
        return
    counts = np.bincount(codes, minlength=len(parsed.cells))
    own = _bare(header)
    for i, kind in parsed.bad.items():
        cell = str(parsed.cells[i])
        if own and kind == "not-a-number" and _bare(cell) == own:
            odd.headers.update(line(int(row)) for row in rows[codes == i])
        odd.add(kind, cell, header, line(int(rows[np.argmax(codes == i)])), int(counts[i]))


def _bare(name: str) -> str:
    """A column's name without its unit."""
    return re.sub(r"\W", "", name[:400].partition("[")[0].partition("(")[0].lower())


def _factor(unit: str, printed: str) -> float:
    """From a cell's unit to the column's; NaN where they are not of one kind or the column's is not known."""
    try:
        kind, factor = units.unit(unit)
        target, base = units.unit(printed)
    except UnknownUnit:
        return float("nan")
    return factor / base if printed and kind == target else float("nan")


def _plain(cells: Names, style: units.Style) -> Floats | None:
    """All cells at once where every one is a plain number or empty; None where not."""
    if style != "us":
        return None
    filled = cells != ""
    try:
        values = cells[filled].astype(np.float64)
    except ValueError:
        return None
    if not np.isfinite(values).all() or any("_" in c for c in cells.tolist()):  # Python's own digits may be grouped so
        return None
    out = np.full(len(cells), np.nan)
    out[filled] = values
    return out


def _grouped(cells: Names, style: units.Style) -> Floats | None:
    """All cells at once where every one is a number in groups of thousands; None where not."""
    if len(cells) < 100:
        return None
    blob = "\n".join(cells.tolist()) + "\n"
    if not (_US if style == "us" else _EU).fullmatch(blob):
        return None
    blob = blob.replace(",", "") if style == "us" else blob.replace(".", "").replace(",", ".")
    values = np.array(blob.split("\n")[:-1], dtype=np.float64)
    whole = (values == np.floor(values)).all()  # else a group among fractions may be a fraction of three digits
    return values if whole and np.isfinite(values).all() else None


def _number(cell: float | None) -> float:
    try:
        return float(cell) if cell is not None else np.nan
    except OverflowError:  # an integer of four hundred digits
        return float("inf")


def lone(text: str) -> float:
    """One cell as a number, NaN for anything else."""
    try:
        return float(text)
    except ValueError:
        return np.nan
