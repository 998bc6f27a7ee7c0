"""Every threshold of every rule has two sides: tests/golden/thresholds.tsv says which fact turns the rule, and where.

A line takes an embedded test, moves one fact and says between which two values the rule stops. The values are kept, so
a threshold that somebody changes by a few per cent fails here until `make golden` writes where it is now.
"""

import csv
import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.regolden import THRESHOLDS
from triage.inference.engine import BACKENDS, Engine
from triage.inference.evaluate import Lookup
from triage.inference.groups import RULES, Group, Input, compile_program, sign
from triage.products.rule_checks import boundary, rule_tests
from triage.products.rule_checks.boundary import Boundary
from triage.rulebook import packs
from triage.rulebook.expression import TRUE, UNKNOWN


def number(text: str) -> float:
    return math.nan if text == "-" else float(text)


@cache
def rules() -> dict[str, Any]:
    """id -> rule with its tests."""
    return {r.id: r for r in packs.load(tests=True).rules}


@cache
def recorded() -> list[tuple[Any, Boundary]]:
    """(rule, boundary) per line and method of the golden file."""
    out = []
    with THRESHOLDS.open(encoding="utf-8", newline="") as f:
        for line in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE):
            for method in line["methods"].split():
                rule = rules()[line["rule"]]
                start = next(s for s in boundary.starts(rule, method) if s.test == line["test"])
                for metric, _, value in (m.partition("=") for m in line["also"].split() if m != "-"):
                    start = start.with_(metric, number(value))
                sides = (number(line["fires"]), number(line["stops"]), line["then"])
                told = (line["threshold"], line["condition"], start, line["metric"])
                out.append((rule, Boundary(rule.id, method, *told, *sides)))
    return out


def asked() -> set[tuple[str, str, str, str]]:
    """(rule id, method, condition, threshold) of everything that conditions compare with."""
    return {(r.id, method, c.text, name) for r in rules().values() for method, c, name in boundary.questions(r)}


def keys(lines: list[tuple[Any, Boundary]]) -> set[tuple[str, str, str, str]]:
    return {(b.rule, b.method, b.condition, b.threshold) for _, b in lines}


@cache
def lines() -> list[tuple[Any, Boundary]]:
    """What is recorded, and of a rule that is newer than the golden file what its tests give now."""
    new = {rule for rule, *_ in asked() - keys(recorded())}
    now = [(rules()[i], b) for i in sorted(new) for *_, b in boundary.boundaries(rules()[i]) if b]
    return [*(line for line in recorded() if line[0].id not in new), *now]


def test_every_threshold_has_two_sides() -> None:
    assert keys(lines()) == asked(), f"no fact of a test turns {sorted(asked() - keys(lines()))[:5]}"
    gone = sorted(keys(recorded()) - asked())
    assert not gone, f"make golden; lines too many {gone[:5]}"
    assert len({(b.rule, b.threshold) for _, b in recorded()}) > 500


@pytest.mark.slow
def test_the_rule_fires_on_one_side_and_stops_on_the_other() -> None:
    wrong = []
    for rule, b in lines():
        sides = [boundary.decided(rule, b.method, b.start, b.metric, v) for v in (b.fires, b.stops)]
        if sides != ["fires", b.then] or b.then not in ("silent", "blind"):
            wrong.append(f"{b.rule}.{b.threshold} ({b.method}): {b.metric} {b.fires} {sides[0]}, {b.stops} {sides[1]}")
    assert not wrong, "make golden, if the thresholds were meant to change:\n" + "\n".join(wrong[:20])


def test_the_sides_lie_close() -> None:
    """Half a per cent apart, but for zero and for facts whose absence is what is asked for."""
    apart = [
        (b.rule, b.threshold, b.fires, b.stops)
        for _, b in lines()
        if not math.isnan(b.fires) and abs(b.fires - b.stops) > max(0.006 * max(b.fires, b.stops), 0.002)
    ]
    assert apart == []


@pytest.mark.slow
def test_a_threshold_that_is_a_tenth_off_is_noticed() -> None:
    seen = 0
    for rule, b in lines():
        for wrong in boundary.off(rule, b.method, b.threshold):
            seen += 1
            assert boundary.shows(wrong, b), f"{b.rule}.{b.threshold} ({b.method}) may be a tenth off unseen"
    assert seen > 1_500


def test_a_mutated_rule_fails_here() -> None:
    """The test above changes rules; this one shows that a changed rule is told from the right one."""
    rule, b = next((r, b) for r, b in lines() if r.name == "high-sol")
    assert boundary.turns(rule, b)
    assert not any(boundary.turns(wrong, b) for wrong in boundary.off(rule, b.method, b.threshold))


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_engine_says_the_same(backend: str) -> None:
    """Both sides of every threshold, in the group of conditions in which the rule is really inferred."""
    if backend == "durable":
        pytest.importorskip("durable_rules_engine")
    book = packs.load(tests=True)
    homes = {
        (method, member.rule.id): (engine, group, m)
        for method in ("v1", "v2")
        for scope in ("workload", "frame")
        for engine in [Engine(compile_program(book, method, scope), backend)]
        for group in engine.program.groups
        for m, member in enumerate(group.members)
    }
    for rule, b in lines():
        engine, group, m = homes[b.method, rule.id]
        for value, expected in ((b.fires, "fires"), (b.stops, b.then)):
            bits = int(engine.infer(group, _signature(group, b, value))[0])
            fires, possible = bits >> m & 1, bits >> (RULES + m) & 1
            got = "fires" if fires else "blind" if possible else "silent"
            assert got == expected, f"{b.rule}.{b.threshold} ({b.method}, {backend}): {b.metric} = {value:g}"


def _signature(group: Group, b: Boundary, value: float) -> Any:
    view = rule_tests.facts_view(b.start.moved(b.metric, value), kind=b.start.kind)

    def truth(i: Input) -> Any:
        if i.kind == "given":
            return b.start.concepts.get(i.name, UNKNOWN)
        if i.kind == "have":
            return np.where(np.isnan(view[i.name]), UNKNOWN, TRUE).astype(np.int8)
        assert i.condition and i.rule
        return i.condition(Lookup(i.rule, view, b.method))

    return sign([truth(i) for i in group.inputs], 1)
