"""Reading a wide table: one record per row, one metric per column. Shared by every wide dialect.

The C parser of pandas reads the mapped columns only; anything it cannot read as plain numbers comes back as text and
is converted by the file's own number style. Ragged or damaged tables fall back to the csv module, row by row.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from triage.capture import shape
from triage.capture.arrays import Floats, Indices, Masks, Names
from triage.capture.capture import Column, Quality, Table
from triage.capture.cells import cells, delimiter
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects.tables import csv_parser, first_row, number_cells, plain_table
from triage.ground import units
from triage.ground.errors import BadCapture, UnknownUnit
from triage.schema import by_alias, normal

if TYPE_CHECKING:
    import pandas as pd

MAX_HEADER_CHARS = 400  # characters of a header that is looked into; searching a hostile one takes its length squared
_STATED = re.compile(r"^(.*?)(?:\s*[\[(]([^\])]*)[\])]|,\s{1,4}([^\s,]{1,12}))\s*$")  # `Time (ms)`; Intel's `Time, ns`
_SUFFIX = re.compile(r"^(.*?)[_ ](ns|us|ms|s|pct|percent|bytes|hz|mhz|ghz|kb|mb|gb)$", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:#(?![,;\t|])|//)")  # a column may be called #
_RULE = re.compile(r"\s{0,9}\|?[ :]*-{2,}[ :]*\|[-:| ]*$")  # of a Markdown table
_Array = TypeVar("_Array", bound=NDArray[np.generic])
_Raw: TypeAlias = Floats | Names  # a column as the parser gives it: objects where a cell is no plain number


class Wide(Struct):
    """Raw columns of a wide table by 0-based position: floats in printed units where numeric was asked, text elsewhere.

    lines: 1-based line of each row; None where rows follow line by line from first_line. aligned: the table is laid out
    for people, and what a cell cites is its whole line.
    """

    headers: Sequence[str]
    numbers: dict[int, Floats]
    texts: dict[int, Names]
    lines: Indices | None
    first_line: int
    quality: list[Quality]
    aligned: bool = False

    def line(self, row: int) -> int:
        """1-based line of a row."""
        return self.first_line + row if self.lines is None else int(self.lines[row])

    def column(self, c: int, unit: str = "", factor: float = 1.0) -> Column:
        """A column of numbers with its origin, in the unit that the factor leads to."""
        values = self.numbers[c] if factor == 1.0 else self.numbers[c] * factor
        return Column(values, self.headers[c], 1 if self.aligned else c + 1, unit, factor)

    def only(self, rows: Indices) -> Wide:
        """The table of these rows alone."""
        lines = rows + self.first_line if self.lines is None else self.lines[rows]
        numbers = {c: v[rows] for c, v in self.numbers.items()}
        return replace(self, numbers=numbers, texts={c: v[rows] for c, v in self.texts.items()}, lines=lines)

    def table(self, dialect: str, source: Source, names: Names) -> Table:
        """A table of these rows, with their lines, remarks and the headers of what was not read, and no column yet."""
        table = Table(dialect, [source], names, {}, first_line=self.first_line, lines=self.lines)
        table.quality += self.quality
        table.unmapped += [h for c, h in enumerate(self.headers) if h and c not in self.numbers and c not in self.texts]
        return table


def header(source: Source) -> tuple[int, list[str]]:
    """1-based line and cells of the first line that is neither blank nor a comment; (0, []) when there is none.

    Of a Markdown table its rule, and the cells above it. Sets the source's delimiter and whether blanks follow it.
    """
    number, by, loose, headers = _header(tuple(source.head_lines[:200]))
    if number:
        source.delimiter, source.skip_space = by, loose
    return number, list(headers)


@lru_cache(8)  # every dialect asks for the header of the same file
def _header(lines: tuple[str, ...]) -> tuple[int, str, bool, tuple[str, ...]]:
    rule = next((n for n, line in enumerate(lines) if n and _RULE.match(line)), 0)
    for number, line in [(rule + 1, lines[rule - 1])] if rule else enumerate(lines, 1):
        if line.strip() and not _COMMENT.match(line):
            by = delimiter(line)
            # blanks behind delimiters, not those within a quoted header: names may be set in by blanks
            loose = by == "," and ", " in line and any(c.startswith(" ") for c in cells(line, ",", False)[1:])
            return number, by, loose, tuple(c.strip() for c in cells(line, by, loose))
    return 0, "", False, ()


def scaled(values: Floats, factor: float) -> Floats:
    """Values times a factor, in place: the caller holds the only reference, and fresh memory costs more than the work."""
    if factor == 1.0:
        return values
    return np.multiply(values, factor, out=values if values.flags.writeable else None)


def split_unit(title: str) -> tuple[str, str]:
    """`GPU Duration (ms)` -> (`GPU Duration`, `ms`); no unit -> (header, "")."""
    h = title.strip().strip('"')
    return _split_unit(h) if len(h) <= MAX_HEADER_CHARS else (h, "")


@lru_cache(8192)  # dialects ask for the same headers
def _split_unit(h: str) -> tuple[str, str]:
    if m := _STATED.match(h):
        unit = m[2] or m[3] or ""
        try:
            units.unit(unit)
        except UnknownUnit:
            return h, ""  # `Compute (SM)`: brackets that are part of the name
        return m[1].strip(), unit.strip()
    return h, ""


def split_suffix(title: str) -> tuple[str, str]:
    """`gpu_time_ms` -> (`gpu_time`, `ms`); `sm_pct` -> (`sm`, `%`)."""
    h = title.strip()
    if len(h) <= MAX_HEADER_CHARS and (m := _SUFFIX.match(h)):
        return m[1], "%" if m[2].lower() in ("pct", "percent") else m[2]
    return (h[:-1].strip(), "%") if h.endswith("%") else (h, "")


def stated_unit(title: str) -> str:
    """The unit that a header states, "" for none."""
    return split_unit(title)[1] or split_suffix(title)[1]


def number_style(source: Source, lines: Sequence[str], columns: Sequence[int], wanted: str = "") -> units.Style:
    """The number style of a wide table from its first lines; raises UnknownUnit when it stays open.

    A comma-delimited table without quoted numbers cannot hold decimal commas, so it needs no evidence.
    """
    if wanted:
        return "eu" if wanted in ("comma", "eu") else "us"
    plain_commas = source.delimiter == "," and not any(re.search(r'"[\d.,+\-eE]+"', line) for line in lines[:200])
    if plain_commas:
        return "us"
    texts = []  # of mapped columns only: a kernel's name may look like any number
    for row in csv.reader(lines[:2000], delimiter=source.delimiter, skipinitialspace=source.skip_space):
        texts += [cell for c, cell in enumerate(row) if c in columns or cell.rstrip().endswith("%")]
    return units.style(texts, f"{source.path}: ")


def read(
    source: Source,
    header_line: int,
    headers: Sequence[str],
    numeric: Sequence[int],
    text: Sequence[int],
    *,
    style: units.Style = "us",
    decimal: str | None = None,
    skip: Sequence[int] = (),
    end_line: int | None = None,
    empty: str = "nothing was recorded; capture again",
    printed: Mapping[int, str] = MappingProxyType({}),
) -> Wide:
    """Columns of a wide table by 0-based position.

    decimal: of the reading options; the number style is then taken from the first lines. header_line: 1-based. skip: lines
    that are not data (unit row, trailers). end_line: the last one of the table. printed: units of columns whose header states
    none. Raises BadCapture, with `empty` as its hint, without data rows. Cells that are no numbers become NaN with a remark.
    """
    if decimal is not None:
        style = number_style(source, source.head_lines[header_line:], numeric, decimal)
    width = len(headers)
    parser = csv_parser.Parser(
        source, header_line, width, numeric, text, style, None if end_line is None else end_line - header_line
    )
    plain = plain_table.read(source, header_line, width, numeric, text, end_line) if style == "us" else None
    if plain is not None:
        parts = [_Part(*plain)]
    else:
        also = first_row.shorter_below(source, header_line, width, numeric, text)
        try:
            parts = parser.run(lambda frame: _part(frame, numeric, text))
        except csv_parser.Error:  # ragged, cut or otherwise damaged
            shape.check(source, header_line + 1, end_line, headers, skip, also)
            return _slow(source, header_line, headers, numeric, text, style, set(skip), end_line, empty, printed)
        if not parser.square:
            shape.check(source, header_line + 1, end_line, headers, skip, also)
    # rows are lines unless quoted text breaks lines; only then every record's line must be looked for
    first = header_line + 1
    keep = ~_joined([p.blank for p in parts])
    lines = _starts(source, header_line, len(keep), end_line) if parser.quoted else None
    if lines is None:
        keep[[line - first for line in skip if 0 <= line - first < len(keep)]] = False
    else:
        keep &= ~np.isin(lines, list(skip)) & (lines <= (end_line or np.inf))
    if not keep.any():
        raise BadCapture(f"{source.path}: header without rows", empty)
    rows = None if keep.all() else np.flatnonzero(keep)
    if rows is not None:
        lines = (np.arange(first, first + len(keep)) if lines is None else lines)[rows]

    def column(c: int) -> _Raw:
        whole = _joined([p.cells.pop(c) for p in parts])  # popped: a part's memory is free once it is joined
        return whole if rows is None else whole[rows]

    wanted = list(dict.fromkeys((*numeric, *text)))
    columns = dict(zip(wanted, csv_parser.beside(column, wanted, len(keep)), strict=True))
    odd = Odd()
    numbers = _numbers({c: columns[c] for c in numeric}, headers, style, lines, first, odd, printed)
    headers_again(source, odd, headers, len(keep))
    return Wide(headers, numbers, cast("dict[int, Names]", {c: columns[c] for c in text}), lines, first, odd.remarks())


def headers_again(source: Source, odd: Odd, headers: Sequence[str], rows: int) -> None:
    """Raise Misfit for lines that are the header once more: several exports in one file. Nothing where none is.

    Raises BadCapture where it is another header: the figures below it stand under other names or units.
    """
    again: dict[int, str] = {}
    own = [h.strip() for h in headers]
    for line, found in source.records(sorted(odd.headers)).items():
        other = [c.strip().removeprefix("\ufeff") for c in found]
        if other == own:
            again[line] = "the header once more"
        elif sum(map(_alike, other, own)) > len(own) / 2:
            text, here = next(((a, b) for a, b in zip(other, own, strict=False) if a != b), ("", ""))
            raise BadCapture(
                f"{source.path}:{line}: second header ({text[:60]!r} instead of {here[:60]!r})",
                "split the file there, and name both parts",
            )
    if again:
        raise shape.Misfit(source.path, again, rows)


def _alike(a: str, b: str) -> bool:
    return normal(split_suffix(split_unit(a)[0])[0]) == normal(split_suffix(split_unit(b)[0])[0])


def _numbers(
    raw: Mapping[int, _Raw],
    headers: Sequence[str],
    style: units.Style,
    lines: Indices | None,
    first: int,
    odd: Odd,
    printed: Mapping[int, str],
) -> dict[int, Floats]:
    """Columns as numbers in the units of their headers; what was odd about their cells is noted."""

    def line(row: int) -> int:
        return first + row if lines is None else int(lines[row])

    out = {}
    grouped = number_cells.groups(raw.values(), style)
    for c, values in raw.items():
        title = headers[c] if c < len(headers) else ""
        unit = stated_unit(title) or printed.get(c, "")
        whole = grouped or by_alias().get(normal(title)) == "frame.calls"  # which have no fractions
        out[c] = number_cells.floats(values, style, title, unit, line, odd, whole)
    return out


def _starts(source: Source, skip: int, records: int, end: int | None) -> Indices | None:
    """Lines on which the records below `skip` lines start; None when each is one line.

    records: how many the parser found. Only quoted line breaks make them fewer than the lines.
    """
    if source.delimiter == "\t":  # read without quoting
        return None
    last = 0
    for number, _, ends in source.blocks():
        last = number + len(ends) - 1
    if min(last, end or last) - skip <= records:
        return None
    body = (line + "\n" for line in itertools.islice(source.lines(), skip, None))
    found: list[int] = []
    with contextlib.suppress(BadCapture):
        found.extend(line for line, _ in itertools.islice(_records(source, skip, body), records))
    return np.array(found) if len(found) == records else None


def _records(source: Source, skip: int, body: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """(line on which it starts, cells) of every record below `skip` lines; raises BadCapture where the csv module gives up."""
    reader = csv.reader(
        body,
        delimiter=source.delimiter,
        skipinitialspace=source.skip_space,
        quoting=csv.QUOTE_NONE if source.delimiter == "\t" else csv.QUOTE_MINIMAL,
    )
    before = 0
    try:
        for row in reader:
            yield skip + before + 1, row
            before = reader.line_num
    except csv.Error as e:
        raise BadCapture(f"{source.path}:{skip + before + 1}: damaged table ({e})", "export again") from e


class _Part(Struct):
    """Some rows of a table. cells: per column, floats, or objects where cells are no plain numbers; blank: rows without any."""

    cells: dict[int, _Raw]
    blank: Masks


def _part(frame: pd.DataFrame, numeric: Sequence[int], text: Sequence[int]) -> _Part:
    if any(isinstance(i, tuple) for i in frame.index[:1]):
        raise IndexError("more cells than headers: pandas made an index of them")
    columns: dict[int, _Raw] = {}
    blank = np.ones(len(frame), dtype=bool)
    for c in dict.fromkeys((*text, *numeric)):
        columns[c] = _cells(frame[c])
        if blank.any():
            blank &= frame[c].isna().to_numpy()
        if c in text and (missing := frame[c].isna().to_numpy()).any():
            columns[c] = np.where(missing, "", columns[c])
    return _Part(columns, blank)


def _cells(column: pd.Series[Any]) -> _Raw:
    """A column as float64 where the parser read numbers, infinities among them; else as objects."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column):  # `true` is no 1
        return np.where(column.to_numpy(bool), "true", "false").astype(object)
    if not pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(object)
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _joined(parts: Sequence[_Array]) -> _Array:
    return parts[0] if len(parts) == 1 else cast(_Array, np.concatenate(parts))


def _slow(
    source: Source,
    header_line: int,
    headers: Sequence[str],
    numeric: Sequence[int],
    text: Sequence[int],
    style: units.Style,
    skip: set[int],
    end: int | None,
    empty: str,
    printed: Mapping[int, str],
) -> Wide:
    """The same with the csv module, for records that the fast parser does not read: short ones, quotes in a cell."""
    body = source.text()
    below = io.StringIO("".join(body.split("\n", header_line)[header_line:]))
    rows: list[list[str]] = []
    lines: list[int] = []
    for start, row in _records(source, header_line, below):
        if start in skip or (end is not None and start > end) or not any(c.strip() for c in row):
            continue
        rows.append(row)
        lines.append(start)
    if not rows:
        raise BadCapture(f"{source.path}: header without rows", empty)
    at = np.array(lines)

    def column(c: int) -> Names:
        return np.array([row[c] if c < len(row) else "" for row in rows], dtype=object)

    odd = Odd()
    numbers = _numbers({c: column(c) for c in numeric}, headers, style, at, header_line + 1, odd, printed)
    headers_again(source, odd, headers, len(rows))
    return Wide(headers, numbers, {c: column(c) for c in text}, at, header_line + 1, odd.remarks())


def find(headers: Sequence[str], *wanted: str) -> int:
    """Position of the first header that equals one of `wanted`, ignoring case, spaces and underscores; -1 if none."""
    table = _places(tuple(headers))
    return next((table[normal(w)] for w in wanted if normal(w) in table), -1)


def positions(headers: Sequence[str], names: Iterable[str]) -> dict[str, int]:
    """name -> 0-based position, for the headers of these names that are present."""
    return {name: c for name in names if (c := find(headers, name)) >= 0}


@lru_cache(maxsize=4)  # a file's headers are looked through by every reader, for every name that it may give them
def _places(headers: tuple[str, ...]) -> dict[str, int]:
    return {normal(h): i for i, h in reversed(list(enumerate(headers)))}


def roles(headers: Sequence[str], table: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """role -> 0-based position, for the roles of `table` (role -> accepted headers, best first) that are present."""
    return {role: c for role, names in table.items() if (c := find(headers, *names)) >= 0}
