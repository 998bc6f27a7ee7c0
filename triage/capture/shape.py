"""Check that rows have as many cells as their header, without cutting a single cell.

A row with a cell too many or too few puts every figure behind it under the wrong name, an open quote swallows the rows
below. No reader uses such rows: it raises `Misfit`, and the reader of captures sets the lines aside and reads again.
"""

from __future__ import annotations

import itertools
import mmap
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from triage.capture.arrays import Names, numbered
from triage.capture.cells import DELIMITERS
from triage.capture.cells import cells as cut_cells
from triage.capture.cut_rows import GOES_ON, Fits, begins_with_figures, cells_of, cut_within
from triage.capture.source import LONGEST_RECORD, Source
from triage.ground.errors import BadCapture
from triage.ground.phrasing import plural

_Counts = NDArray[np.int64]
Bytes: TypeAlias = bytes | mmap.mmap
Held: TypeAlias = tuple[Bytes, int]
_Piece: TypeAlias = tuple[int, _Counts, NDArray[np.bool_]]
UNTERMINATED_QUOTE = -1  # instead of a count: a quote is open at the end of the line
BROKEN = -2  # instead of a count: a carriage return stands within the line, and ends it for some readers
_LF, _CR, _QUOTE = 10, 13, 34
BLOCK = 1 << 18  # bytes looked at together: as much as stays in the cache
MAX_CUT_CELLS = 2_000_000  # cells of suspected lines that are cut to make sure
MAX_RECORD_LINES = 500  # of one record
MAX_OPEN_LINES = 1_000  # lines with open quotes; a file with more is refused for them


class Misfit(BadCapture):
    """Lines of a file that do not fit the header above them: line -> what is wrong with it. rows: how many there are."""

    def __init__(self, path: str, lines: dict[int, str], rows: int) -> None:
        first = min(lines)
        super().__init__(f"{path}:{first}: {lines[first]}", "export again")
        self.path, self.lines, self.rows = path, lines, rows


def check(
    source: Source,
    first: int,
    last: int | None,
    headers: Sequence[str],
    skip: Collection[int] = (),
    also: Collection[int] = (),
    foreign: bool = False,
    quotes: bool | None = None,
    held: Held | None = None,
) -> None:
    """Raise Misfit for the rows from line `first` to `last` (1-based) that do not fit; nothing where all do.

    headers: cells of the header. skip: lines that are no rows. also: other numbers of cells that a row may have.
    foreign: other text may stand between the rows, known by having less than half the cells, by any delimiter. quotes: do quotes bind
    cells; by default not between tabs. held: the bytes of the file, where somebody has read them, and the offset of the
    first line: they are not read again.
    Raises BadCapture where most rows do not fit: then the header is what is damaged.
    """
    width = len(headers)
    if width < 2:
        return
    quotes = source.delimiter != "\t" if quotes is None else quotes
    named = max(i for i, h in enumerate(["x", *headers]) if h.strip())
    parts = list(counts(source, first, last, quotes, held))
    tally = _tally(parts, width)
    usual = _usual(tally, parts, width, named)
    open_, broken = _marked(parts, UNTERMINATED_QUOTE), _marked(parts, BROKEN)
    suspects = _suspects(parts, usual, list(also))
    cut = _last_number(source) if foreign and not source.last_line.endswith(("\n", "\r")) else 0
    alone = cut if _ends_alone(parts, cut, tally, usual) else 0
    if not open_ and not suspects and not alone and not broken:
        return

    def fits(cells: Sequence[str]) -> bool:
        # a record that ends early may end in a delimiter
        return len(cells) == usual or (bool(cells) and len(cells) - (not cells[-1].strip()) in also)

    few = width / 2 if foreign else 0  # cells of other text
    bad, inside = _open_records(source, set(open_) - {cut}, fits, few) if open_ else ({}, set())
    if cut in open_ and cut not in inside:
        bad[cut] = "a quote is open at its end"
    most = MAX_CUT_CELLS // width
    looked_at = source.records([n for n in suspects[:most] if n not in inside], quotes=quotes)
    misfits, other_text = _misfits(source, looked_at, fits, few, cut, width)
    bad |= misfits
    if alone and alone not in inside:
        bad.setdefault(alone, "the file ends within the row")
    bad |= dict.fromkeys(broken, "a carriage return within the row")
    for line in cut_within(source, {line: cells for line, cells in other_text.items() if line > first}, fits):
        bad.setdefault(line, GOES_ON)
    bad = {line: why for line, why in sorted(bad.items()) if line not in skip}
    rows = sum(int((cells != 0).sum()) for _, cells, _ in parts) - len(other_text) - len(inside) - len(skip)
    _refuse(source, bad, rows, hopeless=len(suspects) > most)


def _tally(parts: Sequence[_Piece], width: int) -> _Counts:
    """How many lines have 0, 1, 2 ... cells; the last place stands for more than width + 1."""
    tally = np.zeros(width + 3, dtype=np.int64)
    for _, cells, _ in parts:
        tally += np.bincount(np.minimum(cells[cells > 0], width + 2), minlength=width + 3)
    return tally


def _marked(parts: Sequence[_Piece], mark: int) -> list[int]:
    """Lines with UNTERMINATED_QUOTE or BROKEN instead of a count."""
    return [n for start, cells, _ in parts for n in (np.flatnonzero(cells == mark) + start).tolist()]


def _suspects(parts: Sequence[_Piece], usual: int, also: Sequence[int]) -> list[int]:
    """Lines with another number of cells than usual."""
    return [
        n
        for start, cells, trails in parts
        for n in (np.flatnonzero((cells > 0) & (cells != usual) & ~np.isin(cells - trails, also)) + start).tolist()
    ]


def _misfits(
    source: Source, records: Mapping[int, Sequence[str]], fits: Fits, few: float, cut: int, width: int
) -> tuple[dict[int, str], dict[int, Sequence[str]]]:
    """(what is wrong with suspected lines, lines of other text). few: cells below which a line is other text."""
    bad: dict[int, str] = {}
    other_text: dict[int, Sequence[str]] = {}
    for line, cells in records.items():
        if len(cells) < few and (delimiter := _divided(cells, source, fits)):
            bad[line] = f"its cells are divided by {delimiter!r}"
        elif len(cells) < few and line != cut:
            other_text[line] = cells
        elif not fits(cells) and any(map(str.strip, cells)):
            bad[line] = f"{plural(len(cells), 'cell')}, header has {width}"
    return bad, other_text


def _refuse(source: Source, bad: dict[int, str], rows: int, hopeless: bool) -> None:
    """Raise Misfit for bad lines, BadCapture if they are most of the rows or too many to look at; nothing without any."""
    if not bad:
        return
    if 2 * len(bad) > rows or hopeless:
        line, why = next(iter(bad.items()))
        like = "; most rows are like this" if len(bad) > 1 else ""
        raise BadCapture(f"{source.path}:{line}: {why}{like}", "export again")
    raise Misfit(source.path, bad, rows)


def _divided(cells: Sequence[str], source: Source, fits: Fits) -> str:
    """The other delimiter by which a line is a row, "" where it is none."""
    text = source.delimiter.join(cells)
    others = (d for d in DELIMITERS if d != source.delimiter and d in text)
    return next((d for d in others if fits(cells_of(text, source, d))), "")


def goes_on(below: Iterable[str], width: int, separator: str) -> bool:
    """True if the first line below a gap is another row of the table above: as many cells, and a number, which no header has."""
    row = cut_cells(next((line for line in below if line.strip()), ""), separator)
    return len(row) == width and any(_NUMBER.fullmatch(c) for c in row)


def bracketed(pieces: Sequence[str]) -> bool:
    """May these cells be one unquoted name: does every delimiter between them stand within its brackets?"""
    depth = 0
    for piece in pieces[:-1]:
        depth += sum(piece.count(c) for c in "(<[{") - sum(piece.count(c) for c in ")>]}")
        if depth <= 0:
            return False
    return True


def regular(source: Source, cells: Mapping[int, int]) -> None:
    """Raise Misfit for lines with a number of cells that hardly another has; for tables whose rows may honestly vary.

    cells: line -> cells of it.
    """
    often = Counter(cells.values())
    enough = max(1, min(len(cells) // 10, 10))
    bad = {line: f"{n} cells, unlike the others" for line, n in cells.items() if often[n] <= enough and len(often) > 1}
    below = [line for line, n in cells.items() if (n == 1 or line in bad) and cells.get(line - 1, 0) > 1]
    if 2 * len(bad) >= len(cells):
        bad = {}
    for line, row in source.records(below, quotes=False).items():
        if begins_with_figures(row):
            bad |= {line - 1: GOES_ON, line: f"{len(row)} cells, the rest of the row above"}
    if bad:
        raise Misfit(source.path, bad, len(cells))


# or a range of ids, or no id
_NUMBER = re.compile(r"\s*(?:-1|\d{1,19}(?:\.\d*)?(?:[eE][+-]?\d{1,2})?|\d{1,19}\s*-\s*\d{1,19})\s*")


def alike(source: Source, columns: Mapping[str, Names], line: Callable[[int], int]) -> None:
    """Raise Misfit for rows whose cell in a column of numbers kept as text is no number; nothing where all are.

    columns: header -> texts of ids, timestamps, ranges of ids. What most cells are, all must be: a row with another
    id is another row. line: 1-based line of a row.
    """
    bad: dict[int, str] = {}
    rows = 0
    for header, texts in columns.items():
        rows = len(texts)
        if _plain(texts):
            continue
        codes, distinct = numbered(texts)
        blank = np.array([not str(t).strip() for t in distinct] or [False])
        good = np.array([bool(_NUMBER.fullmatch(str(t))) for t in distinct] or [False])
        odd = ~(good | blank)[codes]
        if 2 * int(odd.sum()) <= int(good[codes].sum()):
            for row in np.flatnonzero(odd)[:MAX_OPEN_LINES].tolist():
                bad.setdefault(line(row), f"{str(texts[row])[:40]!r} in the column {header[:40]!r}")
    if bad:
        raise Misfit(source.path, bad, rows)


def _plain(texts: Names) -> bool:
    """True if all cells are plain numbers of a sensible size. Faster than cell by cell."""
    try:
        values = texts.astype(np.float64)
    except ValueError:
        return False
    return bool(((values >= 0) & (values < 1e19)).all()) and not any("_" in t for t in texts.tolist())


def _last_number(source: Source) -> int:
    number = 0
    for number, _, ends in source.blocks(sys.maxsize):
        number += len(ends) - 1
    return number


def _usual(tally: _Counts, parts: Sequence[_Piece], width: int, named: int) -> int:
    """How many cells a row has. Some tools end every row, but not the header, in a delimiter, and others the reverse."""
    usual = int(np.argmax(tally)) if tally.any() else width
    if named <= usual < width:
        return usual
    if usual == width + 1 and all(trails[cells == usual].all() for _, cells, trails in parts):
        return usual
    return width


def _ends_alone(parts: Sequence[_Piece], line: int, tally: _Counts, usual: int) -> bool:
    """True if `line`, the last one, is the only row of its number of cells: then it was cut."""
    for first, cells, _ in parts:
        if first <= line < first + len(cells):
            n = int(cells[line - first])
            return 0 < n < usual and int(tally[n]) == 1 and int(tally.sum()) > 2
    return False


def _open_records(
    source: Source, starts: set[int], fits: Callable[[list[str]], bool], few: float
) -> tuple[dict[int, str], set[int]]:
    """What is wrong with lines whose quotes do not pair, and the lines that go on with a record which fits."""
    bad, inside = dict[int, str](), set[int]()
    again = deque[tuple[int, str]]()
    rest, last = source.numbered(min(starts, default=1)), max(starts, default=0)

    def following() -> Iterator[tuple[int, str]]:
        while (one := again.popleft() if again else next(rest, None)) is not None:
            yield one

    for number, line in following():
        if number > last:
            break
        if number not in starts or line.count(source.delimiter) + 1 < few:
            continue
        parts, size, closed = [(number, line)], 0, False
        for more in following():
            parts.append(more)
            size += len(more[1])
            closed = more[1].count('"') % 2 == 1
            if closed or size > LONGEST_RECORD or len(parts) > MAX_RECORD_LINES:
                break
        record = "\n".join(text for _, text in parts) if closed else ""
        # a cell of several lines is no row after row: there two open quotes happened to pair
        rows = sum(
            fits(cells_of(t, source)) or fits(t.replace('"', "").split(source.delimiter)) for _, t in parts if closed
        )
        if closed and 2 * rows <= len(parts) and fits(cells_of(record, source)):
            inside.update(n for n, _ in parts[1:])
        else:
            bad[number] = "a quote is open at its end"
            again.extendleft(reversed(parts[1:]))
            if len(bad) > MAX_OPEN_LINES:
                break
    return bad, inside


def counts(source: Source, first: int, last: int | None, quotes: bool, held: Held | None = None) -> Iterator[_Piece]:
    """(line, cells of it and the lines below, which end in a delimiter) piece by piece.

    0 cells are a blank line, UNTERMINATED_QUOTE one whose quotes do not pair, BROKEN one that a carriage return cuts.

    Of a line with quotes only those before and behind delimiters are kept apart from others: a suspect is to be cut.
    """
    sep = ord(source.delimiter)
    for number, data, ends in _pieces(*held, first) if held and source.plain_ends else _blocks(source, first):
        beyond = number + len(ends)
        if beyond <= first:
            continue
        if last is not None and number > last:
            return
        begin = max(first - number, 0)
        end = len(ends) if last is None else min(len(ends), last + 1 - number)
        if begin >= end:
            continue
        starts = np.concatenate([[0], ends[:-1] + 1])[begin:end]
        stops = ends[begin:end]
        low, high = int(starts[0]), int(stops[-1]) + 1
        raw = np.frombuffer(data, np.uint8)[low:high]
        starts, stops = starts - low, stops - low
        returns = raw[np.maximum(stops - 1, 0)] == _CR
        text_ends = stops - returns
        cells = _counts(raw, starts, stops, sep, quotes)
        # looking for the first one is the faster, and mostly there is none
        if data.find(b"\r", low, high) >= 0 and data.count(b"\r", low, high) != np.count_nonzero(returns):
            cells[_broken(raw, starts, stops, quotes)] = BROKEN
        yield number + begin, cells, raw[np.maximum(text_ends - 1, 0)] == sep


def _broken(raw: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp], quotes: bool) -> NDArray[np.intp]:
    """Lines, by position, with a carriage return outside of quotes that no line feed follows."""
    bare = np.flatnonzero((raw[:-1] == _CR) & (raw[1:] != _LF))
    lines = np.searchsorted(ends, bare)
    if not quotes:
        return lines
    seen = np.concatenate([[0], np.cumsum(raw == _QUOTE)])
    outside: NDArray[np.intp] = lines[(seen[bare] - seen[starts[lines]]) % 2 == 0]
    return outside


def _pieces(data: Bytes, at: int, number: int) -> Iterator[tuple[int, bytes, NDArray[np.intp]]]:
    """As Source.blocks, of bytes at hand from an offset on, where line `number` begins."""
    while at < len(data):
        stop = min(len(data), at + BLOCK)
        stop = data.find(b"\n", stop - 1) + 1 or len(data)
        block = data[at:stop]
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _LF)
        yield number, block, ends if block.endswith(b"\n") else np.append(ends, len(block))
        number, at = number + len(ends), stop


def _blocks(source: Source, first: int) -> Iterator[tuple[int, bytes, NDArray[np.intp]]]:
    """As Source.blocks, where line feeds and delimiters are single bytes; else of the text made so."""
    if source.plain_ends:
        yield from source.blocks(first)
        return
    lines = enumerate(source.lines(), 1)
    while part := list(itertools.islice(lines, 4096)):
        data = "".join(line + "\n" for _, line in part).encode("utf-8", "surrogateescape")
        yield part[0][0], data, np.flatnonzero(np.frombuffer(data, np.uint8) == _LF)


def _counts(
    raw: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp], sep: int, quotes: bool
) -> _Counts:
    lengths = ends - starts
    wide = np.uint16 if lengths.max() < 1 << 16 else np.uint32  # the narrow sums are four times as fast

    def per_line(marks: NDArray[np.bool_]) -> _Counts:
        return np.add.reduceat(marks.view(np.uint8), starts, dtype=wide).astype(np.int64)

    hit = raw == sep
    blank = (lengths == 0) | ((lengths == 1) & (raw[starts] == _CR))
    quote = raw == _QUOTE
    if not quotes or not quote.any():
        return np.where(blank, 0, per_line(hit) + 1)
    seen = per_line(quote)
    between = hit.copy()  # "," is between two cells wherever all cells are quoted
    between[1:] &= quote[:-1]
    between[:-1] &= quote[1:]
    cells = per_line(between) + 1
    whole = (seen == 2 * cells) & ~blank
    last = np.maximum(ends - 1 - (raw[np.maximum(ends - 1, 0)] == _CR), 0)
    cells += raw[last] == sep
    cells += (raw[starts] == sep) & (last > starts)
    if not (whole | blank).all():
        within = np.bitwise_xor.accumulate(quote.view(np.uint8))
        base = within[np.maximum(starts - 1, 0)] * (starts > 0)
        if base.any():
            within = within ^ np.repeat(base, np.diff([*starts, len(raw)]))
        cells = np.where(whole, cells, per_line(hit & (within == 0)) + 1)
        cells = np.where(seen % 2 == 1, UNTERMINATED_QUOTE, cells)
    return np.where(blank, 0, cells)
