"""Interface to the renderers: all that a report shows, as plain data, fetched before its first byte is written.

No object in it infers, opens a file or raises; a renderer sees a Bundle and nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from triage.capture.arrays import Codes, Floats, Indices, Masks
from triage.document.entries import (
    BlindSpotEntry,
    FindingEntry,
    FrameEntry,
    Head,
    ItemEntry,
    OpinionEntry,
    PassEntry,
    QualityEntry,
    Result,
    RuledOutEntry,
    TimesEntry,
    WorkloadEntry,
)
from triage.document.finding_rows import Row
from triage.document.page_entries import CauseEntry, RooflineEntry, RuledOut, RuleEntry, StepEntry, WeighedEntry

Entry: TypeAlias = Mapping[str, Any]  # an entry of any kind
MAX_PASSES = 200  # of a capture that are listed, the longest


class Columns(Protocol):
    """The shown workloads of one capture as columns, in capture order.

    capture: its path. name, paths: levels joined with SEP. own, time, saved: ns; NaN where unknown. limiter, bands: positions
    in CLASSES and BANDS. units: names of the units measured. pct: (units, workloads), their share of peak in percent, NaN
    where not measured; primary, secondary: of the same shape. leader: position in `causes` of the root cause, -1 for none.
    """

    capture: str
    name: list[str]
    paths: list[str]
    own: Floats
    time: Floats
    limiter: Codes
    bands: Codes
    units: list[str]
    pct: Floats
    primary: Masks
    secondary: Masks
    causes: list[str]
    leader: NDArray[np.int16]
    rows: Indices

    def __len__(self) -> int: ...
    @property
    def id(self) -> list[str]:
        """Ids in the report."""

    @property
    def saved(self) -> Floats:
        """What the root cause's fix saves, in ns; NaN without one."""

    @property
    def above(self) -> list[int]:
        """Position of the workload that holds each; -1 for none."""

    @property
    def listed(self) -> list[int]:
        """Positions of workloads that a listed finding is about."""

    @property
    def tex(self) -> Codes:
        """1 + position in GRADES of the L1/TEX hit rate, 0 where not measured."""

    @property
    def l2(self) -> Codes:
        """The same of L2."""

    @property
    def opinions(self) -> dict[int, list[OpinionEntry]]:
        """Results of the profiler's own rules, by position in the capture."""

    @property
    def repeated(self) -> bool:
        """True if workloads stand for several rows."""

    def times(self, i: int) -> TimesEntry | None:
        """Times of a workload's repeats; None without any."""

    def chain_of(self, i: int) -> list[str]:
        """Cause ids of a workload, root first."""


class Workloads(Sequence[WorkloadEntry]):
    """The shown workloads in capture order: a sequence of entries, and their fields without making entries."""

    @abstractmethod
    def field(self, name: str) -> list[Any]:
        """One field of all."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[Columns]:
        """The columns of each capture."""


class Question(Struct, frozen=True):
    """One question over all workloads of a capture. shape: position in `Decisions.templates` of its step, -1 where it is not
    asked. number: the ratio in its value, NaN for none."""

    shape: Indices
    number: Floats


class Decisions(Protocol):
    """The decision tree over the workloads of one capture."""

    @property
    def questions(self) -> Sequence[Question]:
        """Every question in its order."""

    @property
    def templates(self) -> Sequence[StepEntry]:
        """The steps that occur; `{}` stands where a step has its number."""


class Ways(Protocol):
    """Decision paths by workload id; and question by question over all, per capture."""

    def __getitem__(self, workload: str, /) -> Sequence[StepEntry]: ...

    def get(self, workload: str, /) -> Sequence[StepEntry] | None:
        """Steps of a workload, None for an id that is not shown."""

    def guided(self, part: int, i: int) -> Sequence[StepEntry]:
        """Further steps of the i-th workload of a capture."""

    @property
    def decisions(self) -> Sequence[Decisions]:
        """The decision tree of each capture."""


class Bundle(Struct, frozen=True, dict=True):
    """The result of a diagnosis and what reports show beside it.

    head: schema, tool, captures, frame. todo: the items. excluded: workload ids, and what is ruled out there. scopes: (what was captured, numbers of its captures from 1, its own
    to-do list), where captures of several things are diagnosed together or not. passes: of rendered frames, in their order.
    workloads: in capture order; iterated afresh each time, so that a million of them need not be in memory at once. rows:
    findings as table rows (columns: finding_rows.COLUMNS). ways: decision paths, None where they were not asked for.
    rooflines: workload id -> place under the roofs. weighed: numbers to weigh the verdicts by, in the order of
    workloads. rules, causes: id -> its reference page. cause_of: rule id -> cause id. chosen: --top limits what is listed. item: what reports call a workload: marker, kernel, application. whose: in whose words (terminology.Voice.names).
    """

    head: Head
    workloads: Workloads
    findings: list[FindingEntry]
    todo: list[ItemEntry]
    excluded: list[tuple[str, RuledOut]]
    blind_spots: list[BlindSpotEntry]
    quality: list[QualityEntry]
    scopes: list[tuple[str, list[int], list[ItemEntry]]] = field(default_factory=list)
    passes: list[PassEntry] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    ways: Ways | None = None
    rooflines: Mapping[str, RooflineEntry] = field(default_factory=dict)
    weighed: Sequence[WeighedEntry] = ()
    rules: Mapping[str, RuleEntry] = field(default_factory=dict)
    causes: Mapping[str, CauseEntry] = field(default_factory=dict)
    cause_of: Mapping[str, str] = field(default_factory=dict)
    chosen: bool = False
    item: str = "marker"
    whose: tuple[str, ...] = ()

    @cached_property
    def ruled_out(self) -> list[RuledOutEntry]:
        """Causes that do not hold, in words."""
        return [{"rule": r.rule, "workload": workload, "why": r.why} for workload, r in self.excluded]

    @property
    def view(self) -> Result:
        """The result in the order of the contract; its workloads are made when they are asked for."""
        return {
            **self.head,
            "workloads": self.workloads,
            "passes": self.passes,
            "todo": self.todo,
            "findings": self.findings,
            "ruled_out": self.ruled_out,
            "blind_spots": self.blind_spots,
            "quality": self.quality,
        }

    @cached_property
    def document(self) -> Result:
        """The whole result (schema triage/1) as one tree of plain data."""
        return {**self.view, "workloads": list(self.workloads)}

    @property
    def frame(self) -> FrameEntry:
        """Totals of all captures together."""
        return self.head["frame"]


def column(works: Sequence[WorkloadEntry], name: str) -> list[Any]:
    """One field of all workloads as a column: of a finished document, or of one whose entries are not made yet."""
    if isinstance(works, Workloads):
        return works.field(name)
    entries: Sequence[Entry] = works
    return [w[name] for w in entries]


def whole_capture(name: str, duration_ns: float | None) -> WorkloadEntry:
    """A stand-in for the capture as a whole, which findings may concern; name: its id."""
    return {
        "id": name,
        "capture": "",
        "name": "frame",
        "path": [],
        "kind": "frame",
        "parent": None,
        "calls": 1,
        "times": None,
        "duration_ns": duration_ns,
        "self_ns": None,
        "share": None,
        "sol": [],
        "band": "unknown",
        "primary": [],
        "secondary": [],
        "bound_speedup": None,
        "hit_grades": {},
        "limiter_class": "unknown",
        "chain": [],
        "saved_ns": None,
        "judged": True,
        "verdict_class": "not-diagnosed",
        "second_opinion": [],
        "verdict": "",
    }


class ById(Mapping[str, WorkloadEntry]):
    """Workload id -> entry, made on access: of 200,000 a report looks up a few.

    works: of a finished document too, whose entries are plain. more: entries that are no workloads.
    """

    def __init__(self, works: Sequence[WorkloadEntry], more: Sequence[WorkloadEntry] = ()) -> None:
        self._works, self._more = works, {w["id"]: w for w in more}

    def __len__(self) -> int:
        return len(self._works) + len(self._more)

    def __iter__(self) -> Iterator[str]:
        yield from self._more
        yield from self._at

    def __getitem__(self, name: str) -> WorkloadEntry:
        found = self._more.get(name)
        return self._works[self._at[name]] if found is None else found

    def __contains__(self, name: object) -> bool:
        return name in self._more or name in self._at

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(column(self._works, "id"))}
