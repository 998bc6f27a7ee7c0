"""Figures that are printed with other digits than those beside them: of a tool that prints a fixed number of decimals, they were changed since.

Tools that strip zeros at the end print all numbers of decimals, and tools that print a number of digits more decimals for smaller figures:
neither is held to anything here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from triage.capture.cells import Block
from triage.reading.text_blocks import Column

OTHERS = 5  # cells of a column that agree, beside which one is odd
SURE = 3  # decimals that are 0 all together once in a thousand figures
MORE, MAX_FIXED = 2, 3  # decimals more than the others, of which a tool with a fixed number prints so many at most
ROWS, COLUMNS = 3, 3  # of percentages: a column of whole numbers is no chance below others with decimals
LONG = 6  # decimals of a quotient that is printed in full
_Found = tuple[int, str]  # row, what


def find(block: Block, columns: Sequence[Column], always: Collection[str]) -> Iterator[_Found]:
    """(row, what) of cells, and of columns by their first cell. always: columns that the tool prints with decimals."""
    shares: dict[int, Sequence[int]] = {}
    quotients: dict[int, Sequence[int]] = {}
    for at, column in enumerate(columns):
        title = block.title(at)
        percent, quotient, decimals = "%" in title, _is_quotient(title), title in always
        if (
            not (percent or quotient or decimals or len(column) > OTHERS)
            or not _figure(column[0])
            or not _figure(column[-1])
        ):
            continue
        if not all(map(_figure, column)):
            continue
        places = [len(c) - 1 - c.find(".") if "." in c else 0 for c in column]
        if percent:
            shares[at] = places
        if quotient:
            quotients[at] = places
        if decimals and not all(places):
            i = next(i for i, n in enumerate(places) if not n)
            yield i, f": {title[:60]!r} is {column[i][:40]}, which the tool prints with decimals: it was changed since"
            continue
        if len(column) > OTHERS and (i := _odd(column, places)) >= 0:
            others = places[i - 1]
            yield i, f": {block.title(at)[:60]!r} is {column[i][:40]}, all others have {others} decimals"
    yield from _percentages(block, columns, shares)
    yield from _quotients(block, columns, quotients)


def _is_quotient(title: str) -> bool:
    """True for counters of PerfWorks that divide by cycles or issues: whole by no chance, but for 0, 1 and 100 %."""
    if title.endswith(".ratio"):
        return "_issue_stalled_" in title and "_stalled_selected_" not in title
    return title.endswith(("_elapsed", "_active")) and (".pct_of_peak_sustained_" in title or ".per_cycle_" in title)


def _quotients(block: Block, columns: Sequence[Column], quotients: dict[int, Sequence[int]]) -> Iterator[_Found]:
    """A column of whole numbers among quotients that are printed in full."""
    if sum(max(places) >= LONG for places in quotients.values()) <= COLUMNS:
        return
    for at, places in quotients.items():
        if not any(places) and (cells := [c for c in columns[at] if c.strip("0") and c not in ("1", "100")]):
            yield (
                0,
                f": {block.title(at)[:80]!r} is {cells[0][:40]}, others like it have many decimals: it may have been rounded",
            )
            return


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


def _percentages(block: Block, columns: Sequence[Column], shares: dict[int, Sequence[int]]) -> Iterator[_Found]:
    """A column of fractions or of rounded figures among percentages that all have the same decimals."""
    for at, places in shares.items():
        others = {n for other, some in shares.items() if other != at for n in some}
        if len(shares) <= COLUMNS or len(others) != 1 or not 0 < (usual := others.pop()) <= MAX_FIXED:
            continue
        cells = columns[at]
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
