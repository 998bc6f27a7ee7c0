"""Work done once per machine: compiled rules and templates, in the user's cache folder.

What is kept is named after everything it was made from, so it cannot be out of date; a missing, damaged or foreign file
is made again, and where nothing can be written nothing is kept. `TRIAGE_CACHE=FOLDER` puts it elsewhere,
`TRIAGE_CACHE=off` does without. That may be any folder: the cache has one of its own in it, known by a mark, and touches
nothing but the files in it whose names are its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

MAX_CACHED_FILES = 60  # files; of more, the oldest go
LARGEST = 64 << 20  # bytes of one
OWN = "sol-triage-cache"  # the cache's own folder
MARK = "CACHEDIR.TAG"  # says that the folder was made by the cache; programs that make backups know it, too
_SIGNED = b"Signature: 8a477f597d28d172789f06886806bc55\n# This folder holds what sol-triage can make again.\n"
_DIGEST = hashlib.sha256().digest_size
_TAIL, _PART = ".cache", ".part"
_NAME = re.compile(r"[a-z][a-z.]*-[\w.-]{1,200}\.cache|[0-9a-f]{12}\.part")
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def folder() -> Path | None:
    """The folder in which the cache has its own; None for nowhere."""
    wanted = os.environ.get("TRIAGE_CACHE", "")
    if wanted:
        return None if wanted == "off" else Path(wanted)
    import platformdirs  # two milliseconds that `triage --help` need not wait for

    with contextlib.suppress(RuntimeError):  # no home folder
        place = platformdirs.user_cache_path("sol-triage", appauthor=False, opinion=False)
        # older releases hand back a "~" they could not resolve: a folder of that name in the working directory
        return place if place.is_absolute() else None
    return None


def stamp(files: Iterable[Path]) -> str:
    """Names what is made from these files by this Python. They need not be read: editors and installations change size or time."""
    h = hashlib.sha256(sys.version.encode())
    for file in sorted(files):
        found = file.stat()
        h.update(f"{file.name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return h.hexdigest()


def digest(files: Iterable[Path]) -> str:
    """Names what is made from these files by this Python, by their content: for a few small ones."""
    h = hashlib.sha256(sys.version.encode())
    for file in sorted(files):
        data = file.read_bytes()
        h.update(f"{file.name} {len(data)}\n".encode() + data)
    return h.hexdigest()


def recall(name: str) -> bytes | None:
    """Cached bytes of a name, if they are whole and only the user can have written them."""
    data = b""
    with contextlib.suppress(OSError), _place(make=False) as place:
        if place is None:
            return None
        with open(place.open(name + _TAIL, os.O_RDONLY), "rb") as f:
            found = os.fstat(f.fileno())
            data = f.read() if _mine(found) and stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST else b""
    whole = hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]
    return data[_DIGEST:] if whole else None


def keep(name: str, data: bytes) -> None:
    """Keep something under a name, whole or not at all; silently nothing where that cannot be done."""
    with contextlib.suppress(OSError), _place(make=True) as place:
        if place is None or not _NAME.fullmatch(name + _TAIL):
            return
        part = os.urandom(6).hex() + _PART
        try:
            place.write(part, hashlib.sha256(data).digest() + data)
            place.rename(part, name + _TAIL)
        finally:
            with contextlib.suppress(OSError):
                place.remove(part)
        _tidy(place)


class _Place(Struct, frozen=True):
    """The cache's own folder, held open: what happens to its name meanwhile leads nowhere else."""

    path: Path
    handle: int | None  # None where the system opens no folders

    def _at(self, name: str) -> str | Path:
        return self.path / name if self.handle is None else name

    def open(self, name: str, flags: int) -> int:
        """A file of the folder, never a link's target; raises OSError."""
        return os.open(self._at(name), flags | _FLAGS, 0o600, dir_fd=self.handle)

    def write(self, name: str, data: bytes) -> None:
        """A file that was not there."""
        with open(self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as f:
            f.write(data)

    def rename(self, old: str, new: str) -> None:
        """Another name for a file, in place of what has it."""
        os.replace(self._at(old), self._at(new), src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def remove(self, name: str) -> None:
        """A file, or the link that has its name."""
        os.unlink(self._at(name), dir_fd=self.handle)

    def names(self) -> list[str]:
        """Everything in the folder."""
        return os.listdir(self.path if self.handle is None else self.handle)

    def stat(self, name: str) -> os.stat_result:
        """Status of a file, or of a link itself."""
        return os.stat(self._at(name), dir_fd=self.handle, follow_symlinks=False)


@contextlib.contextmanager
def _place(make: bool) -> Iterator[_Place | None]:
    """The cache's folder, opened; None where there is none, or where it is not ours alone. Raises OSError."""
    above = folder()
    if above is None:
        yield None
        return
    path, handle = above / OWN, None
    if make:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        if os.open in os.supports_dir_fd:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        place = _Place(path, handle)
        yield place if _marked(place, make) else None
    finally:
        if handle is not None:
            os.close(handle)


def _marked(place: _Place, make: bool) -> bool:
    """True if the folder belongs to the user alone and the cache made it. An empty one gets the mark."""
    if not _mine(place.path.stat() if place.handle is None else os.fstat(place.handle)):
        return False
    with contextlib.suppress(FileNotFoundError):
        mark = place.stat(MARK)
        return stat.S_ISREG(mark.st_mode) and _mine(mark)
    if not make or place.names():
        return False
    with contextlib.suppress(FileExistsError):  # another process was faster
        place.write(MARK, _SIGNED)
    return True


def _tidy(place: _Place) -> None:
    """Let the oldest of the cache's own files go; parts that a killed process left count among them."""
    own = [(place.stat(n).st_mtime_ns, n) for n in place.names() if _NAME.fullmatch(n)]
    for _, old in sorted(own)[:-MAX_CACHED_FILES]:
        with contextlib.suppress(FileNotFoundError):
            place.remove(old)


def _mine(found: os.stat_result) -> bool:
    """True if the user owns this and only the user can write it: cached templates are code."""
    if sys.platform == "win32":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022
