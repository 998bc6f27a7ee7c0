"""Read a whole file that a user names: bounded, and without waiting for a writer."""

from __future__ import annotations

import errno
import os
import select
import stat
from pathlib import Path

PATIENCE = 10.0  # seconds until something must have been written into a pipe


class TooLarge(ValueError):
    """The file holds more than was asked for."""


def read(path: Path, most: int) -> bytes:
    """All bytes of a file or pipe; raises OSError for anything else and for a pipe without a writer, TooLarge beyond `most`."""
    # not blocking: to open a pipe without a writer would wait for ever
    return read_handle(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), most)


def read_handle(handle: int, most: int) -> bytes:
    """Return the same of a file opened without blocking; the descriptor is closed."""
    with open(handle, "rb", buffering=0) as f:
        mode = os.fstat(handle).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise OSError(errno.EINVAL, os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "a device or socket")
        parts: list[bytes] = []
        left = most
        while left >= 0:
            if stat.S_ISFIFO(mode) and not select.select([f], [], [], PATIENCE)[0]:
                raise OSError(errno.ETIMEDOUT, "a pipe into which nothing is written")
            block = f.read(min(left + 1, 1 << 20))
            if block is None:
                continue
            if not block:
                return b"".join(parts)
            parts.append(block)
            left -= len(block)
    raise TooLarge(f"larger than {most:,} bytes")
