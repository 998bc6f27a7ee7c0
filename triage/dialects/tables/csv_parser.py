"""The C parser of pandas over the chosen columns of one table, on every core there is.

pandas parses a whole table with several threads, but chosen columns with one; here a table is cut at line ends into
as many ranges, and each is parsed by itself. What is given to pandas, and why, was measured (docs/decisions.md,
"Reading as fast as pandas"): text columns stay without a dtype and bytes are decoded strictly, because that is its
fast path; the list of missing words holds no infinity, because each number would be looked up among them.
"""

from __future__ import annotations

import contextlib
import csv
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import numpy as np

from triage.capture.source import Source
from triage.ground import units

if TYPE_CHECKING:
    import pandas as pd

RANGE = 4 << 20  # bytes below which a further thread does not pay
MAX_THREADS = 6  # threads; pandas stops there too
ARENA = 128 << 20  # bytes of address space that the allocator of a further thread may take at once
PARSED, SPARE = 4, 48 << 20  # bytes that must be free to parse a table: so many per byte of it, and so many beside
_WORDS = units.MISSING | {m.upper() for m in units.MISSING} | {"N/A", "NA", "None"}
MISSING = sorted(_WORDS)  # without nan: that is remarked
T = TypeVar("T")
S = TypeVar("S")
Error = (csv.Error, UnicodeError, ValueError, OverflowError, IndexError)  # pandas' own are kinds of ValueError


@cache
def _infers_text() -> bool:
    """pandas 3; before that, text is given its dtype."""
    import pandas as pd

    return bool(pd.Series(["text"]).dtype != object)


class _Range:
    """The next bytes of a file, in the form that the parser takes without decoding them first."""

    def __init__(self, file: BinaryIO, size: int, delimiter: int) -> None:
        self._file, self._left, self._delimiter = file, size, delimiter
        self.quoted = False
        self.delimiters = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        self.quoted = self.quoted or b'"' in data
        if not self.quoted:  # then every delimiter divides two cells
            self.delimiters += int(np.count_nonzero(np.frombuffer(data, np.uint8) == self._delimiter))
        return data

    def __iter__(self) -> Iterator[bytes]:  # what pandas takes for a file has one; its C parser reads
        raise NotImplementedError


class Parser:
    """Chosen columns of one table, by 0-based position.

    skip: lines above the data. rows: at most this many. Text columns come as the cells stand, NaN where they are empty.
    quoted: after `run`, whether a quote was seen; only then can a record be longer than a line. square: after `run`,
    whether it is proven that every row has `width` cells: none has fewer, for its last cell is filled, and all together
    have no more delimiters than that takes. Where it is not, nothing is known.
    """

    def __init__(
        self,
        source: Source,
        skip: int,
        width: int,
        numeric: Iterable[int],
        text: Iterable[int],
        style: units.Style,
        rows: int | None = None,
    ) -> None:
        self.source, self.skip, self.rows = source, skip, rows
        self.text, self.width = set(text), width
        self.quoted = self.square = False
        wanted, tabs = sorted({*numeric, *self.text, width - 1}), source.delimiter == "\t"
        self.options: dict[str, Any] = {  # keyword arguments of pandas.read_csv
            "sep": source.delimiter,
            "header": None,
            "names": list(range(width)),
            "index_col": False,
            "usecols": wanted,
            "skip_blank_lines": False,  # one row per line, so that a value cites its line
            "skipinitialspace": source.skip_space,
            "keep_default_na": False,
            "na_values": {c: [""] if c in self.text else MISSING for c in wanted},
            # no thousands: the parser would read 1,5 as 15. Grouped numbers come as text (number_cells)
            "decimal": "." if style == "us" else ",",
            "quoting": csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL,  # tools that write tabs do not quote
            "nrows": rows,
            "engine": "c",
        }

    def run(self, convert: Callable[[pd.DataFrame], T]) -> list[T]:
        """`convert` of the frames that make up the table, in order. Raises `Error` where only a slower reader can help."""
        import pandas as pd

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # mixed columns are sorted out by `convert`
            if self.source.plain_path and self.source.encoding in ("utf-8", "utf-8-sig"):
                try:
                    return self._ranges(convert)
                except UnicodeDecodeError:  # a stray byte: rare enough to read all again
                    pass
            return [convert(self._whole())]

    def _whole(self) -> pd.DataFrame:
        """Packed, piped and foreign encodings: through a decoder, by one thread."""
        import pandas as pd

        self.quoted = True  # not looked for; to suppose quotes is always right, only slower
        handle = self.source.plain_path or self.source.open()
        try:
            frame: pd.DataFrame = pd.read_csv(
                handle,
                skiprows=self.skip,
                dtype=cast(Any, dict.fromkeys(self.text, object)),
                encoding=self.source.encoding,
                encoding_errors="replace",
                **self.options,
            )
            return frame
        finally:
            if not isinstance(handle, str):
                handle.close()

    def _ranges(self, convert: Callable[[pd.DataFrame], T]) -> list[T]:
        import pandas as pd

        path, size = cast(str, self.source.plain_path), self.source.size
        threads = 1 if self.rows is not None else _threads(size)
        below = _below(self.source, self.skip) if size > RANGE and self.rows is None else 0
        if below:
            cuts = _cuts(
                path, below, size, 2 * threads if threads > 1 else 1
            )  # two each: the last to end is not waited for as long
            with ThreadPoolExecutor(threads) as pool, contextlib.suppress(pd.errors.ParserError):
                each = pool.map if threads > 1 else map
                done = list(each(lambda start, end: self._part(convert, path, start, end), cuts, cuts[1:]))
                self.square = all(square for _, square in done)
                return [part for part, _ in done]
        # small, or cut within quotes: the parser says so of the range before the cut
        return [convert(self._range(path, 0, size, self.skip)[0])]

    def _part(self, convert: Callable[[pd.DataFrame], T], path: str, start: int, end: int) -> tuple[T, bool]:
        frame, delimiters = self._range(path, start, end, 0)
        square = delimiters == len(frame) * (self.width - 1) and not frame[self.width - 1].isna().any()
        return convert(frame), square and not self.quoted

    def _range(self, path: str, start: int, end: int, skip: int) -> tuple[pd.DataFrame, int]:
        import pandas as pd

        def table(**more: Any) -> tuple[pd.DataFrame, int]:
            np.empty(PARSED * (end - start) + SPARE, np.uint8)  # a MemoryError here: the parser crashes or hangs
            with open(path, "rb", buffering=0) as f:
                f.seek(start)
                part = _Range(f, end - start, ord(self.source.delimiter))
                frame: pd.DataFrame = pd.read_csv(cast(Any, part), **self.options | {"skiprows": skip} | more)
            self.quoted = self.quoted or part.quoted
            return frame, part.delimiters

        frame, delimiters = table(dtype={} if _infers_text() else dict.fromkeys(self.text, object))
        numbers = [c for c in sorted(self.text) if _infers_text() and not isinstance(frame[c].dtype, pd.StringDtype)]
        if numbers:  # names such as 007, read as numbers: once more, as they stand
            again, _ = table(usecols=numbers, dtype=dict.fromkeys(numbers, object))
            for c in numbers:
                frame[c] = again[c]
        return frame, delimiters


def beside(work: Callable[[S], T], items: Sequence[S], rows: int) -> list[T]:
    """`work` of every item, in order; by several threads where there are many rows.

    For NumPy, which lets others run meanwhile.
    """
    threads = _threads(rows * 64)  # as if a row were 64 bytes of text
    if threads == 1:
        return [work(i) for i in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def _threads(size: int) -> int:
    """How many threads a table of some bytes is worth; a worker of a batch has one core."""
    processes = sys.modules.get("multiprocessing")  # not imported here: who is a worker has it already
    if processes is not None and processes.parent_process() is not None:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = max(1, min(cores, MAX_THREADS, size // RANGE))
    if threads > 1:
        try:
            np.empty(threads * ARENA, np.uint8)
        except MemoryError:  # a limit, as build farms set them: slower, but it can be done
            return 1
    return threads


def _cuts(path: str, start: int, end: int, count: int) -> list[int]:
    """Offsets of line starts that cut the bytes from start to end into about equal ranges."""
    cuts = [start]
    with open(path, "rb") as f:
        for i in range(1, count):
            f.seek(start + (end - start) * i // count)
            f.readline()  # to the start of the next line
            if cuts[-1] < f.tell() < end:
                cuts.append(f.tell())
    return [*cuts, end]


def _below(source: Source, skip: int) -> int:
    """Offset of the line below `skip` others, 0 where lines are not simply cut at line feeds."""
    head, at = source.head, 0
    for _ in range(skip):
        at = head.find(b"\n", at) + 1
        if not at:
            return 0
    # bare carriage returns end lines for the parser only; an open quote makes the header several lines
    plain = head.count(b"\r") == head.count(b"\r\n") and head.count(b'"', 0, at) % 2 == 0
    return at if plain else 0
