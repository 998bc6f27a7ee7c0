"""Finding tables inside what NVIDIA's command-line tools write: profiler chatter, application output, one table or more.

Works on the raw bytes (memory-mapped where possible), so that a 5 MB preamble or a table of a million rows costs a
scan and nothing else. All offsets are bytes; all line numbers are 1-based physical lines of the file.
"""

from __future__ import annotations

import csv
import io
import mmap
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from msgspec import Struct

from triage.capture import shape
from triage.capture.arrays import Indices
from triage.capture.cells import cells, delimiter
from triage.capture.compression import bounded
from triage.capture.source import Source
from triage.ground.errors import BadCapture
from triage.schema import normal

if TYPE_CHECKING:
    import pandas as pd

_MAX = 4 << 30
_MAPPED = 512 << 20  # larger files are mapped: cutting a mapped file while it is read kills the reader
Bytes: TypeAlias = bytes | mmap.mmap


class Body:
    """The bytes of a source in an ASCII-compatible encoding, cheap to search and slice."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.encoding = "cp1252" if source.encoding == "cp1252" else "utf-8"
        path = source.plain_path
        self.data: Bytes
        if path is not None and not source.encoding.startswith("utf-16") and source.size > _MAPPED:
            with Path(path).open("rb") as f:
                self.data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        else:
            with source.open() as f:
                raw = bounded(f, source.path, _MAX)
            # PowerShell's `>` writes UTF-16, in which neither a needle nor a line end is a plain byte
            self.data = raw.decode(source.encoding, "replace").encode() if "16" in source.encoding else raw

    def lines_before(self, offset: int, since: tuple[int, int] = (0, 0)) -> int:
        """Number of line ends before an offset. since: an earlier offset and its number, to count on from there."""
        at, count = since
        while at < offset:  # piece by piece: a slice of a mapped file is a copy
            end = min(offset, at + (1 << 24))
            count += self.data[at:end].count(b"\n")
            at = end
        return count

    def line(self, offset: int) -> str:
        """The text of the line that starts at an offset."""
        end = self.data.find(b"\n", offset)
        raw = self.data[offset : len(self.data) if end < 0 else end]
        return bytes(raw).decode(self.encoding, "replace").removeprefix("\ufeff").replace("\r", "")

    def slice(self, start: int, end: int, before: bytes = b"") -> io.BufferedReader:
        """A stream over part of the bytes, after some bytes of our own."""
        return io.BufferedReader(_Slice(self.data, start, end, before), 1 << 20)


class _Slice(io.RawIOBase):
    def __init__(self, data: Bytes, start: int, end: int, before: bytes) -> None:
        self._data, self._at, self._end, self._before = data, start, end, before

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        if self._before:
            part, self._before = self._before[: len(view)], self._before[len(view) :]
            view[: len(part)] = part
            return len(part)
        part = self._data[self._at : min(self._end, self._at + len(view))]
        view[: len(part)] = part
        self._at += len(part)
        return len(part)


class Segment(Struct, frozen=True):
    """A run of records under one header: [start, end) bytes, first record on `line`."""

    headers: tuple[str, ...]
    separator: str
    start: int
    end: int
    line: int
    header_line: int


class Header(Struct, frozen=True):
    """How to recognise a header line: required bytes (a plain search is fast), then a pattern."""

    needle: bytes
    line: re.Pattern[str]

    def find(self, body: Body, limit: int = 0) -> list[int]:
        """Offsets of the header lines of a body, the first `limit` of them (0: all)."""
        found: list[int] = []
        at = body.data.find(self.needle)
        while at >= 0:
            start = body.data.rfind(b"\n", 0, at) + 1
            if self.line.match(body.line(start)):
                found.append(start)
                if len(found) == limit:
                    break
            end = body.data.find(b"\n", at)
            at = body.data.find(self.needle, end) if end >= 0 else -1
        return found


def header_text(line: str) -> str:
    """A header without what the application printed on the same line: `loss 0.3"ID","Process ID",...`."""
    at = line.find('"ID","Process ID"')
    return line[at:] if at > 0 and line[:at].strip('",') else line


def segments(body: Body, header: Header, numeric_first: bool = True, ends: Collection[str] = ()) -> list[Segment]:
    """Every table of a body, cut where other text interrupts it; a header without records gives one empty segment.

    numeric_first: data records begin with a number; anything else that begins a line outside quotes is other text.
    ends: normalised headers behind whose column a record may end. Raises Misfit for records that do not fit.
    """
    found: list[Segment] = []
    starts = header.find(body)
    size = len(body.data)
    counted = (0, 0)
    for i, at in enumerate(starts):
        text = header_text(body.line(at))
        separator = delimiter(text)
        headers = tuple(c.strip() for c in cells(text, separator))
        begin = body.data.find(b"\n", at) + 1
        if begin == 0:
            begin = size
        stop = starts[i + 1] if i + 1 < len(starts) else size
        counted = at, body.lines_before(at, counted)
        line = counted[1] + 1
        body.source.delimiter = separator
        last = body.lines_before(stop, counted) if i + 1 < len(starts) else None
        short = [n + 1 for n, h in enumerate(headers) if normal(h) in ends]
        shape.check(
            body.source, line + 1, last, headers, also=short, foreign=True, quotes=True, held=(body.data, begin)
        )
        bad: dict[int, str] = {}
        found += _clean(body, headers, separator, begin, stop, line, numeric_first, {len(headers), *short}, bad)
        if bad:
            rows = len(bad) + sum(body.data[s.start : s.end].count(b"\n") for s in found if s.header_line == line)
            if 2 * len(bad) <= rows:
                raise shape.Misfit(body.source.path, bad, rows)
            first, why = next(iter(bad.items()))
            raise BadCapture(f"{body.source.path}:{first}: {why}; most rows are like this", "export again")
    return found


def _clean(
    body: Body,
    headers: tuple[str, ...],
    separator: str,
    begin: int,
    stop: int,
    line: int,
    numeric: bool,
    widths: Collection[int],
    bad: dict[int, str],
) -> Iterator[Segment]:
    """Cut [begin, stop) into segments without foreign lines; a quoted line break is not a foreign line.

    bad: gets the lines that have all cells of a record, one of `widths`, and no number in their first.
    """
    sep = re.escape(separator.encode())
    # launch numbers may be printed with thousands separators; without a number first only other output is recognised
    record = rb'(?:"[\d.,  -]*"|[\d.]+)' + sep if numeric else rb"(?!==)[^\r\n]"
    odd = re.compile(rb"^(?!" + record + rb")", re.MULTILINE)
    data, start, header_line, first = body.data, begin, line, line + 1
    at = counted = begin
    made = False
    quotes = 0  # between start and counted: counting anew from start for every odd line would be quadratic
    while at < stop:
        m = odd.search(data, at, stop)
        if m is None or m.start() >= stop:
            break
        here = m.start()
        quotes, counted = quotes + data[counted:here].count(b'"'), here
        if quotes % 2:  # inside quotes: the record goes on
            at = max(data.find(b"\n", here, stop) + 1, here + 1)
            if data.find(b"\n", here, stop) < 0:
                break
            continue
        row = cells(body.line(here), separator)
        ends = len(row) - (not row[-1].strip()) if row else 0
        if (
            numeric
            and len(headers) > 2
            and {len(row), ends} & set(widths)
            and row[0].strip()
            and row[0].strip() != headers[0]
        ):
            bad[body.lines_before(here) + 1] = f"{row[0].strip()[:40]!r} in the column {headers[0]!r}"
        if here > start:
            made = True
            yield Segment(headers, separator, start, here, first, header_line)
        go = re.compile(rb"^" + record, re.MULTILINE).search(data, here, stop)  # where the table goes on
        nxt = go.start() if go else stop
        first += data[start:nxt].count(b"\n")
        start = at = counted = nxt
        quotes = 0
    if start < stop or not made:
        yield Segment(headers, separator, start, stop, first, header_line)


def frame(body: Body, seg: Segment, usecols: list[int], categories: Collection[int] = ()) -> pd.DataFrame:
    """The chosen columns of a segment by 0-based position, as text or, where they repeat, as categories.

    Short records are padded with "" and long ones cut; raises BadCapture where quotes are damaged beyond reading.
    """
    import pandas as pd

    kept = sorted(set(usecols))
    dtype: dict[int, str | type] = {c: "category" if c in categories else object for c in kept}
    if seg.end <= seg.start:
        return pd.DataFrame({c: pd.Series([], dtype=dtype[c]) for c in kept})
    try:
        whole = parsed(body, seg, seg.start, kept, dtype=dtype, na_filter=False)
        return whole.iloc[1:].reset_index(drop=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError):
        return _by_hand(body, seg, kept, categories)


def parsed(body: Body, seg: Segment, start: int, usecols: list[int], **how: Any) -> pd.DataFrame:
    """What the fast parser makes of columns from a byte on, below a row of blanks; raises its errors."""
    import pandas as pd

    # short records are normal: beside rule columns a metric's record ends behind its value. Three cells to spare for
    # long ones, which end in stray commas
    width = len(seg.headers) + 3
    widest = seg.separator.encode() * (width - 1) + b"\n"  # sets the parser's width; no real record may have it
    with body.slice(start, seg.end, widest) as f:
        whole: pd.DataFrame = pd.read_csv(
            f,
            engine="c",
            low_memory=False,
            sep=seg.separator,
            header=None,
            names=list(range(width)),
            index_col=False,
            usecols=usecols,
            keep_default_na=False,
            encoding=body.encoding,
            encoding_errors="replace",
            skip_blank_lines=False,
            **how,
        )
    return whole


def _by_hand(body: Body, seg: Segment, kept: list[int], categories: Collection[int]) -> pd.DataFrame:
    """The same with the csv module, for records the fast parser refuses."""
    import pandas as pd

    text = bytes(body.data[seg.start : seg.end]).decode(body.encoding, "replace").replace("\0", "")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=seg.separator))
    except csv.Error as e:
        raise BadCapture(f"{body.source.path}:{seg.header_line}: damaged table ({e})", "export again") from e
    columns = {c: pd.Series([r[c] if c < len(r) else "" for r in rows], dtype=object) for c in kept}
    return pd.DataFrame({c: v.astype("category") if c in categories else v for c, v in columns.items()})


def record_lines(body: Body, seg: Segment, count: int) -> Indices:
    """1-based line of each of `count` records; records whose quoted text holds line breaks move those after them."""
    raw = np.frombuffer(body.data[seg.start : seg.end], dtype=np.uint8)
    ends = np.flatnonzero(raw == 10)
    total = len(ends) + (1 if len(raw) and raw[-1] != 10 else 0)
    if total == count:
        return np.arange(count, dtype=np.int64) + seg.line
    quotes = np.flatnonzero(raw == 34)  # a line end with an even number of quotes before it ends a record
    outside = np.searchsorted(quotes, ends) % 2 == 0
    starts = np.concatenate([[0], np.flatnonzero(outside) + 1])[:count]
    if len(starts) < count:  # quotes that do not balance: count what there is
        starts = np.arange(count)
    return starts.astype(np.int64) + seg.line


def no_rows(source: Source) -> BadCapture:
    """The refusal of a file without a launch, with the profiler's own words."""
    message = chatter(source)
    return BadCapture(
        f"{source.path}: header without rows" + (f"; profiler message: {message}" if message else ""),
        "nothing was recorded; check that kernels ran, and profile again",
    )


def chatter(source: Source) -> str:
    """The profiler's own words when there is no table: its errors first, then its warnings."""
    by_kind: dict[str, list[str]] = {"ERROR": [], "WARNING": []}
    for text in source.head_lines[:5000]:
        for kind, words in by_kind.items():
            if text.startswith(f"=={kind}==") and len(words) < 2:
                words.append(text.split("==", 2)[2].strip())
        # whole file of a run without kernels: the line lacks the tool's usual mark
        if text.strip().rstrip(".") in ("No kernels were profiled", "No events/metrics were profiled"):
            by_kind["ERROR"].append(text.strip())
    return " ".join((by_kind["ERROR"] or by_kind["WARNING"])[:2])[:300]
