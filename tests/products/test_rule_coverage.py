"""`triage check --coverage` sees what samples and tests exercise."""

from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from triage.commands.cli import triage as group
from triage.products.rule_checks import coverage


def test_the_verb_prints_it_and_still_passes(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "report", lambda book: "0 of 0 rules")
    p = CliRunner().invoke(group, ["check", "--coverage"], standalone_mode=False)
    assert p.return_value == 0 and p.stdout.endswith("0 of 0 rules\n")


def test_a_threshold_that_decides_nothing_is_named(book: Any) -> None:
    rule = book.by_name["high-sol"]
    assert coverage.undecided(rule) == []
    # at 110 % no share of peak ever is
    assert coverage.undecided(replace(rule, overrides={"high": 1.1})) == ["high"]
