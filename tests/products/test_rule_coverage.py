"""`triage check --coverage` sees what samples and tests exercise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from tests.conftest import captures
from triage.commands.cli import triage as group
from triage.products.rule_checks import coverage


@pytest.mark.slow
def test_report_of_the_bundled_rules(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # every threshold of every rule is turned by rules/test_threshold_boundaries.py
    chosen = frozenset(r.id for r in book.rules[::40])
    undecided = coverage.undecided
    monkeypatch.setattr(coverage, "undecided", lambda rule: undecided(rule) if rule.id in chosen else [])
    c = coverage.measure(book, iter(captures()[::2]))
    assert c.captures >= 20
    assert c.fired <= {r.id for r in book.rules}
    assert 3 * len(c.fired) > len(book.rules)  # the others have their own tests: counters that no bundled sample holds
    assert not c.fired - c.possible
    assert c.undecided == []
    monkeypatch.setattr(coverage, "measure", lambda book: c)
    printed = coverage.report(book)
    assert "rules fire on at least one of" in printed
    assert "thresholds decide: a test that fires stops where one fact crosses them." in printed


def test_the_verb_prints_it_and_still_passes(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "report", lambda book: "0 of 0 rules")
    p = CliRunner().invoke(group, ["check", "--coverage"], standalone_mode=False)
    assert p.return_value == 0 and p.stdout.endswith("0 of 0 rules\n")


def test_a_threshold_that_decides_nothing_is_named(book: Any) -> None:
    rule = book.by_name["high-sol"]
    assert coverage.undecided(rule) == []
    # at 110 % no share of peak ever is
    assert coverage.undecided(replace(rule, overrides={"high": 1.1})) == ["high"]
