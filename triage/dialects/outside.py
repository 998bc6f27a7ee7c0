"""Dialects from outside: modules of a folder that the user named, and entry points of installed distributions.

Their code is checked when it is loaded, and every exception of theirs becomes one line with their file and line.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import cache, partial, wraps
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, cast

from triage.capture.capture import Table
from triage.dialects.contract import FUNCTIONS, Dialect, Match, missing_parts
from triage.ground.errors import TriageError

GROUP = "triage.dialects"  # entry points: name = NAME of the dialect, value = its module
_DOCS = "see docs/dialect.md"
_RETURNS: dict[str, tuple[type, ...]] = {
    "recognise": (Match, type(None)),
    "read": (Table,),
    "names": (dict,),
    "collect": (str,),
}


class Installed(NamedTuple):
    """A dialect of an installed distribution. owner: the distribution and its version."""

    name: str
    owner: str
    load: Callable[[], Dialect]


def in_folder(folder: Path) -> list[tuple[Path, Dialect]]:
    """(file, dialect) of the modules in a folder; one may import others beside it relatively (`from . import x`).

    A module is taken for a dialect if it declares NAME or defines `recognise`. Raises TriageError.
    """
    if not folder.is_dir():
        raise TriageError(f"--dialects {folder}: expected a folder of dialect modules")
    package = f"triage_dialects_{len([m for m in sys.modules if m.startswith('triage_dialects_')])}"
    dialects = []
    for file in sorted(folder.glob("*.py")):
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as e:
            raise TriageError(f"{file}: cannot be read ({e})") from e
        if "\nNAME = " in text or "\ndef recognise(" in text:
            sys.modules.setdefault(package, _package(package, folder))
            dialects.append((file, _load(f"{package}.{file.stem}", folder, str(file))))
    if not dialects:
        raise TriageError(f"--dialects {folder}: no dialect module (NAME = ...) in it", _DOCS)
    return dialects


def _package(name: str, folder: Path) -> ModuleType:
    """A package whose modules are the files of a folder, so that no name of theirs hides another module."""
    package = ModuleType(name)
    package.__path__ = [str(folder.resolve())]
    return package


def installed() -> Iterator[Installed]:
    """Entry points of the group, none of them loaded."""
    if not _any_installed():
        return
    from importlib import metadata

    for point in metadata.entry_points(group=GROUP):
        owner = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        yield Installed(point.name, owner, cache(partial(_load_installed, point.name, point.module, owner)))


def _any_installed() -> bool:
    """True if a distribution names the group: importing importlib.metadata to ask takes 50 ms, this takes 2."""
    wanted = f"[{GROUP}]".encode()
    return any(
        wanted in file.read_bytes()
        for folder in dict.fromkeys(sys.path)
        for kind in ("dist-info", "egg-info")
        for file in Path(folder).glob(f"*.{kind}/entry_points.txt")
    )


def _load_installed(name: str, module: str, owner: str) -> Dialect:
    dialect = _load(module, None, f"{owner}, {module}")
    if name != dialect.NAME:
        raise TriageError(f"{owner}, {module}: NAME is {dialect.NAME!r}, its entry point {name!r}", "make them equal")
    return dialect


def _load(module: str, folder: Path | None, label: str) -> Dialect:
    """Import and check a module. folder: where its code is, to find the line of an error. label: names it in errors."""
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as e:
        raise TriageError(
            f"{_line(e, folder) or label}: cannot be imported ({_reason(e)})", "correct the dialect"
        ) from e
    if missing := missing_parts(found):
        raise TriageError(f"{label}: not a dialect, lacks {', '.join(missing)}", _DOCS)
    face = SimpleNamespace(**vars(found))
    home = folder or Path(found.__file__ or "").parent
    for name in (*FUNCTIONS, "collect"):
        if callable(function := getattr(found, name, None)):
            setattr(face, name, _guard(function, name, found.NAME, home))
    return cast(Dialect, face)


def _guard(function: Callable[..., Any], name: str, dialect: str, home: Path) -> Callable[..., Any]:
    """The function, whose exceptions and wrong results are TriageErrors that name the dialect's own line."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            result = function(*args, **options)
        except (TriageError, MemoryError, RecursionError):
            raise
        except Exception as e:
            where = _line(e, home)
            raise TriageError(
                f"{where}: dialect {dialect} failed in {name} ({_reason(e)})", "correct the dialect"
            ) from e
        if not isinstance(result, _RETURNS[name]):
            expected = " or ".join(t.__name__.replace("NoneType", "None") for t in _RETURNS[name])
            raise TriageError(
                f"dialect {dialect}: {name} returned {type(result).__name__}, expected {expected}",
                "correct the dialect",
            )
        return result

    return call


def _line(error: BaseException, home: Path | None) -> str:
    """`file:line` of the innermost frame below a folder, else of the innermost one; of a SyntaxError, its own."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    machinery = ("<frozen", importlib.__file__)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((*machinery, __file__))]
    below = [f for f in frames if home is not None and Path(f.filename).is_relative_to(home.resolve())]
    frame = next(reversed(below or (frames if home is None else [])), None)
    return f"{frame.filename}:{frame.lineno}" if frame else ""


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
