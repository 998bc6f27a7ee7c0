"""Cells that depart from all others of their column, rows that stand twice, sums among the rows: seen in the text itself.

What a dialect makes of a table hides its cells: of several samples it takes means, of launches sums, and a column that
nothing reads decides nothing. A lost, moved or merged cell leaves a gap in a column without one, a word among figures, or a
figure far from all others. A dialect names columns that its tool may leave empty as `MAY_LACK`, or each with the one that is
then filled.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import EllipsisType

import numpy as np

from triage import dialects
from triage.capture.capture import Quality, Table
from triage.capture.cells import Block
from triage.ground.phrasing import plural
from triage.reading import duplicates, far_off, name_variants, printed_digits
from triage.reading.text_blocks import NUMBER, Column

FEW = 0.05  # of a column's cells, up to which the departing ones are odd
MAX_REMARKS = 5  # remarks of a capture
SUMMED = 3  # rows of a table with a sum: two others, and itself
DIGITS, FIGURES = 3, 2  # a row with so many figures of so many digits is seldom measured twice
STAMP = 12  # digits of a time that no clock shows twice by chance
SORTED, FALLS = 40, 4  # columns that are in order by no chance; places out of order that two exchanged names make
NUMBERED, STEPS = 2, 5  # columns in which rows are numbered, and steps that make one of another size odd
WHOLE = 16  # whole numbers in a column, beside which a fraction is odd
MARK = "\u00ef\u00bb\u00bf"  # a byte-order mark that was read as Latin letters
ROW_DIGITS = 7  # of a number of a row
FEWEST = 3  # rows that a column needs before its being all different is no chance
_NAMELESS = re.compile(r"(?:Column|Spalte|Colonne|Columna|Unnamed: ?|列)\d+")  # as spreadsheets and data frames do
_EXPONENT = re.compile(r"\d\.\d\dE\+\d\d")  # as spreadsheets show a long number, and save what they show
_SPACED = re.compile(r"\d{1,3}(?:\s\d{3})+")
BLANK = frozenset(
    ("", "-", "--", "–", "—", "null", "NULL", "None", "none", "N/A", "n/a", "NA", "na", "<na>", "<NA>", "?", ".", "nan", "NaN")
)  # fmt: skip
ERRORS = frozenset(
    ("#N/A", "#DIV/0!", "#VALUE!", "#NAME?", "#REF!", "#NUM!", "#NULL!", *("#" * n for n in range(3, 20)))
)  # as spreadsheets write them
_Found = tuple[int, str, str]  # line, check, what


def check(module: dialects.Dialect, table: Table, blocks: Mapping[int, Sequence[Block]]) -> list[Quality]:
    """Remarks on the odd cells and rows of a table's text files, but for what other remarks name by its line.

    blocks: the tables of each of its files.
    """
    found = [one for n, some in blocks.items() for one in _file(module, table, n, some)]
    sentence = " ".join(q.message for q in table.quality) if found else ""
    new = [Quality(check, what) for line, check, what in found if not re.search(rf"\bline {line}\b", sentence)]
    return new[:MAX_REMARKS]


def _file(module: dialects.Dialect, table: Table, n: int, blocks: Sequence[Block]) -> Iterator[_Found]:
    name = "" if len(table.files) == 1 else f" of {table.files[n].name}"
    lacks: Collection[str] = getattr(module, "MAY_LACK", ())
    declared = lacks if isinstance(lacks, dict) else dict.fromkeys(lacks, "")
    decimals: Collection[str] = getattr(module, "DECIMALS", ())
    together: Collection[str | EllipsisType] = getattr(module, "TOGETHER", ())
    for block in blocks:
        # a column is empty in rows in which another one is filled, where the export has that one
        may_lack = [h for h, other in declared.items() if not other or other in block.head]
        columns = list(zip(*block.rows, strict=True))
        known, exponents = _known(table, n, block), "E+" in table.files[n].head_text
        found = _cells(block, columns, known, may_lack, exponents, getattr(module, "FAR", ()))
        odd = printed_digits.find(block, columns, decimals, getattr(module, "WHOLE", ()))
        digits = ((block.lines[i], "odd-cell", what) for i, what in odd)
        for line, check, what in (
            *found,
            *digits,
            *_apart(block, columns, together),
            *_twice(block),
            *_jump(block, columns),
            *_order(block, columns),
            *_sum(block),
            *_again(block, table.files[n].head_lines),
        ):
            yield line, check, f"line {line}{name}{what}"
        yield from _heads(block, known)
    for line, what in printed_digits.rows(blocks):
        yield line, "odd-cell", f"line {line}{name}{what}"


def _known(table: Table, n: int, block: Block) -> dict[int, list[float]]:
    """Columns of a block whose figures a dialect has read already, all of them and one for each row."""
    if len(table) != len(block.lines) or any(table.line(i) != line for i, line in enumerate(block.lines)):
        return {}
    return {
        c.column - 1: c.values.tolist()
        for c in (*table.columns.values(), *table.raw.values())
        if c.file == n and c.column and c.lines is None and not c.formula and not np.isnan(c.values).any()
    }


def _cells(
    block: Block, columns: Sequence[Column], known: dict[int, list[float]], may_lack: Collection[str], exponents: bool, apart: Collection[str]
) -> Iterator[_Found]:  # fmt: skip
    """Cells that depart from their column, alone in their row.

    Of a row that departs in several nothing was lost: it is of another kind, as a copy among launches, or of another size.
    apart: columns whose figures may lie far from each other.
    """
    gaps: dict[int, list[int]] = {}
    texts: list[Column] = []
    figures, sparse = dict(known), dict[int, list[float]]()
    most = max(1, int(FEW * len(block.rows)))
    broken = not ERRORS.isdisjoint(itertools.chain.from_iterable(block.rows))
    for at, column in enumerate(columns):
        if broken and not ERRORS.isdisjoint(column):
            i = next(i for i, c in enumerate(column) if c in ERRORS)
            yield block.lines[i], "odd-cell", f": {block.title(at)[:60]!r} is {column[i]!r}, an error of a spreadsheet"
            continue
        if len(column) > WHOLE and "\0".join(column).count(".") == 1 and (i := _fraction(column)) >= 0:
            what = f": {block.title(at)[:60]!r} is {column[i][:40]}, all others are whole numbers"
            yield block.lines[i], "odd-cell", what
        if exponents and (i := _rounded(column)) >= 0:
            what = f": {block.title(at)[:60]!r} is {column[i][:40]}, with fewer digits than the others"
            yield block.lines[i], "odd-cell", what
            continue
        alike = column.count(column[0]) == len(column) and column[0] not in BLANK
        if at in known or (alike and not _SPACED.fullmatch(column[0])):
            continue
        title = block.title(at)  # where each line ends in a delimiter, the last column has none
        if not BLANK.isdisjoint(column):
            empty = [i for i, c in enumerate(column) if c in BLANK]
            for i in empty if len(empty) <= most and title and title not in may_lack else ():
                gaps.setdefault(i, []).append(at)
            if title and title not in may_lack and (what := _emptied(title, column, empty)):
                yield block.lines[empty[0]], "empty-cell", what
            elif 2 * len(empty) <= len(column) and title:  # a name may be empty, but not a number
                if (found := _floats(["nan" if c in BLANK else c for c in column])) is None:
                    yield from (f for f in _text(block, title, column, most) if "among texts" in f[2])
                    plain = [c if NUMBER.fullmatch(c) else "nan" for c in column]  # ids, beside ranges of ids
                    found = _floats(plain) if 2 * plain.count("nan") < len(plain) else None
                if found is not None:
                    sparse[at] = found
        elif (found := _floats(column)) is not None:
            figures[at] = found
        else:
            texts.append(column)
            if title and title not in may_lack:
                yield from _text(block, title, column, most)
    yield from _gaps(block, gaps)
    figures = {at: f for at, f in figures.items() if block.title(at) not in apart}
    for i, what in far_off.find(block, figures, sparse, texts):
        yield block.lines[i], "far-off", what


def _fraction(column: Column) -> int:
    """The one cell that is no whole number, of a column in which enough others are and not 0; -1 for none."""
    i = next(i for i, c in enumerate(column) if "." in c)
    whole = [c for k, c in enumerate(column) if k != i]
    many = len(whole) >= WHOLE and sum(c.isdigit() and c.strip("0") != "" for c in whole) > far_off.PEERS
    odd = many and NUMBER.fullmatch(column[i]) and float(column[i].replace(",", "").rstrip("%")) % 1
    return i if odd and all(c.isdigit() or c in BLANK for c in whole) else -1


def _rounded(column: Column) -> int:
    """The first cell that a spreadsheet wrote with an exponent, among whole numbers with all their digits; -1 for none."""
    i = next((i for i, c in enumerate(column) if _EXPONENT.fullmatch(c)), -1)
    others = [c for c in column if c not in BLANK and not _EXPONENT.fullmatch(c)] if i >= 0 else []
    return i if 2 * len(others) > len(column) and all(c.isdigit() for c in others) else -1


def _emptied(title: str, column: Column, empty: Sequence[int]) -> str:
    """How a column lost cells: all of them, or of equal texts one below the other all but the first; "" for neither."""
    left = [c for c in column if c not in BLANK]
    if not left and len(column) > 1 and "__" not in title:  # a GPU may lack a counter
        return f": {title[:60]!r} is empty in all {len(column)} rows: lost, or not measured"
    repeat = any(itertools.starmap(operator.eq, itertools.pairwise(left)))
    merged = len(empty) > 1 and len(left) > len(set(left)) > 1 and not repeat and left[0][0].isalpha()
    return f": {title[:60]!r} is empty wherever it would repeat the cell above: merged cells" if merged else ""


def _gaps(block: Block, gaps: dict[int, list[int]]) -> Iterator[_Found]:
    others = f", in {plural(len(block.rows) - 1, 'other row')} it is not" if len(block.rows) > 1 else ""
    for i, columns in gaps.items():
        if len(columns) == 1:
            yield block.lines[i], "empty-cell", f": {block.title(columns[0])[:60]!r} is empty{others}"


def _apart(block: Block, columns: Sequence[Column], together: Collection[str | EllipsisType]) -> Iterator[_Found]:
    """The first row in which a tool that fills some columns together left one of them empty; `...`: and counters behind them."""
    at = [k for k in range(len(columns)) if block.title(k) in together] if together else []
    if at and ... in together:
        at += [k for k in range(at[-1] + 1, len(columns)) if block.title(k) and " " not in block.title(k)]
    for line, cells in zip(block.lines, zip(*(columns[k] for k in at), strict=True), strict=False):
        empty = [k for k, c in zip(at, cells, strict=True) if c in BLANK]
        if 0 < len(empty) < len(at) and not (... in together and at[0] in empty):
            filled = next(k for k in at if k not in empty)
            yield line, "empty-cell", f": {block.title(empty[0])!r} is empty, {block.title(filled)!r} is not"
            return


def _floats(column: Sequence[str]) -> list[float] | None:
    # sooner seen than refused; Python reads the digits of any script
    if (column[0][0].isalpha() and column[0] != "nan") or not "".join(column).isascii():
        return None
    try:
        return list(map(float, column))
    except ValueError:
        pass
    try:
        return [float(c.removesuffix("%")) for c in column]
    except ValueError:
        return None


def _text(block: Block, title: str, column: Column, most: int) -> Iterator[_Found]:
    """A number among texts, a text among numbers, another spelling of a text."""
    often = Counter(c for c in column if c not in BLANK)
    numbers = {c for c in often if NUMBER.fullmatch(c)}
    count, cells = sum(often[c] for c in numbers), often.total()
    if not count and cells and all(map(_SPACED.fullmatch, often)):
        yield block.lines[0], "odd-cell", f": {title[:60]!r} is {column[0][:40]!r}: numbers in groups, read as texts"
    elif count and min(count, cells - count) <= most and count < cells:
        fewer = 2 * count <= cells
        i = next(i for i, c in enumerate(column) if c in often and (c in numbers) is fewer)
        what = "a number among texts" if fewer else "no number"
        yield block.lines[i], "odd-cell", f": {title[:60]!r} is {column[i][:40]!r}, {what}"
    elif not count and len(often) > 1:
        best: dict[str, str] = {}
        for c, _ in often.most_common():
            if (usual := best.setdefault(name_variants.key(c), c)) != c:
                line = block.lines[column.index(c)]
                yield line, "name-spelling", f": {c[:60]!r} is another spelling of {usual[:60]!r}"
                return


def _twice(block: Block) -> Iterator[_Found]:
    """A row that stands twice, one below the other, where no other row does."""
    below = enumerate(itertools.pairwise(block.rows), 1)
    again = [i for i, (a, b) in below if a == b and block.lines[i] == block.lines[i - 1] + 1]
    if len(again) != 1:
        return
    row = block.rows[again[0]]
    figures = {c for c in row if NUMBER.fullmatch(c) and len(c.strip("0.")) >= DIGITS}
    stamped = any(len(c) >= STAMP for c in figures)
    if len(figures) >= FIGURES or stamped or (len(block.rows) > FEWEST and _numbered(block, again[0])):
        what = " repeats the line above it, cell for cell: its time may count double"
        yield block.lines[again[0]], "repeated-rows", what


def _jump(block: Block, columns: Sequence[Column]) -> Iterator[_Found]:
    """A column in which each row, or each record of several rows, has the next number, but for one place."""
    for at, column in enumerate(columns[:NUMBERED]):
        if not all(c.isdigit() and len(c) < STAMP for c in (column[0], column[-1])) or not all(
            map(str.isdigit, column)
        ):
            continue
        steps = [(i, int(b) - int(a)) for i, (a, b) in enumerate(itertools.pairwise(column), 1) if a != b]
        others = [i for i, step in steps if step != 1]
        i = others[0] if len(steps) > STEPS and len(others) == 1 else 0
        if i and (int(column[i]) > int(column[i - 1]) or column[i] == column[0]):  # or another export begins
            what = f": {block.title(at)[:60]!r} jumps from {column[i - 1]} to {column[i]}, elsewhere by one: rows may be missing"
            yield block.lines[i], "odd-cell", what
            return


def _order(block: Block, columns: Sequence[Column]) -> Iterator[_Found]:
    """The one number of a row that is below the first or above the last of numbers which rise without it."""
    for at, column in enumerate(columns[:NUMBERED]):
        if len(column) < WHOLE or not all(c.isdigit() and len(c) < STAMP for c in column):
            continue
        numbers = list(map(int, column))
        falls = [i for i, (a, b) in enumerate(itertools.pairwise(numbers), 1) if b <= a]
        # nearer, it may have ended out of order
        if len(falls) == 1 and STEPS <= (i := falls[0]) < len(numbers) - STEPS:
            low, high = numbers[i] <= numbers[0], numbers[i - 1] >= numbers[-1]
            if low != high and (numbers[i + 1] > numbers[i - 1] if low else numbers[i] > numbers[i - 2]):
                k = i if low else i - 1
                yield block.lines[k], "odd-cell", f": {block.title(at)[:60]!r} is {column[k]}, all others rise"
                return


def _numbered(block: Block, again: int) -> bool:
    """Is there a column whose cells are all different, but for one row that repeats another?"""
    rows = [*block.rows[:again], *block.rows[again + 1 :]]
    return any(len(set(column)) == len(rows) for column in zip(*rows, strict=True))


def _again(block: Block, text: Sequence[str]) -> Iterator[_Found]:
    """The line above the first row, once more right below a row: another export stands behind the first."""
    above = text[block.lines[0] - 2] if block.head and 1 < block.lines[0] <= len(text) + 1 else ""
    for line in block.lines[:-1] if above and block.head[0] in above and above in text[block.lines[0] :] else ():
        if text[line : line + 1] == [above]:
            yield line + 1, "repeated-rows", " repeats the header: rows of several exports are read as one"
            return


def _heads(block: Block, known: Collection[int]) -> Iterator[_Found]:
    """Columns that have lost their name, or got an invisible one: their cells have found no reader.

    A first column of short numbers without a name is the row numbers of a data frame. known: columns that a dialect read.
    """
    titles = [h.strip() for h in block.head]
    if 2 * sum(len(title) >= DIGITS for title in titles) < len(titles):  # a row of units
        return
    for at, title in enumerate(titles):
        if title.isascii() and title and title[0] not in "CSU" and "\n" not in title:
            continue
        lost = _NAMELESS.fullmatch(title) is not None
        first = next((row[at] for row in block.rows if at < len(row) and row[at] not in BLANK), "")
        if not title:  # the last column of some tools is text without a name
            figure = NUMBER.fullmatch(first) is not None
            lost = figure if at == len(titles) - 1 else at > 0 or not figure or len(first) > ROW_DIGITS
        if lost and first and at not in known:
            message = f"column {at + 1} has no name but {title!r} above {first[:40]!r}: its cells were not used"
            yield 0, "lost-header", message
        elif title != title.translate(name_variants.INVISIBLE) or title.startswith(MARK) or "\n" in title:
            yield 0, "lost-header", f"the name of column {at + 1}, {title[:60]!r}, holds an invisible character"
    if len(counters := [t for t in titles if "__" in t]) >= SORTED:
        falls = [a for a, b in itertools.pairwise(counters) if a > b]
        if 0 < len(falls) <= FALLS:
            message = f"all counters but {falls[0][:60]!r} and a few others stand in alphabetical order: names may have been exchanged"
            yield 0, "lost-header", message


def _sum(block: Block) -> Iterator[_Found]:
    """A last row that is called like a sum of the others."""
    name = next((c for c in block.rows[-1] if c and not NUMBER.fullmatch(c)), "")
    if len(block.rows) >= SUMMED and duplicates.TOTAL.fullmatch(name):
        what = f": {name[:40]!r} is called like a sum of the other rows, and was read as one of them"
        yield block.lines[-1], "total-row", what
