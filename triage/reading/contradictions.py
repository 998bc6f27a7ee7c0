"""Rows whose figures contradict each other, where an export says something twice: none of them is used."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from triage import dialects
from triage.capture.capture import Quality, Table
from triage.capture.cells import Block, cells
from triage.capture.redundancy import Figure, Product, Record, Redundancy, Row, Shares, plain
from triage.capture.source import Source
from triage.ground import units
from triage.ground.errors import BadCapture, UnknownUnit
from triage.ground.phrasing import first_of

MAX_NAMED = 3  # rows in a remark
MAX_ROWS = 20_000  # of a summary; what has more is a trace, which says nothing twice
_BRACKET_RE = re.compile(r"[(\[]([^)\]]{0,20})[)\]]")
_UNIT_WORDS = {"", "%", "s", "ms", "us", "ns"}
_Columns: TypeAlias = Sequence[tuple[int, str, float | None]]  # position, name, factor to its unit


def remove(module: dialects.Dialect, table: Table, blocks: Sequence[Block]) -> tuple[dict[int, str], list[Quality]]:
    """(line -> why its row contradicts itself, remarks on the whole) of a table whose dialect declares redundancies.

    blocks: the tables of its file, where these were cut into cells. Raises BadCapture where most rows do: then a column is
    wrong, and which one nothing tells.
    """
    declared: Sequence[Redundancy] = getattr(module, "REDUNDANT", ())
    source = table.files[0]
    if not declared or source.find is not None or source.is_folder or not 0 < len(table) <= MAX_ROWS:
        return {}, []
    wanted = frozenset(head for one in declared for column in one.columns for head in column)
    rows: dict[int, Row] = {}
    # a launch, or all of them, is several rows
    if any(isinstance(one, Record) or (isinstance(one, Product) and one.percent) for one in declared):
        for block in blocks:
            used = [(i, name, 1.0) for i, name in enumerate(map(_plain, block.head)) if name in wanted]
            rows |= _figures(source, block.by_line(), used)
    else:
        lines = [table.line(i) for i in range(len(table))]
        found: Mapping[int, Sequence[str]] = {n: row for block in blocks for n, row in block.by_line().items()}
        if not all(line in found for line in lines):
            found = source.records(lines)
        rows = _figures(source, {n: found.get(n, ()) for n in lines}, _columns(source, lines[0], wanted))
    bad: dict[int, str] = {}
    for one in declared:
        bad = {**one.against(rows, blocks), **bad}
    if bad and (2 * len(bad) > len(rows) or len(rows) == 1):
        line = min(bad)
        like = "; most rows are like this" if len(bad) > 1 else ""
        raise BadCapture(f"{source.path}:{line}: {bad[line]}{like}", "export again")
    off = [] if bad else [why for one in declared if isinstance(one, Shares) and (why := one.sum_off(rows))]
    return bad, [Quality("contradiction", f"{source.name}: {why}", doubt=True) for why in off]


def remark(bad: dict[int, str]) -> list[Quality]:
    """The remark on rows that were left out."""
    if not bad:
        return []
    rows = "1 row contradicts itself and was" if len(bad) == 1 else f"{len(bad)} rows contradict themselves and were"
    lines = [f"line {line}: {why}" for line, why in sorted(bad.items())]
    return [Quality("contradiction", f"{rows} excluded: {first_of(lines, MAX_NAMED, sep='; ')}", doubt=True)]


def _columns(source: Source, first: int, wanted: Collection[str]) -> _Columns:
    """The wanted columns of the header above the first row, which is at most three lines away; [] where none is."""
    above = source.head_lines[: first - 1]
    for number in range(len(above) - 1, max(len(above) - 4, -1), -1):
        heads = [c.strip() for c in cells(above[number], source.delimiter, source.skip_space)]
        if sum(bool(re.search("[A-Za-z]{2}", h)) for h in heads) >= 3 and not set(heads) <= _UNIT_WORDS:
            break
    else:
        return []
    below = cells(above[number + 1], source.delimiter, source.skip_space) if number + 1 < len(above) else []
    spelled = [u.strip() for u in below] if {u.strip() for u in below} <= _UNIT_WORDS else []
    printed = [_unit(h) or (spelled[i] if i < len(spelled) else "") for i, h in enumerate(heads)]
    return [(i, name, _factor(printed[i])) for i, name in enumerate(map(_plain, heads)) if name in wanted]


def _figures(source: Source, rows: Mapping[int, Sequence[str]], used: _Columns) -> dict[int, Row]:
    return {
        line: {
            name: figure
            for i, name, factor in used
            if i < len(row)
            and ("," not in row[i] or source.delimiter == ",")
            and (figure := _figure(row[i], factor)) is not None
        }
        for line, row in rows.items()
    }


def _plain(header: str) -> str:
    bare = _BRACKET_RE.sub(lambda m: "%" if m[1] == "%" else "", header)
    return plain(bare).removesuffix("ns")


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
