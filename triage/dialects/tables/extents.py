"""Sizes along several axes in one cell: `(256, 1, 1)`, `4096 x 4096`, `{ 256 16 1 }`, `{64; 1; 1}`.

A cell is a shape as a whole or none at all: digits picked out of damage would be a size that nobody measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table
from triage.capture.unused_cells import Odd
from triage.dialects.tables.wide_table import Wide
from triage.ground import units

# in groups of thousands or not; a blank is no mark of a group
_SIZE = re.compile(r"\d{1,15}|\d{1,3}(?:[.,\u00a0\u202f]\d{3}){1,4}")
# separators of axes, the surest first
_BETWEEN = (re.compile(r"\s*[x\u00d7*]\s*"), re.compile(r"\s*;\s*"), re.compile(r",\s+"))
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def axes(text: str, blanks: bool = False) -> list[float]:
    """Sizes along one to three axes, [] where the cell is none. blanks: blanks stand between the axes, not in numbers."""
    bare = text.strip()[:200]
    if bare[:1] in _BRACKETS:
        if bare[-1] != _BRACKETS[bare[0]]:
            return []
        bare = bare[1:-1].strip()
    cut = next((p for p in _BETWEEN if p.search(bare)), None)
    if cut is not None:
        parts = cut.split(bare)
    elif bare.count(",") == 2:  # (256,1,1)
        parts = bare.split(",")
    else:
        parts = bare.split() if blanks else [bare]
    if len(parts) > 3 or not all(_SIZE.fullmatch(p) for p in parts):
        return []
    return [float(re.sub(r"\D", "", p)) for p in parts]


def read(
    cells: Iterable[object], header: str, line: Callable[[int], int], odd: Odd, blanks: bool = False
) -> list[list[float]]:
    """The axes of every row's cell, [] where there are none; cells that hold anything else are noted as odd.

    line: 1-based line of a row.
    """
    words = [str(c) for c in cells]
    known = {w: axes(w, blanks) for w in dict.fromkeys(words)}
    for w, found in known.items():
        low = w.strip().lower()
        if not found and low not in units.MISSING:
            kind = "not-finite" if low in units.NOT_FINITE else "not-a-number"
            odd.add(kind, w, header, line(words.index(w)), words.count(w))
    return [known[w] for w in words]


def volume(axes: Sequence[Column], by: str = " * ") -> Column:
    """The product of the sizes along several axes, a column each; NaN where one is 0."""
    product, headers = np.prod([c.values for c in axes], axis=0), tuple(c.header for c in axes)
    return Column(np.where(product > 0, product, np.nan), "", formula=by.join(headers), inputs=headers)


def totals(found: Iterable[list[float]]) -> Floats:
    """The product of each row's axes, NaN without any."""
    return np.array([float(np.prod(f)) if f else np.nan for f in found])


def multiply(table: Table, wide: Wide, headers: Sequence[str], shapes: Mapping[str, Sequence[int]]) -> None:
    """Sizes whose three axes are columns of their own. shapes: metric -> positions of its axes; fewer give none."""
    for metric, where in shapes.items():
        if len(where) == 3:
            table.raw |= {headers[c]: wide.column(c) for c in where}
            table.columns[metric] = volume([table.raw[headers[c]] for c in where], " x ")
