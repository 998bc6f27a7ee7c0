"""Outcome of every rule on some workloads: fired, silent, not evaluated (blind), not applicable, overruled.

Reports and `triage explain --on` both take outcomes from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from triage import schema
from triage.capture.arrays import Codes, Indices, Masks
from triage.derive import View
from triage.diagnosis.blind_spots import BlindSpot, Spots, Wait
from triage.diagnosis.collectability import bare, could_decide
from triage.diagnosis.diagnosis_result import Diagnosis, Part
from triage.diagnosis.gain import fractions
from triage.diagnosis.limiter import Limits, judge
from triage.diagnosis.one_kernel import PROFILER, one_kernel
from triage.diagnosis.root_causes import CauseTable, Fired
from triage.ground.collect_command import Command, columns
from triage.ground.columns import anywhere
from triage.ground.method import LOW
from triage.inference.evaluate import (
    BLIND,
    FIRED,
    NOT_APPLICABLE,
    OVERRULED,
    SILENT,
    Lookup,
    Truth,
    askable,
    infer,
    missing,
)
from triage.inference.rule_context import setting
from triage.rulebook.applies import FACTS, may_hold
from triage.rulebook.expression import UNKNOWN

BLOCK = 25_000  # workloads whose outcomes are worked out together, where all are asked for: 2.6 KB each
EXPLAINED = 2_000  # workloads up to which all are explained: ways through the guide, and `ruled out` where all findings are listed
Ask = tuple[tuple[str, ...], Masks]  # (metrics to collect, where they are missing); no metrics: cannot be collected


class Outcomes:
    """Outcomes of every rule on some workloads of one part (rows: ascending indices; default: those that are shown).

    whole: on the capture as a whole instead, for rules of scope `frame`.
    """

    def __init__(self, diagnosis: Diagnosis, part: Part, rows: Indices | None = None, *, whole: bool = False) -> None:
        self.d, self.part = diagnosis, part
        self.capture = part.frame if whole else part.capture
        self.engine = diagnosis.frame_engine if whole else diagnosis.engine
        self.rows = np.array([0]) if whole else diagnosis.shown(part.number) if rows is None else rows
        self.view = View(self.capture) if whole else part.look(self.rows)
        self._lookups: dict[int, Lookup] = {}
        self._asked: dict[int, list[Ask]] = {}
        self._dead: dict[int, Masks] = {}
        self._here = setting(self.view)

    def lookup(self, index: int) -> Lookup:
        """Values of a rule's names over these workloads."""
        if index not in self._lookups:
            self._lookups[index] = Lookup(self.d.book.rules[index], self.view, self.d.method)
        return self._lookups[index]

    @cached_property
    def ids(self) -> dict[int, str]:
        """Index in the capture -> id in the report, of the shown workloads."""
        many = self.d.many
        return {w: self.part.workload_id(w, many) for w in self.rows.tolist()}

    @cached_property
    def truth(self) -> Truth:
        """Everything inferred about these workloads; cheap, because the engine remembers signatures."""
        return infer(self.view, self.engine) if self.engine else Truth()

    @property
    def limits(self) -> Limits:
        """Band, limiter class and clusters."""
        return judge(self.view)

    @property
    def limiter(self) -> Codes:
        """Limiter classes (positions in ground.limiters.LIMITERS), by the root cause where units do not decide."""
        return self.limits.limiter if self.capture is self.part.frame else self.part.limiter[self.rows]

    @property
    def units_measured(self) -> Masks:
        """Where the highest share of peak of any unit is known and low."""
        clusters = self.limits.clusters
        return clusters.top < LOW if clusters.names else np.zeros(self.view.size, dtype=bool)

    @cached_property
    def _concluding(self) -> dict[str, list[int]]:
        """Concept, or a rule's own name -> the rules that conclude it."""
        out: dict[str, list[int]] = {}
        for index, rule in enumerate(self.d.book.rules):
            for name in (rule.name, *rule.concludes):
                out.setdefault(name, []).append(index)
        return out

    def _asks(self, index: int) -> list[Ask]:
        """Missing metrics of a rule and of its premises, and where; premises form no circle."""
        if index not in self.truth.possible:
            return []
        if index not in self._asked:
            rule = self.d.book.rules[index]
            wanted = self.engine.wanted(index) if self.engine else ()
            own = [(askable(metric, self.view), mask) for metric, mask in missing(wanted, self.view)]
            if self.capture.copying is not None:
                none = bare(self.view)
                parts = [part for ask, mask in own for part in ((ask, mask & ~none), ((), mask & none))]
                own = [(ask, mask) for ask, mask in parts if anywhere(mask)]
            for concept in rule.when[self.d.method].given:
                unknown = self.truth.concept(concept) == UNKNOWN
                for maker in self._concluding[concept]:
                    blind = unknown & self._blind_mask(maker)
                    for ask, mask in self._asks(maker) if anywhere(blind) else ():
                        if anywhere(hit := mask & blind):
                            own.append((ask, hit))
            self._asked[index] = own
        return self._asked[index]

    def _hopeless(self, index: int) -> Masks:
        """Mask of workloads where a rule cannot be evaluated, whatever is collected."""
        if index not in self._dead:
            rule, mask = self.d.book.rules[index], np.zeros(self.view.size, dtype=bool)
            if self.engine:
                mask |= np.logical_not(could_decide(rule, self.engine.wanted(index), self.view, self.engine))
            for concept in rule.when[self.d.method].given:
                unknown, hope = self.truth.concept(concept) == UNKNOWN, np.zeros(self.view.size, dtype=bool)
                for maker in self._concluding[concept]:
                    blind = unknown & self._blind_mask(maker)
                    hope |= blind & ~self._hopeless(maker) if anywhere(blind) else False
                mask |= unknown & ~hope
            self._dead[index] = mask
        return self._dead[index]

    def _blind_mask(self, index: int) -> Masks:
        """Mask of workloads where a rule is neither excluded nor fired."""
        if index not in self.truth.possible:
            return np.zeros(self.view.size, dtype=bool)
        fired = self.truth.fired[index]
        for _, hit in self.truth.overruled.get(index, ()):
            fired = fired | hit
        return self.truth.possible[index] & ~fired

    def concerns(self, index: int) -> bool:
        """True if a rule applies to such captures."""
        return may_hold(self.d.book.rules[index].applies, self._here)

    def strange(self, index: int) -> bool:
        """True if a rule is about another vendor than the counters of this export, which names none, suggest.

        No report asks for a counter that the GPU may not have.
        """
        about = self.d.book.rules[index].applies.get("vendor")
        return about is not None and "vendor" not in self._here and self._likely_vendors.isdisjoint(about)

    @cached_property
    def _likely_vendors(self) -> set[str]:
        """Vendors of the rules that read the counters here; all vendors where none fits every share."""
        readers = self.d.book.readers
        # shares are of units; times, counts and ids are common to all vendors, even where only some vendors' rules read them
        tell = [m for m in self.capture.facts if m in readers and schema.get(m).unit == "ratio"]
        fit = set(FACTS["vendor"]).intersection(*(readers[m] for m in tell))
        # this project's metrics are named after NVIDIA's: a table in them that might be NVIDIA's is taken for that
        return {"nvidia"} if "nvidia" in fit else fit or set(FACTS["vendor"])

    def outcome(self, index: int) -> Codes:
        """FIRED .. OVERRULED per workload for one rule (its index in the rulebook)."""
        if not self.concerns(index):
            return np.full(self.view.size, NOT_APPLICABLE, dtype=np.int8)
        other = NOT_APPLICABLE if self.d.book.rules[index].unweighed else SILENT
        out = np.full(self.view.size, other, dtype=np.int8)
        if index not in self.truth.fired:
            return out
        out[self._blind_mask(index)] = NOT_APPLICABLE
        out[self._waiting(index)] = BLIND
        out[self.truth.fired[index]] = FIRED
        for _, hit in self.truth.overruled.get(index, ()):
            out[hit] = OVERRULED
        return out

    def _waiting(self, index: int) -> Masks:
        """Mask of workloads where a rule is BLIND: its missing metrics can be collected, and would decide."""
        blind = self._blind_mask(index)
        if not anywhere(blind):
            return blind
        if self.strange(index) or self.d.book.rules[index].unweighed:
            return np.zeros_like(blind)
        return blind & ~self._hopeless(index) if any(not ask for ask, _ in self._asks(index)) else blind

    def decided(self, index: int) -> tuple[Masks, Masks]:
        """Masks of workloads where a rule is FIRED, and where it is SILENT or OVERRULED."""
        hits = [hit for _, hit in self.truth.overruled.get(index, ())]
        fired = self.truth.fired.get(index, np.zeros(self.view.size, dtype=bool))
        return fired, np.logical_or.reduce([self.silent(index), *hits])

    def silent(self, index: int) -> Masks:
        """Mask of workloads where a rule is SILENT: it applies, and its condition is false."""
        here = np.full(self.view.size, self.concerns(index))
        return here & ~self.truth.possible[index] if index in self.truth.possible else here

    def waits_for(self, index: int, i: int) -> tuple[str, ...]:
        """Missing metrics of a rule at position i that this profiler can export; sorted."""
        return tuple(sorted({m for ask, mask in self._asks(index) if mask[i] for m in ask}))

    def overruled_by(self, index: int, i: int) -> str:
        """The rule or concept that overrules a rule at position i; "" for none."""
        return next((by for by, hit in self.truth.overruled.get(index, ()) if hit[i]), "")

    @cached_property
    def blind_spots(self) -> list[BlindSpot]:
        """Missing metrics, the rules that need them, and how to collect them; most rules first."""
        spots = Spots()
        for block in self.blocks():
            spots.enter(block.rows, block._waits())
        return spots.spots(self._command, self.collect)

    def blocks(self) -> Iterator[Outcomes]:
        """Outcomes of all these workloads, at most BLOCK at a time."""
        if self.view.size <= BLOCK:
            yield self
            return
        for start in range(0, self.view.size, BLOCK):
            yield Outcomes(self.d, self.part, self.rows[start : start + BLOCK])

    def _waits(self) -> Iterator[Wait]:
        """Every rule that is blind on some of the workloads, with its missing metrics there."""
        for index in self.truth.possible:
            rule = self.d.book.rules[index]
            if rule.is_concept or not anywhere(blind := self._waiting(index)):
                continue
            for ask, mask in self._asks(index):
                if ask and anywhere(hit := blind & mask):
                    yield rule.id, ask, hit

    @cached_property
    def causes(self) -> CauseTable:
        """The causes that fired on these workloads, and the links between them."""
        fired: list[Fired] = []
        for index in sorted(self.truth.fired):
            rule = self.d.book.rules[index]
            where = np.flatnonzero(self.truth.fired[index])
            if not rule.is_concept and len(where):
                fired.append((index, where, fractions(rule, self.lookup(index), where)))
        return self.d.cause_index.table(self.view, fired, self.d.method)

    def collect(self, metrics: list[str]) -> str:
        """The command or step that collects metrics with this profiler; "" where the capture was made with it."""
        made_with = self.capture.table.made_with
        new = [m for m in metrics if self._command([m]) not in made_with] if made_with else metrics
        command = self._command(new) if new else ""
        if isinstance(command, Command) and command.program == PROFILER and command.asks:
            return command.with_options(self._one_kernel)
        return command

    @cached_property
    def _one_kernel(self) -> str:
        return one_kernel(self.capture)

    def _command(self, metrics: list[str]) -> str:
        if self.capture.collect is not None:
            return self.capture.collect(metrics)
        return columns(metrics)
