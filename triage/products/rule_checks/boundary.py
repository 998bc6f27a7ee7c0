"""Both sides of every threshold: the facts of a test that fires, and the same with one fact moved just across.

Two tests for each of some five hundred thresholds are generated: of a test that fires, one fact is moved until the
condition with the threshold turns, and there the rule must stop. A threshold that no fact of any test can turn decides
nothing, and is reported. A test of a branch of `any` that another branch answers is first moved until only the branch
in question holds; those moves are kept as `also`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from triage import schema
from triage.capture.arrays import Codes, Floats, Indices, Masks, Values
from triage.derive import View, derivations
from triage.ground.columns import is_column
from triage.ground.errors import TriageError
from triage.inference.evaluate import Lookup
from triage.products.rule_checks import rule_tests
from triage.rulebook.expression import TRUE, Condition
from triage.rulebook.rule import Rule, reads

OFF = 0.1  # a threshold that is wrong by this part must show
STEPS = 64  # values tried at once between two that differ
NARROW = 1e-9  # of its size: what stays between the last value that fires and the first that does not
APART = 0.002  # of its size: distance of the two reported values from the edge

Facts: TypeAlias = dict[str, float]


class Start(Struct, frozen=True):
    """The facts of an embedded test. also: those that were moved; NaN for one that was removed."""

    test: str
    facts: Facts
    concepts: dict[str, int]
    kind: str
    also: Facts

    def moved(self, metric: str, value: Values) -> dict[str, Values]:
        """The facts with one of them set; NaN removes it."""
        facts: dict[str, Values] = {**self.facts, metric: value}
        return facts if is_column(value) or not np.isnan(value) else {k: v for k, v in facts.items() if k != metric}

    def with_(self, metric: str, value: float) -> Start:
        """The start after one more move."""
        return replace(self, facts=self.moved(metric, value), also={**self.also, metric: value})


class Boundary(Struct, frozen=True):
    """Edge of a threshold: at `fires` the rule fires, at `stops` its outcome is `then`."""

    rule: str
    method: str
    threshold: str
    condition: str
    start: Start
    metric: str
    fires: float
    stops: float
    then: str  # silent | blind


def behind(rule: Rule, c: Condition) -> list[str]:
    """Thresholds that a condition compares with, or that a `let` it reads is made of."""
    todo, seen = list(c.names), []
    while todo:
        name = todo.pop(0)
        if name not in seen:
            seen.append(name)
            todo += rule.let[name].names if name in rule.let else ()
    return [n for n in seen if n in rule.thresholds]


def questions(rule: Rule) -> Iterator[tuple[str, Condition, str]]:
    """Yield (method, condition, threshold) of everything that a rule's conditions compare with."""
    for method, when in rule.when.items():
        for c in when.conditions:
            for name in behind(rule, c):
                yield method, c, name


def boundaries(rule: Rule) -> Iterator[tuple[str, str, str, Boundary | None]]:
    """Yield (method, condition, threshold, boundary) for each question; None where no test can turn the rule."""
    known: dict[tuple[str, str], Boundary] = {}
    for method, c, threshold in questions(rule):
        # mostly the methods agree: try the boundary of the other method first
        found = known.get((c.text, threshold))
        found = replace(found, method=method) if found else None
        if not (found and found.start.test in {s.test for s in starts(rule, method)} and turns(rule, found)):
            found = boundary(rule, method, c, threshold)
        if found:
            known[c.text, threshold] = found
        yield method, c.text, threshold, found


def turns(rule: Rule, b: Boundary) -> bool:
    """True if the rule fires on one side and stops on the other, and a threshold a tenth off shows there."""
    sides = [decided(rule, b.method, b.start, b.metric, v) for v in (b.fires, b.stops)]
    return sides == ["fires", b.then] and all(shows(wrong, b) for wrong in off(rule, b.method, b.threshold))


def boundary(rule: Rule, method: str, c: Condition, threshold: str) -> Boundary | None:
    """The edge at which this threshold changes the rule's outcome; None where no fact of a test reaches it."""
    search, second = _Search(rule, method, c, threshold), None
    for start in search.starts():
        # prefer a boundary to `silent` over one where a fact is missing
        if second and start.also:
            break
        for found in search.turns(start):
            if found.then == "silent":
                return found
            second = second or found
    return second


def decided(rule: Rule, method: str, start: Start, metric: str, value: float) -> str:
    """Outcome of the rule with this value: fires | silent | blind."""
    view = rule_tests.facts_view(start.moved(metric, value), kind=start.kind)
    return rule_tests.outcome(rule, view, start.concepts, method)


def off(rule: Rule, method: str, threshold: str) -> list[Rule]:
    """The rule with one threshold a tenth too small, and a tenth too large."""
    at = rule.threshold(threshold, method)
    return [replace(rule, overrides={**rule.overrides, threshold: at * (1 + way)}) for way in (-OFF, OFF) if at]


def starts(rule: Rule, method: str) -> Iterator[Start]:
    """The rule's tests that can be read, those that fire first."""
    cases = [t for t in rule.tests if isinstance(t, dict) and t.get("method", method) == method]
    for n, case in enumerate(sorted(cases, key=lambda t: t.get("expect") != "fires"), 1):
        try:
            facts, concepts, kind = rule_tests.parse_given(rule, case.get("given") or {})
        except (ValueError, KeyError, TypeError, TriageError):
            continue  # `triage check` reports tests that cannot be read
        yield Start(str(case.get("name", f"test {n}")), facts, concepts, kind, {})


class _Search:
    """The search for one threshold of one condition."""

    def __init__(self, rule: Rule, method: str, c: Condition, threshold: str) -> None:
        self.rule, self.method, self.c, self.threshold = rule, method, c, threshold
        when = rule.when[method]
        self.others = [o for o in when.any_of if o is not c] if c in when.any_of else []

    def truth(self, c: Condition, view: View) -> Codes:
        return np.broadcast_to(np.asarray(c(Lookup(self.rule, view, self.method)), dtype=np.int8), (view.size,))

    def ready(self, start: Start, facts: Mapping[str, Values]) -> Masks:
        """Where the rule fires, and by this condition alone."""
        view = rule_tests.facts_view(facts, kind=start.kind)
        out: Masks = rule_tests.outcomes(self.rule, view, start.concepts, self.method) == TRUE
        out = out & (self.truth(self.c, view) == TRUE)
        for other in self.others:
            out = out & (self.truth(other, view) != TRUE)
        return out

    def starts(self) -> Iterator[Start]:
        """Facts with which the rule fires by this condition alone, by as few moves as possible."""
        tried = []
        for start in starts(self.rule, self.method):
            if self.ready(start, start.facts).all():
                yield start
            tried.append(start)
        for start in tried:
            yield from self.led(start, 3)

    def led(self, start: Start, moves: int) -> Iterator[Start]:
        """Yield starts moved to where only this condition lets the rule fire; each move makes fewer conditions wrong."""
        best = self.wrong(start, start.facts)[0]
        if not best or not moves:
            return
        found = []
        for metric in self.metrics(start, deep=False):
            values = np.append(self.values(start, metric), np.nan)
            wrong = self.wrong(start, start.moved(metric, values))
            if wrong.min() < best:
                found.append((wrong.min(), metric, float(values[wrong.argmin()])))
        for left, metric, value in sorted(found, key=lambda f: f[0])[:4]:
            if not left:
                yield start.with_(metric, value)
            else:
                yield from self.led(start.with_(metric, value), moves - 1)

    def wrong(self, start: Start, facts: Mapping[str, Values]) -> Indices:
        """Number of conditions that keep the rule from firing by this condition alone, per workload."""
        view = rule_tests.facts_view(facts, kind=start.kind)
        out: Indices = (self.truth(self.c, view) != TRUE).astype(np.int64)
        for other in self.rule.when[self.method].all_of:
            out = out + (self.truth(other, view) != TRUE)
        for other in self.others:
            out = out + (self.truth(other, view) == TRUE)
        for metric in self.rule.needs:
            out = out + np.isnan(np.broadcast_to(view[metric], (view.size,)))
        given = [start.concepts.get(g) == TRUE for g in self.rule.when[self.method].given]
        return out + given.count(False)

    def metrics(self, start: Start, *, deep: bool = True) -> list[str]:
        """Facts that might be moved: those the test states, then what conditions read, nearest first."""
        conditions = [self.c, *self.others, *self.rule.when[self.method].all_of]
        asked = [m for c in conditions for m in sorted(reads(self.rule, c.names))]
        below = [i for m in asked for i in _inputs(m)] if deep else []
        return [m for m in dict.fromkeys((*start.facts, *asked, *below)) if schema.known(m)]

    def turns(self, start: Start) -> Iterator[Boundary]:
        """Places where moving one fact changes the condition and the rule's outcome, by a tenth at most."""
        own = reads(self.rule, self.c.names)
        near = own | {i for m in own for i in _inputs(m)}
        for metric in sorted((m for m in self.metrics(start) if m in near), key=lambda m: m not in start.facts):
            values = self.values(start, metric)
            for fires, stops in self.edges(start, metric, values):
                then = decided(self.rule, self.method, start, metric, stops)
                found = Boundary(
                    self.rule.id, self.method, self.threshold, self.c.text, start, metric, fires, stops, then
                )
                if then != "fires" and turns(self.rule, found):
                    yield found

    def edges(self, start: Start, metric: str, values: Floats) -> Iterator[tuple[float, float]]:
        """(last value that fires, first that does not) wherever the condition changes between two of the values."""
        ready, held = self.at(start, metric, values)
        for i in np.flatnonzero(ready[:-1] != ready[1:]):
            a, b = (i, i + 1) if ready[i] else (i + 1, i)
            if held[b]:
                continue  # the rule stops here for another reason
            yield from self.narrowed(start, metric, float(values[a]), float(values[b]))
        # a threshold may stand for "was measured", or was not: then the presence of the fact decides, not its value
        without, known = self.at(start, metric, np.array([np.nan]))
        if without[0] and not ready.any():
            yield np.nan, float(values[0])
        if held.all() and ready.any() and not known[0]:
            yield float(values[ready][0]), np.nan

    def narrowed(self, start: Start, metric: str, fires: float, stops: float) -> Iterator[tuple[float, float]]:
        while abs(fires - stops) > max(NARROW * max(abs(fires), abs(stops)), NARROW * APART):
            between = np.linspace(fires, stops, STEPS)
            ready, _ = self.at(start, metric, between)
            last = int(np.flatnonzero(~ready)[0]) - 1 if not ready.all() else len(between) - 2
            if last < 0 or (fires, stops) == (between[last], between[last + 1]):
                break
            fires, stops = float(between[last]), float(between[last + 1])
        # a little apart, with few digits: what a person would have written; else as narrow as it is
        away = math.copysign(APART * max(abs(fires), abs(stops)) or APART, fires - stops)
        brackets = [(_short(fires + away), _short(stops - away)), (_short(fires + away), stops), (fires, stops)]
        if max(abs(fires), abs(stops)) < NARROW:  # none, and any
            brackets.insert(0, (APART, 0.0) if fires > stops else (0.0, APART))
        for a, b in brackets:
            ready, held = self.at(start, metric, np.array([a, b]))
            if ready[0] and not ready[1] and not held[1]:
                yield a, b
                return

    def at(self, start: Start, metric: str, values: Floats) -> tuple[Masks, Masks]:
        """Where the rule fires by this condition alone, and where the condition holds, per value of a metric."""
        facts = start.moved(metric, values)
        return self.ready(start, facts), self.truth(self.c, rule_tests.facts_view(facts, kind=start.kind)) == TRUE

    def values(self, start: Start, metric: str) -> Floats:
        """Values that a metric can have, in order: fine where thresholds lie."""
        m = schema.get(metric)
        marks = [t.values[self.method] for t in self.rule.thresholds.values()]
        if m.unit == "ratio" and m.bounded:
            return np.unique([*np.linspace(0, 1, 401), *(v for v in marks if 0 <= v <= 1)])
        at = abs(start.facts.get(metric, 0)) or 1
        spread = (*(at * np.logspace(-6, 6, 241)), *np.logspace(-3, 13, 161), *range(65), *marks)
        return np.unique(np.array(spread).clip(min=0))


def shows(wrong: Rule, b: Boundary) -> bool:
    """True if a rule with a wrong threshold has another outcome on one side of the boundary."""
    sides = [decided(wrong, b.method, b.start, b.metric, v) for v in (b.fires, b.stops)]
    return sides != ["fires", b.then]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _inputs(metric: str, depth: int = 3) -> list[str]:
    d = derivations().get(metric)
    if d is None or not depth:
        return []
    below = (*d.inputs, *d.optional)
    return [*below, *(i for m in below for i in _inputs(m, depth - 1))]
