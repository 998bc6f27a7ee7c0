"""Which of the causes that fired is the root, and what follows from it.

A cause is explained where another that fired lists it among its consequences and saves a comparable time: a
spill worth 1 % never hides an occupancy limit worth 60 %. What nothing explains is a root. Of several roots on one
workload the one that saves most, weighted by its confidence, is the root cause: its saving is the workload's, because
savings on one workload are alternatives. Verdicts (a unit is busy, none is) never lead and never explain. In a frame a
busy unit without a counted excess (evidence: limit) explains its effects and never leads: its work may all be needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from triage.capture.arrays import Floats, Indices, Masks
from triage.derive import View
from triage.diagnosis.minor_passes import pass_shares
from triage.ground.gpu_units import EVERY
from triage.ground.limiters import CLASSES, SURENESS
from triage.inference.evaluate import Lookup
from triage.inference.rule_context import setting
from triage.reading.pass_tree import counts_draws
from triage.rulebook.packs import Rulebook
from triage.rulebook.rule import LIMIT

Causes: TypeAlias = NDArray[np.int16]  # positions in CauseIndex.names; -1 = none
# one rule of a block: (rule index, positions of the workloads, (low, likely, bound) fractions)
Fired: TypeAlias = tuple[int, Indices, tuple[Floats, Floats, Floats]]

COMPARABLE = 0.5  # heuristic: part of the consequence's saving that the explaining cause must have itself
MIN_SAVING_SHARE = 0.02  # heuristic: two captures of one build differ by half of this
MIN_SUSPECT_SHARE = 0.05  # heuristic: a rate that explains less names nothing: single-pass copies show that much
# heuristic: two captures of one build differ by a hundredth of the frame; a suspect worth half of that cannot be checked
MIN_FRAME_SHARE = {False: 0.002, True: 0.005}  # of the frame, by whether the cause is a suspect: what a pass must save
MAX_CHAIN = 4  # causes
EPSILON = 1e-6  # of floats
SUSPECT_FACTOR = 3.0  # heuristic: by how much a suspect's saving exceeds a fix's before it comes first

# idle time as the host submits late, without a wait for the device
LATE_HOST = frozenset(("idle.host", "idle.launch", "idle.loader"))


class Leaders(Struct):
    """Per workload: root cause (-1: none), the rule with its evidence, and fractions of its time."""

    cause: Causes
    rule: Indices
    low: Floats
    likely: Floats
    bound: Floats

    @classmethod
    def none(cls, size: int) -> Leaders:
        """No root cause anywhere."""
        return cls(np.full(size, -1, np.int16), np.full(size, -1), np.zeros(size), np.zeros(size), np.zeros(size))

    def put(self, rows: slice, block: Leaders) -> None:
        """Enter the root causes of a block."""
        for name in ("cause", "rule", "low", "likely", "bound"):
            getattr(self, name)[rows] = getattr(block, name)

    def put_where(self, mask: Masks, other: Leaders) -> None:
        """Enter the root causes of as many workloads where the mask holds."""
        at = np.flatnonzero(mask)
        for name in ("cause", "rule", "low", "likely", "bound") if len(at) else ():
            getattr(self, name)[at] = getattr(other, name)[at]


class CauseIndex:
    """The causes of a rulebook as small numbers, and the links between them."""

    def __init__(self, book: Rulebook) -> None:
        own = [r.cause for r in book.rules if r.cause and r.cause not in book.causes]
        self.names = [*book.causes, *dict.fromkeys(own)]
        code = {name: i for i, name in enumerate(self.names)}
        self.of_rule = np.array([code.get(r.cause, -1) for r in book.rules] or [-1], np.int16)
        # for workloads whose units do not decide
        self.limiter = np.array([CLASSES.index(book.cause(name).limiter) for name in self.names] or [0], np.int8)
        self.verdict = np.array([book.cause(name).is_verdict for name in self.names] or [False])
        self.once = np.array([book.cause(name).is_once for name in self.names] or [False])
        # evidence of the weakest grade names a suspect, not a fix
        self.is_suspect = np.array([r.gain is None or r.gain.confidence == "low" for r in book.rules] or [True])
        self.sureness = np.array([SURENESS[r.gain.confidence] if r.gain else 0.5 for r in book.rules] or [0.5])
        self.is_limit = np.array([r.gain is not None and r.gain.evidence == LIMIT for r in book.rules] or [False])
        # idle time is dealt out among its causes already: they explain away neither each other nor what keeps a device
        # busy, unless both claim the same part of it
        self.of_idle = np.array([r.gain is not None and r.gain.scope == "idle" for r in book.rules] or [False])
        self._claims = [frozenset(n for n in r.gain.time.names if n.startswith("idle.")) if r.gain and r.gain.time else frozenset() for r in book.rules]  # fmt: skip
        self.of_host = np.array([not LATE_HOST.isdisjoint(c) for c in self._claims] or [False])
        self.links = [(code[c.id], code[e.cause], e.when) for c in book.causes.values() for e in c.explains]
        self._units = [book.cause(name).unit for name in self.names]
        self._rules = book.rules

    def table(self, view: View, fired: Sequence[Fired], method: str) -> CauseTable:
        """The causes that fired on the workloads of a view, each with its best evidence."""
        work = setting(view).get("work")
        of_frame = work == "graphics" or (work is None and counts_draws(view.capture))
        table = CauseTable(view.size, self.is_limit & of_frame, of_frame, pass_shares(view) if of_frame else None)
        for rule, where, (low, likely, bound) in fired:
            cause = int(self.of_rule[rule])
            if cause < 0:
                continue
            gains = np.fmax(likely, 0.0)  # 0 where it is missing
            table.enter(cause, rule, where, float(self.sureness[rule]), low, gains, bound)
        for source, target, when in self.links:
            if source in table.rows and target in table.rows and not self.verdict[source]:
                holds = self._may_explain(table.rows[source].rule, table.rows[target].rule)
                if when is not None:
                    holds &= np.asarray(when(lambda name: view[name])) == 1
                if self._units[target]:
                    holds &= self._loads(view, table.rows[source].rule, self._units[target], method)
                table.explain(source, target, holds)
        return table

    def _may_explain(self, source: Causes, target: Causes) -> Masks:
        """Mask of workloads where two rules are about the same time."""
        out = ~self.of_idle[source]
        for i in np.flatnonzero(~out):  # rules of idle time are about whole captures: there is one
            out[i] = not self._claims[int(source[i])].isdisjoint(self._claims[int(target[i])])
        return out

    def _loads(self, view: View, rules: Causes, unit: str, method: str) -> Masks:
        """Mask of workloads whose rule lowers a unit's demand, or states no demands: else it did not fill that unit."""
        out = np.ones(view.size, dtype=bool)
        for r in np.unique(rules[rules >= 0]):
            gain = self._rules[r].gain
            stated = {d.unit: d.best for d in gain.remains} if gain else {}
            if stated and EVERY not in stated:
                stays = stated[unit](Lookup(self._rules[r], view, method)) if unit in stated else 1.0
                out &= (rules != r) | ~np.asarray(stays > 1 - MIN_SUSPECT_SHARE)
        return out

    def lead(self, table: CauseTable, size: int) -> Leaders:
        """The root cause of every workload: the likely saving weighed by confidence decides, then what is possible at most.

        A suspect goes before a fix only where its likely saving is three times as large, or more.
        """
        rivals = {
            cause: np.flatnonzero(self.may_lead(row, shares=table.shares))
            for cause, row in table.rows.items()
            if not self.verdict[cause]
        }
        fixes, suspects = (self._best(table, rivals, size, suspect) for suspect in (False, True))
        ahead = (suspects.cause >= 0) & (suspects.likely > (1 - EPSILON) * SUSPECT_FACTOR * fixes.likely)
        fixes.put_where(ahead, suspects)
        passing = np.flatnonzero((fixes.cause >= 0) & self.once[fixes.cause])
        fixes.low[passing] = fixes.likely[passing] = fixes.bound[passing] = 0.0
        return fixes

    def may_lead(self, row: Row, at: slice = slice(None), shares: Floats | None = None) -> Masks:
        """Mask of workloads, or of some, where a cause is a root that saves enough to be named.

        shares: of the frame, what the passes around the workloads take.
        """
        suspect = self.is_suspect[row.rule[at]]
        enough = row.likely[at] >= np.where(suspect, MIN_SUSPECT_SHARE, MIN_SAVING_SHARE)
        if shares is not None:
            enough &= row.likely[at] * shares[at] >= np.where(suspect, MIN_FRAME_SHARE[True], MIN_FRAME_SHARE[False])
        return row.root(at) & enough

    def _best(self, table: CauseTable, rivals: Mapping[int, Indices], size: int, suspect: bool) -> Leaders:
        """The best root of each workload among the fixes, or among the suspects. rivals: where each cause may lead."""
        out, best = Leaders.none(size), np.zeros(size)
        for cause, may_lead in rivals.items():
            row = table.rows[cause]
            at = may_lead[self.is_suspect[row.rule[may_lead]] == suspect]
            score, now = row.likely[at] * row.sure[at], best[at]
            better = (score > now) | ((score == now) & (now > 0) & (row.bound[at] > out.bound[at]))
            at = at[better]
            best[at], out.cause[at], out.rule[at] = score[better], cause, row.rule[at]
            out.low[at], out.likely[at], out.bound[at] = row.low[at], row.likely[at], row.bound[at]
        return out


class Row(Struct):
    """One cause on the workloads of a view. by: the cause that explains it, -1 for none."""

    fired: Masks
    sure: NDArray[np.float32]  # a word of SURENESS, exactly
    rule: Causes
    low: Floats
    likely: Floats
    bound: Floats
    by: Causes
    limit: Masks  # its best evidence is a busy unit alone

    @classmethod
    def blank(cls, n: int) -> Row:
        """A cause that fired nowhere yet."""
        fired, rule, by = np.zeros(n, dtype=bool), np.full(n, -1, np.int16), np.full(n, -1, np.int16)
        limit = np.zeros(n, dtype=bool)
        return cls(fired, np.zeros(n, np.float32), rule, np.zeros(n), np.zeros(n), np.zeros(n), by, limit)

    def root(self, at: slice = slice(None)) -> Masks:
        """Where it fired, with more evidence than a busy unit, and nothing explains it."""
        return self.fired[at] & (self.by[at] < 0) & ~self.limit[at]


class CauseTable:
    """All causes that fired on the workloads of a view, by their number. limits: rules that state a busy unit alone.

    shares: of the frame, what the passes around the workloads take; None where it is unknown.
    """

    def __init__(self, size: int, limits: Masks, of_frame: bool, shares: Floats | None = None) -> None:
        self.size, self.limits, self.of_frame, self.shares = size, limits, of_frame, shares
        self.rows: dict[int, Row] = {}

    def enter(
        self, cause: int, rule: int, where: Indices, sure: float, low: Floats, likely: Floats, bound: Floats
    ) -> None:
        """Add the firings of one more rule of a cause: the evidence of higher confidence counts, then the larger saving."""
        row = self.rows.get(cause)
        at: slice | Indices = slice(None)
        chosen = where
        if row is None:  # the usual case: one rule per cause
            row = self.rows[cause] = Row.blank(self.size)
        else:
            better = (sure > row.sure[where]) | ((sure == row.sure[where]) & (likely > row.likely[where]))
            # evidence without a saving never replaces evidence with one
            better &= ~((likely <= 0) & (row.likely[where] > 0))
            better |= (likely > 0) & (row.likely[where] <= 0)
            # a counted excess goes before a busy unit alone
            better = better & row.limit[where] if self.limits[rule] else better | (row.limit[where] & (likely > 0))
            better |= ~row.fired[where]
            at = np.flatnonzero(better)
            chosen = where[at]
        row.fired[where] = True
        row.limit[chosen] = self.limits[rule]
        row.sure[chosen], row.rule[chosen] = sure, rule
        row.low[chosen], row.likely[chosen], row.bound[chosen] = low[at], likely[at], bound[at]

    def explain(self, source: int, target: int, holds: Masks) -> None:
        """Enter that a cause explains another where both fired, the link holds and its saving is comparable."""
        a, b = self.rows[source], self.rows[target]
        explained = holds & a.fired & b.fired & (b.by < 0) & (a.likely >= COMPARABLE * b.likely)
        b.by[explained] = source

    def chain(self, leader: int, i: int) -> list[int]:
        """The cause chain of the i-th workload: its root cause, then direct and indirect effects, nearest first."""
        out = [leader]
        for cause in out:
            out += [c for c, row in self.rows.items() if row.fired[i] and row.by[i] == cause and c not in out]
        return out[:MAX_CHAIN]

    def line(self, leader: int, i: int) -> list[int]:
        """The longest line of the i-th workload's causes from its root on, each a direct effect of the one before it."""
        effects = [c for c, row in self.rows.items() if row.fired[i] and row.by[i] == leader]
        return [leader, *max((self.line(c, i) for c in effects), key=len, default=[])][:MAX_CHAIN]
