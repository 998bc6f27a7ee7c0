"""What holds of every bundled capture. These tests stand together: to read all takes longer than any of them."""

from typing import Any

import pytest

from tests.conftest import captures
from tests.contracts.test_engines_agree import compare_answers
from tests.inference.test_firing import SCOPES, agree
from triage.diagnosis.diagnosing import Diagnoser
from triage.inference.engine import Engine
from triage.inference.groups import compile_program
from triage.products.rule_checks import coverage
from triage.rulebook.packs import Rulebook

pytestmark = pytest.mark.slow


def test_engines_answer_alike(book: Rulebook) -> None:
    doctor = Diagnoser(book, "v2", "durable")
    for capture in captures():
        doctor.diagnose([capture])
    asked, differ = compare_answers(doctor)
    assert not differ
    assert asked > 1_000


def test_rules_fire_where_three_truths_say(book: Rulebook) -> None:
    engines = [Engine(compile_program(book, "v2", scope)) for scope in SCOPES]
    assert len(captures()) >= 30
    assert sum(agree(c, engine, parts=min(2, len(c))) for c in captures() for engine in engines) > 100


def test_coverage_of_the_bundled_rules(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # every threshold of every rule is turned by rules/test_threshold_boundaries.py
    chosen = frozenset(r.id for r in book.rules[::40])
    undecided = coverage.undecided
    monkeypatch.setattr(coverage, "undecided", lambda rule: undecided(rule) if rule.id in chosen else [])
    c = coverage.measure(book, iter(captures()[::2]))
    assert c.captures >= 20
    assert c.fired <= {r.id for r in book.rules}
    assert 4 * len(c.fired) > len(book.rules)  # the others have their own tests: counters that no bundled sample holds
    assert not c.fired - c.possible
    assert c.undecided == []
    monkeypatch.setattr(coverage, "measure", lambda book: c)
    printed = coverage.report(book)
    assert "rules fire on at least one of" in printed
    assert "thresholds decide: a test that fires stops where one fact crosses them." in printed
