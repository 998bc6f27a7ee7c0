"""SQLite files of strangers: none of their own code is run, and what is read stays in proportion to their bytes.

Pages may be forged to stand for more rows and texts than there are bytes, so instructions and time are counted.
"""

from __future__ import annotations

import sqlite3
import time

_TICK = 10_000  # instructions of SQLite's machine between two looks at the meter
# of a whole reading: a row takes one instruction for a cell, and a cell a byte or more
_INSTRUCTIONS, _PER_BYTE = 20_000_000, 10
_SECONDS, _BYTES_PER_SECOND = 2.0, 16 << 20  # of one query: a tenth of what a slow machine does


class Meter:
    """Ends queries that do more than the bytes of their file can ask for."""

    def __init__(self) -> None:
        self.size = self.used = 0  # bytes of the file, and instructions until now
        self._until = 0.0

    def begin(self) -> None:
        """A query begins."""
        self._until = time.thread_time() + _SECONDS + self.size / _BYTES_PER_SECOND

    def tick(self) -> bool:
        """True if it is enough."""
        self.used += _TICK
        return self.used > _INSTRUCTIONS + _PER_BYTE * self.size or time.thread_time() > self._until


def guard(connection: sqlite3.Connection, meter: Meter, longest: int) -> None:
    """Put a connection under a meter. longest: bytes of one text or row."""
    # not of whoever holds the connection: it would be held for ever
    connection.set_progress_handler(meter.tick, _TICK)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    connection.execute("pragma trusted_schema=off")
    connection.execute("pragma cell_size_check=on")
