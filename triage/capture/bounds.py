"""Reading no more than an honest export has: of pipes, devices and streams without an end."""

from __future__ import annotations

import os
import select
import stat
import sys

from triage.capture.compression import bounded
from triage.ground.errors import BadCapture, CaptureError

MAX_PIPED = 1 << 30
PATIENCE = 10.0  # seconds until something must have been written into a pipe


def standard_input() -> bytes:
    """All of it; raises CaptureError for a device, BadCapture where it does not end."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):  # none, or an object that stands for it
        mode = 0
    if (stat.S_ISCHR(mode) and not sys.stdin.isatty()) or stat.S_ISBLK(mode):
        raise CaptureError("-: standard input is a device", "pipe an export into it")
    return bounded(sys.stdin.buffer, "-")


def special(path: str, mode: int) -> bytes:
    """All of a pipe, such as `<(zcat x.gz)`: it can be read only once.

    Raises CaptureError for devices and sockets, and for a pipe into which nobody writes.
    """
    if not stat.S_ISFIFO(mode):
        raise CaptureError(f"{path}: a device or socket", "name a file or a folder")
    # not blocking: to open a pipe without a writer would wait for ever
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb", buffering=0) as f:
        if not select.select([f], [], [], PATIENCE)[0]:
            raise CaptureError(f"{path}: pipe without a writer", "start the writer first")
        parts, seen = [], 0
        while (block := f.read(1 << 20)) != b"":
            if block is None:
                if not select.select([f], [], [], PATIENCE)[0]:
                    raise CaptureError(f"{path}: pipe whose writer sends nothing more", "close it after writing")
                continue
            parts.append(block)
            seen += len(block)
            if seen > MAX_PIPED:
                raise BadCapture(
                    f"{path}: larger than {MAX_PIPED >> 20} MB, too large for a pipe", "write it to a file"
                )
        return b"".join(parts)
