"""What a report says besides findings, for the workloads it shows: ruled out, blind spots, the verdict sentence."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.capture.capture import BlindSpot
from triage.derive import View
from triage.diagnosis.findings import title_of, unit_of
from triage.diagnosis.limiter import CLASSES, PHRASES, judge
from triage.diagnosis.sentences import sentence
from triage.document.summary import lower_first
from triage.ground.units import show
from triage.inference.evaluate import BLIND, FIRED, NOT_APPLICABLE, OVERRULED, SILENT, Lookup, askable, infer, missing
from triage.rulebook.expression import FALSE, UNKNOWN
from triage.rulebook.rule import Rule

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis, Part

NAMED = 1_000  # workloads named per blind spot; beyond that only the count is given
EXPLAINED = 2_000  # workloads up to which all get their `ruled out`; of more, those that a listed finding is about


FLIP = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}


class Details:
    """Outcomes of every rule on the shown workloads of one part."""

    def __init__(self, diagnosis: Diagnosis, part: Part) -> None:
        self.d, self.part = diagnosis, part
        self.rows = diagnosis.shown(part.number)
        self.view = View(part.capture, self.rows)
        self._lookups: dict[int, Lookup] = {}

    def lookup(self, index: int) -> Lookup:
        """Names of a rule over the shown workloads."""
        if index not in self._lookups:
            self._lookups[index] = Lookup(self.d.book.rules[index], self.view, self.d.method)
        return self._lookups[index]

    @cached_property
    def ids(self) -> dict[int, str]:
        """Index in the capture -> id in the report, of the shown workloads."""
        return {w: self.part.workload_id(w, self.d.many) for w in self.rows.tolist()}

    @cached_property
    def truth(self) -> Any:
        """Everything inferred about the shown workloads (signatures are cached: this is cheap)."""
        return infer(self.view, self.d.inference)

    @cached_property
    def verdict(self) -> Any:
        """Band, limiter class and clusters."""
        return judge(self.view)

    @cached_property
    def _asks(self) -> dict[int, list[tuple[tuple[str, ...], Any]]]:
        """Per rule: (metrics to collect, mask of workloads that miss them). An empty tuple: cannot be collected."""
        out: dict[int, list[tuple[tuple[str, ...], Any]]] = {}
        makers: dict[str, list[int]] = {}
        for index, rule in enumerate(self.d.book.rules):
            for name in (rule.name, *rule.concludes):
                makers.setdefault(name, []).append(index)
        for index in self.truth.possible:  # in the order of groups: premises first
            rule = self.d.book.rules[index]
            own = [(askable(metric, self.view), mask) for metric, mask in missing(rule, self.view, self.d.method)]
            for concept in rule.when[self.d.method].given:
                unknown = self.truth.concept(concept) == UNKNOWN
                for maker in makers[concept]:
                    own += [(ask, mask & unknown & self._blind_mask(maker)) for ask, mask in out.get(maker, ())]
            out[index] = [(a, m) for a, m in own if m.any()]
        return out

    def _blind_mask(self, index: int) -> Any:
        nothing = np.zeros(self.view.size, dtype=bool)
        fired = self.truth.fired.get(index, nothing)
        for _, hit in self.truth.overruled.get(index, ()):
            fired = fired | hit
        return self.truth.possible.get(index, nothing) & ~fired

    def outcome(self, index: int) -> Any:
        """FIRED .. OVERRULED per shown workload for one rule (int8 array)."""
        out = np.full(self.view.size, SILENT, dtype=np.int8)
        if index not in self.truth.fired:
            return out
        blind = self._blind_mask(index)
        out[blind] = BLIND
        for ask, mask in self._asks[index]:
            if not ask:
                out[blind & mask] = NOT_APPLICABLE
        out[self.truth.fired[index]] = FIRED
        for _, hit in self.truth.overruled.get(index, ()):
            out[hit] = OVERRULED
        return out

    @cached_property
    def blind_spots(self) -> list[BlindSpot]:
        """Missing metrics, the rules that wait for them, and how to collect them; most rules first."""
        spots: dict[str, tuple[dict[str, None], Any]] = {}
        for index in self.truth.possible:
            rule = self.d.book.rules[index]
            blind = self.outcome(index) == BLIND
            if rule.is_concept or not blind.any():
                continue
            for ask, mask in self._asks[index]:
                hit = blind & mask
                if hit.any():
                    for metric in ask:
                        rules, seen = spots.get(metric, ({}, np.zeros(self.view.size, dtype=bool)))
                        rules[rule.id] = None
                        spots[metric] = (rules, seen | hit)
        merged: dict[tuple[tuple[str, ...], bytes], list[str]] = {}
        masks: dict[bytes, Any] = {}
        for metric, (rules, mask) in spots.items():
            key = mask.tobytes()
            masks[key] = mask
            merged.setdefault((tuple(sorted(rules)), key), []).append(metric)
        out = []
        for (rule_ids, key), metrics in merged.items():
            rows = self.rows[np.flatnonzero(masks[key])]
            out.append(BlindSpot(tuple(sorted(metrics)), rule_ids, tuple(rows.tolist()), self.collect(sorted(metrics))))
        out.sort(key=lambda s: (-len(s.rules), -len(s.workloads), s.missing))
        return out

    def collect(self, metrics: list[str]) -> str:
        """The command or step that collects metrics with this profiler."""
        if self.part.capture.collect is not None:
            return self.part.capture.collect(metrics)
        return f"add columns: {', '.join(metrics)}"

    def ruled_out(self) -> list[tuple[str, int, str]]:
        """(rule id, workload index, why) for overruled findings and for excluded causes worth naming."""
        out = []
        chosen = np.ones(self.view.size, dtype=bool)
        if self.view.size > EXPLAINED:
            chosen = np.isin(self.rows, list(self.d.concerned(self.part.number)))
        for index in self.truth.fired:
            rule = self.d.book.rules[index]
            if rule.is_concept:
                continue
            for by, hit in self.truth.overruled.get(index, ()):
                out += [
                    (rule.id, int(self.rows[i]), self._overruled(rule, by, int(i)))
                    for i in np.flatnonzero(hit & chosen)
                ]
            if rule.rules_out:
                out += self._excluded(rule, index, (self.outcome(index) == SILENT) & chosen & self._relevant(rule))
        out.sort(key=lambda r: (r[1], r[0]))
        return out

    def _relevant(self, rule: Rule) -> Any:
        """Where nothing the rule is given is known to be false: a cause out of the question needs no excluding."""
        given = [self.truth.concept(c) != FALSE for c in rule.when[self.d.method].given]
        return np.logical_and.reduce([np.broadcast_to(g, self.view.size) for g in given]) if given else True

    @cached_property
    def _makers(self) -> dict[str, list[tuple[int, Any]]]:
        """concept -> (rule index, where that rule held, overruled or not)."""
        out: dict[str, list[tuple[int, Any]]] = {}
        for index, fired in self.truth.fired.items():
            held = np.logical_or.reduce([fired, *(hit for _, hit in self.truth.overruled.get(index, ()))])
            rule = self.d.book.rules[index]
            for name in (rule.name, *rule.concludes) if held.any() else ():
                out.setdefault(name, []).append((index, held))
        return out

    def _overruled(self, rule: Rule, by: str, i: int) -> str:
        index = next((k for k, held in self._makers.get(by, ()) if held[i]), None)
        if index is None:
            return f"{rule.title}: overruled by {by}"
        other = self.d.book.rules[index]
        reason = sentence(other.finding, other, self.lookup(index), i) if other.finding else other.title
        return f"{rule.title}: overruled, because {lower_first(reason)}"

    def _excluded(self, rule: Rule, index: int, silent: Any) -> list[tuple[str, int, str]]:
        """`CPU-bound: GPU idle 0.0 % <= 1 %`: the first comparison that failed, turned round."""
        lookup, left, out = self.lookup(index), silent.copy(), []
        for c in rule.when[self.d.method].conditions:
            if c.right is None:
                continue
            failed = left & np.broadcast_to(lookup.once(c) == FALSE, self.view.size)
            left &= ~failed
            unit, title = unit_of(rule, c), title_of(c)
            value, limit = (np.broadcast_to(lookup.once(e), self.view.size) for e in (c.left, c.right))
            out += [
                (
                    rule.id,
                    int(self.rows[i]),
                    f"{rule.rules_out}: {title} {show(float(value[i]), unit)} {FLIP[c.op]} {show(float(limit[i]), unit)}",
                )
                for i in np.flatnonzero(failed)
            ]
        return out

    def sentence(self, i: int, best: str) -> str:
        """One-sentence verdict of the i-th shown workload."""
        name = CLASSES[int(self.verdict.limiter[i])]
        phrase = PHRASES[name]
        return f"{phrase[0].upper()}{phrase[1:]}" + (f"; {best}" if best else "") + "."
