"""Work done once per machine: compiled rules and templates, in the user's cache folder.

What is kept is named after everything it was made from, so it cannot be out of date; a missing, damaged or foreign file
is made again, and where nothing can be written nothing is kept. `TRIAGE_CACHE=FOLDER` puts it elsewhere,
`TRIAGE_CACHE=off` does without. Other files in that folder are left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path

MOST = 60  # files; of more, the oldest go
_DIGEST = hashlib.sha256().digest_size
# Both ends of a file's name say whose it is: TRIAGE_CACHE may name a folder that holds the user's own files as well.
_HEAD, _TAIL, _PART = "sol-triage-", ".cache", ".part"


def folder() -> Path | None:
    """Where things are kept; None for nowhere."""
    wanted = os.environ.get("TRIAGE_CACHE", "")
    if wanted:
        return None if wanted == "off" else Path(wanted)
    import platformdirs  # two milliseconds that `triage --help` need not wait for

    with contextlib.suppress(RuntimeError):  # nobody's home
        place = platformdirs.user_cache_path("sol-triage", appauthor=False, opinion=False)
        # older releases hand back a "~" they could not resolve: a folder of that name in the working directory
        return place if place.is_absolute() else None
    return None


def recall(name: str) -> bytes | None:
    """What was kept under a name, if it is whole and nobody else can have written it."""
    place = folder()
    if place is None:
        return None
    try:
        if not _mine(place.stat()):
            return None
        # The open file is judged, not its name: between a look at the name and reading it, it could be another file.
        handle = os.open(place / _file(name), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as f:
            data = f.read() if _mine(os.fstat(handle)) else b""
    except OSError:
        return None
    whole = hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]
    return data[_DIGEST:] if whole else None


def keep(name: str, data: bytes) -> None:
    """Keep something under a name, whole or not at all; silently nothing where that cannot be done."""
    place = folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _mine(place.stat()):  # `recall` would not believe it
            return
        part = place / f"{_HEAD}{os.urandom(6).hex()}{_PART}"
        try:
            with open(part, "xb", opener=_private) as f:
                f.write(hashlib.sha256(data).digest() + data)
            os.replace(part, place / _file(name))
        finally:
            part.unlink(missing_ok=True)
        _tidy(place)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _file(name: str) -> str:
    return f"{_HEAD}{name}{_TAIL}"


def _tidy(place: Path) -> None:
    """Let the oldest of the cache's own files go; parts that a killed process left count among them."""
    own = [p for end in (_TAIL, _PART) for p in place.glob(f"{_HEAD}*{end}")]
    for old in sorted(own, key=lambda p: p.lstat().st_mtime_ns)[:-MOST]:
        old.unlink(missing_ok=True)


def _mine(found: os.stat_result) -> bool:
    """Does this belong to the user, and can nobody else write it? What is kept is code, in a way."""
    if sys.platform == "win32":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022
