"""Figures that are printed with other digits than those beside them: of a tool that prints a fixed number of decimals, they were changed since.

Tools that strip zeros at the end print all numbers of decimals, and tools that print a number of digits more decimals for smaller figures:
neither is held to anything here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from triage.capture.cells import Block
from triage.ground.phrasing import plural
from triage.reading.text_blocks import Column

OTHERS = 5  # cells of a column that agree, beside which one is odd
SURE = 3  # decimals that are 0 all together once in a thousand figures
MORE, MAX_FIXED = 2, 3  # decimals more than the others, of which a tool with a fixed number prints so many at most
ROWS, COLUMNS = 3, 3  # of percentages: a column of whole numbers is no chance below others with decimals
MIN_SEEN = 2  # figures among three cells of a column of figures
_EXPONENT_RE = re.compile(r"\d(?:\.\d+)?[eE][+-]?\d+")
GROUP = 3  # digits between the points of thousands
LONG = 6  # decimals of a quotient that is printed in full
_Found = tuple[int, str]  # row, what


def find(block: Block, columns: Sequence[Column], always: Collection[str], whole: Collection[str]) -> Iterator[_Found]:
    """(row, what) of cells, and of columns by their first cell.

    always: columns that the tool prints with decimals. whole: those of counts, in lower case, printed alike.
    """
    shares: dict[int, Sequence[int]] = {}
    quotients: dict[int, Sequence[int]] = {}
    for at, column in enumerate(columns):
        title = block.title(at)
        percent, quotient, decimals = "%" in title, _is_quotient(title), title in always
        seen = (column[0], column[len(column) // 2], column[-1])
        if not (percent or quotient or decimals or len(column) > OTHERS) or sum(map(_figure, seen)) < MIN_SEEN:
            continue
        fractions = [c.partition(".")[2] for c in column]
        if not _figures(column, fractions):
            if "e" not in "".join(column).lower():
                continue
            odd = [i for i, c in enumerate(column) if not _figure(c)]
            places, cell = [_places(c) for c in column if _figure(c)], column[odd[0]]
            exponent = len(odd) == 1 and _EXPONENT_RE.fullmatch(cell) and 0 < max(places) == min(places)
            if exponent and len(places) >= OTHERS:
                yield odd[0], f": {title[:60]!r} is {cell[:40]}, all others have {plural(places[0], 'decimal')}"
            continue
        places = list(map(len, fractions))
        if len(column) > OTHERS and not percent and set(places) == {0, GROUP} and _grouped(column):
            i = places.index(GROUP)
            yield i, f": {title[:60]!r} is {column[i][:40]}, others are whole: its point may divide thousands"
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
    yield from _counts(block, columns, whole)


def _counts(block: Block, columns: Sequence[Column], whole: Collection[str]) -> Iterator[_Found]:
    """The first cell of a count with other decimals than most counts of the table have."""
    at = [k for k in range(len(columns)) if block.title(k).lower() in whole] if whole else []
    cells = [(i, k, _places(c)) for k in at for i, c in enumerate(columns[k]) if _figure(c)]
    usual = Counter(n for *_, n in cells).most_common(1)
    for i, k in [(i, k) for i, k, n in cells if n != usual[0][0]][:1]:
        others = f"other counts have {plural(usual[0][0], 'decimal')}"
        yield i, f": {block.title(k)[:60]!r} is {columns[k][i][:40]}, {others}"


def _places(cell: str) -> int:
    return len(cell) - 1 - cell.find(".") if "." in cell else 0


def _is_quotient(title: str) -> bool:
    """True for counters of PerfWorks that divide by cycles or issues: whole by no chance, but for 0 and 100 %."""
    if title.endswith(".ratio"):
        return "_issue_stalled_" in title and "_stalled_selected_" not in title
    return title.endswith(("_elapsed", "_active")) and (".pct_of_peak_sustained_" in title or ".per_cycle_" in title)


def rows(blocks: Sequence[Block]) -> Iterator[tuple[int, str]]:
    """(line, what) of percentages below each other, as rows of a table of metrics, that are all whole. blocks: of a file."""
    found: list[tuple[int, str]] = []
    for block in blocks:
        heads = [h.strip() for h in block.head]
        if "Metric Unit" in heads and "Metric Value" in heads:
            unit, value = heads.index("Metric Unit"), heads.index("Metric Value")
            found += [(n, row[value]) for n, row in zip(block.lines, block.rows, strict=True) if row[unit] == "%"]
        elif block.rows and len(block.rows[0]) == 2:
            found += [(n, c) for n, (name, c) in zip(block.lines, block.rows, strict=True) if _is_quotient(name)]
    measured = [(n, c) for n, c in found if c.strip("0.") and c != "100"]
    if len(measured) > OTHERS and all(c.isdigit() for _, c in measured):
        line, first = measured[0]
        yield line, f": {len(measured)} percentages and none with decimals, as {first}: they may have been rounded"


def _quotients(block: Block, columns: Sequence[Column], quotients: dict[int, Sequence[int]]) -> Iterator[_Found]:
    """A column of whole numbers among quotients that are printed in full."""
    if sum(max(places) >= LONG for places in quotients.values()) <= COLUMNS:
        return
    for at, places in quotients.items():
        if not any(places) and (cells := [c for c in columns[at] if c.strip("0") and c != "100"]):
            why = "others like it have many decimals: it may have been rounded"
            yield 0, f": {block.title(at)[:80]!r} is {cells[0][:40]}, {why}"
            return


def _figure(cell: str) -> bool:
    return cell.replace(".", "", 1).isdigit()


def _figures(column: Column, fractions: Sequence[str]) -> bool:
    """True if each cell is a figure: all at once, because nearly every such column is one. fractions: behind their points."""
    one_point = "." not in "".join(fractions)
    return one_point and "" not in column and "." not in column and "".join(column).replace(".", "").isdigit()


def _grouped(column: Column) -> bool:
    """True for several figures with three digits behind the point that are no eighths, and none below one."""
    pointed = [c for c in column if "." in c]
    decimals = {c[-GROUP:] for c in pointed if int(c[-GROUP:]) % 125}
    return len(decimals) >= GROUP and not any(c[0] == "0" for c in pointed)


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
    printed = {at: set(places) for at, places in shares.items()} if len(shares) > COLUMNS else {}
    often = Counter(n for places in printed.values() for n in places)  # columns in which cells have so many decimals
    for at, places in printed.items():
        others = [n for n, count in often.items() if count > (n in places)]
        if len(others) != 1 or not 0 < (usual := others[0]) <= MAX_FIXED:
            continue
        cells = columns[at]
        what = f": {block.title(at)[:60]!r} is {cells[0][:40]}, other percentages have {usual} decimals"
        if max(places) >= usual + MORE and all(float(c) <= 1 for c in cells):
            yield 0, f"{what}: it may be a fraction"
        elif len(cells) >= ROWS and not any(places) and any(c.strip("0") for c in cells):
            yield 0, f"{what}: it may have been rounded"
