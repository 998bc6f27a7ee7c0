"""Why rules did not fire: the finding that covers them, a derived fact that does not hold, the first failed comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial

import numpy as np

from triage import schema
from triage.capture.arrays import Indices, Masks, Values
from triage.diagnosis.outcomes import EXPLAINED, Outcomes
from triage.document.page_entries import RuledOut
from triage.findings.evidence import at, describe_work, is_quantity, limit_of, metrics_behind, title_of, unit_of
from triage.findings.text_fields import sentence
from triage.ground.columns import anywhere, is_column
from triage.ground.phrasing import failed_comparison, lower_first, upper_first
from triage.ground.terminology import localize
from triage.ground.units import show
from triage.rulebook.expression import FALSE, Condition
from triage.rulebook.rule import Rule


class Reasons:
    """Why rules did not fire on the workloads of some outcomes."""

    def __init__(self, outcomes: Outcomes) -> None:
        self.o = outcomes

    def why_overruled(self, index: int, i: int) -> RuledOut:
        """An overruled rule at position i, covered by the finding that overrules it."""
        return self._overruled(self.o.d.book.rules[index], self.o.overruled_by(index, i), i)

    def why_silent(self, index: int, i: int) -> tuple[bool, str]:
        """(is it a premise that does not hold, what fails first) of a silent rule at position i; "" when nothing does."""
        rule = self.o.d.book.rules[index]
        if self.o.d.method not in rule.when:
            return True, ""
        for concept in rule.when[self.o.d.method].given:
            if at(self.o.truth.concept(concept), i) == FALSE:
                maker = next((r for r in self.o.d.book.rules if concept in (r.name, *r.concludes)), None)
                needed = lower_first(localize(maker.title)) if maker else concept
                return True, f"applies only with {needed}"
        only = np.zeros(self.o.view.size, dtype=bool)
        only[i] = True
        return False, next((why for _, why in self._failing(rule, index, only)), "")

    def ruled_out(self, some: Masks | None = None) -> list[RuledOut]:
        """Overruled findings, and excluded causes worth naming. some: of which workloads; None for all."""
        o, out = self.o, list[RuledOut]()
        asked = o.view.leaf if some is None else o.view.leaf & some
        for index in o.truth.fired:
            rule = o.d.book.rules[index]
            if rule.is_concept:
                continue
            for by, hit in o.truth.overruled.get(index, ()):
                where = np.flatnonzero(hit & asked) if by not in o.d.book.settings else ()
                out += [self._overruled(rule, by, int(i)) for i in where]
            if rule.rules_out:
                out += self._excluded(rule, index, o.silent(index) & asked & self._relevant(rule))
        # one reason is enough for a title, whichever rules share it
        first = {(r.row, r.title, r.covered or r.reason): r for r in sorted(out, reverse=True)}
        return sorted(first.values(), key=lambda r: (r.row, r.rule))

    def _relevant(self, rule: Rule) -> Masks:
        """Mask of workloads where no premise of the rule is false; elsewhere its cause needs no excluding."""
        out = np.ones(self.o.view.size, dtype=bool)
        for concept in rule.when[self.o.d.method].given:
            out &= self.o.truth.concept(concept) != FALSE
        return out

    @cached_property
    def _makers(self) -> dict[str, list[tuple[int, Masks]]]:
        """concept -> (rule index, where that rule held, overruled or not)."""
        out: dict[str, list[tuple[int, Masks]]] = {}
        for index, fired in self.o.truth.fired.items():
            held = np.logical_or.reduce([fired, *(hit for _, hit in self.o.truth.overruled.get(index, ()))])
            rule = self.o.d.book.rules[index]
            for name in (rule.name, *rule.concludes) if anywhere(held) else ():
                out.setdefault(name, []).append((index, held))
        return out

    def _overruled(self, rule: Rule, by: str, i: int) -> RuledOut:
        row, title = int(self.o.rows[i]), localize(rule.title)
        return RuledOut(rule.id, row, title, f"covered by {self._overruling(by, i)}", covered=True)

    def _overruling(self, by: str, i: int) -> str:
        rules = self.o.d.book.rules
        held = [k for k, mask in self._makers.get(by, ()) if mask[i]]
        index = min(held, key=lambda k: (len(rules[k].needs), k), default=None)  # the plainest reason
        if index is None:
            return by
        other = rules[index]
        reason = sentence(other.finding, other, self.o.lookup(index), i) if other.finding else localize(other.title)
        # a derived fact is in no list of findings: its number would lead nowhere
        found = "" if other.is_concept else f"{other.id}: "
        return f"{found}{lower_first(reason).removesuffix('.')}"

    def _excluded(self, rule: Rule, index: int, silent: Masks) -> Iterator[RuledOut]:
        """`Divergence: VALU active lanes 100 %, not below 75 %`: the first comparison that failed.

        A cause that this kind of work, device or API cannot have was never in question: it is left out.
        """
        title = localize(rule.rules_out)
        return (RuledOut(rule.id, w, title, why) for w, why in self._failing(rule, index, silent, measured=True))

    def _failing(self, rule: Rule, index: int, silent: Masks, measured: bool = False) -> Iterator[tuple[int, str]]:
        """(workload index, first comparison that failed) where a rule is silent.

        measured: only where that rests on a value that was measured; `counter or 0` without the counter excludes nothing.
        """
        lookup, left = self.o.lookup(index), silent.copy()
        for c in rule.when[self.o.d.method].conditions:
            if not anywhere(left):
                return
            if c.right is None:
                continue
            failed = left & (lookup.once(c) == FALSE)
            where = np.flatnonzero(failed)
            if not len(where):
                continue
            left &= ~failed
            value, limit = lookup.once(c.left), lookup.once(c.right)
            plain = schema.known(c.left.text)
            names = () if plain else metrics_behind(rule, c)
            guard = describe_work(names or [c.left.text])
            failure, gates = cache(partial(_failed, rule, c)), cache(partial(_is_gate, c, names))
            places = self.o.rows[where].tolist()
            if plain and not is_column(limit):  # nearly always: one metric against one number
                text, gate = failure("", float(limit)), measured and gates("", float(limit))
                yield from (
                    (w, text(v))
                    for w, v in zip(places, self._at(value, where), strict=True)
                    if not (gate or (measured and guard and v == 0))
                )
                continue
            inputs = [self._at(self.o.view[m], where) for m in names]
            measure = [is_quantity(m) for m in names]
            rows = zip(places, self._at(value, where), self._at(limit, where), strict=True)
            for i, (w, v, bound) in enumerate(rows):
                chosen = next(
                    (m for m, x, tells in zip(names, inputs, measure, strict=True) if tells and x[i] == v), ""
                )
                # the highest of several, asked whether it is lower than itself, is no reason
                if measured and (
                    v == bound
                    or gates(chosen, bound)
                    or (v == 0 and guard)
                    or (inputs and all(x[i] != x[i] for x in inputs))
                ):
                    continue
                yield w, failure(chosen, bound)(v)

    @staticmethod
    def _at(values: Values, where: Indices) -> list[float]:
        """Values at some positions; one that holds for all is repeated."""
        out: list[float] = values[where].tolist() if is_column(values) else [float(values)] * len(where)
        return out


def _is_gate(c: Condition, names: Sequence[str], chosen: str, limit: float) -> bool:
    """True if a comparison is about the kind of work, not an amount.

    That is: it reads flags alone, or requires that something is absent (`launch <= none`: no launch of a compute API).
    """
    read = [chosen or c.left.text] if chosen or schema.known(c.left.text) else names
    return not any(is_quantity(m) for m in read) or (limit == 0 and c.op in ("<", "<=", "=="))


def _failed(rule: Rule, c: Condition, chosen: str, limit: float) -> Callable[[float], str]:
    """Formatter of a failed comparison, given its value: `GPU idle 0.0 %, not above 1 %`, `Scratch per thread: none`.

    The words around the value are the same for all workloads.
    """
    unit, title = unit_of(rule, c, chosen), upper_first(title_of(rule, c, chosen))
    if schema.known(c.left.text) and schema.get(c.left.text).is_flag:
        return lambda value: f"{title}: {'yes' if value else 'no'}"
    shown = limit_of(rule, c, limit, unit)
    return lambda value: (
        f"{title}: none" if value == limit == 0 else failed_comparison(title, show(value, unit), c.op, shown)
    )


def ruled_out(o: Outcomes) -> list[RuledOut]:
    """Causes that are ruled out, as reports list them (see Reasons.ruled_out).

    Of many workloads, or where not every finding is listed, only those of workloads with a listed finding.
    """
    many = o.view.size > EXPLAINED
    if not many and o.d.total == len(o.d.order):
        return Reasons(o).ruled_out()
    listed = np.isin(o.rows, list(o.d.concerned(o.part.number)))
    if many and not listed.all():
        return Reasons(Outcomes(o.d, o.part, o.rows[listed])).ruled_out()
    return Reasons(o).ruled_out(listed)
