"""What columns of an export say twice: a dialect declares it as `REDUNDANT`, and the reader holds the cells to it.

Columns are named as their headers read without blanks and units, in lower case (`totaltime`, `time%`).
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from triage.capture.cells import Block

SLACK = 0.001  # of a total, beside what rounding takes from its parts
MIN_OFF = 0.02  # by which a total must miss its share
MIN_SHARE = 1.0  # percent from which on a share determines the whole
MANY = 5  # rows of the other records, beside which a record of a single row is a damaged key
SURE = 3  # rows of a record that agree, against a single one
Heads: TypeAlias = tuple[str, ...]  # spellings of one column's header
_Cells: TypeAlias = tuple[str, ...]


class Figure(NamedTuple):
    """A cell: its value in the unit of its column, and half of its last digit."""

    value: float
    half: float


Row = dict[str, Figure]
Rows = Mapping[int, Row]  # by line


class Redundancy(Protocol):
    """An identity that rows of figures, or the texts of blocks, are held to."""

    @property
    def columns(self) -> tuple[Heads, ...]:
        """The columns of figures that it compares."""

    def against(self, rows: Rows, blocks: Sequence[Block]) -> dict[int, str]:
        """Line -> why its row contradicts itself or others."""


def each(names: str) -> tuple[Heads, ...]:
    """Columns with one spelling each."""
    return tuple((name,) for name in names.split())


def plain(header: str) -> str:
    """A header without blanks and underscores, in lower case."""
    return re.sub(r"[\s_]", "", header).lower()


class _OfColumns(Struct, frozen=True):
    """An identity of figures; what of its fields is a tuple is a column."""

    @property
    def columns(self) -> tuple[Heads, ...]:
        """The columns that it relates."""
        return tuple(value for value in astuple(self) if isinstance(value, tuple))


class _OfOneRow(_OfColumns, frozen=True):
    """An identity of the figures of one row."""

    def against(self, rows: Rows, blocks: Sequence[Block]) -> dict[int, str]:
        """Line -> why, of rows that contradict themselves."""
        return {line: why for line, row in rows.items() if (why := self.why(row))}

    def why(self, row: Row) -> str:
        """Why a row contradicts itself, "" where it does not."""
        raise NotImplementedError


class Product(_OfOneRow, frozen=True):
    """One column is the product of two others: a total, a count and a mean; or a value, its peak and its percentage."""

    total: Heads
    count: Heads
    mean: Heads
    percent: bool = False

    def why(self, row: Row) -> str:
        """A total beside calls and mean that do not make it."""
        total, count, mean = (_get(row, heads) for heads in self.columns)
        if total is None or count is None or mean is None:
            return ""
        part = 0.01 if self.percent else 1.0
        off = abs(total.value - count.value * mean.value * part)
        if off <= total.half + 2 * count.value * mean.half * part + SLACK * abs(total.value):  # means may be truncated
            return ""
        if self.percent:
            return f"{total.value:,.6g} is not {mean.value:,.6g} % of {count.value:,.6g}"
        return f"total {total.value:,.0f} is not {count.value:,.0f} calls of {mean.value:,.6g}"


class Ordered(_OfOneRow, frozen=True):
    """Columns whose values never fall from one to the next: shortest, mean, longest."""

    columns: tuple[Heads, ...]

    def why(self, row: Row) -> str:
        """A value above the next."""
        found = [f for heads in self.columns if (f := _get(row, heads)) is not None]
        for low, high in itertools.pairwise(found):
            if low.value - low.half > high.value + high.half:
                return f"{low.value:,.6g} is not below {high.value:,.6g} (shortest, mean and longest)"
        return ""


class Sum(_OfOneRow, frozen=True):
    """Columns that add up to another one; room: what they may miss of it beside rounding, as a share."""

    total: Heads
    parts: tuple[Heads, ...]
    room: float = MIN_OFF

    @property
    def columns(self) -> tuple[Heads, ...]:
        """Total and parts."""
        return self.total, *self.parts

    def why(self, row: Row) -> str:
        """Parts that do not make their total."""
        total, parts = _get(row, self.total), [f for heads in self.parts if (f := _get(row, heads)) is not None]
        if total is None or len(parts) < len(self.parts):
            return ""
        whole = sum(f.value for f in parts)
        if abs(whole - total.value) <= total.half + sum(f.half for f in parts) + self.room * abs(total.value):
            return ""
        shown = " + ".join(f"{f.value:,.10g}" for f in parts)
        named = [next(head for head in heads if head in row) for heads in self.columns]
        return f"{shown} is not {total.value:,.10g} ({' + '.join(named[1:])}, {named[0]})"


class Extremes(_OfOneRow, frozen=True):
    """A total lies between its count times the shortest and the longest, of which one occurs each; so does a deviation."""

    total: Heads
    count: Heads
    low: Heads
    high: Heads
    deviation: Heads = ()

    def why(self, row: Row) -> str:
        """A total or a deviation beyond what shortest and longest allow."""
        total, count, low, high, deviation = (_get(row, heads) for heads in self.columns)
        if total is None or count is None or low is None or high is None or count.value < 1:
            return ""
        n, room = count.value, total.half + count.value * (low.half + high.half) + SLACK * total.value
        least, most = high.value + (n - 1) * low.value, low.value + (n - 1) * high.value
        if n == 1:
            least = most = high.value
        if not least - room <= total.value <= most + room:
            return f"total {total.value:,.0f} is not {n:,.0f} calls from {low.value:,.6g} to {high.value:,.6g}"
        if deviation is None or n < 2:
            return ""
        spread = high.value - low.value
        room = deviation.half + low.half + high.half + SLACK * spread
        if not spread / math.sqrt(2 * n) - room <= deviation.value <= spread / 2 * math.sqrt(n / (n - 1)) + room:
            return f"deviation {deviation.value:,.6g} is none of figures from {low.value:,.6g} to {high.value:,.6g}"
        return ""


class Shares(_OfColumns, frozen=True):
    """A column of percentages of the sum of another one; tables: in a file, each of which may be a whole of its own."""

    share: Heads
    of: Heads = ()
    tables: int = 1

    def against(self, rows: Rows, blocks: Sequence[Block]) -> dict[int, str]:
        """Line -> why, of rows whose share is of another whole than that of the others."""
        pairs = {n: (s, t) for n, row in rows.items() if (s := _get(row, self.share)) and (t := _get(row, self.of))}
        wholes = [t.value / s.value for s, t in pairs.values() if s.value >= MIN_SHARE and t.value > 0]
        if len(wholes) < 3:  # of two, either may be wrong
            return {}
        whole = median(wholes)
        return {
            line: f"{share.value:g} % is not the share of {total.value:,.0f}"
            for line, (share, total) in pairs.items()
            if abs(total.value - share.value * whole) > max(3 * share.half * whole, MIN_OFF * share.value * whole)
        }

    def sum_off(self, rows: Rows) -> str:
        """Why the percentages do not add up to 100, "" where they do: rows are missing, or stand twice."""
        found = [share for row in rows.values() if (share := _get(row, self.share)) is not None]
        total, room = sum(s.value for s in found), 0.5 + sum(s.half for s in found)
        if len(found) < len(rows) or any(abs(total - 100 * n) <= room for n in range(1, self.tables + 1)):
            return ""
        missing, twice = "rows are missing: times are at least what is listed", "rows stand twice, or a share is wrong"
        return f"the percentages add up to {total:.1f} %: {missing if total < 100 else twice}"


class Ticks(_OfColumns, frozen=True):
    """Two readings of a clock, and the time between them: of one clock in all rows, unless they add up several spans."""

    start: Heads
    end: Heads
    time: Heads

    def against(self, rows: Rows, blocks: Sequence[Block]) -> dict[int, str]:
        """Line -> why, of rows whose time is of another clock than that of three of four rows."""
        spans = {n: (e.value - s.value, t) for n, row in rows.items() if (s := _get(row, self.start)) and (e := _get(row, self.end)) and (t := _get(row, self.time))}  # fmt: skip
        tick = median([t.value / span for span, t in spans.values() if span > 0] or [0.0])
        bad = {
            line: f"time {t.value:,.6g} is not {span:,.0f} ticks of {tick:.6g}"
            for line, (span, t) in spans.items()
            if abs(t.value - span * tick) > 2 * t.half + tick + SLACK * t.value
        }
        return bad if 4 * len(bad) <= len(spans) else {}


class References(Struct, frozen=True):
    """A column of numbers, each row its own, and one that points to them; `none` points to no row."""

    id: Heads
    parent: Heads
    none: str
    columns: ClassVar[tuple[Heads, ...]] = ()

    def against(self, rows: Rows, blocks: Sequence[Block]) -> dict[int, str]:
        """Line -> why, of rows whose number is none, or which point to a row that is not there."""
        texts = list(_texts(blocks, self.id, self.parent))
        there = {own for _, (own, _) in texts} | {self.none}
        if there.isdisjoint(parent for _, (_, parent) in texts):  # the rows below one marker, cut out of a list
            there |= {parent for _, (_, parent) in texts}
        bad: dict[int, str] = {}
        for line, (own, parent) in texts:
            if not own.isdigit():
                bad[line] = f"{self.id[0]} {own[:40]!r} is no number"
            elif parent not in there:
                bad[line] = f"{self.parent[0]} {parent[:40]!r} is the number of no row"
        return bad


class Record(Struct, frozen=True):
    """Rows with one key, as the metrics of a launch, agree in the columns that tell of the launch: every row says them again."""

    key: tuple[Heads, ...]
    same: tuple[Heads, ...]
    columns: ClassVar[tuple[Heads, ...]] = ()

    def against(self, rows: Rows, blocks: Sequence[Block]) -> dict[int, str]:
        """Line -> why, of single rows that say something else of a record than its others, or are alone in theirs."""
        keys = len(self.key)
        records: dict[_Cells, list[tuple[int, _Cells]]] = {}
        for line, cells in _texts(blocks, *self.key, *self.same):
            records.setdefault(cells[:keys], []).append((line, cells[keys:]))
        sizes = [len(record) for record in records.values()]
        usual = median(sizes) if len(sizes) > 2 else max(sizes, default=0)
        bad: dict[int, str] = {}
        for key, record in records.items():
            where = ", ".join(f"{h[0]} {k[:40]}" for h, k in zip(self.key, key, strict=True) if k)
            if len(record) == 1 and usual >= MANY:
                bad[record[0][0]] = f"the only row of {where}, others have {usual:g}"
            count = Counter(same for _, same in record)
            ((usually, times),) = count.most_common(1)
            for line, same in record if times >= SURE else ():
                if same != usually and count[same] == 1:
                    i = next(i for i, (a, b) in enumerate(zip(same, usually, strict=True)) if a != b)
                    bad[line] = f"{self.same[i][0]} is {same[i][:40]!r}, in other rows of {where} {usually[i][:40]!r}"
        return bad


def summary(
    total: str, count: str, mean: str, share: str, deviation: Heads = ()
) -> tuple[Product, Shares, Ordered, Extremes]:
    """What a table of calls says twice: their total, number, mean, share of all, shortest and longest (`min`, `max`)."""
    low, middle, high = ("min",), (mean,), ("max",)
    return (
        Product((total,), (count,), middle),
        Shares((share,), (total,)),
        Ordered((low, middle, high)),
        Extremes((total,), (count,), low, high, deviation),
    )


def _get(row: Row, heads: Heads) -> Figure | None:
    return next((row[h] for h in heads if h in row), None)


def _texts(blocks: Sequence[Block], *columns: Heads) -> Iterator[tuple[int, _Cells]]:
    """(line, cells) of all rows below a header with these columns; a column that the header lacks is ""."""
    for block in blocks:
        heads = [plain(h) for h in block.head]
        at = [next((heads.index(h) for h in column if h in heads), -1) for column in columns]
        if at and at[0] >= 0:
            for line, row in zip(block.lines, block.rows, strict=True):
                yield line, tuple(row[i] if 0 <= i < len(row) else "" for i in at)
