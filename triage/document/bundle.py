"""The hand-over to every renderer: all a report may say, as plain data, fetched before its first byte is written.

No object in it infers, opens a file or can fail; a renderer sees a Bundle and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

Entry = dict[str, Any]  # one JSON object of the result; its fields are in result.schema.json
SCHEMA = "triage/1"
MOST_PASSES = 200  # of a capture that are listed, the longest


class Workloads(Protocol):
    """The shown workloads in capture order: a sequence of entries, and their fields without making entries."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Entry]: ...
    def __getitem__(self, i: int, /) -> Entry: ...

    def field(self, name: str) -> list[Any]:
        """One field of all."""

    @property
    def columns(self) -> Sequence[Any]:
        """document.columns.Columns per capture."""


class Ways(Protocol):
    """Steps through the method's tree by workload id; and question by question over all, per capture."""

    def __getitem__(self, workload: str, /) -> Sequence[Mapping[str, Any]]: ...

    def get(self, workload: str, /) -> Sequence[Mapping[str, Any]] | None:
        """Steps of a workload, None for an id that is not shown."""

    def guided(self, part: int, i: int) -> Sequence[Mapping[str, Any]]:
        """Further steps of the i-th workload of a capture."""

    @property
    def decisions(self) -> Sequence[Any]:
        """Per capture `questions` over its workloads, and the `shapes` of their steps."""


@dataclass(frozen=True)
class Bundle:
    """The result of a diagnosis and what reports show beside it.

    head: schema, tool, captures, frame. todo: what to do first. scopes: (what was captured, numbers of its captures from
    1, its own to-do list), where captures of several things are diagnosed together or not. passes: of rendered frames, in
    their order. workloads: in capture order; iterated afresh each time, so that a million of them need not be in memory
    at once. rows: findings as table rows (columns: tables.COLUMNS). ways: workload id -> steps
    through the method's tree, None where nobody asked for them. rooflines: workload id -> place under the roofs. rules: id -> the rule as readers of a
    report need it; causes: id -> the same of causes. chosen: --top said how much to list. item: what
    reports call a workload: marker, kernel, application. whose: in whose words (voice.Voice.names).
    """

    head: Entry
    workloads: Workloads
    findings: list[Entry]
    todo: list[Entry]
    ruled_out: list[Entry]
    blind_spots: list[Entry]
    quality: list[Entry]
    scopes: list[tuple[str, list[int], list[Entry]]] = field(default_factory=list)
    passes: list[Entry] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)
    ways: Ways | None = None
    rooflines: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Entry] = field(default_factory=dict)
    causes: Mapping[str, Entry] = field(default_factory=dict)
    chosen: bool = False
    item: str = "marker"
    whose: tuple[str, ...] = ()

    def sections(self) -> Iterator[tuple[str, Any]]:
        """Top-level keys of the result in the order of the contract; workloads unread."""
        yield from self.head.items()
        yield "workloads", self.workloads
        yield "passes", self.passes
        yield "todo", self.todo
        yield "findings", self.findings
        yield "ruled_out", self.ruled_out
        yield "blind_spots", self.blind_spots
        yield "quality", self.quality

    @cached_property
    def document(self) -> Entry:
        """The whole result (schema triage/1) as one tree of plain data."""
        return {key: list(value) if key == "workloads" else value for key, value in self.sections()}

    @property
    def view(self) -> Entry:
        """`document`, but its workloads are made when they are asked for."""
        return dict(self.sections())

    @property
    def frame(self) -> Entry:
        """Totals of all captures together."""
        found: Entry = self.head["frame"]
        return found


class ById(Mapping[str, Entry]):
    """Workload id -> entry, made when it is asked for: of 200,000 a report looks up a few.

    works: of a finished document too, whose entries are plain. more: entries that are no workloads.
    """

    def __init__(self, works: Sequence[Entry], more: Sequence[Entry] = ()) -> None:
        self._works, self._more = works, {w["id"]: w for w in more}

    def __len__(self) -> int:
        return len(self._works) + len(self._more)

    def __iter__(self) -> Iterator[str]:
        yield from self._more
        yield from self._at

    def __getitem__(self, name: str) -> Entry:
        found = self._more.get(name)
        return self._works[self._at[name]] if found is None else found

    def __contains__(self, name: object) -> bool:
        return name in self._more or name in self._at

    @cached_property
    def _at(self) -> dict[str, int]:
        field = getattr(self._works, "field", None)
        ids = field("id") if field else [w["id"] for w in self._works]
        return {name: i for i, name in enumerate(ids)}
