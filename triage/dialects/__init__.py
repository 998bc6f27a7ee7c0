"""One profiler export per module; this folder is the registry.

A dialect module declares NAME, TITLE, CAPTURE (how to make such an export) and three functions:

    recognise(source) -> Match | None      by content; the strongest match reads the file
    read(source, options) -> Table         raises BadCapture / NotTriageable
    names() -> dict[str, list[str]]        canonical id -> names this tool gives it (what it can export)

and optionally `collect(metrics) -> str`: the exact command or menu path that collects missing metrics.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.ground.errors import CaptureError, NotTriageable, TriageError, UnknownDialect


@dataclass(frozen=True, slots=True)
class Match:
    """How sure a dialect is (0-1) that a source is its own, and the evidence in words."""

    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said about reading: column mapping, companion events file, number style."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    events: str = ""
    decimal: str = ""


class Dialect(Protocol):
    """The face of a dialect module."""

    NAME: str
    TITLE: str
    CAPTURE: str

    def recognise(self, source: Source) -> Match | None:
        """Is this source mine?"""

    def read(self, source: Source, options: Options) -> Table:
        """The source as a table."""

    def names(self) -> dict[str, list[str]]:
        """canonical id -> names in this tool."""


@cache
def dialects() -> dict[str, Dialect]:
    """name -> dialect module, from the files of this folder."""
    found: dict[str, Dialect] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        if not info.name.startswith("_"):
            module: Dialect = importlib.import_module(f"{__name__}.{info.name}")
            found[module.NAME] = module
    return found


def pick(source: Source, wanted: str = "", mapped: bool = False) -> tuple[Dialect, str]:
    """The dialect of a source and why; raises UnknownDialect with the columns seen.

    mapped: the user gave --map, so a table that nobody recognises is read as generic.
    """
    table = dialects()
    if wanted:
        if wanted not in table:
            raise TriageError(f"no dialect is called {wanted!r}", "see: triage list dialects")
        return table[wanted], "asked for with --dialect"
    matches, refused = [], None
    for d in table.values():
        try:
            if (m := d.recognise(source)) is not None:
                matches.append((m, d))
        except CaptureError as e:  # not text: a dialect of binary files may still know it
            refused = refused or e
    if not matches and refused:
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
    match, dialect = max(matches, key=lambda m: (m[0].score, m[1].NAME))
    return dialect, match.why


def _seen(source: Source) -> str:
    if source.is_folder:
        names = [c.name for c in source.children()[:3]]
        return "this folder" + (f" (first files: {', '.join(names)})" if names else " (it is empty)")
    from triage.capture.source import cells

    first = next((line for line in source.head_lines if line.strip()), "")
    shown = [c.strip()[:40] for c in cells(first)[:3]]
    return f"these columns (first: {', '.join(repr(c) for c in shown)})"
