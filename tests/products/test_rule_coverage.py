"""`triage check --coverage` sees what samples and tests exercise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conftest import run
from triage.products.rule_checks import coverage


def test_report_of_the_bundled_rules(book: Any) -> None:
    c = coverage.measure(book)
    assert c.captures >= 20
    assert c.fired <= {r.id for r in book.rules}
    assert 3 * len(c.fired) > len(book.rules)  # the others have their own tests: counters that no bundled sample holds
    assert not c.fired - c.possible
    assert c.undecided == []


def test_the_verb_prints_it_and_still_passes() -> None:
    p = run("check", "--coverage")
    assert p.returncode == 0, p.stdout
    assert "rules fire on at least one of" in p.stdout
    assert "thresholds decide: a test that fires stops where one fact crosses them." in p.stdout


def test_a_threshold_that_decides_nothing_is_named(book: Any) -> None:
    rule = book.by_name["high-sol"]
    assert coverage.undecided(rule) == []
    # at 110 % no share of peak ever is
    assert coverage.undecided(replace(rule, overrides={"high": 1.1})) == ["high"]
