"""Databases whose pages stand for more than their bytes: what is read of them ends, whatever they claim."""

import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES
from triage.capture.source import Source
from triage.dialects.tables import database as module
from triage.dialects.tables.database import Database
from triage.ground.errors import BadCapture
from triage.reading import reader

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"


def small(path: Path, names: str = "id integer primary key, value text") -> sqlite3.Connection:
    """A database of forty kernels and as many names."""
    db = sqlite3.connect(path)
    db.execute("create table META_DATA_EXPORT (name text, value text)")
    db.execute(f"create table StringIds ({names})")
    keys = "start, end, deviceId, streamId, correlationId, globalPid, demangledName"
    db.execute(f"create table {KERNELS} ({', '.join(f'{k} integer' for k in keys.split(', '))})")
    db.executemany("insert into StringIds values (?, ?)", [(i, f"kernel{i}") for i in range(40)])
    rows = [(i * 1000, i * 1000 + 500, 0, 7, i, 1 << 24, i) for i in range(40)]
    db.executemany(f"insert into {KERNELS} values (?, ?, ?, ?, ?, ?, ?)", rows)
    db.commit()
    return db


def forge(path: Path, table: str, levels: int, fan: int = 200, page: int = 4096) -> None:
    """Make a table's root the top of a tree whose pages all lead to the one leaf that there was: fan ** levels of it."""
    db = sqlite3.connect(path)
    (root,) = db.execute("select rootpage from sqlite_master where name = ?", (table,)).fetchone()
    db.close()
    data = bytearray(path.read_bytes())
    data += data[(root - 1) * page : root * page]
    child = len(data) // page
    for level in range(levels):
        body, at = bytearray(page), page
        for i in range(fan):
            at -= 6
            body[at : at + 6] = struct.pack(">IBB", child, 0x80 | (i + 1) >> 7, (i + 1) & 0x7F)
            struct.pack_into(">H", body, 12 + 2 * i, at)
        struct.pack_into(">BHHHBI", body, 0, 5, 0, fan, at, 0, child)
        if level == levels - 1:
            data[(root - 1) * page : root * page] = body
        else:
            data += body
            child = len(data) // page
    struct.pack_into(">I", data, 28, len(data) // page)
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [3, 8])
@pytest.mark.parametrize("table", [KERNELS, "StringIds"])
def test_pages_that_stand_for_more_rows_than_there_are_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, levels: int
) -> None:
    """Two hundred to the eighth rows in a file of 60 KB: reading ends after a bounded number of instructions."""
    monkeypatch.setattr("triage.dialects.tables.database.MAX_CHECKED_BYTES", 0)  # else the pages themselves tell
    path = tmp_path / "a.sqlite"
    small(path, "id integer, value text").close()
    assert len(reader.read(str(path)).names) == 40
    forge(path, table, levels)
    with pytest.raises(BadCapture, match=r"more (rows|text) than its bytes can hold") as e:
        reader.read(str(path))
    assert "\n" not in str(e.value)


def test_texts_that_share_their_bytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells may be forged to lead to the same overflow pages: what is held is bounded by the file's size."""
    path = tmp_path / "a.sqlite"
    db = small(path)
    db.execute("update StringIds set value = ?", ("k" * 200_000,))
    db.commit()
    db.close()
    database = Database(Source(str(path)))
    assert len(database.texts("StringIds", ["value"])) == 40
    database.meter.size = 1 << 16
    monkeypatch.setattr(module, "_TEXT", 1 << 16)
    with pytest.raises(BadCapture, match="more text than its bytes can hold"):
        database.texts("StringIds", ["value"])
    with pytest.raises(BadCapture, match="more text"):
        database.strings("StringIds", np.arange(40))


def test_many_names_are_found_in_one_reading(tmp_path: Path) -> None:
    """Without an index each look-up goes through the table: five hundred at a time would take its length squared."""
    path = tmp_path / "a.sqlite"
    db = small(path, "id integer, value text")
    db.executemany("insert into StringIds values (?, ?)", [(i, f"k{i}") for i in range(40, 60_000)])
    db.execute("insert into StringIds values ('x', 'no number')")
    db.commit()
    db.close()
    database = Database(Source(str(path)))
    assert database.strings("StringIds", np.arange(1, 50_000))[49_999] == "k49999"
    assert database.strings("StringIds", np.array([3, 59_999, 70_000])) == {3: "kernel3", 59_999: "k59999"}
    assert database.meter.used < 3_000_000


@pytest.mark.parametrize("kind", ["cut", "cut at a page", "mended header", "swapped pages", "zeroed end"])
def test_a_cut_or_mixed_up_database_is_refused(tmp_path: Path, kind: str) -> None:
    data = bytearray((SAMPLES / "nsys-sqlite" / "training_two_gpus.sqlite").read_bytes())
    page = int.from_bytes(data[16:18], "big")
    count = len(data) // page
    if kind == "cut":
        del data[-100:]
    elif kind == "cut at a page":
        del data[-page:]
    elif kind == "mended header":
        del data[-page:]
        data[28:32] = (count - 1).to_bytes(4, "big")
    elif kind == "swapped pages":
        a, b = data[page * 40 : page * 41], data[page * 60 : page * 61]
        data[page * 40 : page * 41], data[page * 60 : page * 61] = b, a
    else:
        data[-page // 2 :] = bytes(page // 2)
    (tmp_path / "a.sqlite").write_bytes(data)
    with pytest.raises(BadCapture, match=r"cut database|damaged SQLite") as e:
        reader.read(str(tmp_path / "a.sqlite"))
    assert "\n" not in str(e.value)
