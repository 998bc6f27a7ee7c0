"""Captures of an agent: copies of the files opened below the allowed folders, so that no race of names matters."""

from __future__ import annotations

import functools
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct

from triage.files import beneath
from triage.ground.errors import TriageError
from triage.products.batch import find

Tool = TypeVar("Tool", bound=Callable[..., Any])
MAX_FILES = 2_000  # entries of a folder
MAX_BYTES = 8 << 30  # of a capture
MAX_ARGUMENT_CHARS = 1_000  # of one text that an agent sends; a pattern's time grows with its length
MAX_ARGUMENTS = 50  # captures of one side
MAX_PATH_CHARS = 4_096
MAX_BESIDE_BYTES = 16 << 20  # of another report of the run, or an event tree, beside a capture


class Allowed(Struct):
    """Folders that may be read, and the private folder into which captures are copied. `folders` are real paths."""

    folders: Sequence[Path]
    home: Path

    def copied(self, path: str) -> str:
        """Return the path of a copy of a capture below an allowed folder; raise TriageError for other paths.

        Links are resolved first, also those inside a folder that is an export. What is then opened, step by step and
        through no link, is what is read: a name that changes meanwhile is refused.
        """
        if not path or "\0" in path or "://" in path or path == "-" or len(path) > MAX_PATH_CHARS:
            raise TriageError(f"{path[:80]!r}: not a local file", "name a file below the allowed folders")
        try:
            real = Path(os.path.realpath(self.folders[0] / Path(path).expanduser()))
            self._inside(path, real)
            if real.is_dir():
                self._folder(path, real)
            else:
                self._copy(path, real, real)
                for name in self._beside(path, real.parent, real.name):
                    self._copy(path, real.parent / name, Path(os.path.realpath(real.parent / name)))
        except FileNotFoundError:
            raise TriageError(f"{path[:200]}: no such file or folder", "check the path") from None
        except (UnicodeEncodeError, RuntimeError):  # half a character, or the home of no user
            raise TriageError(f"{path[:80]!r}: not a local file", "name a file below the allowed folders") from None
        except OSError as e:
            raise TriageError(f"{path[:200]}: cannot be read ({e.strerror or e})", "name a file that stays") from e
        return str(self._place(path, real))

    def named(self, answer: Any) -> Any:
        """Return an answer with the paths of the copies as those of the captures."""
        if isinstance(answer, str):
            for i, folder in enumerate(self.folders):
                answer = answer.replace(f"{self.home}{os.sep}{i}", str(folder.parent).rstrip(os.sep))
            return answer
        if isinstance(answer, dict):
            return {key: self.named(value) for key, value in answer.items()}
        return [self.named(value) for value in answer] if isinstance(answer, list) else answer

    def _inside(self, path: str, real: Path) -> int:
        """Number of the allowed folder that holds a real path."""
        for i, folder in enumerate(self.folders):
            if real.is_relative_to(folder):
                return i
        allowed = f"allowed: {', '.join(str(f) for f in self.folders)}"
        raise TriageError(f"{path[:200]}: outside the allowed folders", allowed)

    def _place(self, path: str, real: Path) -> Path:
        i = self._inside(path, real)
        # the allowed folder's own name stays: it may tell the GPU
        return self.home / str(i) / self.folders[i].name / real.relative_to(self.folders[i])

    def _open(self, path: str, real: Path, a_folder: bool = False) -> int:
        folder = self.folders[self._inside(path, real)]
        return beneath.open_below(folder, real.relative_to(folder).parts, a_folder=a_folder)

    def _copy(self, path: str, shown: Path, real: Path) -> None:
        """Copy the file at `real` to where `shown` is copied to."""
        with open(self._open(path, real), "rb") as f:
            place = self._place(path, shown)
            if os.fstat(f.fileno()).st_size > MAX_BYTES:
                raise TriageError(f"{path[:200]}: larger than {MAX_BYTES >> 30} GB", "use triage diagnose")
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("wb") as copy:
                shutil.copyfileobj(f, copy, 1 << 20)

    def _folder(self, path: str, real: Path) -> None:
        self._place(path, real).mkdir(parents=True, exist_ok=True)
        for count, (here, name) in enumerate(self._entries(path, real)):
            if count >= MAX_FILES:
                raise TriageError(f"{path[:200]}: too many files for one export", "name the capture itself")
            inside = Path(os.path.realpath(here / name))
            self._inside(path, inside)
            if inside.is_file():
                self._copy(path, here / name, inside)

    def _entries(self, path: str, real: Path) -> Iterator[tuple[Path, str]]:
        """(folder, name) of the files and links below a folder, which is held open."""
        if not hasattr(os, "fwalk"):  # Windows
            yield from ((Path(here), n) for here, folders, files in os.walk(real) for n in (*folders, *files))
            return
        handle = self._open(path, real, a_folder=True)
        try:
            for here, folders, files, _ in os.fwalk(".", dir_fd=handle):
                yield from ((real / here, name) for name in (*folders, *files))
        finally:
            os.close(handle)

    def _beside(self, path: str, folder: Path, name: str) -> list[str]:
        """Names of the files in a folder that are read together with the file `name`."""
        handle = self._open(path, folder, a_folder=True)
        try:
            names = set(os.listdir(handle)) - {name}
            run = re.split(r"[._]", name)[0]  # reports of one run begin alike
            near = [n for n in sorted(names) if n.startswith(run) or n.lower().endswith((".txt", ".log"))]
            small = set[str]()
            for n in near[:MAX_ARGUMENTS]:
                with suppress(OSError):
                    found = os.stat(n, dir_fd=handle, follow_symlinks=False)
                    if stat.S_ISREG(found.st_mode) and found.st_size <= MAX_BESIDE_BYTES:
                        small.add(n)
        finally:
            os.close(handle)
        together = find.companions([name, *names]) | small | {f"{name}-wal", f"{name}-journal"}
        return sorted(together & names)


_NOW: ContextVar[Allowed] = ContextVar("allowed")


def copied(path: str) -> str:
    """Return the path of a copy of a capture, for the tool that runs; raise TriageError for what it may not read."""
    return _NOW.get().copied(path)


def confined(tool: Tool) -> Tool:
    """A tool whose arguments are bounded and whose captures are read from private copies, gone when it returns."""

    @functools.wraps(tool)
    def call(self: Any, *args: Any, **given: Any) -> Any:
        for value in (*args, *given.values()):
            texts = value if isinstance(value, list) else [value]
            if len(texts) > MAX_ARGUMENTS or any(isinstance(t, str) and len(t) > MAX_ARGUMENT_CHARS for t in texts):
                raise TriageError("argument too long", f"at most {MAX_ARGUMENT_CHARS:,} characters each")
        with tempfile.TemporaryDirectory(prefix="triage-", ignore_cleanup_errors=True) as home:
            allowed = Allowed(self.folders, Path(os.path.realpath(home)))
            token = _NOW.set(allowed)
            try:
                return allowed.named(tool(self, *args, **given))
            except TriageError as e:
                raise TriageError(allowed.named(e.message), allowed.named(e.hint)) from None
            finally:
                _NOW.reset(token)

    return cast(Tool, call)
