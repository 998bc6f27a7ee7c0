"""The C parser of pandas over the chosen columns of one table, on every core there is.

pandas parses a whole table with several threads, but chosen columns with one; here a table is cut at line ends into
as many ranges, and each is parsed by itself. What is given to pandas, and why, was measured (docs/decisions.md,
"Reading as fast as pandas"): text columns stay without a dtype and bytes are decoded strictly, because that is its
fast path; the list of missing words holds no infinity, because each number would be looked up among them.
"""

from __future__ import annotations

import csv
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, TypeVar, cast

import pandas as pd

from triage import units
from triage.source import Source

RANGE = 4 << 20  # bytes below which a further thread does not pay
MOST = 6  # threads; pandas stops there too
_WORDS = units.MISSING | {m.upper() for m in units.MISSING} | {"N/A", "NaN", "NA", "None"}
MISSING = ["", *sorted(w for w in _WORDS if "inf" not in w.lower())]  # the parser knows infinities by itself
T = TypeVar("T")
_INFERS_TEXT = pd.Series(["text"]).dtype != object  # pandas 3; before that, text is given its dtype
Error = (
    pd.errors.ParserError,
    pd.errors.EmptyDataError,
    csv.Error,
    UnicodeError,
    ValueError,
    OverflowError,
    IndexError,
)


class _Range:
    """The next bytes of a file, in the form that the parser takes without decoding them first."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data

    def __iter__(self) -> Any:  # what pandas takes for a file has one; its C parser reads
        raise NotImplementedError


def columns(
    source: Source,
    skip: int,
    width: int,
    numeric: Iterable[int],
    text: Iterable[int],
    style: units.Style,
    convert: Callable[[pd.DataFrame], T],
    *,
    rows: int | None = None,
) -> list[T]:
    """`convert` of the data frames that make up a table, in order; their columns are 0-based positions.

    skip: lines above the data. rows: at most this many. Text columns hold the cell as it stands, NaN where it is
    empty. Raises one of `Error` where only a slower reader can help.
    """
    words, wanted = set(text), sorted({*numeric, *text})
    options: dict[str, Any] = {
        "sep": source.delimiter, "header": None, "names": list(range(width)), "index_col": False, "usecols": wanted,
        "skip_blank_lines": False, "skipinitialspace": source.skip_space, "keep_default_na": False,
        "na_values": {c: [""] if c in words else MISSING for c in wanted}, "thousands": _thousands(source, style),
        "decimal": "." if style == "us" else ",", "quoting": csv.QUOTE_NONE if source.delimiter == "\t" else csv.QUOTE_MINIMAL,
        "nrows": rows, "engine": "c",
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # mixed columns are sorted out by `convert`
        if source.plain_path and source.encoding in ("utf-8", "utf-8-sig"):
            try:
                return _ranges(source, skip, options, words, convert, 1 if rows is not None else _threads(source.size))
            except UnicodeDecodeError:  # a stray byte: rare enough to read all again
                pass
        handle: Any = source.plain_path or source.open()
        try:
            options |= {
                "dtype": dict.fromkeys(words, object),
                "encoding": source.encoding,
                "encoding_errors": "replace",
            }
            return [convert(pd.read_csv(handle, skiprows=skip, **options))]
        finally:
            if source.plain_path is None:
                handle.close()


def _thousands(source: Source, style: units.Style) -> str | None:
    """The separator of thousands. Between commas a number that holds one stands in quotes, and most tables have none."""
    if style == "us":
        return "," if source.delimiter != "," or b'"' in source.head else None
    return "."


def beside(work: Callable[[Any], T], items: Sequence[Any], rows: int) -> list[T]:
    """`work` of every item, by several threads where there are many rows; for NumPy, which lets others run meanwhile."""
    threads = _threads(rows * 64)
    if threads == 1:
        return [work(i) for i in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def _threads(size: int) -> int:
    """How many threads a table of some bytes is worth; a worker of a batch has one core."""
    processes = sys.modules.get("multiprocessing")
    if processes is not None and processes.parent_process() is not None:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST, size // RANGE))


def _ranges(
    source: Source,
    skip: int,
    options: dict[str, Any],
    text: set[int],
    convert: Callable[[pd.DataFrame], T],
    threads: int,
) -> list[T]:
    path = cast(str, source.plain_path)

    def parse(start: int, end: int, above: int = 0) -> T:
        with open(path, "rb", buffering=0) as f:

            def table(**more: Any) -> pd.DataFrame:
                f.seek(start)
                frame: pd.DataFrame = pd.read_csv(
                    cast(Any, _Range(f, end - start)), **options | {"skiprows": above} | more
                )
                return frame

            return convert(_typed(table, text))

    below = _below(source, skip)
    if threads == 1 or not below:
        return [parse(0, source.size, skip)]
    cuts = _cuts(path, below, source.size, 2 * threads)  # two each: the last to end is not waited for as long
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(parse, cuts, cuts[1:]))


def _cuts(path: str, start: int, end: int, count: int) -> list[int]:
    """Offsets of line starts that cut the bytes from start to end into about equal ranges."""
    cuts = [start]
    with open(path, "rb") as f:
        for i in range(1, count):
            f.seek(start + (end - start) * i // count)
            f.readline()
            if cuts[-1] < f.tell() < end:
                cuts.append(f.tell())
    return [*cuts, end]


def _typed(table: Callable[..., pd.DataFrame], text: set[int]) -> pd.DataFrame:
    frame = table(dtype={} if _INFERS_TEXT else dict.fromkeys(text, object))
    read_as_numbers = [c for c in text if _INFERS_TEXT and not isinstance(frame[c].dtype, pd.StringDtype)]
    if read_as_numbers:  # names such as 007: once more, as they stand
        again = table(usecols=sorted(read_as_numbers), dtype=dict.fromkeys(read_as_numbers, object))
        for c in read_as_numbers:
            frame[c] = again[c]
    return frame


def _below(source: Source, skip: int) -> int:
    """Offset of the line below `skip` others, 0 where lines are not simply cut at line feeds."""
    head, at = source.head, 0
    for _ in range(skip):
        at = head.find(b"\n", at) + 1
        if not at:
            return 0
    plain = head.count(b"\r") == head.count(b"\r\n") and head.count(b'"', 0, at) % 2 == 0
    return at if plain else 0
