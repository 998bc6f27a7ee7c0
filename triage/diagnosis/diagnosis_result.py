"""The diagnosis as data: arrays over all workloads, and the order of the findings. Nothing here infers or opens a file."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np
from msgspec import Struct, field

from triage import __version__
from triage.capture.arrays import Codes, Floats, Indices, Masks
from triage.capture.capture import Capture
from triage.derive import View
from triage.diagnosis.firings import Firings
from triage.diagnosis.root_causes import CauseIndex, Causes, CauseTable, Leaders
from triage.diagnosis.verdicts import FIX, SUSPECT
from triage.ground.phrasing import first_of, plural
from triage.ground.units import show
from triage.inference.engine import Engine
from triage.rulebook.packs import Rulebook


class Whole(Struct, frozen=True):
    """A capture, or one of its markers, as a one-row Capture for rules of scope `frame`, and the causes there."""

    capture: Capture
    causes: CauseTable

    @property
    def root(self) -> int:
        """The root that saves most, -1 for none."""
        roots = {c: float(row.likely[0]) for c, row in self.causes.rows.items() if row.root()[0]}
        return max(roots, key=roots.__getitem__, default=-1)


class Part(Struct):
    """One capture's share of a diagnosis.

    limiter, band: codes per workload (see ground.limiters). verdict: diagnosis.verdicts.FIX to AT_LIMIT. leaders: the root cause of each workload. total: findings
    before any cut. wholes: the whole capture (-1) and markers, for frame rules.
    view: of all workloads; known: the causes on them, kept where they are few. fired: rules that fired anywhere.
    claims: cause of the whole capture -> the workloads whose time it is about, the cause that saves most first. spans: the
    same of causes that rest on passes in a row, which say nothing of one pass alone.
    """

    capture: Capture
    number: int
    firings: Firings
    limiter: Codes
    band: Codes
    verdict: Codes
    leaders: Leaders
    total: int
    wholes: dict[int, Whole]
    view: View
    known: CauseTable | None
    fired: frozenset[int]
    claims: dict[int, Masks] = field(default_factory=dict)
    spans: dict[int, Masks] = field(default_factory=dict)

    @property
    def frame(self) -> Capture:
        """The whole capture as a one-row Capture."""
        return self.wholes[-1].capture

    @property
    def whole(self) -> CauseTable:
        """The causes on the whole capture."""
        return self.wholes[-1].causes

    def placed(self, w: int) -> int:
        """The root among the causes of scope `frame` on a marker, -1 for none."""
        return self.wholes[w].root if w >= 0 and w in self.wholes else -1

    @property
    def roots(self) -> Causes:
        """Root cause per workload; else that of the marker as a whole, or of the capture that its time is part of; -1 for none."""
        out = self.leaders.cause.copy()
        for w in (w for w in self.wholes if w >= 0 and out[w] < 0):
            out[w] = self.placed(w)
        for cause, mine in reversed(self.claims.items()):
            out[mine & (self.leaders.cause < 0) & np.isin(self.verdict, (FIX, SUSPECT))] = cause
        for cause, mine in self.spans.items():
            out[mine & (out < 0)] = cause
        return out

    @property
    def judged(self) -> Masks:
        """Mask of diagnosed workloads: with a limiter or a root cause, and copies."""
        known = (self.limiter > 0) | (self.leaders.cause >= 0)
        return known if self.capture.copying is None else known | self.capture.copying

    @property
    def idle_ns(self) -> float:
        """Time of the capture in which no workload ran."""
        c = self.capture
        return float(sum(d.idle_ns for d in c.timeline.judged) if c.timeline else c.uncovered_ns)

    @property
    def few(self) -> bool:
        """True if the intermediate results of the pass are kept, because the workloads are few."""
        return self.known is not None

    def look(self, rows: Indices) -> View:
        """A view of some workloads; the existing one for all of them."""
        return self.view if len(rows) == len(self.capture) else self.view.part(rows)

    def workload_id(self, i: int, many: bool) -> str:
        """`w7`, or `2:w7` when several captures are diagnosed together; `frame` for the whole capture."""
        name = "frame" if i < 0 else f"w{i + 1}"
        return f"{self.number + 1}:{name}" if many else name


class Item(Struct, frozen=True):
    """One item of the to-do list. cause: position in the cause index. Times in ns, beyond the items above; NaN without times.

    workloads: (part, index in its capture), worst first, -1 for the whole frame. whole: rests on a rule of scope `frame`. alone_ns: what the item
    saves on its own. fraction: of its worst workload. rule: index of the rule with the evidence there. apart: saves idle time
    that no other item claims. after: cause of an item above it that rids it of the same workloads, -1 for none.
    """

    cause: int
    rule: int
    count: int
    saved_ns: float
    low_ns: float
    bound_ns: float
    alone_ns: float
    fraction: float
    workloads: tuple[tuple[int, int], ...]
    rules: frozenset[int] = field(default_factory=frozenset)
    whole: bool = False
    apart: bool = False
    after: int = -1


def _amounts(item: Item) -> tuple[float, float, float]:
    return item.low_ns, item.saved_ns, item.bound_ns


class Diagnosis(Struct):
    """Result of a diagnosis. items: the to-do list, whole; listed: what --top and --min-gain leave of it. order: (part, position
    in its firings) of the listed findings, those of the items first. total: findings before --top and --min-gain.

    The engines (of workload and frame rules) are kept for their remembered signatures: outcomes of the shown workloads
    are inferred again from them.
    """

    parts: list[Part]
    book: Rulebook
    method: str
    engine: Engine
    frame_engine: Engine | None
    cause_index: CauseIndex
    items: list[Item]
    listed: list[Item]
    order: list[tuple[int, int]]
    total: int
    top: int | None
    notes: list[str] = field(default_factory=list)
    version: str = __version__

    @property
    def many(self) -> bool:
        """True if several captures are diagnosed together."""
        return len(self.parts) > 1

    def shown(self, part: int) -> Indices:
        """Workload indices of a part that a report lists: all, or with --top those its findings concern."""
        n = len(self.parts[part].capture)
        if self.top is None:
            return np.arange(n)
        return np.array(sorted(w for w in self.concerned(part) if w >= 0), dtype=np.int64)

    def concerned(self, part: int) -> set[int]:
        """Workload indices of a part that a listed finding is about."""
        firings = self.parts[part].firings
        return {int(firings.workload[k]) for p, k in self.order if p == part}

    @property
    def frame_ns(self) -> float:
        """Time of all captures together."""
        return float(sum(p.capture.frame_ns for p in self.parts))

    def saved_ns(self, part: Part) -> Floats:
        """Saving of the root cause of each workload; NaN without one.

        What a marker fulfils as a whole saves of the time below it; what the capture does, in parts of the time of the
        workloads that it is about.
        """
        c, leader, roots = part.capture, part.leaders.cause, part.roots
        out = np.where(leader >= 0, part.leaders.likely * c.self_ns, np.nan)
        for item in sorted((i for i in self.items if i.alone_ns > 0), key=lambda i: i.whole):
            if not item.whole:  # items above it may shorten its workloads
                out[leader == item.cause] *= item.saved_ns / item.alone_ns or 1.0
                continue
            share = c.frame_ns * item.saved_ns / item.alone_ns
            for w in (w for p, w in item.workloads if p == part.number and w >= 0 and leader[w] < 0):
                out[w] = part.wholes[w].causes.rows[item.cause].likely[0] * share
            mine = (part.claims | part.spans).get(item.cause)
            if mine is not None and item.cause in part.whole.rows:
                own = np.flatnonzero(mine & (roots >= 0) & (c.self_ns > 0))
                saved = part.whole.rows[item.cause].likely[0] * share
                more = c.self_ns[own] * saved / max(c.self_ns[own].sum(), 1.0)
                out[own] = np.minimum(np.nan_to_num(out[own]) + more, c.self_ns[own])
        return out

    @property
    def recoverable_ns(self) -> tuple[float, float, float]:
        """Sum over the items of the to-do list: (low, likely, bound); the bound is at most the time that the items are about.

        Bounds of items about the frame and about its workloads may overlap, the likely savings never do.
        """
        low, likely, _ = np.nansum([_amounts(i) for i in self.items] or np.zeros((1, 3)), axis=0)
        idle = float(sum(p.idle_ns for p in self.parts))
        bound = 0.0
        for apart, room in ((True, idle), (False, self.frame_ns - idle)):
            mine = [_amounts(i) for i in self.items if i.apart is apart]
            most = float(np.nansum([b for _, _, b in mine]))
            bound += min(most, max(room, float(np.nansum([s for _, s, _ in mine])))) if self.frame_ns > 0 else most
        return float(low), float(likely), bound

    def __repr__(self) -> str:
        names = first_of([PurePath(p.capture.input.path).name[:40] for p in self.parts], 3, " and ")
        count = plural(sum(len(p.capture) for p in self.parts), "workload")
        time = f", {show(self.frame_ns, 'ns')}" if self.frame_ns > 0 else ""
        back = f", about {show(self.recoverable_ns[1], 'ns')} recoverable" if self.frame_ns > 0 else ""
        return f"<Diagnosis of {names}: {count}{time}, {plural(self.total, 'finding')}{back}>"
