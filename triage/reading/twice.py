"""What stands twice in an export: the whole file, its rows, its columns, and a row that is the sum of the others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import SEP, Quality, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.ground.errors import BadCapture

TIMES = (2, 3, 4)  # a file that is so many times the same bytes was appended to itself
HEADERS = 500  # lines of a file in which the header of its table is looked for
LEAST = 64  # bytes of one of them
SMALL = 8 << 20  # bytes of a file whose text is looked at; larger ones are judged by their rows
BEFORE = 64  # lines like the last one behind which a repetition may begin
NUMBERS = 6  # different numbers, 0 and 1 aside, that a repetition must hold before it can be no chance
DISTINCT = 4  # figures that rows and their repetition must hold before they can be no chance
CLOSE = 0.02  # what rounding may take from a sum
_WORD = re.compile(r"[A-Za-z]{2}")
_TOTAL = re.compile(r"(?:(?:grand|sub|frame|gpu)[ _-]?)?(?:total|sum|average|avg|mean|overall)s?(?:[ _-](?:time|frame|gpu))?|whole frame", re.IGNORECASE)  # fmt: skip

_NUMBER = re.compile(rb"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


def refuse(files: Iterable[Source]) -> None:
    """Raise BadCapture for a file that holds the same bytes several times over, one after the other."""
    for file in files:
        if file.is_folder or file.path == "-" or not Path(file.path).is_file():
            continue
        for times in TIMES:
            if _repeats(Path(file.path), times):
                raise BadCapture(
                    f"{file.path}: the file holds the same export {times} times, one behind the other",
                    "it was appended to itself; export again",
                )


def _repeats(path: Path, times: int) -> bool:
    size = path.stat().st_size
    part = size // times
    if size % times or part < LEAST:
        return False
    with path.open("rb") as f:
        first = f.read(min(part, 4096))
        for i in range(1, times):
            f.seek(i * part)
            if f.read(len(first)) != first:
                return False
        f.seek(0)
        whole = f.read(part)
        return all(f.read(part) == whole for _ in range(1, times))


def remarks(table: Table) -> list[Quality]:
    """A remark where every row of a table stands several times, or its file ends with lines it has just held."""
    return (_rows(table) or _ends([f for f in table.files if not f.is_folder])) + columns(table)


def columns(table: Table) -> list[Quality]:
    """A remark for each file with a header that was used and stands there once more, over other values."""
    if any(q.check == "columns-disagree" for q in table.quality):  # by the dialect
        return []
    used: dict[int, dict[int, str]] = {}
    for c in (*table.columns.values(), *table.raw.values()):
        if c.column and c.header.strip():
            used.setdefault(c.file, {})[c.column - 1] = c.header.strip()
    found = []
    for file, headers in used.items():
        source = table.files[file]
        if not source.is_folder and source.record == "line" and b"\0" not in source.head:
            found += _columns(source, headers)
    return found


def _above_values(source: Source, columns: Iterable[int]) -> tuple[int, dict[int, str]]:
    """(line, header by 0-based column) of a long table, where a metric's name is no header: the first line with words there."""
    for n, line in enumerate(source.head_lines[:HEADERS]):
        row = cells(line, source.delimiter, source.skip_space)
        if found := {at: row[at].strip() for at in columns if at < len(row) and _WORD.search(row[at])}:
            return n, found
    return -1, {}


def _columns(source: Source, headers: dict[int, str]) -> list[Quality]:
    """headers: by 0-based column. Looked for in the head of the file; of a large one the rows there are enough."""

    def agrees(row: list[str]) -> int:
        return sum(at < len(row) and row[at].strip() == h for at, h in headers.items())

    rows = source.head_lines
    near = [n for n, line in enumerate(rows[:HEADERS]) if any(h in line for h in headers.values())]
    cut = {n: cells(rows[n], source.delimiter, source.skip_space) for n in near}
    top = max(near, key=lambda n: agrees(cut[n]), default=-1)
    if top < 0 or not agrees(cut[top]):
        top, headers = _above_values(source, headers)
        if top < 0:
            return []
        cut = {top: cells(rows[top], source.delimiter, source.skip_space)}
    names = [h.strip() for h in cut[top]]
    again = {
        j: at
        for at in headers
        if at < len(names) and names[at]
        for j, h in enumerate(names)
        if j != at and h == names[at]
    }
    # of some tools every name stands once for each frame
    if not again or len(set(again.values())) == agrees(cut[top]) > 1:
        return []
    for number, line in enumerate(rows[top + 1 :], top + 2):
        row = cells(line, source.delimiter, source.skip_space)
        for j, at in again.items():
            # what is left empty says nothing
            if len(row) == len(names) and row[at].strip() != row[j].strip() and row[at].strip() and row[j].strip():
                said = (
                    f"{names[at][:60]!r} stands twice in line {top + 1} of {source.name}, and differs below (first: {row[at].strip()[:20]!r} "
                    f"and {row[j].strip()[:20]!r}, line {number}): column {at + 1} was used"
                )
                return [Quality("columns-disagree", said)]
    return []


def _ends(files: Iterable[Source]) -> list[Quality]:
    """A remark for a text file whose end repeats the lines before it, where these and it make up half of the file.

    Not every line becomes a row, and of a row not every cell becomes a figure: this looks at the text itself.
    """
    for file in files:
        if file.plain_path and LEAST <= file.size <= SMALL and b"\0" not in file.head:
            lines = Path(file.plain_path).read_bytes().rstrip(b"\r\n").split(b"\n")
            if size := _again([line.rstrip(b"\r") for line in lines]):
                said = (
                    f"from line {len(lines) - size + 1} to its end {file.name} repeats the lines before: if the export was "
                    "appended to itself, its figures count double"
                )
                return [Quality("repeated-rows", said, doubt=True)]
    return []


def _again(lines: list[bytes]) -> int:
    """How many lines at the end stand right before themselves as well, at least half of all together; 0 for none."""
    alike = [i for i, line in enumerate(lines[:-1]) if line == lines[-1]]
    for i in reversed(alike[-BEFORE:]):
        size = len(lines) - 1 - i
        if 4 * size >= len(lines) and lines[-size:] == lines[-2 * size : -size] and _many(lines[-size:]):
            return size
    return 0


def _many(lines: Iterable[bytes]) -> bool:
    found: set[bytes] = set()
    for line in lines:
        found.update(_NUMBER.findall(line))
        if len(found - {b"0", b"1"}) >= NUMBERS:
            return True
    return False


def _rows(table: Table) -> list[Quality]:
    """A remark where every row of a table stands several times, figure for figure."""
    # what a reader makes of several rows may differ where the rows do not
    columns = [c.values for c in (*table.columns.values(), *table.raw.values()) if c.column]
    if table.trace is not None:
        columns.append(table.trace.operations.start[: len(table)].astype(np.float64))
    if len(table) < 2 or not _enough(columns):
        return []
    like = np.arange(1, len(table))  # rows that are the first once more
    for values in columns:
        first, others = values[0], values[like] if len(like) < len(table) - 1 else values[1:]
        like = like[others == first if first == first else others != others]
        if not len(like):
            return []
    if not any(table.names[i] == table.names[0] for i in like.tolist()):
        return []
    import pandas as pd

    whole = pd.DataFrame({-1: table.names, **dict(enumerate(columns))})
    if not whole.duplicated(keep=False).all():
        return []
    again = int(np.argmax(whole.duplicated().to_numpy()))
    said = (
        f"every row stands more than once, figure for figure (first again on line {table.line(again)}): if the export was "
        "appended to itself, its times count double"
    )
    return [Quality("repeated-rows", said, doubt=True)]


def _enough(columns: Iterable[Floats]) -> bool:
    """Do they hold so many figures that rows which are alike in all of them are no chance?"""
    found: set[float] = set()
    for values in columns:
        found.update(f for f in values[:100].tolist() if f == f and f not in (0, 1))
        if len(found) >= DISTINCT:
            return True
    return False


def _outermost(table: Table) -> Masks:
    """Rows that stand under no other: what lies under one is in its time already."""
    if table.paths is None:
        return np.ones(len(table), dtype=bool)
    rows = {SEP.join((str(p), str(n))) if p else str(n) for p, n in zip(table.paths, table.names, strict=True)}
    return np.array([str(p) not in rows for p in table.paths])


def totals(table: Table) -> dict[int, str]:
    """Line -> name of rows that are no workload, but the sum or the mean of all others, by name and by figure."""
    column = table.columns.get("gpu.time")
    if column is None or len(table) < 3 or table.trace is not None:
        return {}
    ends = {*range(3), *range(len(table) - 3, len(table))}  # where such rows stand
    named = [i for i in sorted(ends) if _TOTAL.fullmatch(str(table.names[i]).strip())]
    flat = table.paths is None or not any(table.paths[i] for i in named)
    others = _outermost(table)
    others[named] = False
    rest = column.values[others]
    rest = rest[np.isfinite(rest)]
    if not named or not flat or len(rest) < 2:
        return {}
    return {
        table.line(i): str(table.names[i]).strip()
        for i in named
        if any(abs(column.values[i] - f) <= CLOSE * f for f in (float(rest.sum()), float(rest.mean())))
    }
