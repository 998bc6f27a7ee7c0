"""Blocks of Intel PTI text: where headers and rows are, and their numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from msgspec import Struct, field

from triage.capture import shape
from triage.capture.arrays import Floats, Indices, Names
from triage.capture.capture import Quality
from triage.capture.cells import DELIMITERS
from triage.capture.cut_rows import GOES_ON, goes_on_in
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects.tables import number_cells
from triage.ground.errors import BadCapture
from triage.ground.phrasing import plural

_SECTION = re.compile(r"\s*={2,}\s*(.*?)\s*={2,}\s*\Z")
_UNIT = re.compile(r"(.*?)\s*[\[(]([^\])]*)[\])]\s*\Z")
MAX_KEY_CHARS = 4_000  # characters in which an unquoted key must end; searching a longer, hostile row takes its square
_UNQUOTED = re.compile(r'\s*([^",]*,[^"]*?\[SIMD\d*[^\]]*\])\s*,')  # an unquoted kernel key with commas in it
# a header begins with one of these, and holds one of _TIMES
_FIRST_COLUMNS = ("Kernel", "SubDeviceId", "Function", "GlobalInstanceId")
_TIMES = {"GpuTime", "KernelTime", "Time", "GPU_TIME", "Calls"}
SPILLS = "Spill Memory Per Thread"  # in the header of the table of compiled kernels, which holds no times
_SAMPLED = ("ReportReason", "StreamMarker")  # columns of reports that a timer, not a kernel, ended


def split(header: str) -> tuple[str, str]:
    """`GpuTime[ns]` -> (`GpuTime`, `ns`)."""
    m = _UNIT.fullmatch(header.strip()[:400])  # searching a longer, hostile one takes its length squared
    return (m[1], m[2].strip()) if m else (header.strip(), "")


def cut(line: str) -> list[str]:
    """One line as cells; blanks around cells do not count."""
    return [c.strip() for c in next(csv.reader([line], skipinitialspace=True), [])]


def first(titles: list[str]) -> str:
    """The first header by its bare name."""
    return split(titles[0])[0] if titles else ""


def at(titles: list[str], name: str) -> int:
    """Position of a header by its bare name, -1 when it is not there."""
    return next((i for i, h in enumerate(titles) if split(h)[0] == name), -1)


def headers(lines: Iterable[str]) -> Iterator[tuple[int, str, list[str]]]:
    """(line, section, cells) of every header line."""
    section = ""
    for number, line in enumerate(lines, 1):
        if m := _SECTION.fullmatch(line[:400]):
            section = m[1]
        elif is_header(line):
            yield number, section, cut(line)


def is_header(line: str) -> bool:
    """True if the line names a kernel (or device) column and a time."""
    start = line.lstrip().lstrip('"')
    if not start.startswith(_FIRST_COLUMNS) or "," not in line:
        return False
    bare = {split(c)[0] for c in cut(line)}
    return bool(bare & _TIMES) and bool(bare & set(_FIRST_COLUMNS))


class Block(Struct):
    """A header and its rows as text, with their 1-based lines. closed: what follows belongs to the next."""

    section: str
    headers: list[str]
    line: int
    lines: list[int] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    closed: bool = False


def blocks(source: Source, header: Callable[[str], bool] = is_header) -> list[Block]:
    """Every header with the rows below it, up to the next section or header; lines that are no rows are passed over.

    Raises BadCapture when there is no header, and for one that is divided unlike the others, Misfit for rows in pieces.
    """
    out: list[Block] = []
    section = ""
    bad: dict[int, str] = {}
    for number, line in enumerate(source.lines(), 1):
        if not line.strip():
            continue
        if m := _SECTION.fullmatch(line[:400]):
            section = m[1]
            if out:
                out[-1].closed = True
            continue
        if by := _other_delimiter(line, header):
            raise BadCapture(f"{source.path}:{number}: header delimited by {by!r}, unlike its rows", "export again")
        if header(line) or (SPILLS in line and line.lstrip().startswith(_FIRST_COLUMNS)):
            out.append(Block(section, cut(line), number))
            continue
        if not out or out[-1].closed:
            continue
        block = out[-1]
        if _is_row(line, len(block.headers)):
            block.lines.append(number)
            block.rows.append(line)
        elif block.lines[-1:] == [number - 1] and _goes_on(block, line):
            bad[number - 1] = GOES_ON
        elif line[0] == '"' or "[SIMD" in line[:MAX_KEY_CHARS]:  # what an application prints starts otherwise
            block.lines.append(number)
            bad[number] = f"{plural(len(cut(line)), 'cell')}, header has {len(block.headers)}"
    if bad:
        raise shape.Misfit(source.path, bad, sum(len(b.lines) for b in out))
    if not out:
        raise BadCapture(f"{source.path}: no metric table", "profile again")
    return out


def _goes_on(block: Block, line: str) -> bool:
    """True if a line is the rest of the row above it, which seems whole."""
    width = len(block.headers)
    return goes_on_in(block.rows[-1], cut(block.rows[-1]), cut(line), lambda row: len(row) == width)


def _other_delimiter(line: str, header: Callable[[str], bool]) -> str:
    """What divides a line that would be a header with commas in its place, "" for any other line."""
    if "," in line or not line.lstrip(' "').startswith(_FIRST_COLUMNS):
        return ""
    return next((by for by in DELIMITERS if by in line and header(line.replace(by, ","))), "")


def _is_row(line: str, width: int) -> bool:
    """Half of the cells or more, and a number among them."""
    # the application may print between the rows; a row may be in pieces, which `load` says of the larger one
    return has_cells(line, width) and any(c.isdigit() for c in line.rpartition(",")[0].rpartition(",")[2] + line[-12:])


def has_cells(line: str, width: int) -> bool:
    """True if a line has so many cells that it is a row or part of one, not text of the application."""
    # a row that a spreadsheet wrote has another separator
    return max(map(line.count, DELIMITERS)) + 1 >= max(2, (width + 1) // 2)


class Data(Struct):
    """Kernel keys, numbers by 0-based column in printed units, 1-based line and block (its header's line) of every row.

    sampled: a row is a time sample of a kernel, not a kernel.
    """

    names: list[str]
    numbers: dict[int, Floats]
    lines: Indices
    block: Floats
    sampled: bool
    quality: list[Quality]


def load(source: Source, group: list[Block], name_at: int, numeric: list[int]) -> Data:
    """The rows of blocks that share one header; raises BadCapture for a table that cannot be cut into cells.

    Unquoted kernel names with commas are put together again.
    """
    import pandas as pd

    width = len(group[0].headers)
    ends = not group[0].headers[-1]  # the header has a trailing comma
    # the C parser needs records of one width
    lines = np.array([n for b in group for n in b.lines])
    text, bad = [], {}
    for line, row in zip(lines.tolist(), (row for b in group for row in b.rows), strict=True):
        text.append(_fit(row, width, name_at, ends))
        if not text[-1]:
            bad[line] = f"{plural(row.count(',') + 1, 'cell')}, header has {width}"
    if 2 * len(bad) > len(lines):
        line, why = next(iter(bad.items()))
        raise BadCapture(f"{source.path}:{line}: {why}; most rows are like this", "export again")
    if bad:
        raise shape.Misfit(source.path, bad, len(lines))
    block = np.concatenate([np.full(len(b.rows), b.line, dtype=np.float64) for b in group])
    try:
        frame = pd.read_csv(
            io.StringIO("\n".join(text)),
            header=None,
            names=list(range(width)),
            usecols=sorted({name_at, *numeric}),
            index_col=False,
            dtype=dict.fromkeys(range(width), object),
            skipinitialspace=True,
            keep_default_na=False,
            skip_blank_lines=False,
            engine="c",
        )
    except (pd.errors.ParserError, ValueError, csv.Error) as e:
        raise BadCapture(f"{source.path}:{int(lines[0])}: damaged table ({str(e)[:80]})", "export again") from e
    odd = Odd()
    numbers = {c: _floats(frame[c].astype(str).to_numpy(object), group[0].headers[c], lines, odd) for c in numeric}
    names = [str(n).strip() for n in frame[name_at]]
    instance = at(group[0].headers, "GlobalInstanceId")
    if instance in numbers:  # a row with another number is another kernel's
        stamps = {"GlobalInstanceId": frame[instance].astype(str).to_numpy(object)}
        shape.alike(source, stamps, lambda row: int(lines[row]))
    bare = {split(h)[0] for h in group[0].headers}
    # summed up by the tool, though the columns are those of samples
    aggregated = "aggregat" in group[0].section.lower()
    return Data(names, numbers, lines, block, bool(bare & set(_SAMPLED)) and not aggregated, odd.remarks())


def _fit(row: str, width: int, name_at: int, ends: bool) -> str:
    """A row that the csv rules cut into the header's width, "" where it has no such cells."""
    if row.count('"') % 2:
        return ""
    if (
        "[SIMD" in row[:MAX_KEY_CHARS]
        and (m := _UNQUOTED.match(row[:MAX_KEY_CHARS]))
        and shape.bracketed(m[1].split(","))
    ):
        row = f'"{m[1].strip()}"{row[m.end(1) :]}'
    elif row.count(",") == width - 1 and '"' not in row:
        return row
    return row if len(cut(row)) == width else _mend(row, width, name_at, ends)


def _mend(row: str, width: int, name_at: int, ends: bool = False) -> str:
    """A row whose kernel name holds commas, or that differs from the header in a last comma, in the header's width.

    "" where neither is so.
    """
    cells = cut(row)
    if len(cells) == width - 1 and ends and cells[-1]:
        cells.append("")
    if len(cells) == width + 1 and not cells[-1] and not ends:
        cells.pop()
    extra = len(cells) - width
    if extra > 0 and '"' not in row and shape.bracketed(cells[name_at : name_at + extra + 1]):
        cells[name_at : name_at + extra + 1] = [", ".join(cells[name_at : name_at + extra + 1])]
    if len(cells) != width:
        return ""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()


def _floats(cells: Names, header: str, lines: Indices, odd: Odd) -> Floats:
    """Numbers of a column of text, NaN for other cells."""
    try:
        values = np.asarray(cells, dtype=np.float64)
        if np.isfinite(values).all() and not any("_" in c for c in cells):  # 1_000 is a number for Python only
            return values
    except ValueError:
        pass
    return number_cells.floats(cells, "us", header, split(header)[1], lambda row: int(lines[row]), odd)
