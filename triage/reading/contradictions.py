"""Rows whose figures contradict each other, where an export says something twice: none of them is used."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from statistics import median
from typing import NamedTuple

from triage import dialects
from triage.capture.capture import Quality, Table
from triage.capture.cells import cells
from triage.capture.redundancy import Extremes, Heads, Ordered, Product, Record, Redundancy, References, Shares
from triage.capture.source import Source
from triage.ground import units
from triage.ground.errors import BadCapture, UnknownUnit
from triage.reading import records
from triage.reading.text_blocks import Block

MAX_ROWS = 20_000  # of a summary; what has more is a trace, which says nothing twice
SLACK = 0.001  # of a total, beside what rounding takes from its parts
MIN_OFF = 0.02  # by which a total must miss its share
MIN_SHARE = 1.0  # percent from which on a share determines the whole
_BRACKET_RE = re.compile(r"[(\[]([^)\]]{0,20})[)\]]")
_UNIT_WORDS = {"", "%", "s", "ms", "us", "ns"}


class Figure(NamedTuple):
    """A cell: its value in the unit of its column, and half of its last digit."""

    value: float
    half: float


Row = dict[str, Figure]


def remove(module: dialects.Dialect, table: Table, blocks: Sequence[Block]) -> tuple[dict[int, str], list[Quality]]:
    """(line -> why its row contradicts itself, remarks on the whole) of a table whose dialect declares redundancies.

    blocks: the tables of its file, where these were cut into cells. Raises BadCapture where most rows do: then a column is
    wrong, and which one nothing tells.
    """
    declared: Sequence[Redundancy] = getattr(module, "REDUNDANT", ())
    source = table.files[0]
    if not declared or source.find is not None or source.is_folder or not 0 < len(table) <= MAX_ROWS:
        return {}, []
    wanted = frozenset(itertools.chain.from_iterable(map(_heads, declared)))
    if any(isinstance(one, Record) for one in declared):  # a launch is several rows
        rows = {line: row for block in blocks for line, row in _of_block(source, block, wanted)}
    else:
        lines = [table.line(i) for i in range(len(table))]
        found: Mapping[int, Sequence[str]] = {n: row for b in blocks for n, row in zip(b.lines, b.rows, strict=True)}
        if not all(line in found for line in lines):
            found = source.records(lines)
        rows = _rows(source, lines, found, wanted)
    bad: dict[int, str] = {}
    for one in declared:
        bad = {**_against(one, rows, blocks), **bad}
    if bad and (2 * len(bad) > len(rows) or len(rows) == 1):
        line = min(bad)
        like = "; most rows are like this" if len(bad) > 1 else ""
        raise BadCapture(f"{source.path}:{line}: {bad[line]}{like}", "export again")
    return bad, [] if bad else [q for one in declared if isinstance(one, Shares) for q in _whole(one, rows, source)]


def remark(bad: dict[int, str]) -> list[Quality]:
    """The remark on rows that were left out."""
    if not bad:
        return []
    rows = "1 row contradicts itself and was" if len(bad) == 1 else f"{len(bad)} rows contradict themselves and were"
    first = "; ".join(f"line {line}: {why}" for line, why in sorted(bad.items())[:3])
    return [
        Quality("contradiction", f"{rows} excluded: {first}{f' + {len(bad) - 3} more' * (len(bad) > 3)}", doubt=True)
    ]


@cache
def _heads(one: Redundancy) -> tuple[str, ...]:
    if isinstance(one, Record | References):  # of texts
        return ()
    columns = one.columns if isinstance(one, Ordered) else (getattr(one, f.name) for f in fields(one))
    return tuple(itertools.chain.from_iterable(columns))


def _rows(
    source: Source, lines: Sequence[int], found: Mapping[int, Sequence[str]], wanted: Collection[str]
) -> dict[int, Row]:
    """Line -> figures by header, of the wanted ones; {} where no header stands above the first row. found: line -> cells."""
    above = source.head_lines[: lines[0] - 1]
    for number in range(len(above) - 1, max(len(above) - 4, -1), -1):
        heads = [c.strip() for c in cells(above[number], source.delimiter, source.skip_space)]
        if sum(bool(re.search("[A-Za-z]{2}", h)) for h in heads) >= 3 and not set(heads) <= _UNIT_WORDS:
            break
    else:
        return {}
    names = [_plain(h) for h in heads]
    below = cells(above[number + 1], source.delimiter, source.skip_space) if number + 1 < len(above) else []
    spelled = [u.strip() for u in below] if {u.strip() for u in below} <= _UNIT_WORDS else []
    printed = [_unit(h) or (spelled[i] if i < len(spelled) else "") for i, h in enumerate(heads)]
    used = [(i, name, _factor(printed[i])) for i, name in enumerate(names) if name in wanted]
    return {line: _row(source, found.get(line, ()), used) for line in lines}


def _of_block(source: Source, block: Block, wanted: Collection[str]) -> Iterator[tuple[int, Row]]:
    used = [(i, name, 1.0) for i, name in enumerate(map(_plain, block.head)) if name in wanted]
    for line, row in zip(block.lines, block.rows, strict=True):
        yield line, _row(source, row, used)


def _row(source: Source, row: Sequence[str], used: Sequence[tuple[int, str, float | None]]) -> Row:
    return {
        name: figure
        for i, name, factor in used
        if i < len(row)
        and ("," not in row[i] or source.delimiter == ",")
        and (figure := _figure(row[i], factor)) is not None
    }


def _plain(header: str) -> str:
    bare = _BRACKET_RE.sub(lambda m: "%" if m[1] == "%" else "", header)
    return re.sub(r"[\s_]", "", bare).lower().removesuffix("ns")


def _unit(header: str) -> str:
    m = _BRACKET_RE.search(header)
    return m[1].strip() if m else "ns" if header.endswith("Ns") else ""


def _figure(cell: str, factor: float | None) -> Figure | None:
    """A number, in ns where it is a time; None for what is none. factor: of its column, None for an unknown unit."""
    try:
        value = float(cell)
    except ValueError:
        try:
            parsed, glued = units.parse_glued(cell)
        except ValueError:
            return None
        value = math.nan if parsed is None else parsed
        factor = _factor(glued) if glued else factor
    if factor is None or not math.isfinite(value):
        return None
    digits = cell.partition(".")[2]
    places = len(digits)
    if digits and not digits.isdigit():
        places = next((i for i, c in enumerate(digits) if not c.isdigit()), places)
    return Figure(value * factor, 0.5 * 10.0**-places * factor)


@lru_cache(64)
def _factor(unit: str) -> float | None:
    if unit in ("", "%"):
        return 1.0
    try:
        return units.factor(unit, "ns")
    except UnknownUnit:
        return None


def _get(row: Row, heads: Heads) -> Figure | None:
    return next((row[h] for h in heads if h in row), None)


def _against(one: Redundancy, rows: dict[int, Row], blocks: Sequence[Block]) -> dict[int, str]:
    if isinstance(one, Record):
        return records.unlike(one, blocks)
    if isinstance(one, References):
        return records.dangling(one, blocks)
    if isinstance(one, Extremes):
        return {line: why for line, row in rows.items() if (why := _beyond(one, row))}
    if isinstance(one, Product):
        return {line: why for line, row in rows.items() if (why := _no_product(one, row))}
    if isinstance(one, Ordered):
        return {line: why for line, row in rows.items() if (why := _no_order(one, row))}
    return _no_share(one, rows)


def _no_product(one: Product, row: Row) -> str:
    total, count, mean = (_get(row, heads) for heads in (one.total, one.count, one.mean))
    if total is None or count is None or mean is None:
        return ""
    off = abs(total.value - count.value * mean.value)
    if off <= total.half + count.value * mean.half + SLACK * abs(total.value):
        return ""
    return f"total {total.value:,.0f} is not {count.value:,.0f} calls of {mean.value:,.6g}"


def _no_order(one: Ordered, row: Row) -> str:
    found = [f for heads in one.columns if (f := _get(row, heads)) is not None]
    for low, high in itertools.pairwise(found):
        if low.value - low.half > high.value + high.half:
            return f"{low.value:,.6g} is not below {high.value:,.6g} (shortest, mean and longest)"
    return ""


def _beyond(one: Extremes, row: Row) -> str:
    total, count, low, high = (_get(row, heads) for heads in (one.total, one.count, one.low, one.high))
    if total is None or count is None or low is None or high is None or count.value < 1:
        return ""
    n, room = count.value, total.half + count.value * (low.half + high.half) + SLACK * total.value
    least, most = high.value + (n - 1) * low.value, low.value + (n - 1) * high.value
    if n == 1:
        least = most = high.value
    if not least - room <= total.value <= most + room:
        return f"total {total.value:,.0f} is not {n:,.0f} calls from {low.value:,.6g} to {high.value:,.6g}"
    spread, deviation = high.value - low.value, _get(row, one.deviation)
    if deviation is None or n < 2:
        return ""
    room = deviation.half + low.half + high.half + SLACK * spread
    if not spread / math.sqrt(2 * n) - room <= deviation.value <= spread / 2 * math.sqrt(n / (n - 1)) + room:
        return f"deviation {deviation.value:,.6g} is none of figures from {low.value:,.6g} to {high.value:,.6g}"
    return ""


def _no_share(one: Shares, rows: dict[int, Row]) -> dict[int, str]:
    pairs = {n: (s, t) for n, row in rows.items() if (s := _get(row, one.share)) and (t := _get(row, one.of))}
    wholes = [t.value / s.value for s, t in pairs.values() if s.value >= MIN_SHARE and t.value > 0]
    if len(wholes) < 3:  # of two, either may be wrong
        return {}
    whole = median(wholes)
    return {
        line: f"{share.value:g} % is not the share of {total.value:,.0f}"
        for line, (share, total) in pairs.items()
        if abs(total.value - share.value * whole) > max(3 * share.half * whole, MIN_OFF * share.value * whole)
    }


def _whole(one: Shares, rows: dict[int, Row], source: Source) -> list[Quality]:
    """A remark where percentages do not add up to 100: rows are missing, or stand twice."""
    found = [share for row in rows.values() if (share := _get(row, one.share)) is not None]
    total, room = sum(s.value for s in found), 0.5 + sum(s.half for s in found)
    if len(found) < len(rows) or abs(total - 100) <= room:
        return []
    what = (
        "rows are missing: times are at least what is listed"
        if total < 100
        else "rows stand twice, or a share is wrong"
    )
    return [Quality("contradiction", f"{source.name}: the percentages add up to {total:.1f} %: {what}", doubt=True)]
