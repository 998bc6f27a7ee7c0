"""Figures that are printed with other digits than those beside them: of a tool that prints a fixed number of decimals, they were changed since.

Tools that strip zeros at the end print all numbers of decimals, and tools that print a number of digits more decimals for smaller figures:
neither is held to anything here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.capture.cells import Block
from triage.reading.text_blocks import Column

OTHERS = 5  # cells of a column that agree, beside which one is odd
SURE = 3  # decimals that are 0 all together once in a thousand figures
MORE, MAX_FIXED = 2, 3  # decimals more than the others, of which a tool with a fixed number prints so many at most
ROWS, COLUMNS = 3, 3  # of percentages: a column of whole numbers is no chance below others with decimals
_Found = tuple[int, str]  # row, what


def find(block: Block) -> Iterator[_Found]:
    """(row, what) of cells, and of columns of percentages by their first cell."""
    shares: dict[int, Sequence[int]] = {}
    for at, column in enumerate(zip(*block.rows, strict=True)):
        percent = "%" in block.title(at)
        if not (percent or len(column) > OTHERS) or not _figure(column[0]) or not _figure(column[-1]):
            continue
        if not all(map(_figure, column)):
            continue
        places = [len(c) - 1 - c.find(".") if "." in c else 0 for c in column]
        if percent:
            shares[at] = places
        if len(column) > OTHERS and (i := _odd(column, places)) >= 0:
            others = places[i - 1]
            yield i, f": {block.title(at)[:60]!r} is {column[i][:40]}, all others have {others} decimals"
    yield from _percentages(block, shares)


def _figure(cell: str) -> bool:
    return cell.replace(".", "", 1).isdigit()


def _odd(column: Column, places: Sequence[int]) -> int:
    """The one cell with other decimals than all others have, in a way that no printing explains; -1 for none."""
    usual = places[0] if places[0] == places[1] else places[2]
    if not usual or places.count(usual) != len(places) - 1:
        return -1
    i = next(i for i, n in enumerate(places) if n != usual)
    more = places[i] >= usual + MORE and usual <= MAX_FIXED
    whole = not places[i] and usual >= SURE and column[i].strip("0") != ""
    return i if more or whole else -1


def _percentages(block: Block, shares: dict[int, Sequence[int]]) -> Iterator[_Found]:
    """A column of fractions or of rounded figures among percentages that all have the same decimals."""
    for at, places in shares.items():
        others = {n for other, some in shares.items() if other != at for n in some}
        if len(shares) <= COLUMNS or len(others) != 1 or not 0 < (usual := others.pop()) <= MAX_FIXED:
            continue
        cells = [row[at] for row in block.rows]
        if max(places) >= usual + MORE and all(float(c) <= 1 for c in cells):
            yield (
                0,
                f": {block.title(at)[:60]!r} is {cells[0][:40]}, other percentages have {usual} decimals: it may be a fraction",
            )
        elif len(cells) >= ROWS and not any(places) and any(c.strip("0") for c in cells):
            yield (
                0,
                f": {block.title(at)[:60]!r} is {cells[0][:40]}, other percentages have {usual} decimals: it may have been rounded",
            )
