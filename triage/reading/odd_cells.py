"""Cells that depart from all others of their column, rows that stand twice, sums among the rows: seen in the text itself.

What a dialect makes of a table hides its cells: of several samples it takes means, of launches sums, and a column that
nothing reads decides nothing. A lost, moved or merged cell leaves a gap in a column without one, a word among figures, or a
figure far from all others. A dialect names columns that its tool may leave empty as `MAY_LACK`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from triage import dialects
from triage.capture.capture import Quality, Table
from triage.capture.source import Source
from triage.ground.phrasing import plural
from triage.reading import duplicates, name_variants, text_blocks
from triage.reading.text_blocks import NUMBER, Block, Column

LARGEST = 256 << 10  # bytes of a file whose cells are looked at: its head, which is at hand
FEW = 0.05  # of a column's cells, up to which the departing ones are odd
MOST = 5  # remarks of a capture
PEERS = 3  # other figures of a column that one can be far from
FAR = 10.0  # times as large as the next one of its name, and the square of what lies between the others
FARTHEST = 100.0  # the same among figures of other names, which differ by their work
ALIKE = 2.0  # times, within which figures are so alike that a single 0 is none of them
SUMMED = 3  # rows of a table with a sum: two others, and itself
DIGITS, FIGURES = 3, 2  # a row with so many figures of so many digits is seldom measured twice
BLANK = frozenset(
    ("", "-", "--", "–", "—", "null", "NULL", "None", "none", "N/A", "n/a", "NA", "na", "<na>", "<NA>", "?", ".", "nan", "NaN")
)  # fmt: skip
_LONG = re.compile("metric name|counter_?name|^metric$", re.IGNORECASE)  # of a column above figures of several units
_Found = tuple[int, str, str]  # line, check, what


def check(module: dialects.Dialect, table: Table) -> list[Quality]:
    """Remarks on the odd cells and rows of a table's text files, but for what other remarks name by its line."""
    may_lack: Collection[str] = getattr(module, "MAY_LACK", ())
    found = [
        one
        for file in table.files
        if file.size <= LARGEST and duplicates.is_text(file) and file.head[:1] not in b"{["  # JSON has no columns
        for one in _file(file, may_lack, "" if len(table.files) == 1 else f" of {file.name}")
    ]
    said = " ".join(q.message for q in table.quality) if found else ""
    return [Quality(check, what) for line, check, what in found if not re.search(rf"\bline {line}\b", said)][:MOST]


def _file(file: Source, may_lack: Collection[str], name: str) -> Iterator[_Found]:
    for block in text_blocks.of(file):
        for line, check, what in (*_cells(block, may_lack), *_twice(block), *_sum(block)):
            yield line, check, f"line {line}{name}{what}"


def _cells(block: Block, may_lack: Collection[str]) -> Iterator[_Found]:
    """Cells that depart from their column, alone in their row.

    Of a row that departs in several nothing was lost: it is of another kind, as a copy among launches, or of another size.
    """
    gaps: dict[int, list[int]] = {}
    texts: list[Column] = []
    figures: dict[int, list[float]] = {}
    most = max(1, int(FEW * len(block.rows)))
    for at, column in enumerate(zip(*block.rows, strict=True)):
        if column.count(column[0]) == len(column) and column[0] not in BLANK:
            continue
        title = block.title(at)  # where each line ends in a delimiter, the last column has none
        if not BLANK.isdisjoint(column):
            empty = [i for i, c in enumerate(column) if c in BLANK]
            for i in empty if len(empty) <= most and title and title not in may_lack else ():
                gaps.setdefault(i, []).append(at)
        elif (found := _floats(column)) is not None:
            figures[at] = found
        else:
            texts.append(column)
            if title and title not in may_lack:
                yield from _text(block, title, column, most)
    yield from _gaps(block, gaps)
    yield from _far_off(block, figures, texts)


def _gaps(block: Block, gaps: dict[int, list[int]]) -> Iterator[_Found]:
    others = f", in {plural(len(block.rows) - 1, 'other row')} it is not" if len(block.rows) > 1 else ""
    for i, columns in gaps.items():
        if len(columns) == 1:
            yield block.lines[i], "empty-cell", f": {block.title(columns[0])[:60]!r} is empty{others}"


def _floats(column: Column) -> list[float] | None:
    if column[0][0].isalpha():  # sooner seen than refused
        return None
    try:
        return list(map(float, column))
    except ValueError:
        pass
    try:
        return [float(c.removesuffix("%")) for c in column]
    except ValueError:
        return None


def _far_off(block: Block, figures: dict[int, list[float]], texts: Sequence[Column]) -> Iterator[_Found]:
    """Figures far from those of rows that are alike in all their texts (launches of one kernel), or from all others."""
    if len(block.rows) <= PEERS:
        return
    alike: dict[Column, list[int]] = {}
    for i, key in enumerate(zip(*texts, strict=True) if texts else ((),) * len(block.rows)):
        alike.setdefault(key, []).append(i)
    groups = [(rows, FAR) for rows in alike.values() if len(rows) > PEERS]
    if len(alike) > 1 and not any(map(_LONG.search, block.head)):
        groups.append((list(range(len(block.rows))), FARTHEST))
    found: dict[int, list[tuple[int, list[int]]]] = {}
    for at, values in figures.items():
        for rows, least in groups:
            place = far([values[i] for i in rows] if len(rows) < len(values) else values, least)
            if place >= 0:
                found.setdefault(rows[place], []).append((at, rows))
                break
    for i, departs in found.items():
        (at, rows), *more = departs
        if more or not block.title(at):
            continue
        near = sorted((figures[at][r], block.rows[r][at]) for r in rows if r != i)
        span = f"from {near[0][1]} to {near[-1][1]}" if near[0] != near[-1] else near[0][1]
        who = "all others" if len(rows) == len(block.rows) else "others of its name"
        yield block.lines[i], "far-off", f": {block.title(at)[:60]!r} is {block.rows[i][at][:40]}, {who} {span}"


def _squared(ratio: float) -> float:
    return ratio * ratio  # infinite where a power would raise


def far(figures: Sequence[float], least: float) -> int:
    """Which of some figures is much farther from all others than they are from each other, -1 for none.

    least: how many times as large, or as small, as the next one; among figures of one name a single 0 is far as well.
    """
    low, high = min(figures), max(figures)
    if low < 0 or (low > 0 and high < least * low) or high == 0:
        return -1
    ordered = sorted(figures)
    second, last = ordered[1], ordered[-2]
    if second > 0 and (
        high <= ALIKE * second and least < FARTHEST if low == 0 else second >= low * max(least, _squared(high / second))
    ):
        return figures.index(low)
    bottom = low or second
    return figures.index(high) if bottom > 0 and high >= last * max(least, _squared(last / bottom)) else -1


def _text(block: Block, title: str, column: Column, most: int) -> Iterator[_Found]:
    """A number among texts, a text among numbers, another spelling of a text."""
    often = Counter(column)
    numbers = {c for c in often if NUMBER.fullmatch(c)}
    count = sum(often[c] for c in numbers)
    if count and min(count, len(column) - count) <= most and count < len(column):
        fewer = 2 * count <= len(column)
        i = next(i for i, c in enumerate(column) if (c in numbers) is fewer)
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
    again = [i for i, (a, b) in enumerate(itertools.pairwise(block.rows), 1) if a == b]
    if len(again) != 1:
        return
    figures = {c for c in block.rows[again[0]] if NUMBER.fullmatch(c) and len(c.strip("0.")) >= DIGITS}
    if len(figures) >= FIGURES:
        yield (
            block.lines[again[0]],
            "repeated-rows",
            " repeats the line above it, cell for cell: its time may count double",
        )


def _sum(block: Block) -> Iterator[_Found]:
    """A last row that is called like a sum of the others."""
    name = next((c for c in block.rows[-1] if c and not NUMBER.fullmatch(c)), "")
    if len(block.rows) >= SUMMED and duplicates.TOTAL.fullmatch(name):
        yield (
            block.lines[-1],
            "total-row",
            f": {name[:40]!r} is called like a sum of the other rows, and was read as one of them",
        )
