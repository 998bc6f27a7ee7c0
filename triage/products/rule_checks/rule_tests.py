"""The tests of a rule: those embedded in its file, generated edge tests, and what its author may have left out.

A rule's test gives facts (and the truth of concepts) and expects an outcome: fires, silent or blind, and optionally a
gain. Edge tests are made for every plain `metric op threshold`: just below, at and just above the threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from triage import schema
from triage.capture.arrays import Codes, Values
from triage.capture.capture import Capture, InputFile, Table
from triage.derive import View
from triage.diagnosis import gain
from triage.files import strict_yaml
from triage.findings.evidence import unit_of
from triage.ground.columns import is_column
from triage.ground.errors import RuleError, UnknownUnit
from triage.ground.method import REVISIONS
from triage.ground.phrasing import comparison, failed_comparison
from triage.ground.units import show
from triage.inference.evaluate import Lookup
from triage.rulebook.expression import COMPARE, FALSE, TRUE, UNKNOWN, Condition
from triage.rulebook.reference import line_of, meant
from triage.rulebook.rule import Rule, quantity, reads
from triage.rulebook.texts import used

MAX_NAMED_RULES = 3
_REQUIRED = {
    "fires": "every condition must hold",
    "silent": "one condition must fail",
    "blind": "a counter must be missing and no condition fail",
}
OUTCOMES = ("fires", "silent", "blind")
_TEST_KEYS = {"name", "given", "expect", "gain", "method", "why"}


def facts_view(facts: Mapping[str, float | Values], kind: str = "") -> View:
    """A View over invented workloads: one, or as many as the longest column of facts has values."""
    size = max((np.size(v) for v in facts.values()), default=1)
    one = np.zeros(size, dtype=np.int64)
    names = np.array(["test"] * size, dtype=object)
    capture = Capture(
        InputFile("test", "test", "", size),
        Table("test", [], names, {}),
        names,
        np.array([""] * size, dtype=object),
        np.array([kind] * size, dtype=object),
        np.ones(size),
        one - 1,
        one,
        np.full(size, 1e6),
        np.full(size, 1e6),
        {k: np.array(np.broadcast_to(v, (size,)), dtype=np.float64) for k, v in facts.items()},
        {},
        None,
        frozenset(schema.all_metrics()),
    )
    return View(capture)


def outcome(rule: Rule, view: View, given: Mapping[str, int], method: str) -> str:
    """fires | silent | blind for one rule alone on the first workload, by plain three-valued evaluation (no engine)."""
    return {TRUE: "fires", FALSE: "silent", UNKNOWN: "blind"}[int(outcomes(rule, view, given, method)[0])]


def outcomes(rule: Rule, view: View, given: Mapping[str, int], method: str) -> Codes:
    """TRUE where the rule fires, FALSE where it is silent, UNKNOWN where it is blind: int8 array over the view."""
    when = rule.when[method]
    lookup = Lookup(rule, view, method)

    def every(truths: Iterable[Any]) -> list[Codes]:
        return [np.broadcast_to(np.asarray(t, dtype=np.int8), (view.size,)) for t in truths]

    # a concept that a test does not mention is unknown, as it is where a counter is missing
    truth = every([given.get(g, UNKNOWN) for g in when.given] + [c(lookup) for c in when.all_of])
    if when.any_of:
        either = every(c(lookup) for c in when.any_of)
        known = np.where(np.any([e == UNKNOWN for e in either], axis=0), UNKNOWN, FALSE)
        truth.append(np.where(np.any([e == TRUE for e in either], axis=0), TRUE, known))
    blind = every(np.where(np.isnan(view[m]), UNKNOWN, TRUE) for m in rule.needs)
    unknown = np.any([t == UNKNOWN for t in (*truth, *blind)], axis=0)
    # one false condition decides, whatever else is missing: only then comes the question of what is
    silent = np.any([t == FALSE for t in truth], axis=0)
    return np.where(silent, FALSE, np.where(unknown, UNKNOWN, TRUE)).astype(np.int8)


def check(rules: Iterable[Rule], others: Sequence[Rule] = ()) -> Iterator[RuleError]:
    """Every failed test, edge and author's mistake of these rules. others: rules that may fire in their place."""
    for rule in rules:
        for line, problem in (*_author(rule), *_tests(rule, others), *_edges(rule)):
            yield RuleError(rule.file, line, problem)


def _author(rule: Rule) -> Iterator[tuple[int, str]]:
    """(line, mistake) of what reading alone does not show: outcomes without a test, unused names, units, no advice."""
    there = {str(t.get("expect")) for t in rule.tests if isinstance(t, dict)}
    wanted = [o for o in OUTCOMES if o != "blind" or rule.needs]
    if missing := [o for o in wanted if o not in there]:
        have = ", ".join(o for o in wanted if o in there) or "none"
        line = line_of(rule.file, "tests", after=rule.line)
        yield (
            line,
            f"tests: no case expects {', '.join(missing)}; expected one each of {', '.join(wanted)}, found {have}",
        )
    read = used(rule)
    for name in (n for n in (*rule.thresholds, *rule.let) if n not in read):
        yield (
            line_of(rule.file, "thresholds" if name in rule.thresholds else "let", name, after=rule.line),
            f"{name!r} is declared but never used",
        )
    if not rule.is_concept and not rule.advice:
        yield (
            line_of(rule.file, "advice", after=rule.line),
            "a rule that reports something advises something: `advice` is empty",
        )
    # only where a metric stands alone: the unit of an expression is unknown
    for t in rule.thresholds.values():
        for when in rule.when.values():
            for c in when.conditions:
                if (
                    c.right
                    and c.right.text == t.name
                    and schema.known(c.left.text)
                    and schema.get(c.left.text).unit != ("ratio" if t.unit == "points" else t.unit)
                ):
                    line = line_of(rule.file, "thresholds", t.name, after=rule.line)
                    yield line, f"{c.text}: {c.left.text} is a {schema.get(c.left.text).unit}, {t.name} a {t.unit}"


def _tests(rule: Rule, others: Sequence[Rule]) -> Iterator[tuple[int, str]]:
    for n, case in enumerate(rule.tests, 1):
        name = case.get("name", f"test {n}") if isinstance(case, dict) else f"test {n}"
        line = case.line if isinstance(case, strict_yaml.Mapping) else rule.line
        try:
            problems = _test(rule, case, others)
        # a broken test is a failure of its rule, and the others are still run
        except (KeyError, ValueError, TypeError, UnknownUnit) as e:
            problems = [f"cannot be read ({e})"]
        yield from ((line, f"test {name!r}: {problem}") for problem in problems)


def parse_given(rule: Rule, given: dict[str, Any]) -> tuple[dict[str, float], dict[str, int], str]:
    """(facts, concepts, kind) of a test's `given`; raises ValueError for unknown names."""
    facts: dict[str, float] = {}
    concepts: dict[str, int] = {}
    kind = ""
    for key, raw in given.items():
        if key == "kind":
            kind = str(raw)
        elif schema.known(key):
            number, unit = quantity(raw)
            # a number without a unit is meant in the metric's own
            if unit != schema.get(key).unit and unit != "count":
                raise ValueError(f"{key} is a {schema.get(key).unit}, not a {unit}")
            facts[key] = number
        elif any(key in w.given for w in rule.when.values()):
            concepts[key] = TRUE if raw is True else FALSE if raw is False else UNKNOWN
        else:
            hint = _hint(key, {*schema.all_metrics(), *(g for w in rule.when.values() for g in w.given)})
            raise ValueError(f"{key!r} is neither a metric nor given by the rule{hint}")
    return facts, concepts, kind


def _test(rule: Rule, case: Any, others: Sequence[Rule]) -> list[str]:
    """Problems of one test; equal ones under both methods once."""
    if unknown := sorted(set(case) - _TEST_KEYS):
        return [f"unknown key {unknown[0]!r}{_hint(unknown[0], _TEST_KEYS)}"]
    expect = str(case["expect"])
    if expect not in OUTCOMES:
        return [f"expect is one of {', '.join(OUTCOMES)}, not {expect!r}"]
    facts, concepts, kind = parse_given(rule, case.get("given") or {})
    found: dict[str, list[str]] = {}
    methods = [case["method"]] if "method" in case else list(rule.when)
    for method in methods:
        view = facts_view(facts, kind=kind)
        got = outcome(rule, view, concepts, method)
        if got != expect:
            asked = [r for r in others if r.id != rule.id and not r.is_concept and method in r.when]
            instead = [r.name for r in asked if outcome(r, view, concepts, method) == "fires"]
            problem = Expectation(rule, view, concepts, method).missed(expect, got, instead)
            found.setdefault(problem, []).append(method)
        elif "gain" in case:
            want = quantity(case["gain"])[0]
            have = float(gain.fractions(rule, Lookup(rule, view, method), np.array([0]))[1][0])
            # authors write whole percents: half a point, and what a float loses; turned round so that NaN fails too
            if not abs(have - want) <= 0.0051:
                found.setdefault(f"expected a gain of {want:.1%}, got {have:.1%}", []).append(method)
    return [p if under == methods else f"{p} (method {', '.join(under)})" for p, under in found.items()]


def _hint(name: str, known: Iterable[str]) -> str:
    return f" - {hint}" if (hint := meant(name, sorted(known))) else ""


def plain_edges(rule: Rule) -> list[tuple[Condition, str, str]]:
    """(condition, metric, threshold) of every `metric op threshold`."""
    found = {}
    for when in rule.when.values():
        for c in when.conditions:
            if c.right and schema.known(c.left.text) and c.right.text in rule.thresholds:
                found[c.text] = (c, c.left.text, c.right.text)
    return list(found.values())


def _edges(rule: Rule) -> Iterator[tuple[int, str]]:
    """Just below, at and above every threshold the comparison itself must do what its operator says."""
    for c, metric, threshold in plain_edges(rule):
        for method in REVISIONS:
            if method not in rule.when:
                continue
            at = rule.threshold(threshold, method)
            # a millionth: far more than a float loses, far less than a profiler prints
            step = max(abs(at) * 1e-6, 1e-9)
            for value in (at - step, at, at + step):
                view = facts_view({metric: value})
                truth = c(Lookup(rule, view, method))
                if int(truth[0] if is_column(truth) else truth) != int(COMPARE[c.op](value, at)):
                    line = line_of(rule.file, "when", threshold, after=rule.line)
                    yield line, f"{c.text} is wrong at {value:g} ({method})"


class Expectation:
    """One rule on the facts of one test, condition by condition. given: derived fact -> TRUE, FALSE or UNKNOWN."""

    def __init__(self, rule: Rule, view: View, given: Mapping[str, int], method: str) -> None:
        self.rule, self.view, self.given, self.when = rule, view, given, rule.when[method]
        self.lookup = Lookup(rule, view, method)

    def missed(self, expected: str, got: str, instead: Sequence[str] = ()) -> str:
        """Expected and found outcome with the reason. instead: rules that fire on these facts.

        `expected fires, got silent: every condition must hold, but sm.throughput 80.0 %, not below half 50.0 %`.
        """
        found = {"fires": self._held, "silent": self._failed, "blind": self._missing}[got]()
        text = f"expected {expected}, got {got}: {_REQUIRED[expected]}, but {' and '.join(found) or 'no fact is given'}"
        if expected == "fires" and instead:
            text += f"; fires instead: {', '.join(instead[:MAX_NAMED_RULES])}"
        return text

    def _held(self) -> Iterator[str]:
        yield from self.when.given
        yield from (self._compared(c, comparison) for c in self.when.conditions if _first(c(self.lookup)) == TRUE)

    def _failed(self) -> Iterator[str]:
        yield from (f"{name} is false" for name in self.when.given if self.given.get(name) == FALSE)
        # of `any` all have failed, or it is no reason
        either = self.when.any_of if all(_first(c(self.lookup)) == FALSE for c in self.when.any_of) else ()
        for c in (*self.when.all_of, *either):
            if _first(c(self.lookup)) == FALSE:
                yield self._compared(c, failed_comparison) if c.right else f"{c.text} is false"

    def _missing(self) -> Iterator[str]:
        """What was not given: needs, derived facts, then what undecided conditions read."""
        undecided = [c for c in self.when.conditions if _first(c(self.lookup)) == UNKNOWN]
        read = [m for c in undecided for m in sorted(reads(self.rule, c.names))]
        absent = [m for m in dict.fromkeys((*self.rule.needs, *read)) if np.isnan(_first(self.view[m]))]
        yield from (f"{name} is missing" for name in absent)
        yield from (f"{name} is missing" for name in self.when.given if self.given.get(name, UNKNOWN) == UNKNOWN)

    def _compared(self, c: Condition, in_words: Callable[[str, str, str, str], str]) -> str:
        """`sm.throughput 30.0 % < half 50.0 %`. in_words: comparison or failed_comparison."""
        if c.right is None:
            return c.text
        unit = unit_of(self.rule, c)
        left, right = (show(float(_first(e(self.lookup))), unit) for e in (c.left, c.right))
        return in_words(c.left.text, left, c.op, f"{c.right.text} {right}")


def _first(value: Any) -> Any:
    return value[0] if is_column(value) else value
