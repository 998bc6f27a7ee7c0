"""Work done once per machine: compiled rules and templates, in the user's cache folder.

What is kept is named after everything it was made from, so it cannot be out of date; a missing, damaged or foreign file
is made again, and where nothing can be written nothing is kept. `TRIAGE_CACHE=FOLDER` puts it elsewhere,
`TRIAGE_CACHE=off` does without.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path

MOST = 60  # files; of more, the oldest go
_DIGEST = hashlib.sha256().digest_size


def folder() -> Path | None:
    """Where things are kept; None for nowhere."""
    wanted = os.environ.get("TRIAGE_CACHE", "")
    if wanted:
        return None if wanted == "off" else Path(wanted)
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    with contextlib.suppress(RuntimeError):  # nobody's home
        return (Path(base) if base else Path.home() / ".cache") / "sol-triage"
    return None


def recall(name: str) -> bytes | None:
    """What was kept under a name, if it is whole and nobody else can have written it."""
    place = folder()
    try:
        if place is None or not (_mine(place) and _mine(place / name)):
            return None
        data = (place / name).read_bytes()
    except OSError:
        return None
    whole = hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]
    return data[_DIGEST:] if whole else None


def keep(name: str, data: bytes) -> None:
    """Keep something under a name, whole or not at all; silently nothing where that cannot be done."""
    place = folder()
    if place is None:
        return
    part = place / f"{name}.{os.getpid()}.part"
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            part.touch(mode=0o600)
            part.write_bytes(hashlib.sha256(data).digest() + data)
            os.replace(part, place / name)
        finally:
            part.unlink(missing_ok=True)
        kept = sorted(place.iterdir(), key=lambda p: p.stat().st_mtime_ns)
        for old in kept[:-MOST]:
            old.unlink(missing_ok=True)


def _mine(path: Path) -> bool:
    """Does this belong to the user, and to nobody's group? What is kept is code, in a way."""
    if sys.platform == "win32":
        return path.exists()
    found = path.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022
