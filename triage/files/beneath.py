"""Opening files below a folder by descriptor, so that no link and no rename on the way leads out of it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _NOFOLLOW
_BY_DESCRIPTOR = os.open in os.supports_dir_fd


def open_below(folder: Path, parts: Sequence[str], *, a_folder: bool = False) -> int:
    """Return a descriptor of a file, or of a folder, below `folder`; raise OSError for links, `..`, devices and missing ones.

    Each step is opened below the descriptor of the one before: what is swapped for a link meanwhile is refused.
    """
    if not all(p not in ("", ".", "..") and os.sep not in p and "\0" not in p for p in parts):
        raise OSError(errno.EINVAL, "not a path below the folder")
    if not _BY_DESCRIPTOR:  # Windows: checked by name alone
        path = Path(os.path.realpath(folder.joinpath(*parts)))
        if not path.is_relative_to(os.path.realpath(folder)):
            raise OSError(errno.ELOOP, "leads out of the folder")
        return os.open(path, _FILE)
    here = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for i, part in enumerate(parts):
            is_folder = a_folder or i < len(parts) - 1
            below = os.open(part, _FOLDER if is_folder else _FILE, dir_fd=here)
            here, before = below, here
            os.close(before)
        if not a_folder and not stat.S_ISREG(os.fstat(here).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
    except BaseException:
        with suppress(OSError):
            os.close(here)
        raise
    return here
