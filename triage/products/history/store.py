"""A history in one SQLite file: written by many at once, whole after any kill, brought up to date when opened.

Every run is one transaction: either all of it is in the file or nothing. Writers wait for one another (SQLite's own
locks; the file may therefore not lie on a share without them). Nothing but the file is needed, and `sqlite3` reads it.

A file may come from a stranger's build: work stays in proportion to its bytes, and cells are what their columns say.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from triage.files.metered import Meter, guard
from triage.files.writing import in_reach
from triage.ground.errors import TriageError
from triage.products.history.record import Key, Run
from triage.products.history.schema import APPLICATION, MIGRATIONS, VERSION

WAIT = 60.0  # seconds a writer waits for the others
LONGEST = 1 << 20  # bytes of one text or row; paths of markers are some hundred
_TEXT, _PER_BYTE = 1 << 22, 4  # bytes of all texts that are read: so many and, for each byte of the file, so many more
_JOURNAL = bytes.fromhex("d9d505f920a163d7")  # ends the name of such a journal (sqlite.org/fileformat2.html, section 3)
_LAST = 253_402_300_799  # 9999-12-31 in seconds since 1970
Row = Any  # a tuple of the types asked for


class Database(sqlite3.Connection):
    """The connection and its meter, which is set back by each transaction."""

    where: Path
    meter: Meter
    text: int  # bytes of texts that may still be read

    def measure(self) -> None:
        """Begin to count for the file as large as it is now."""
        self.meter.size, self.meter.used = self.where.stat().st_size, 0
        self.meter.begin()
        self.text = _TEXT + _PER_BYTE * self.meter.size

    def decode(self, data: bytes) -> str:
        """A text; raises sqlite3.DatabaseError where forged pages share more of them than there are bytes."""
        self.text -= len(data)
        if self.text < 0:
            raise sqlite3.DatabaseError("it claims more text than its bytes can hold")
        return data.decode("utf-8", "replace")

    def rows(self, sql: str, types: Sequence[type], given: Sequence[object] = ()) -> Iterator[Row]:
        """Rows whose cells are of these types, or empty for `float`; raises sqlite3.DatabaseError for others."""
        self.meter.begin()
        for row in self.execute(sql, given):
            for cell, wanted in zip(row, types, strict=True):
                is_figure = cell is None or (isinstance(cell, int | float) and math.isfinite(cell))
                if not (is_figure if wanted is float else type(cell) is wanted):
                    raise sqlite3.DatabaseError(f"a cell that is no {_KINDS[wanted]}")
            yield row


_KINDS = {int: "whole number", float: "number", str: "text"}


class Build(Struct, frozen=True):
    """A build of the file. at: seconds since 1970. runs: their ids, oldest first."""

    id: int
    key: Key
    at: int
    labels: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()


@contextlib.contextmanager
def opened(path: str, *, create: bool = False) -> Iterator[Database]:
    """The file, up to date. Raises TriageError when it is not there (unless create), is a link, no history, or damaged."""
    where = Path(path)
    if where.is_symlink():  # it would write into another user's file
        raise TriageError(f"{path}: a link, expected a file", "name the file itself")
    if not create and not where.is_file():
        raise TriageError(f"{path}: no such history", "create it: triage history add CAPTURE...")
    db: Database | None = None
    try:
        # SQLite would write through a link, and delete the file that a journal names
        if other := _foreign_beside(where):
            raise TriageError(f"{other}: not a journal of triage", "move it away, or copy the history alone")
        if create:
            in_reach(where.parent, "--history")
            where.parent.mkdir(parents=True, exist_ok=True)
        db = _connect(where, create)
        _upgrade(db, path)
        yield db
    except sqlite3.OperationalError as e:
        if "interrupted" in str(e):
            raise TriageError(
                f"{path}: damaged history (more rows than its bytes can hold)", "copy it again, or start a new one"
            ) from e
        hint = "try again when the others are done" if "locked" in str(e) else "check space and permissions"
        raise TriageError(f"{path}: cannot be used ({e})", hint) from e
    except sqlite3.DatabaseError as e:
        what = "not a triage history" if "not a database" in str(e) else "damaged history"
        raise TriageError(f"{path}: {what} ({e})", "check --history") from e
    except OSError as e:
        raise TriageError(f"{path}: cannot be written ({e.strerror or e})", "choose another --history") from e
    finally:
        if db is not None:
            db.close()


def _foreign_beside(where: Path) -> Path | None:
    """The journal or log beside a history that is a link, or ends with the name of a journal over several databases."""
    for path in (where.with_name(where.name + ending) for ending in ("-journal", "-wal", "-shm")):
        if path.is_symlink() or (path.is_file() and _ends_with(path, _JOURNAL)):
            return path
    return None


def _ends_with(path: Path, mark: bytes) -> bool:
    try:
        with path.open("rb") as f:
            f.seek(max(0, path.stat().st_size - len(mark)))
            return f.read() == mark
    except FileNotFoundError:  # another writer is done with it
        return False


def _connect(where: Path, create: bool) -> Database:
    # autocommit: transactions are begun by hand, because Python would begin them too late
    db = sqlite3.connect(
        f"{where.resolve().as_uri()}?mode={'rwc' if create else 'rw'}",
        uri=True,
        timeout=WAIT,
        isolation_level=None,
        factory=Database,
    )
    try:
        db.where, db.meter = where, Meter()
        db.measure()
        guard(db, db.meter, LONGEST)
        db.text_factory = db.decode
        db.execute("PRAGMA foreign_keys = ON")
        # the default, stated because it matters: a run that was reported as added survives a loss of power
        db.execute("PRAGMA synchronous = FULL")
    except BaseException:
        db.close()
        raise
    return db


def _upgrade(db: Database, path: str) -> None:
    if _version(db, path) == VERSION:
        return
    with writing(db):
        # looked at again under the lock: another process may have done it
        for sql in MIGRATIONS[_version(db, path) :]:
            for statement in sql.split(";"):
                db.execute(statement) if statement.strip() else None
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")


def _version(db: Database, path: str) -> int:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    application = int(db.execute("PRAGMA application_id").fetchone()[0])
    empty = version == 0 and db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if not empty and application != APPLICATION:
        raise TriageError(f"{path}: not a triage history (database of another program)", "check --history")
    # a history has tables and indexes; triggers and views would run whenever it is read or written
    made = "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE 'create virtual%' LIMIT 1"
    if (other := db.execute(made).fetchone()) is not None:
        raise TriageError(f"{path}: not a triage history (holds {str(other[0])[:60]!r})", "check --history")
    # a foreign index or constraint would refuse rows, or drop them
    named = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT 99").fetchall()
    ours = _made(min(max(version, 0), VERSION))
    for name, sql in named if version <= VERSION else ():
        if " ".join(str(sql).split()) != ours.get(name):
            raise TriageError(f"{path}: not a triage history (holds {str(name)[:60]!r})", "check --history")
    if version > VERSION:
        raise TriageError(
            f"{path}: written by a newer triage (tables {version}, this one reads {VERSION})", "update triage"
        )
    return version


@functools.lru_cache(maxsize=VERSION + 1)
def _made(version: int) -> dict[str, str]:
    """Tables and indexes of a history of this version by name, as SQLite keeps their definitions."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        for sql in MIGRATIONS[:version]:
            db.executescript(sql)
        return {
            name: " ".join(sql.split())
            for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        }


@contextlib.contextmanager
def writing(db: Database) -> Iterator[None]:
    """One transaction; others wait for its end."""
    db.execute("BEGIN IMMEDIATE")
    db.measure()
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def add(db: Database, key: Key, at: int, run: Run, now: int, label: str = "") -> bool:
    """Keep a run; False where this build has the same capture already. at, now: seconds since 1970."""
    with writing(db):
        build = _build(db, key, at)
        if label:
            db.execute("INSERT OR REPLACE INTO label VALUES (?, ?)", (label, build))
        made = db.execute(
            "INSERT OR IGNORE INTO run (build, sha256, path, added, frame_ns, recoverable_ns, version, rules) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (build, run.sha256, _text(run.path), now, run.frame_ns, run.recoverable_ns, run.version, run.rules),
        )
        if not made.rowcount:
            return False
        number = made.lastrowid
        causes = {t.cause: t.title for t in run.todo}
        causes |= {cause: cause for _, _, cause in run.times if cause and cause not in causes}
        known = _ids(db, "cause", [(name, title) for name, title in causes.items()])
        markers = _ids(db, "marker", [(_text(name),) for name, _, _ in run.times])
        times = [(number, markers[_text(name)], ns, known.get(cause)) for name, ns, cause in run.times]
        db.executemany("INSERT INTO time VALUES (?, ?, ?, ?)", times)
        todo = ((known[t.cause], t.rank, t.saved_ns, t.share, t.level, t.confidence, t.workloads) for t in run.todo)
        db.executemany("INSERT INTO todo VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(number, *row) for row in todo])
    return True


def _text(name: str) -> str:
    # names of another encoding hold lone surrogates, which SQLite refuses
    return name.encode("utf-8", "replace").decode("utf-8")


def _build(db: Database, key: Key, at: int) -> int:
    fields = tuple(map(_text, (key.branch, key.revision, key.scope, key.device)))
    db.execute(
        "INSERT OR IGNORE INTO build (branch, revision, scope, device, at) VALUES (?, ?, ?, ?, ?)", (*fields, at)
    )
    found = db.execute("SELECT id FROM build WHERE (branch, revision, scope, device) = (?, ?, ?, ?)", fields).fetchone()
    return int(found[0])


def _ids(db: Database, table: str, rows: Sequence[tuple[str, ...]]) -> dict[str, int]:
    """name -> id of a table of names, new ones made. A cause's title follows the rules of today."""
    if not rows:
        return {}
    columns, update = "name", "DO NOTHING"
    if table == "cause":
        columns, update = "name, title", "DO UPDATE SET title = excluded.title WHERE title IS NOT excluded.title"
    holes = ", ".join("?" * len(rows[0]))
    db.executemany(f"INSERT INTO {table} ({columns}) VALUES ({holes}) ON CONFLICT (name) {update}", rows)
    wanted = {row[0] for row in rows}
    return {name: build_id for build_id, name in db.rows(f"SELECT id, name FROM {table}", (int, str)) if name in wanted}


def builds(db: Database, *, branch: str = "", scope: str | None = None, device: str | None = None) -> list[Build]:
    """Builds in the order of their commits, those of one branch, scope and device where given."""
    runs: dict[int, list[int]] = {}
    for build, run in db.rows("SELECT build, id FROM run ORDER BY id", (int, int)):
        runs.setdefault(build, []).append(run)
    labels: dict[int, list[str]] = {}
    for name, build in db.rows("SELECT name, build FROM label ORDER BY name", (str, int)):
        labels.setdefault(build, []).append(name)
    fields = "SELECT id, branch, revision, scope, device, at FROM build ORDER BY at, id"
    rows = list(db.rows(fields, (int, str, str, str, str, int)))
    if rows and not 0 <= rows[0][-1] <= rows[-1][-1] <= _LAST:
        raise sqlite3.DatabaseError("a build of no time")
    return [
        Build(build_id, Key(b, revision, s, d), at, tuple(labels.get(build_id, ())), tuple(runs[build_id]))
        for build_id, b, revision, s, d, at in rows
        if build_id in runs
        and (not branch or b == branch)
        and (scope is None or s == scope)
        and (device is None or d == device)
    ]
