"""Cells that depart from all others of their column, rows that stand twice, sums among the rows: seen in the text itself.

What a dialect makes of a table hides its cells: of several samples it takes means, of launches sums, and a column that
nothing reads decides nothing. A lost, moved or merged cell leaves a gap in a column without one, or a word among figures.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from triage import dialects
from triage.capture.capture import Quality, Table
from triage.capture.source import Source
from triage.ground.phrasing import plural
from triage.reading import duplicates, name_variants

LARGEST = 256 << 10  # bytes of a file whose cells are looked at: the head, which is at hand
FEW = 0.05  # of a column's cells, up to which the departing ones are odd
MOST = 5  # remarks of a file
LEAST = 3  # rows of a table with a sum: two others, and itself
PEERS = 3  # other figures of a column that one can be far from
FAR = 20.0  # times as large as the next one of its name, and the square of what lies between the others
FARTHEST = 100.0  # the same among figures of other names, which differ by their work
ALIKE = 2.0  # times, within which figures are so alike that a single 0 is none of them
LONG = 3  # digits of a figure that is seldom measured twice
BLANK = frozenset(
    ("", "-", "--", "–", "—", "null", "NULL", "None", "none", "N/A", "n/a", "NA", "na", "<na>", "<NA>", "?", ".", "nan", "NaN")
)  # fmt: skip
_NUMBER = re.compile(r"[+-]?(?:\d[\d,.]*|\.\d+)(?:[eE][+-]?\d+)?%?")


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one width below their header ([] where none stands above), with the line on which each begins."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]


def check(module: dialects.Dialect, table: Table) -> list[Quality]:
    """Remarks on the odd cells and rows of a table's text files, but for what other remarks name by its line."""
    may_lack: Collection[str] = getattr(module, "MAY_LACK", ())
    found = [
        q for file in table.files if duplicates.is_text(file) and file.size <= LARGEST for q in _file(file, may_lack)
    ]
    said = " ".join(q.message for q in table.quality)
    return [Quality(check, text) for check, text, line in found if not re.search(rf"\bline {line}\b", said)][:MOST]


_Found = tuple[str, str, int]


def _file(file: Source, may_lack: Collection[str]) -> Iterator[_Found]:
    for block in blocks(file):
        yield from _odd(block, may_lack)
        yield from _twice(block)
        yield from _sum(block)


def blocks(file: Source) -> Iterator[Block]:
    """The tables of a text file."""
    sep = file.delimiter
    quoting: Literal[0, 3] = csv.QUOTE_NONE if sep == "\t" else csv.QUOTE_MINIMAL
    reader = csv.reader(
        iter(file.head_text.splitlines(keepends=True)), delimiter=sep, skipinitialspace=file.skip_space, quoting=quoting
    )
    rows: list[list[str]] = []
    lines: list[int] = []
    begin = 1
    try:
        for row in reader:
            rows.append(row)
            lines.append(begin)
            begin = reader.line_num + 1
    except csv.Error:  # a cell beyond all measure
        return
    heads: dict[int, Sequence[str]] = {}
    figures = [any(map(_NUMBER.fullmatch, map(str.strip, row))) for row in rows]
    for width, run in itertools.groupby(range(len(rows)), key=lambda i: len(rows[i])):
        at = list(run)
        top = next((i for i in at if figures[i]), at[-1] + 1)
        if width < 2 or top > at[-1]:
            continue
        if top > at[0]:
            heads[width] = max(rows[at[0] : top], key=_words)
        body = [i for i in at if i >= top and figures[i]]  # some logs end in their header
        yield Block(heads.get(width, ()), [[c.strip() for c in rows[i]] for i in body], [lines[i] for i in body])


def _words(row: Sequence[str]) -> int:
    return sum(len(c) >= 3 for c in row)


def _odd(block: Block, may_lack: Collection[str]) -> Iterator[_Found]:
    """Cells that are empty, or of another kind, in columns where all others but a few agree.

    Of a row that lacks several of them nothing was lost: it is of another kind, as a copy among launches.
    """
    most = max(1, int(FEW * len(block.rows)))
    gaps: dict[int, list[int]] = {}
    groups = _groups(block)
    for at, column in enumerate(zip(*block.rows, strict=True)):
        title = _plain(block, at)  # where each line ends in a delimiter, the last column has none
        if BLANK.isdisjoint(column):
            if title and title not in may_lack:
                yield from _departing(block, at, column, most, groups)
            continue
        empty = [i for i, c in enumerate(column) if c in BLANK]
        if len(empty) <= most and title and title not in may_lack:
            for i in empty:
                gaps.setdefault(i, []).append(at)
    for i, columns in gaps.items():
        if len(columns) == 1:
            line = block.lines[i]
            others = f", in {plural(len(block.rows) - 1, 'other row')} it is not" if len(block.rows) > 1 else ""
            yield "empty-cell", f"line {line}: {_title(block, columns[0])} is empty{others}", line


Groups = Sequence[Sequence[int]]


def _groups(block: Block) -> Groups:
    """Rows that are alike in all their texts: launches of one kernel, frames of one program."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(block.rows):
        alike.setdefault(tuple(c for c in row if not _NUMBER.fullmatch(c)), []).append(i)
    return [rows for rows in alike.values() if len(rows) > PEERS]


def _departing(block: Block, at: int, column: Sequence[str], most: int, groups: Groups) -> Iterator[_Found]:
    """Of a full column: a number among texts, a text among numbers, another spelling of a text, a figure far from the others."""
    try:
        figures = [float(c.removesuffix("%")) for c in column]
    except ValueError:
        yield from _texts(block, at, column, most)
        return
    for rows, least in (*((rows, FAR) for rows in groups), (range(len(figures)), FARTHEST)):
        if (found := far([figures[i] for i in rows], least)) >= 0:
            i = rows[found]
            near = sorted({column[r] for r in rows} - {column[i]}, key=float_of)
            others = f"from {near[0]} to {near[-1]}" if len(near) > 1 else near[0]
            line = block.lines[i]
            what = "all others" if len(rows) == len(figures) else "others of its name"
            yield "far-off", f"line {line}: {_title(block, at)} is {column[i][:40]}, {what} {others}", line
            return


def float_of(cell: str) -> float:
    """A cell of a column of figures."""
    return float(cell.removesuffix("%"))


def far(figures: Sequence[float], least: float) -> int:
    """Which of some figures is much farther from all others than they are from each other, -1 for none."""
    if len(figures) <= PEERS or min(figures) < 0:
        return -1
    low, *_ = ordered = sorted(figures)
    if low > 0:
        below, spread = ordered[1] / low, ordered[-1] / ordered[1]
        if below >= least and below >= spread**2:
            return figures.index(low)
    elif ordered[1] > 0 and ordered[-1] <= ALIKE * ordered[1] and least < FARTHEST:
        return figures.index(low)
    bottom = low or ordered[1]
    if low >= 0 and bottom > 0 and ordered[-2] > 0:
        above, spread = ordered[-1] / ordered[-2], ordered[-2] / bottom
        if above >= least and above >= spread**2:
            return figures.index(ordered[-1])
    return -1


def _texts(block: Block, at: int, column: Sequence[str], most: int) -> Iterator[_Found]:
    numbers = {c: _NUMBER.fullmatch(c) is not None for c in set(column)}
    figures = [i for i, c in enumerate(column) if numbers[c]]
    texts = len(column) - len(figures)
    if figures and texts and min(len(figures), texts) <= most:
        fewer = len(figures) <= texts
        odd = figures[0] if fewer else next(i for i, c in enumerate(column) if not numbers[c])
        line = block.lines[odd]
        what = "a number among texts" if fewer else "no number"
        yield "odd-cell", f"line {line}: {_title(block, at)} is {column[odd][:40]!r}, {what}", line
    if figures:
        return
    often = Counter(column)
    spelled: dict[str, list[str]] = {}
    for c in often:
        spelled.setdefault(name_variants.key(c), []).append(c)
    for same in spelled.values():
        if len(same) > 1:
            odd = column.index(min(same, key=often.__getitem__))
            line = block.lines[odd]
            yield "name-spelling", f"line {line}: {column[odd][:60]!r} is another spelling of a name", line
            return


def _twice(block: Block) -> Iterator[_Found]:
    """A row that stands twice, one below the other, where no other row does."""
    again = [i for i, (a, b) in enumerate(itertools.pairwise(block.rows), 1) if a == b]
    if len(again) == 1 and _many(block.rows[again[0]]):
        line = block.lines[again[0]]
        yield "repeated-rows", f"line {line} repeats the line above it, cell for cell: its time may count double", line


def _sum(block: Block) -> Iterator[_Found]:
    """A last row that is called like a sum of the others."""
    name = next((c for c in block.rows[-1] if c and not _NUMBER.fullmatch(c)), "")
    if len(block.rows) >= LEAST and duplicates.TOTAL.fullmatch(name):
        line = block.lines[-1]
        yield (
            "total-row",
            f"line {line}: {name[:40]!r} is called like the sum of the other rows, and was read as one of them",
            line,
        )


def _many(row: Sequence[str]) -> bool:
    return len({c for c in row if _NUMBER.fullmatch(c) and len(c.strip("0.")) >= LONG}) >= 2


def _plain(block: Block, at: int) -> str:
    return block.head[at].strip() if at < len(block.head) else ""


def _title(block: Block, at: int) -> str:
    return repr(_plain(block, at)[:60]) if _plain(block, at) else f"column {at + 1}"
