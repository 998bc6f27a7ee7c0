"""`triage check`: every rule proves itself. Embedded tests, generated edge tests, house rules for authors.

A rule's test gives facts (and the truth of concepts) and expects an outcome: fires, silent or blind, and optionally a
gain. Edge tests are made for every plain `metric op threshold`: just below, at and just above the threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from triage import schema
from triage.capture.arrays import Codes, Values
from triage.capture.capture import Capture, InputFile, Table
from triage.derive import View
from triage.diagnosis import gain
from triage.ground.columns import is_column
from triage.ground.errors import UnknownUnit
from triage.ground.method import REVISIONS
from triage.ground.phrasing import plural
from triage.inference.evaluate import Lookup
from triage.rulebook.expression import FALSE, TRUE, UNKNOWN, Condition
from triage.rulebook.rule import Rule, quantity
from triage.rulebook.texts import texts

OUTCOMES = ("fires", "silent", "blind")


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing wrong with a rule, with file and line."""

    file: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.problem}"


def facts_view(facts: Mapping[str, float | Values], device: Any = None, kind: str = "") -> View:
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
        device,
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


def _one(truth: Any) -> int:
    return int(truth[0] if is_column(truth) else truth)


def check(rules: Sequence[Rule]) -> list[Failure]:
    """Every failure of these rules, each by itself."""
    out: list[Failure] = []
    # a pack has one prefix, the first rule's: an id says where its rule lies
    prefixes: dict[str, str] = {}
    for rule in rules:
        prefix = rule.id.rstrip("0123456789")
        if prefixes.setdefault(rule.pack, prefix) != prefix:
            out.append(
                Failure(rule.file, rule.line, f"id {rule.id}: pack {rule.pack!r} uses the prefix {prefixes[rule.pack]}")
            )
        out += [Failure(rule.file, rule.line, p) for p in (*_house(rule), *_tests(rule), *_edges(rule))]
    return out


def _house(rule: Rule) -> Iterator[str]:
    """House rules that reading alone does not enforce."""
    outcomes = {str(t.get("expect")) for t in rule.tests if isinstance(t, dict)}
    wanted = {"fires", "silent"} | ({"blind"} if rule.needs else set())
    if missing := sorted(wanted - outcomes):
        yield f"tests: no case expects {', '.join(missing)}"
    read = set()
    for when in rule.when.values():
        for c in when.conditions:
            read |= set(c.names)
    todo = [*read, *(n for e in rule.let.values() for n in e.names)]
    if rule.gain:
        todo += [n for e in rule.gain.expressions for n in e.names]
    todo += [n for a in rule.advice if a.only_if for n in a.only_if.names]
    text = " ".join(text for key, text in texts(rule) if key != "thresholds")
    for name in (*rule.thresholds, *rule.let):
        # without the closing brace: a field may carry a format, `{wasted:.0%}`
        if name not in todo and f"{{{name}" not in text:
            yield f"{name!r} is declared but never used"
    if not rule.is_concept and not rule.advice:
        yield "a rule that reports something advises something: `advice` is empty"
    # only where a metric stands alone: what unit an expression has nobody knows
    for t in rule.thresholds.values():
        for when in rule.when.values():
            for c in when.conditions:
                if (
                    c.right
                    and c.right.text == t.name
                    and schema.known(c.left.text)
                    and schema.get(c.left.text).unit != t.unit
                ):
                    yield f"{c.text}: {c.left.text} is a {schema.get(c.left.text).unit}, {t.name} a {t.unit}"


def _tests(rule: Rule) -> Iterator[str]:
    for n, case in enumerate(rule.tests, 1):
        name = case.get("name", f"test {n}") if isinstance(case, dict) else f"test {n}"
        try:
            yield from _test(rule, case, str(name))
        # a broken test is a failure of its rule, and the others are still run
        except (KeyError, ValueError, TypeError, UnknownUnit) as e:
            yield f"test {name!r}: cannot be read ({e})"


def parse_given(rule: Rule, given: dict[str, Any]) -> tuple[dict[str, float], dict[str, int], str]:
    """(facts, concepts, kind) of a test's `given`; raises ValueError for names nobody knows."""
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
            raise ValueError(f"{key!r} is neither a metric nor one of the rule's given concepts")
    return facts, concepts, kind


def _test(rule: Rule, case: Any, name: str) -> Iterator[str]:
    if set(case) - {"name", "given", "expect", "gain", "method", "why"}:
        yield f"test {name!r}: unknown keys {sorted(set(case) - {'name', 'given', 'expect', 'gain', 'method', 'why'})}"
        return
    expect = str(case["expect"])
    if expect not in OUTCOMES:
        yield f"test {name!r}: expect is one of {', '.join(OUTCOMES)}"
        return
    methods = [case["method"]] if "method" in case else list(rule.when)
    facts, concepts, kind = parse_given(rule, case.get("given") or {})
    for method in methods:
        view = facts_view(facts, kind=kind)
        got = outcome(rule, view, concepts, method)
        if got != expect:
            yield f"test {name!r} ({method}): expected {expect}, got {got}"
        elif "gain" in case:
            want = quantity(case["gain"])[0]
            have = float(gain.fractions(rule, Lookup(rule, view, method), np.array([0]))[1][0])
            # authors write whole percents: half a point, and what a float loses; turned round so that NaN fails too
            if not abs(have - want) <= 0.0051:
                yield f"test {name!r} ({method}): expected a gain of {want:.1%}, got {have:.1%}"


def plain_edges(rule: Rule) -> list[tuple[Condition, str, str]]:
    """(condition, metric, threshold) of every `metric op threshold`."""
    found = {}
    for when in rule.when.values():
        for c in when.conditions:
            if c.right and schema.known(c.left.text) and c.right.text in rule.thresholds:
                found[c.text] = (c, c.left.text, c.right.text)
    return list(found.values())


def _edges(rule: Rule) -> Iterator[str]:
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
                want = {
                    ">": value > at,
                    ">=": value >= at,
                    "<": value < at,
                    "<=": value <= at,
                    "==": value == at,
                    "!=": value != at,
                }[c.op]
                if _one(c(Lookup(rule, view, method))) != int(want):
                    yield f"{c.text} is wrong at {value:g} ({method})"


def summary(rules: Sequence[Rule], failures: Sequence[object], published: int = 0) -> str:
    """One line for people. published: how many of the article's cases ran."""
    tests = sum(len(r.tests) for r in rules)
    edges = sum(3 * len(plain_edges(r)) for r in rules)
    counts = ((len(rules), "rule"), (tests, "test"), (edges, "edge test"), (published, "published case"))
    return f"{', '.join(plural(n, what) for n, what in counts)}: {plural(len(failures), 'failure')}"
