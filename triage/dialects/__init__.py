"""One profiler export per module; this folder is the registry.

A dialect module declares NAME, TITLE, CAPTURE (how to make such an export) and three functions:

    recognise(source) -> Match | None      by content; the strongest match reads the file
    read(source, options) -> Table         raises BadCapture / NotTriageable
    names() -> dict[str, list[str]]        canonical id -> names this tool gives it (what it can export)

and optionally TELLS, the facts that all its exports share (work, vendor, api; words of rulebook.applies.FACTS), and
`collect(metrics) -> str`: the exact command or menu path that collects missing metrics.

To add one, put a module into this folder; nothing else lists it. What several dialects share lives in the underscore
packages, by vendor (`_nvidia`, `_amd`, `_intel`), by kind of tool (`_graphics`) and for any table (`_tables`). Three
things stand elsewhere:

- Files that lie beside an export and belong to it are found by the reader itself, but a batch must not take them for
  captures of their own: declare them in `_FAMILIES` of triage/products/batch/find.py.
- What Nsight Compute calls a metric, which spelling wins and how to collect it is `_nvidia/ncu_names.py`, for all its
  pages together.
- A counter whose meaning no tool disputes is an alias in triage/schema, not a table of a dialect.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import signature
from types import ModuleType
from typing import Protocol, cast, runtime_checkable

from triage.capture.capture import Table
from triage.capture.source import Source, cells
from triage.ground.errors import CaptureError, NotTriageable, TriageError, UnknownDialect


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


@cache
def dialects() -> dict[str, Dialect]:
    """name -> dialect module, from the files of this folder; raises TypeError for a module that is none."""
    found: dict[str, Dialect] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        if not info.name.startswith("_"):
            dialect = _checked(importlib.import_module(f"{__name__}.{info.name}"))
            found[dialect.NAME] = dialect
    return found


def _checked(module: ModuleType) -> Dialect:
    # the type checker takes an imported module for anything, so a forgotten function would only fail in use
    lacking = [name for name in _TEXTS if not isinstance(getattr(module, name, None), str)]
    lacking += [name for name in _FUNCTIONS if not callable(getattr(module, name, None))]
    if lacking:
        raise TypeError(f"{module.__name__} is no dialect: it lacks {', '.join(lacking)}")
    return cast(Dialect, module)


def tells(name: str) -> Mapping[str, str]:
    """Facts that all exports of a dialect share: fact -> word of rulebook.applies.FACTS; none for an unknown dialect."""
    return getattr(dialects().get(name), "TELLS", {})


def collector(dialect: Dialect, arch: str = "") -> Callable[[list[str]], str] | None:
    """The dialect's `collect`, None where its tool cannot be asked for metrics.

    arch: of the GPU, for tools whose counters have other names on other generations: their `collect` takes it.
    """
    if not isinstance(dialect, Collects):
        return None
    collect: Callable[..., str] = dialect.collect
    return partial(collect, arch=arch) if "arch" in signature(collect).parameters else collect


def pick(source: Source, wanted: str = "", mapped: bool = False) -> tuple[Dialect, str]:
    """The dialect of a source and why; raises UnknownDialect with the columns seen, NotTriageable for an empty file.

    wanted: a dialect's name, TriageError when there is none. mapped: the user gave --map, so a table that nobody
    recognises is read as generic.
    """
    table = dialects()
    if wanted:
        if wanted not in table:
            raise TriageError(f"no dialect is called {wanted!r}", "see: triage list dialects")
        return table[wanted], "asked for with --dialect"
    # every dialect is asked: a table may look like several, and only the scores say which knows it best
    matches, refused = [], None
    for d in table.values():
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
        if mapped and not source.is_folder:
            return table["generic"], "columns mapped with --map"
        raise UnknownDialect(
            f"{source.path}: no dialect recognises {_seen(source)}",
            f"see what could be mapped: triage facts {source.path}; or: triage list dialects",
        )
    # the name breaks ties, so that the choice does not depend on the order of files
    match, dialect = max(matches, key=lambda m: (m[0].score, m[1].NAME))
    return dialect, match.why


def _seen(source: Source) -> str:
    if source.is_folder:
        names = [c.name for c in source.children()[:3]]
        return "this folder" + (f" (first files: {', '.join(names)})" if names else " (it is empty)")
    first = next((line for line in source.head_lines if line.strip()), "")
    shown = [c.strip()[:40] for c in cells(first)[:3]]
    return f"these columns (first: {', '.join(repr(c) for c in shown)})"
