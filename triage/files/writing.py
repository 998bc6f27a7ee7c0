"""Writing results: to stdout, or to a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from triage.ground.errors import ReportError

Write = Callable[[str], object]


@contextlib.contextmanager
def sink(path: str | None) -> Iterator[Write]:
    """A write function: stdout for None or "-", else an atomic file. Raises ReportError when it cannot be written."""
    if path in (None, "-"):
        yield _stdout
        sys.stdout.flush()
        return
    assert path is not None
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with _device(target) as write:
            yield write
        return
    with atomic(target) as write:
        yield write


@contextlib.contextmanager
def _device(path: Path) -> Iterator[Write]:
    """Write into a device or pipe: renaming a file over /dev/null would take the device away from everybody."""
    try:
        with path.open("w", encoding="utf-8", newline="", errors="replace") as f:
            yield f.write
    except OSError as e:
        raise ReportError(f"{path}: cannot be written ({e.strerror or e})", "choose another -o") from e


def _stdout(text: str) -> object:
    # a console of another encoding must not turn a marker name into a traceback
    encoding = sys.stdout.encoding or "utf-8"
    return sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Write]:
    """Write beside the target under a temporary name and rename at the end; nothing half-written stays behind."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    except OSError as e:
        raise ReportError(f"{path}: cannot be written ({e.strerror or e})", "choose another -o") from e
    try:
        with open(handle, "w", encoding="utf-8", newline="") as f:

            def write(text: str) -> object:
                return f.write(text.encode("utf-8", "replace").decode("utf-8"))

            yield write
            f.flush()
            # else a machine that loses power may keep the new name and not the content
            os.fsync(f.fileno())
        # the only way to ask for it is to set it
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)  # mkstemp makes private files; reports follow the user's umask
        os.replace(name, path)
    except OSError as e:
        raise ReportError(f"{path}: cannot be written ({e.strerror or e})", "check space and permissions") from e
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
