"""One profiler export per module; this folder is the registry.

A dialect module declares NAME, TITLE, CAPTURE (how to make such an export) and three functions:

    recognise(source) -> Match | None      by content; the strongest match reads the file
    read(source, options) -> Table         raises BadCapture / NotTriageable
    names() -> dict[str, list[str]]        canonical id -> names this tool gives it (what it can export)

and optionally TELLS, the facts that all its exports share (work, vendor, api; words of rulebook.applies.FACTS), and
`collect(metrics) -> str`: the exact command or menu path that collects missing metrics.

and, where it can, `SIGN`: words in lower case of which one at least stands in the head of every text file that it
recognises, () where it recognises no text; beside it `FOLDERS = True` where it recognises folders, too. Only where one is
found is the module imported and asked, so both are read as text: one literal on one line. Other bytes are shown to all.

To add one, put a module into any folder below this one; nothing else lists it. Folders are named after who writes the
exports; a dialect lies beside what it alone uses, and `tables/` holds what all share. Three things stand elsewhere:

- Files that lie beside an export and belong to it are found by the reader itself, but a batch must not take them for
  captures of their own: declare them in `_FAMILIES` of triage/products/batch/find.py.
- What Nsight Compute calls a metric, which spelling wins and how to collect it is `nvidia/ncu_names.py`, for all its
  pages together.
- A counter whose meaning no tool disputes is an alias in triage/schema, not a table of a dialect.
"""

from __future__ import annotations

import importlib
import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Protocol, cast, runtime_checkable

from triage.capture.capture import Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.ground.errors import CaptureError, NotTriageable, TriageError, UnknownDialect
from triage.schema import normal


@dataclass(frozen=True, slots=True)
class Match:
    """How sure a dialect is (0-1) that a source is its own, and the evidence in words."""

    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said about reading.

    mapping: header -> canonical id. events: path of a companion events file. decimal: `comma` or `eu` for decimal
    commas, anything else for points, "" to decide by the values. device: GPU the user named, whose sizes stand in for
    those that an export lacks.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    events: str = ""
    decimal: str = ""
    device: str = ""


class Dialect(Protocol):
    """The face of a dialect module, checked when it is found."""

    NAME: str
    TITLE: str
    CAPTURE: str

    def recognise(self, source: Source) -> Match | None:
        """How sure it is that the source is its own; None: it is not."""

    def read(self, source: Source, options: Options) -> Table:
        """The source as a table in canonical units."""

    def names(self) -> dict[str, list[str]]:
        """canonical id -> names in this tool."""


@runtime_checkable
class Collects(Protocol):
    """What a dialect has besides, where its tool can be asked for single metrics."""

    def collect(self, metrics: list[str]) -> str:
        """The command or menu path that collects these canonical metrics."""


_TEXTS = ("NAME", "TITLE", "CAPTURE")
_FUNCTIONS = ("recognise", "read", "names")


def dialects() -> dict[str, Dialect]:
    """name -> dialect module, from the files of this folder; raises TypeError for a module that is none."""
    return {m.dialect: _dialect(m.name) for m in _modules()}


def named(name: str) -> Dialect | None:
    """The dialect of a name, None for an unknown one; no other is imported."""
    return next((_dialect(m.name) for m in _modules() if m.dialect == name), None)


class _Module(NamedTuple):
    """A dialect as its text declares it: module below this package, NAME, SIGN (None without one), FOLDERS."""

    name: str
    dialect: str
    sign: tuple[str, ...] | None
    folders: bool


@cache
def _modules() -> tuple[_Module, ...]:
    """All modules below this folder that declare a NAME, by name.

    Nothing is imported for it: that would cost as much as a small diagnosis.
    """
    home = Path(__file__).parent
    paths = ((".".join(p.relative_to(home).with_suffix("").parts), p) for p in home.rglob("*.py"))
    found = (_declared(name, path.read_text("utf-8")) for name, path in sorted(paths))
    return tuple(m for m in found if m is not None)


def _declared(module: str, text: str) -> _Module | None:
    def value(word: str) -> str:
        return text.partition(f"\n{word} = ")[2].partition("\n")[0]

    if module == "__init__" or not (name := value("NAME")):
        return None
    sign = value("SIGN")
    return _Module(
        module, literal_eval(name), literal_eval(sign) if sign else None, not sign or value("FOLDERS") == "True"
    )


@cache
def _dialect(module: str) -> Dialect:
    return _checked(importlib.import_module(f"{__name__}.{module}"))


def _asked(source: Source) -> Iterator[Dialect]:
    """The dialects that may know a source."""
    text = _plain_text(source)
    for m in _modules():
        if m.folders if source.is_folder else text is None or m.sign is None or any(word in text for word in m.sign):
            yield _dialect(m.name)


def _plain_text(source: Source) -> str | None:
    """The head of a text file in lower case, without its numbers; None for anything else."""
    if source.is_folder or b"\0" in source.head:
        return None
    with suppress(CaptureError):
        # no SIGN has digits or commas, of which a table is full: words are found in a fifth of the time
        return source.head_text.lower().encode("utf-8", "replace").translate(None, b"0123456789,").decode("utf-8")
    return None


def _checked(module: ModuleType) -> Dialect:
    # the type checker takes an imported module for anything, so a forgotten function would only fail in use
    lacking = [name for name in _TEXTS if not isinstance(getattr(module, name, None), str)]
    lacking += [name for name in _FUNCTIONS if not callable(getattr(module, name, None))]
    if lacking:
        raise TypeError(f"{module.__name__} is not a dialect: it lacks {', '.join(lacking)}")
    return cast(Dialect, module)


def tells(dialect: Dialect | str) -> Mapping[str, str]:
    """Facts that all exports of a dialect share: fact -> word of rulebook.applies.FACTS; none for an unknown name."""
    return getattr(named(dialect) if isinstance(dialect, str) else dialect, "TELLS", {})


def noun(names: Iterable[str]) -> str:
    """What a row of exports of these dialects is called: kernel, application (`ROW` of the dialect), else marker."""
    found = {getattr(named(n), "ROW", "kernel" if tells(n).get("work") == "compute" else "marker") for n in set(names)}
    return found.pop() if len(found) == 1 else "marker"


def collector(dialect: Dialect, arch: str = "") -> Callable[[list[str]], str] | None:
    """The dialect's `collect`, None where its tool cannot be asked for metrics.

    arch: of the GPU, for tools whose counters have other names on other generations: their `collect` takes it.
    """
    if not isinstance(dialect, Collects):
        return None
    collect: Callable[..., str] = dialect.collect
    return partial(collect, arch=arch) if "arch" in signature(collect).parameters else collect


def pick(source: Source, wanted: str = "", mapped: Iterable[str] = ()) -> tuple[Dialect, str]:
    """The dialect of a source and why; raises UnknownDialect with the columns seen, NotTriageable for an empty file.

    wanted: a dialect's name, TriageError when there is none. mapped: headers that the user maps; an unknown table
    with one of them is a custom table.
    """
    if wanted:
        if (asked := named(wanted)) is None:
            raise TriageError(f"unknown --dialect {wanted!r}", "see: triage list dialects")
        return asked, "asked for with --dialect"
    # all that may know it are asked: a table may look like several, and only the scores say which knows it best
    matches, refused = [], None
    for d in _asked(source):
        try:
            if (m := d.recognise(source)) is not None:
                matches.append((m, d))
        except CaptureError as e:  # not text: a dialect of binary files may still know it
            refused = refused or e
    if not matches and refused:  # not text, and no report of a profiler either: what it is says more than "unknown"
        raise refused
    if not matches:
        if not source.is_folder and not source.head_text.strip():
            raise NotTriageable(f"{source.path}: the file is empty", "export again")
        if mapped and not source.is_folder and _has_column(source, mapped):
            return _dialect("custom.generic"), "columns mapped with --map or in triage.toml"
        if offered := _offered(source):
            raise UnknownDialect(f"{source.path}: a folder, not an export", offered)
        raise _unknown(source)
    # the name breaks ties, so that the choice does not depend on the order of files
    match, dialect = max(matches, key=lambda m: (m[0].score, m[1].NAME))
    return dialect, match.why


def _has_column(source: Source, headers: Iterable[str]) -> bool:
    """True if a table has one of these columns."""
    from triage.dialects.tables import wide_table

    return not {normal(h) for h in headers}.isdisjoint(map(normal, wide_table.header(source)[1]))


LOOKED = 32  # files of a folder that are looked at, to name the one to give


def _offered(source: Source) -> str:
    """What to give instead of a folder that no dialect knows: the files of it that one does, the surest first."""
    found: dict[str, tuple[float, str]] = {}
    for child in source.children()[:LOOKED]:
        for d in _asked(child):
            with suppress(CaptureError):
                m = d.recognise(child)
                if m is not None and m.score > found.get(child.path, (0.0, ""))[0]:
                    found[child.path] = m.score, d.TITLE
    best = max((score for score, _ in found.values()), default=0.0)
    paths = [(path, title) for path, (score, title) in found.items() if score == best]
    if not paths:
        return ""
    path, title = paths[0]
    several = f", one of {len(paths)} of this kind; or all: triage batch {source.path}" if len(paths) > 1 else ""
    return f"name a file in it: {path} ({title}){several}"


def _unknown(source: Source) -> UnknownDialect:
    """The error for a source that no dialect recognises, with its first columns, line or files."""
    from triage.dialects.custom.say import by_name

    path, supported = source.path, "or list supported formats: triage list dialects"
    if source.is_folder:
        files = [c.name for c in source.children()[:3]]
        what = f"unknown format (first files: {', '.join(files)})" if files else "folder is empty"
        return UnknownDialect(f"{path}: {what}", f"name a capture, or use: triage batch {path}")
    first = next((line for line in source.head_lines if line.strip()), "").strip()
    columns = [c.strip()[:40] for c in cells(first)[:3]]
    if not first.replace("\t", "").isprintable() or "\ufffd" in first:
        return UnknownDialect(f"{path}: unknown format, probably binary", "export the table as CSV")
    if first.startswith(("{", "[")):
        return UnknownDialect(f"{path}: JSON, not a profiler export", f"export a table, {supported}")
    if len(columns) < 2:
        return UnknownDialect(f"{path}: unknown format (first line: {first[:60]!r})", f"export a table, {supported}")
    for column in columns:
        named = re.fullmatch(r"(.*?)\s*[(\[](.+)[)\]]", column)
        if named and by_name(named[1]).metric == "gpu.time":
            return UnknownDialect(f"{path}: unknown unit {named[2]!r} in {column!r}", "use ns, us, ms or s")
    shown = ", ".join(map(repr, columns))
    hint = f"map columns with --map (see: triage facts {path}), {supported}"
    return UnknownDialect(f"{path}: unknown format (first columns: {shown})", hint)
