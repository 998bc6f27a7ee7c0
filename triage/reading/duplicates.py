"""What stands twice in an export: the whole file, its rows, its columns, and a row that is the sum of the others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from triage.capture.arrays import Floats, Masks, numbered
from triage.capture.capture import SEP, Quality, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.ground.errors import BadCapture
from triage.reading.text_blocks import is_text

TIMES = (2, 3, 4)  # a file that is so many times the same bytes was appended to itself
HEADERS = 500  # lines of a file in which the header of its table is looked for
MIN_DUPLICATE_BYTES = 64  # bytes of one of them
MAX_TEXT_COMPARE_BYTES = 8 << 20  # bytes of a file whose text is looked at; larger ones are judged by their rows
BEFORE = 64  # lines like the last one behind which a repetition may begin
NUMBERS = 6  # different numbers, 0 and 1 aside, that a repetition must hold before it can be no chance
DISTINCT = 4  # figures that rows and their repetition must hold before they can be no chance
MAX_ROUNDING = 0.02  # what rounding may take from a sum
MIN_NAMES = 3  # of a header that is known by nothing else
_APPENDED = "the export was appended to itself"
_FIGURE = re.compile(r"[+-]?[\d.,]*\d%?")
# as spreadsheet programs write them: German, French, Spanish and Portuguese, Italian, Dutch, Polish, Russian, Swedish, Chinese, Japanese, Korean
TOTAL = re.compile(
    r"(?:(?:grand|sub|frame|gpu)[ _-]?)?(?:total|sum|average|avg|mean|overall)s?(?:[ _-](?:time|frame|gpu))?|whole frame"
    r"|(?:gesamt|zwischen)?(?:ergebnis|summe)|gesamt|insgesamt|mittelwert|durchschnitt|(?:sous-)?total(?: g[eé]n[eé]ral)?|somme|moyenne|suma(?: total)?|promedio|m[eé]dia"
    r"|(?:total|soma) geral|soma|totale(?: complessivo)?|somma|totaal|gemiddelde|suma końcowa|razem|średnia|(?:общий )?итог[о]?|всего|сумма|среднее|totalsumma|summa"
    r"|总计|總計|合计|合計|总和|小计|平均(?:值)?|総計|小計|총합계|합계|평균",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


def refuse(files: Iterable[Source]) -> None:
    """Raise BadCapture for a file that holds the same bytes several times over, one after the other."""
    for file in files:
        if file.is_folder or file.path == "-" or not Path(file.path).is_file():
            continue
        for times in TIMES:
            if not file.size % times and _repeats(Path(file.path), times):
                raise BadCapture(
                    f"{file.path}: the same export {times} times in a row", "delete the copies, or export again"
                )


def _repeats(path: Path, times: int) -> bool:
    size = path.stat().st_size
    part = size // times
    if size % times or part < MIN_DUPLICATE_BYTES:
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
    return (_rows(table) or _ends(table.files) or _pairs(table)) + columns(table)


def columns(table: Table) -> list[Quality]:
    """A remark for each text file of a table whose header has a name twice, over other values.

    Also where no figure stands below it: a column of ids or names decides which rows there are.
    """
    if any(q.check == "columns-disagree" for q in table.quality):  # by the dialect
        return []
    used: dict[int, dict[int, str]] = {}
    for c in (*table.columns.values(), *table.raw.values()):
        if c.column and c.header.strip():
            used.setdefault(c.file, {})[c.column - 1] = c.header.strip()
    first = table.first_line if table.lines is None else int(table.lines.min()) if len(table.lines) else 0
    texts = [(n, file) for n, file in enumerate(table.files) if is_text(file)]
    return [q for n, file in texts for q in _columns(file, 0 if n else first, used.get(n, {}))]


def _near(source: Source, first: int) -> Iterator[tuple[int, list[str]]]:
    """(how many lines stand above them, lines) in which a header may stand, and rows below it.

    The lines around the first row, where much text stands before it; the head of the file, for of a large one the rows there are enough.
    """
    if first > HEADERS:
        above = first - 1 - HEADERS // 2
        near = itertools.takewhile(lambda at: at[0] <= above + HEADERS, source.numbered(above + 1))
        yield above, [text for number, text in near if number > above]
    yield 0, source.head_lines


def _names_twice(source: Source, above: Sequence[str]) -> int:
    """The first of some lines that may be a header with a name twice, -1 for none: of a table whose figures stand under no name of theirs."""
    for n, line in enumerate(above):
        names = [c.strip() for c in cells(line, source.delimiter, source.skip_space) if c.strip()]
        if MIN_NAMES <= len(names) != len(set(names)) and not any(_FIGURE.fullmatch(c[:60]) for c in names):
            return n
    return -1


def _top(source: Source, rows: Sequence[str], before: int, headers: dict[int, str]) -> int:
    """Which of some lines is the header with most of these, -1 for none. before: the table's first row, where it is known."""

    def agrees(row: list[str]) -> int:
        return sum(at < len(row) and row[at].strip() == h for at, h in headers.items())

    often: dict[int, int] = {}
    for n, line in enumerate(rows[:HEADERS]):
        if any(h in line for h in headers.values()):
            often[n] = agrees(cells(line, source.delimiter, source.skip_space))
            if often[n] == len(headers):
                break
    top = max(often, key=often.__getitem__, default=-1)
    if top >= 0 and often[top]:
        return top
    # of a log, any line may hold a word twice
    return -1 if source.find is not None else _names_twice(source, rows[: min(before, HEADERS)])


def _columns(source: Source, first: int, headers: dict[int, str]) -> list[Quality]:
    """first: line of the table's first row, 0 where unknown; headers: those in use, by 0-based column."""
    for above, rows in _near(source, first):
        if (top := _top(source, rows, first - above - 1 if first else HEADERS, headers)) >= 0:
            return _differ(source, above, rows, top, headers)
    return []


def _differ(source: Source, above: int, rows: Sequence[str], top: int, used: Collection[int]) -> list[Quality]:
    """The remark where a name stands twice in the line at `top` of some rows, and values below them differ."""
    names = [h.strip() for h in cells(rows[top], source.delimiter, source.skip_space)]
    again = _again_in(names, used)
    for number, line in enumerate(rows[top + 1 :] if again else (), above + top + 2):
        row = [c.strip() for c in cells(line, source.delimiter, source.skip_space)]
        for j, at in again.items():
            # what is left empty says nothing
            if max(j, at) < len(row) <= len(names) + 1 and row[at] != row[j] and row[at] and row[j]:
                twice = f"{names[at][:60]!r} occurs twice in line {above + top + 1} of {source.name}"
                values = f"with different values (first: {row[at][:20]!r} and {row[j][:20]!r}, line {number})"
                which = f"column {at + 1} was used" if at in used else "which one is right is unknown"
                return [Quality("columns-disagree", f"{twice}, {values}: {which}")]
    return []


def _again_in(names: Sequence[str], used: Collection[int]) -> dict[int, int]:
    """Column -> the one before it, or in use, with its name; none where every name stands once for each frame."""
    where: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        if name:
            where.setdefault(name, []).append(j)
    often = [len(places) for places in where.values() if len(places) > 1]
    # but the one column with what was measured, all stand there equally often
    if len(often) > 1 and len(set(often)) == 1 and len(where) - len(often) <= 1:
        return {}
    again: dict[int, int] = {}
    for places in where.values():
        at = next((j for j in places if j in used), places[0])
        again |= {j: at for j in places if j != at}
    return again


def _ends(files: Iterable[Source]) -> list[Quality]:
    """A remark for a text file whose end repeats the lines before it, where these and it make up half of the file.

    Not every line becomes a row, and of a row not every cell becomes a figure: this looks at the text itself.
    """
    for file in files:
        if is_text(file) and file.plain_path and MIN_DUPLICATE_BYTES <= file.size <= MAX_TEXT_COMPARE_BYTES:
            lines = file.text().rstrip("\n").split("\n")
            if size := _again(lines):
                repeats = f"{file.name} repeats earlier lines from line {len(lines) - size + 1} to its end"
                message = f"{repeats}: figures count double if {_APPENDED}"
                return [Quality("repeated-rows", message, doubt=True)]
    return []


def _again(lines: list[str]) -> int:
    """How many lines at the end stand right before themselves as well, at least half of all together; 0 for none."""
    alike = [i for i, line in enumerate(lines[:-1]) if line == lines[-1]]
    for i in reversed(alike[-BEFORE:]):
        size = len(lines) - 1 - i
        if 4 * size >= len(lines) and lines[-size:] == lines[-2 * size : -size] and _many(lines[-size:]):
            return size
    return 0


def _many(lines: Iterable[str]) -> bool:
    found: set[str] = set()
    for line in lines:
        found.update(_NUMBER.findall(line))
        if len(found - {"0", "1"}) >= NUMBERS:
            return True
    return False


def _rows(table: Table) -> list[Quality]:
    """A remark where every row of a table stands several times, figure for figure, or under different names holds one row's figures."""
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
    again = [int(i) for i in like if table.names[i] == table.names[0]]
    if not again:
        text = f"all {len(table)} rows hold the same figures: they may be of the whole capture, not of each row"
        return [Quality("equal-rows", text, doubt=True)] if len(like) == len(table) - 1 else []
    rows = np.zeros(len(table), dtype=np.int64)  # number of each row by first appearance
    for column in (table.names, *columns):
        codes = numbered(column)[0] + 1
        rows = numbered(rows * (codes.max() + 1) + codes)[0]
    if (np.bincount(rows) == 1).any() or _launches_differ(table, again):
        return []
    first = int(np.argmax(np.diff(np.maximum.accumulate(rows), prepend=-1) == 0))
    repeated = f"every row occurs more than once (first repeat on line {table.line(first)})"
    text = f"{repeated}: times count double if {_APPENDED}"
    return [Quality("repeated-rows", text, doubt=True)]


def _launches_differ(table: Table, again: Sequence[int]) -> bool:
    """Has the first row of a text file cells, as the number of its launch, that none of some rows with its figures repeats?"""
    file = table.files[0]
    if not is_text(file) or file.find is not None:
        return False
    first, *others = (table.line(i) for i in (0, *again))
    found = file.records((first, *others))
    return first in found and all(found.get(line) != found[first] for line in others)


def _pairs(table: Table) -> list[Quality]:
    """A remark where a few rows stand twice, one below the other, alike in every figure of a good many."""
    columns = [c.values for c in (*table.columns.values(), *table.raw.values()) if c.column]
    if len(table) < 2 or table.trace is not None or not columns:
        return []
    like = np.arange(len(table) - 1)[table.names[1:] == table.names[:-1]]
    figures = np.zeros(len(like), dtype=np.int64)
    for values in columns:
        if not len(like):
            return []
        a, b = values[like], values[like + 1]
        keep = (a == b) | ((a != a) & (b != b))
        # a figure of few digits may well be measured twice
        figures = (figures + (np.isfinite(a) & (a != np.round(a, 1)) | (np.abs(a) >= 10_000)))[keep]
        like = like[keep]
    like = like[figures >= DISTINCT]
    if not len(like) or 10 * len(like) > len(table):
        return []
    lines = ", ".join(str(table.line(int(i) + 1)) for i in like[:3])
    text = f"{len(like)} of {len(table)} rows repeat the row above, figure for figure (line {lines}): their times may count double"
    return [Quality("repeated-rows", text, int(like[0]) + 1)]


def _enough(columns: Iterable[Floats]) -> bool:
    """True if they hold so many figures that rows with equal ones are no coincidence."""
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
    named = [i for i in sorted(ends) if TOTAL.fullmatch(str(table.names[i]).strip())]
    if not named or (table.paths is not None and any(table.paths[i] for i in named)):
        return {}
    others = _outermost(table)
    others[named] = False
    rest = column.values[others]
    rest = rest[np.isfinite(rest)]
    if len(rest) < 2:
        return {}
    return {
        table.line(i): str(table.names[i]).strip()
        for i in named
        if any(abs(column.values[i] - f) <= MAX_ROUNDING * f for f in (float(rest.sum()), float(rest.mean())))
    }
