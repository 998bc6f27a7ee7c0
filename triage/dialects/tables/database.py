"""A profiler's SQLite file, opened read-only: tables as NumPy columns, cells found again, hostile bytes as one line.

Nothing is written beside the file and none of its views, triggers or virtual tables is run. Columns are whole numbers unless
asked for as text. Pages may be forged to stand for more rows and texts than there are bytes, so both are metered.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from triage.capture.arrays import Floats, Indices, Masks
from triage.capture.compression import bounded
from triage.capture.source import Source
from triage.files.metered import Meter, guard
from triage.ground.errors import BadCapture, CaptureError

MAGIC = b"SQLite format 3\0"
MISSING = -(1 << 62)  # an empty cell
MAX_ROW_BYTES = 1 << 24  # bytes of one text or row; names of kernels are some thousand
MAX_CHECKED_BYTES = 1 << 20  # of a file whose pages are all looked at: of larger ones it takes a tenth of reading
_MEMORY = 1 << 32  # bytes of a packed or piped database, which must be held whole
_CUT = 1 << 16  # characters of a text that are read
_TEXT = 1 << 22  # characters of the texts of a query, beside four for each byte of the file
_FULL_SCAN_FROM = 5_000  # texts that are looked up one by one; more are found by reading the whole table
_FAR = 1 << 61  # a time or size beyond it is damage, and differences of two stay in 64 bits


def is_database(source: Source) -> bool:
    """True if the first bytes are SQLite's."""
    return source.head.startswith(MAGIC)


class Database:
    """The tables of one file. Every method raises BadCapture, in one line, where the file is damaged."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.meter = Meter()
        with self._guard():
            self._connection, self.meter.size = _connect(source)
            _whole_file(source, self.meter.size)
            # rows are looked up again until the last evidence is written: closed with the last who can ask
            weakref.finalize(self, self._connection.close)
            self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
            guard(self._connection, self.meter, MAX_ROW_BYTES)
            self._check()
            # a view or a virtual table of a stranger may never end
            found = self._connection.execute(
                "select name from sqlite_master where type = 'table' and sql like 'create table%'"
            ).fetchall()
            self._columns: dict[str, list[str] | None] = {str(name): None for (name,) in found}
            self._lower = {t.lower(): t for t in self._columns}

    def _check(self) -> None:
        """Raise sqlite3.DatabaseError for pages that are not where they belong, in a file of ordinary size."""
        if self.meter.size > MAX_CHECKED_BYTES:
            return
        text = str(self._connection.execute("pragma quick_check(1)").fetchone()[0])
        if text.startswith("***"):
            raise sqlite3.DatabaseError(text.partition("\n")[2] or text)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        self.meter.begin()
        try:
            yield
        except (sqlite3.Error, OverflowError, MemoryError, UnicodeError) as e:
            message = " ".join(str(e).split())[:120] or type(e).__name__
            if message == "interrupted":
                message = "it claims more rows than its bytes can hold"
            raise BadCapture(
                f"{self.source.path}: damaged SQLite database ({message})", "copy or export it again"
            ) from e

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(self._columns)

    def table(self, *names: str) -> str:
        """The first of these tables that is there, whatever case it is written in; "" for none."""
        return next((self._lower[n.lower()] for n in names if n.lower() in self._lower), "")

    def columns(self, table: str) -> list[str]:
        """Names of a table's columns; [] for a table that is not there."""
        if table not in self._columns:
            return []
        if (known := self._columns[table]) is None:
            with self._guard():
                rows = self._connection.execute(f"pragma table_info({_quoted(table)})").fetchall()
            known = self._columns[table] = [str(r[1]) for r in rows]
        return known

    def count(self, table: str) -> int:
        """Rows of a table, 0 where it is not there."""
        if table not in self._columns:
            return 0
        with self._guard():
            # a plain count(*) is one instruction, however many rows are claimed
            query = f"select count(*) from (select 1 from {_quoted(table)} limit {1 << 62})"
            return int(self._connection.execute(query).fetchone()[0])

    def numbers(self, table: str, wanted: Sequence[str], where: str = "") -> dict[str, Indices]:
        """Whole numbers by column, MISSING for empty cells; columns that the table lacks are not in the result.

        where: a condition in SQL of ours, never of the file's.
        """
        have = [c for c in wanted if c in self.columns(table)]
        if not have:
            return {}
        dtype = np.dtype([(f"c{i}", np.int64) for i in range(len(have))])
        tail = f" from {_quoted(table)}" + (f" where {where}" if where else "")
        with self._guard():
            plain = ", ".join(map(_quoted, have))
            # the casts cost a tenth of the reading and are needed only for empty or odd cells
            odd = ", ".join(_whole(_quoted(c)) for c in have)
            try:
                rows = np.fromiter(self._connection.execute(f"select {plain}{tail}"), dtype)
            except (TypeError, ValueError, OverflowError):
                rows = np.fromiter(self._connection.execute(f"select {odd}{tail}"), dtype)
        return {c: np.ascontiguousarray(rows[f"c{i}"]) for i, c in enumerate(have)}

    def measured(self, table: str, keys: Sequence[str], value: str) -> tuple[dict[str, Indices], Floats]:
        """Whole numbers by column and one column of any numbers beside them, NaN where it holds none; all empty without the table."""
        if not {*keys, value} <= set(self.columns(table)):
            return {k: np.zeros(0, dtype=np.int64) for k in keys}, np.zeros(0)
        dtype = np.dtype([*((f"c{i}", np.int64) for i in range(len(keys))), ("v", np.float64)])
        number = _quoted(value)
        cells = ", ".join(_whole(_quoted(k)) for k in keys)
        with self._guard():  # 9e999 is infinity, a text is no number
            found = self._connection.execute(
                f"select {cells}, case when typeof({number}) in ('integer', 'real') then cast({number} as real) else 9e999 end"
                f" from {_quoted(table)}"
            )
            rows = np.fromiter(found, dtype)
        columns = {k: np.ascontiguousarray(rows[f"c{i}"]) for i, k in enumerate(keys)}
        return columns, np.where(np.isfinite(rows["v"]), rows["v"], np.nan)

    def texts(self, table: str, wanted: Sequence[str], where: str = "") -> list[tuple[str, ...]]:
        """Rows of texts, "" for empty cells and for columns that the table lacks."""
        if not table:
            return []
        have = self.columns(table)
        cells = ", ".join(_text(_quoted(c)) if c in have else "''" for c in wanted)
        with self._guard():
            tail = f" from {_quoted(table)}" + (f" where {where}" if where else "")
            return list(self._held(self._connection.execute(f"select {cells}{tail}")))

    def _held(self, rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        """The rows, as long as the file can hold their texts: forged ones may share their bytes."""
        most = _TEXT + 4 * self.meter.size
        for row in rows:
            most -= sum(map(len, row))
            if most < 0:
                raise sqlite3.DatabaseError("it claims more text than its bytes can hold")
            yield row

    def strings(self, table: str, ids: Indices, key: str = "id", value: str = "value") -> dict[int, str]:
        """id -> text for the ids that are asked for, "" for empty cells."""
        if key not in self.columns(table) or value not in self.columns(table):
            return {}
        out: dict[int, str] = {}
        number, wanted = f"cast({_quoted(key)} as text)", set(map(str, ids.tolist()))
        query = (
            f"select {number}, {_text(_quoted(value))} from {_quoted(table)} where typeof({_quoted(key)}) = 'integer'"
        )
        with self._guard():
            for some in _batches(ids) if len(wanted) <= _FULL_SCAN_FROM else (None,):
                one = "" if some is None else f" and {_quoted(key)} in ({','.join(map(str, some))})"
                found = self._held(self._connection.execute(query + one))
                out.update((int(i), text) for i, text in found if i in wanted)
        return out

    def first_rowid(self, table: str, size: int) -> int | None:
        """The number of a table's first row where its rows are numbered without a hole, else None."""
        self.meter.begin()
        try:
            # two queries: each takes a few steps, both in one would go through all rows
            ends = [f"(select {end}(rowid) from {_quoted(table)})" for end in ("min", "max")]
            low, high = self._connection.execute(f"select {', '.join(ends)}").fetchone()
        except sqlite3.Error:  # a table WITHOUT ROWID
            return None
        return int(low) if low is not None and high - low + 1 == size else None

    def row(self, table: str, number: int, wanted: Sequence[str], rowid: int | None) -> list[str]:
        """Cells of a row as texts: `number` counts from 0 in the order of reading; rowid: of the table's first row."""
        cells = ", ".join(f"cast({_quoted(c)} as text)" if c in self.columns(table) else "''" for c in wanted)
        place = f"where rowid = {rowid + number}" if rowid is not None else f"limit 1 offset {number}"
        with self._guard():
            found = self._connection.execute(f"select {cells} from {_quoted(table)} {place}").fetchone()
        return ["" if c is None else str(c) for c in found or ()]


def finder(
    database: Database, columns: Sequence[str], tables: Sequence[tuple[str, int]]
) -> Callable[[list[int]], dict[int, list[str]]]:
    """What finds rows again for a Source: a `line` is a row of the tables given (name, size), counted through all from 1."""

    def find(wanted: list[int]) -> dict[int, list[str]]:
        out: dict[int, list[str]] = {}
        begin = 1
        for table, size in tables:
            mine = [n for n in wanted if begin <= n < begin + size]
            rowid = database.first_rowid(table, size) if mine else None
            out.update({n: database.row(table, n - begin, columns, rowid) for n in mine})
            begin += size
        return out

    return find


def floats(values: Indices) -> Floats:
    """Whole numbers as measured values: MISSING becomes NaN."""
    return np.where(values == MISSING, np.nan, values.astype(np.float64))


def sane(start: Indices, end: Indices) -> tuple[Masks, str]:
    """(rows with plausible times, problems of the others): known, near, in order."""
    there = (start != MISSING) & (end != MISSING)
    near = there & (np.abs(start) < _FAR) & (np.abs(end) < _FAR)
    good = near & (end >= start)
    if good.all():
        return good, ""
    wrong = [("without start or end", ~there), ("with times beyond any clock", there & ~near), ("that end before they start", near & ~good)]  # fmt: skip
    return good, " and ".join(f"{int(bad.sum())} {text}" for text, bad in wrong if bad.any())


def _batches(ids: Indices) -> Iterator[list[int]]:
    numbers = ids.tolist()
    for i in range(0, len(numbers), 500):
        yield numbers[i : i + 500]


def _whole(cell: str) -> str:
    """SQL for a cell as a whole number; words, which a cast would make 0, are missing like empty cells."""
    number = f"case when typeof({cell}) in ('integer', 'real') or {cell} not glob '*[^0-9-]*' then cast({cell} as integer) end"
    return f"ifnull({number}, {MISSING})"


def _text(cell: str) -> str:
    """SQL for a cell as a text, its end left off beyond any honest length."""
    return f"substr(ifnull(cast({cell} as text), ''), 1, {_CUT})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _whole_file(source: Source, size: int) -> None:
    """Raise BadCapture where the header counts more pages than the file holds (SQLite, File Format, 1.3): it was cut."""
    head = source.head
    page = int.from_bytes(head[16:18], "big")
    page = 1 << 16 if page == 1 else page
    # the count holds where the version it was written for is the file's own
    pages = int.from_bytes(head[28:32], "big") if head[24:28] == head[92:96] else 0
    if page * pages > size:
        raise BadCapture(f"{source.path}: cut database ({size:,} of {page * pages:,} bytes)", "copy or export it again")


def _connect(source: Source) -> tuple[sqlite3.Connection, int]:
    """The file, read-only, and its size in bytes."""
    if (path := source.plain_path) is None:
        with source.open() as f:
            data = bounded(f, source.path, _MEMORY)
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            connection.deserialize(data)
        except BaseException:
            connection.close()
            raise
        return connection, len(data)
    for ending in ("-wal", "-journal"):
        beside = Path(path + ending)
        if beside.is_file() and beside.stat().st_size:
            raise CaptureError(
                f"{source.path}: still being written ({beside.name} exists)",
                "wait for the export to end, or copy both files and open them once with sqlite3",
            )
    # immutable: no lock and no shared-memory file is made beside it
    where = Path(path).resolve()
    return sqlite3.connect(
        where.as_uri() + "?mode=ro&immutable=1", uri=True, check_same_thread=False
    ), where.stat().st_size
