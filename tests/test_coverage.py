"""`triage check --coverage` sees what samples and tests exercise."""

from __future__ import annotations

from typing import Any

from tests.conftest import run
from triage.products.proof import coverage


def test_report_of_the_bundled_rules(book: Any) -> None:
    c = coverage.measure(book)
    assert c.captures >= 20
    assert c.fired <= {r.id for r in book.rules}
    assert len(c.fired) > 0.35 * len(book.rules)
    assert not c.fired - c.possible
    # a third of all thresholds is tested on one side only: write the other side, never raise this
    assert len(c.unbracketed) <= 508


def test_the_verb_prints_it_and_still_passes() -> None:
    p = run("check", "--coverage")
    assert p.returncode == 0, p.stdout
    assert "rules fire on at least one of" in p.stdout
    assert "thresholds in conditions have a test on either side" in p.stdout


def test_a_threshold_is_bracketed_by_values_on_both_sides(book: Any) -> None:
    assert coverage.unbracketed(book.by_name["high-sol"]) == []
