"""Wide Nsight Compute tables: one record per launch, one column per metric; raw page and GUI export."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from triage import schema
from triage.capture import shape
from triage.capture.arrays import Floats, Indices, Masks, Names
from triage.capture.capture import Column, Opinion, Quality, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects.nvidia import ncu_implied, ncu_long
from triage.dialects.nvidia import ncu_names as ncu
from triage.dialects.nvidia.ncu_file import Body, Header, Segment, frame, no_rows, parsed, record_lines, segments
from triage.dialects.tables import csv_parser, extents, wide_table
from triage.ground import units
from triage.ground.errors import BadCapture, UnknownUnit

if TYPE_CHECKING:
    import pandas as pd

ROLES = {
    "id": ("id",),
    "pid": ("process id", "process"),
    "kernel": ("kernel name", "demangled name", "function name"),
    "block": ("block size",),
    "grid": ("grid size",),
    "cc": ("cc", "compute capability"),
    "device": ("device name", "device attribute display name", "device"),
    "speedup": ("estimated speedup",),
    "major": ("device attribute compute capability major",),
    "minor": ("device attribute compute capability minor",),
}
_NA = [*csv_parser.MISSING, "No data"]


class Piece(Struct):
    """One table of a file: names, 1-based lines and texts by role, one per launch, and the columns by metric."""

    names: Names
    lines: Indices
    texts: dict[str, Names]
    columns: dict[str, Column]
    unmapped: list[str]


def read(source: Source, dialect: str, header: Header, brackets: bool, decimal: str = "") -> Table:
    """Every launch in file order. brackets: units stand in the headers; else in the record below the header.

    Raises BadCapture when no launch follows a header, UnknownUnit when the decimal sign stays open.
    """
    body = Body(source)
    found = segments(body, header)
    if not found:
        raise BadCapture(f"{source.path}: no table found", "export again")
    source.delimiter = found[0].separator
    style = _style(source, body, found, brackets, decimal)
    quality: list[Quality] = []
    pieces = [p for s in found if (p := _piece(body, s, brackets, style, quality)) is not None]
    if not pieces:
        raise no_rows(source)
    return assemble(source, dialect, pieces, [n for n, _ in map(_bracketed, found[0].headers)], style, quality)


def assemble(
    source: Source, dialect: str, pieces: list[Piece], headers: list[str], style: units.Style, quality: list[Quality]
) -> Table:
    """The table of all pieces, with the columns that counters only imply. headers: names of a record's cells."""
    table = Table(
        dialect,
        [source],
        np.concatenate([p.names for p in pieces]),
        _merge(pieces),
        lines=np.concatenate([p.lines for p in pieces]),
        unmapped=list(dict.fromkeys(u for p in pieces for u in p.unmapped)),
        quality=quality,
    )
    table.kinds = np.full(len(table), "compute", dtype=object)
    _extras(table, pieces, headers, style)
    ncu_implied.complete(table)
    if not table.columns:
        table.notes.append("no metric of this export is known to triage; see the unmapped names")
    return table


def _headers(seg: Segment, body: Body, brackets: bool) -> list[tuple[str, str]]:
    """(name, unit) per column."""
    if brackets:
        return [_bracketed(h) for h in seg.headers]
    unit_row = _unit_row(body, seg)
    return [(h, unit_row[i].strip() if i < len(unit_row) else "") for i, h in enumerate(seg.headers)]


def _bracketed(header: str) -> tuple[str, str]:
    if "[" not in header or len(header) > wide_table.MAX_HEADER_CHARS:
        return header, ""
    m = re.fullmatch(r"(.*?)\s*\[([^\]]*)\]\s*", header)
    return (m[1], m[2].strip()) if m else (header, "")


def _unit_row(body: Body, seg: Segment) -> list[str]:
    """The record right below the header where it holds units: it names no launch, process or kernel. Else []."""
    # it begins with no number, so it may have been taken for foreign text and the segment cut behind it
    offset = _below_header(body, seg)
    row = cells(body.line(offset), seg.separator) if offset < len(body.data) else []
    named = _launch_columns(tuple(seg.headers))
    return row if any(c.strip() for c in row) and not any(row[i].strip() for i in named if i < len(row)) else []


@lru_cache(8)  # thousands of headers, asked for thrice per file
def _launch_columns(headers: tuple[str, ...]) -> list[int]:
    """Positions of a launch's number, process and kernel."""
    low = [schema.normal(h) for h in headers]
    return [low.index(n) for n in ("id", "process id", "kernel name") if n in low]


def _below_header(body: Body, seg: Segment) -> int:
    """Byte offset of the line below the segment's header, from where its records start back."""
    offset = seg.start
    for _ in range(seg.line - seg.header_line - 1):
        offset = body.data.rfind(b"\n", 0, max(offset - 1, 0)) + 1
    return offset


def candidates(headers: list[tuple[str, str]]) -> dict[str, list[int]]:
    """canonical id -> columns that give it, best name first."""
    found: dict[str, list[int]] = {}
    for i, (name, unit) in enumerate(headers):
        if metric := ncu.metric(name, unit):
            found.setdefault(metric, []).append(i)
    for metric, columns in found.items():
        found[metric] = sorted(columns, key=lambda c: (ncu.rank(headers[c][0]), c))
    return found


def choose(
    wanted: dict[str, list[int]], column: Callable[[int, str], Column | None]
) -> tuple[dict[str, Column], set[int]]:
    """(column per metric, the cells that were tried for it): the best name that has a number; one may be all empty."""
    columns: dict[str, Column] = {}
    used: set[int] = set()
    for metric, options in wanted.items():
        for c in options:
            used.add(c)
            if (found := column(c, metric)) is not None:
                columns[metric] = found
                break
    return columns, used


def _style(source: Source, body: Body, found: list[Segment], brackets: bool, decimal: str) -> units.Style:
    """The number style from the mapped columns of the first records; UnknownUnit when it stays open."""
    texts: set[str] = set()
    for seg in found[:3]:
        wanted = [c for cs in candidates(_headers(seg, body, brackets)).values() for c in cs]
        sample = bytes(body.data[seg.start : min(seg.end, seg.start + (1 << 20))]).decode(body.encoding, "replace")
        if seg.separator == "," and '"' not in sample:  # no number can hold a comma
            return "us" if not decimal else ncu_long.decimal_style(source, [], ",", decimal)
        for row in csv.reader(sample.replace("\r", "").split("\n")[:200], delimiter=seg.separator):
            texts |= {row[c] for c in wanted if c < len(row)}
    return ncu_long.decimal_style(source, sorted(texts), found[0].separator, decimal)


def _piece(body: Body, seg: Segment, brackets: bool, style: units.Style, quality: list[Quality]) -> Piece | None:
    headers = _headers(seg, body, brackets)
    low = [schema.normal(n) for n, _ in headers]
    roles = {r: low.index(n) for r, accepted in ROLES.items() for n in reversed(accepted) if n in low}
    if "id" not in roles or "kernel" not in roles:
        lost = "launch number" if "kernel" in roles else "kernel name"
        raise BadCapture(
            f"{body.source.path}:{seg.header_line}: column with the {lost} missing", "export the whole table again"
        )
    texts = frame(body, seg, list(roles.values()), set(roles.values()))
    lines = record_lines(body, seg, len(texts))
    # a launch has a number; the unit row, a repeated header and stray text have none
    codes, words = ncu_long.codes(texts, roles["id"])
    keep = np.array([ncu_long.is_id(w) for w in words])[codes]
    if not len(texts) or not keep.any():
        return None
    kernels, shown = ncu_long.codes(texts, roles["kernel"])
    ids, names = np.array(words, object)[codes], np.array(shown, object)[kernels]
    ncu_long.numbered(body.source, ids, names, keep, lines, seg.headers)
    if "pid" in roles:
        at, processes = ncu_long.codes(texts, roles["pid"])
        shown_ids = {"Process ID": np.array(processes, object)[at[keep]]}
        shape.alike(body.source, shown_ids, lambda row: int(lines[keep][row]))
    wanted = candidates(headers)
    flat = sorted({c for cs in wanted.values() for c in cs})
    numbers = _numbers(body, seg, flat, style, len(texts))
    odd = Odd()
    columns, tried = choose(
        wanted, lambda c, metric: _column(numbers[c], metric, headers[c], c, style, keep, quality, odd, lines)
    )
    used = tried | set(roles.values())
    quality += odd.remarks()
    unmapped = [h for i, h in enumerate(seg.headers) if h and i not in used]
    out = {role: ncu_long.texts(texts, c)[keep] for role, c in roles.items()}
    # copied: names are mended in place, and the texts by role stay as exported
    names = out.get("kernel", np.array([f"launch {i}" for i in np.flatnonzero(keep)], dtype=object)).copy()
    blank = names == ""
    names[blank] = [f"launch {i}" for i in np.flatnonzero(blank)]
    return Piece(names, lines[keep], out, columns, unmapped)


def _numbers(body: Body, seg: Segment, wanted: list[int], style: units.Style, rows: int) -> pd.DataFrame:
    """Number columns by the fast parser; columns it cannot read as numbers stay text."""
    import pandas as pd

    skip = 1 if _has_unit_row(body, seg) else 0  # one row of units would make every column text
    start = body.data.find(b"\n", seg.start, seg.end) + 1 if skip else seg.start
    try:
        got = parsed(body, seg, start, wanted, na_values=_NA, decimal="." if style == "us" else ",")
    except (pd.errors.ParserError, ValueError, OverflowError):
        got = pd.DataFrame()
    if len(got) != rows - skip + 1:  # the two passes disagree about records, so rows would not be those of the texts
        return frame(body, seg, wanted)
    if skip:  # use the empty width row as row of units, so that rows agree with the texts
        return got
    return got.iloc[1:].reset_index(drop=True)


def _has_unit_row(body: Body, seg: Segment) -> bool:
    return seg.line == seg.header_line + 1 and bool(_unit_row(body, seg))


def _column(
    raw: pd.Series[Any],
    metric: str,
    header: tuple[str, str],
    c: int,
    style: units.Style,
    keep: Masks,
    quality: list[Quality],
    odd: Odd,
    lines: Indices,
) -> Column | None:
    """A metric's values in canonical units, or None when no kept cell holds a number or the unit does not fit."""
    import pandas as pd

    name = header[0]
    if pd.api.types.is_numeric_dtype(raw) and not pd.api.types.is_bool_dtype(raw):
        values = raw.to_numpy(dtype=np.float64, na_value=np.nan)[keep]
        for row in np.flatnonzero(np.isinf(values)).tolist():
            odd.add("not-finite", str(values[row]), name, int(lines[keep][row]))
        values = np.where(np.isfinite(values), values, np.nan)
    else:
        additive = schema.get(metric).additive
        texts = np.array(["" if t is None or t != t else str(t) for t in raw.astype(object).to_numpy()[keep]], object)
        known = {t: ncu_long.number(t, style, additive) for t in set(texts)}
        values = np.array([known[t] for t in texts])
        for t, value in known.items():
            if value != value and t.strip().lower() not in units.MISSING and ";" not in t and not ncu_long.is_extent(t):
                kind = "not-finite" if ncu_long.not_finite(t) else "not-a-number"
                same = texts == t
                odd.add(kind, t, name, int(lines[keep][int(np.argmax(same))]), int(same.sum()))
    return scaled(values, metric, header, c + 1, quality)


def scaled(values: Floats, metric: str, header: tuple[str, str], place: int, quality: list[Quality]) -> Column | None:
    """Values in the unit of their header as a column in canonical units; None without a number or a unit that fits.

    place: 1-based cell of the values in their records.
    """
    name, unit = header
    if not np.isfinite(values).any():
        return None
    try:
        factor = ncu_long.factor(unit, metric, name)
    except UnknownUnit as e:
        quality.append(Quality("unit-not-understood", f"{name} in {unit!r}: {e.message}"))
        return None
    return Column(values * factor if factor != 1.0 else values, name, place, unit, factor)


def _merge(pieces: list[Piece]) -> dict[str, Column]:
    """Columns of all tables of a file one below the other; a counter that a table lacks is missing there."""
    if len(pieces) == 1:
        return pieces[0].columns
    merged: dict[str, Column] = {}
    for metric in dict.fromkeys(m for p in pieces for m in p.columns):
        parts = [p.columns[metric].values if metric in p.columns else np.full(len(p.names), np.nan) for p in pieces]
        first = next(p.columns[metric] for p in pieces if metric in p.columns)
        merged[metric] = Column(np.concatenate(parts), first.header, first.column, first.unit, first.factor)
    return merged


def _extras(table: Table, pieces: list[Piece], headers: list[str], style: units.Style) -> None:
    """Launch shape, architecture, device and estimated speedups from the columns that are no counters."""
    low = [schema.normal(h) for h in headers]

    def texts(role: str) -> Names:
        return np.concatenate([p.texts.get(role, np.full(len(p.names), "", dtype=object)) for p in pieces])

    odd = Odd()
    for role, metric in (("block", "launch.block_size"), ("grid", "launch.grid_size")):
        values = extents.totals(extents.read(texts(role), f"{role.title()} Size", table.line, odd))
        if metric not in table.columns and np.isfinite(values).any():
            at = low.index(f"{role} size") if f"{role} size" in low else -1
            table.columns[metric] = Column(values, f"{role.title()} Size", at + 1, "(x, y, z)")
    table.quality += odd.remarks()
    # `8` or `8.00`: some exports print every number with two decimals
    whole = [f"{a.split('.')[0]}.{b.split('.')[0]}" for a, b in zip(texts("major"), texts("minor"), strict=True)]
    generation = [c or w for c, w in zip(texts("cc"), whole, strict=True)]
    ncu_long.device_of(table, list(dict.fromkeys(generation)), list(dict.fromkeys(texts("device"))))
    _speedups(table, texts("speedup").tolist(), style)


def _speedups(table: Table, words: list[str], style: units.Style) -> None:
    """The GUI's `Estimated Speedup [%]`, the only trace of rules in a wide table."""
    for row, text in enumerate(words):
        claim = ncu_long.number(text, style) if text else np.nan
        if np.isfinite(claim) and claim > 0:
            note = "largest estimated speedup of its rules"
            table.opinions.append(Opinion(row, ncu_long.TOOL, "EstimatedSpeedup", "OPT", note, claim / 100))
