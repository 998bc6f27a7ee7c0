"""Conditions as columns, inference per group, vetoes: the outcome of every rule on every workload.

An outcome per workload is fired, silent, blind (it cannot be excluded, but something it needs is missing),
not applicable (missing, and this profiler cannot export it) or overruled.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct, field

from triage.capture.arrays import Codes, Masks, Values
from triage.derive import View, leaves
from triage.ground.columns import anywhere, is_column
from triage.inference.engine import Engine
from triage.inference.groups import RULES, Input, sign
from triage.inference.rule_context import setting
from triage.rulebook.applies import may_hold
from triage.rulebook.expression import FALSE, TRUE, UNKNOWN, Condition, Expression
from triage.rulebook.rule import Rule

FIRED, SILENT, BLIND, NOT_APPLICABLE, OVERRULED = range(5)


class Truth(Struct):
    """Everything inferred about the workloads of a view. fired, possible: masks per rule index."""

    fired: dict[int, Masks] = field(default_factory=dict)
    possible: dict[int, Masks] = field(default_factory=dict)  # cannot be excluded: fired or blind
    overruled: dict[int, list[tuple[str, Masks]]] = field(default_factory=dict)  # (by, mask)
    concluded: dict[str, tuple[Masks, Masks]] = field(default_factory=dict)  # concept -> (true, cannot be excluded)

    def conclude(self, name: str, fired: Masks, possible: Masks) -> None:
        """Add one rule's conclusion of a derived fact: true if one rule fires, unknown if one may."""
        if name in self.concluded:
            before = self.concluded[name]
            fired, possible = before[0] | fired, before[1] | possible
        self.concluded[name] = (fired, possible)

    def concept(self, name: str) -> Codes | int:
        """A derived fact per workload, three-valued; FALSE where no rule may conclude it."""
        if name not in self.concluded:
            return FALSE
        fired, possible = self.concluded[name]
        return UNKNOWN * possible.view(np.int8) - fired.view(np.int8)  # fired implies possible: 2 - 1 is TRUE

    def holds(self, name: str) -> Masks | bool:
        """Where a derived fact is true; False where no rule concludes it."""
        return self.concluded[name][0] if name in self.concluded else False


class Lookup:
    """Names of one rule -> values over a view: thresholds, lets, metrics."""

    def __init__(self, rule: Rule, view: View, method: str) -> None:
        self.rule, self.view, self.method = rule, view, method
        self._open: set[str] = set()  # lets that are being worked out

    def __call__(self, name: str) -> Values:
        """The value behind a name: array, scalar, or NaN where it was not measured."""
        if name in self.rule.thresholds:
            return self.rule.threshold(name, self.method)
        if name in self.rule.let:
            if name in self._open:  # a let that reads itself is missing, not endless
                return np.nan
            # lets of different rules may share a name, never a rule's id
            return self.view.once(("let", self.rule.id, self.method, name), lambda: self._let(name))
        return self.view[name]

    def _let(self, name: str) -> Values:
        self._open.add(name)
        try:
            return self.rule.let[name](self)
        finally:
            self._open.discard(name)

    def once(self, e: Expression | Condition) -> Values:
        """An expression's or condition's value over the view, computed once however many workloads ask."""
        return self.view.once((type(e), self.rule.id, self.method, e.text), lambda: e(self))


def infer(view: View, engine: Engine) -> Truth:
    """Run every group of the engine's program over a view, then apply the vetoes; once per view."""
    return view.once(("truth", engine), lambda: _infer(view, engine))


def _infer(view: View, engine: Engine) -> Truth:
    program, truth = engine.program, Truth()
    memo: dict[str, Codes | int] = {}
    size, here = view.size, setting(view)
    nothing = np.zeros(size, dtype=bool)
    lacking = frozenset(filter(view.lacks, engine.needs))
    for group in program.groups:
        # skip rules about other hardware or another API, and inputs that only they read
        members = [(m, member) for m, member in enumerate(group.members) if may_hold(member.rule.applies, here)]
        read = {i for _, member in members for inputs in member.alternatives for i in inputs}
        digits = [
            _truth_of(item, view, program.method, lacking, truth, memo) if i in read else FALSE
            for i, item in enumerate(group.inputs)
        ]
        # over metrics that a capture does not have a whole block is one signature
        alike = size > 1 and not any(map(is_column, digits))
        bits = engine.infer(group, sign(digits, 1 if alike else size))
        seen = int(np.bitwise_or.reduce(bits)) if size else 0
        if alike and seen:
            bits = np.full(size, bits[0])
        for m, member in members:
            # most rules fire nowhere in a block: they share one empty mask
            fired = bits & np.uint32(1 << m) != 0 if seen >> m & 1 else nothing
            possible = bits & np.uint32(1 << (RULES + m)) != 0 if seen >> (RULES + m) & 1 else nothing
            truth.fired[member.index], truth.possible[member.index] = fired, possible
            # a derived fact without a conclusion stays a plain FALSE, one value for all workloads
            if possible is not nothing:
                for name in (member.rule.name, *member.rule.concludes):
                    truth.conclude(name, fired, possible)
    resolve(view, engine, truth)
    return truth


def resolve(view: View, engine: Engine, truth: Truth) -> None:
    """Apply the vetoes, and drop outcomes about containers."""
    _veto(engine, truth)
    _leaves_only(view, truth)


def _leaves_only(view: View, truth: Truth) -> None:
    """Drop outcomes about containers: their counters repeat those of the ranges inside them."""
    leaf = view.leaf
    if leaf.all():
        return
    for masks in (truth.fired, truth.possible):
        for index, mask in masks.items():
            if anywhere(mask):
                masks[index] = mask & leaf
    for index, vetoes in truth.overruled.items():
        truth.overruled[index] = [(by, hit & leaf) for by, hit in vetoes]


def _truth_of(
    item: Input, view: View, method: str, lacking: frozenset[str], truth: Truth, memo: dict[str, Codes | int]
) -> Codes | int:
    if item.kind == "given":
        return truth.concept(item.name)
    if item.key not in memo:
        # most rules read a metric that the capture lacks: their conditions are not compiled
        if not lacking.isdisjoint(item.needs):
            memo[item.key] = UNKNOWN
        elif item.kind == "have":
            values = view[item.name]
            known = np.where(np.isnan(values), UNKNOWN, TRUE)
            memo[item.key] = known.astype(np.int8) if is_column(values) else int(known)
        else:
            assert item.condition and item.rule
            memo[item.key] = item.condition(Lookup(item.rule, view, method))
    return memo[item.key]


def _veto(engine: Engine, truth: Truth) -> None:
    """Overrule after the fixpoint. A rule that is itself overruled keeps its veto: the reason it fired still holds."""
    # collect all before applying any: the order of the rules must not decide which one overrules
    vetoes = []
    for index, fired in truth.fired.items():
        rule = engine.program.book.rules[index]
        if rule.overruled_by and anywhere(fired):
            for by in rule.overruled_by:
                hit = fired & truth.holds(by)
                if anywhere(hit):
                    vetoes.append((index, by, hit))
    for index, by, hit in vetoes:
        truth.overruled.setdefault(index, []).append((by, hit))
        truth.fired[index] = truth.fired[index] & ~hit


def missing(metrics: Iterable[str], view: View) -> list[tuple[str, Masks]]:
    """(metric, mask of workloads where it is missing) for those metrics that are missing anywhere."""
    absent = ((metric, _absent(metric, view)) for metric in metrics)
    return [(metric, mask) for metric, mask in absent if mask is not None]


def _absent(metric: str, view: View) -> Masks | None:
    """Where a metric is missing, None where it never is; many rules read the same ones."""

    def look() -> Masks | None:
        values = view[metric]
        # one NaN stands for a metric that the whole capture lacks
        mask = np.isnan(values) if is_column(values) else np.full(view.size, bool(np.isnan(values)))
        return mask if anywhere(mask) else None

    return view.once(("absent", metric), look)


def askable(metric: str, view: View) -> tuple[str, ...]:
    """Metrics to collect for a missing one; empty where this profiler cannot measure them, or measured all of them.

    It measured all where the device is unknown: no other run of the profiler would help.
    """

    def look() -> tuple[str, ...]:
        wanted = leaves(metric, view.capture.collectable)
        return tuple(m for m in wanted if m == metric or _absent(m, view) is not None)

    return view.once(("askable", metric), look)
