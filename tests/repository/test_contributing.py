"""The steps of CONTRIBUTING.md, taken as written by somebody who has only the checkout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT, checkout, run

SAMPLE = "sample_captures/generic/p3_workloads_v2.csv"
RULE = """\
id: HOU001
name: half-used-sms
title: SM throughput below half
cites:
  here: {text: "CONTRIBUTING.md, A rule, end to end"}
needs: [sm.throughput]
thresholds:
  half: {value: 50%, cite: here}
when: {all: [sm.throughput < half]}
finding: "SM throughput is {sm.throughput:.0%}."
gain: {time: 1 - sm.throughput / half, evidence: rate, because: an example}
advice: [Do something.]
tests:
  - {name: low, given: {sm.throughput: 30%}, expect: fires, gain: 40%}
  - {name: high, given: {sm.throughput: 80%}, expect: silent}
  - {name: not collected, given: {}, expect: blind}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout to which the rule of this test has been added, as a file and nothing more."""
    folder = checkout(tmp_path_factory.mktemp("home"), "sample_captures/generic")
    added = folder / "rules" / "house" / "half-used-sms.yaml"
    added.parent.mkdir()
    added.write_text(RULE, "utf-8")
    return folder


def steps(heading: str) -> list[list[str]]:
    """The arguments of each `triage` command that a section of the page names."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [command.split() for command in re.findall(r"`triage ([^`]+)`", section)]


def test_a_rule_end_to_end(home: Path) -> None:
    words = {"<pack>": "house", "<name>": "half-used-sms", "some-export.csv": SAMPLE}
    said = []
    for arguments in steps("A rule, end to end"):
        p = run(*(re.sub("|".join(words), lambda m: words[m[0]], a) for a in arguments), cwd=home)
        assert (p.returncode, p.stderr) == (0, ""), (arguments, p.stdout, p.stderr)
        said.append((arguments[0], p.stdout))
    assert [command for command, _ in said] == ["check", "explain"]
    checked, explained = (text for _, text in said)
    assert len(checked.splitlines()) == 1, checked
    assert re.search(r"\b1 rule\b.*\b0 failures\b", checked), checked
    assert "half-used-sms" in explained
    assert "sm.throughput < half" in explained
    assert "fires" in explained


def test_a_new_rule_is_listed_and_reported(home: Path) -> None:
    assert "HOU001" in run("list", "rules", cwd=home).stdout
    assert "HOU001" in run("diagnose", SAMPLE, "-f", "csv", "--top", "99", cwd=home).stdout


@pytest.mark.parametrize("rule", ["p3/idle-sms", "memory/register-spills"])
def test_a_bundled_rule_is_checked_alone(rule: str) -> None:
    p = run("check", f"rules/{rule}.yaml")
    assert (p.returncode, p.stderr) == (0, ""), p.stdout
    assert len(p.stdout.splitlines()) == 1, p.stdout
    assert re.search(r"\b1 rule\b.*\b0 failures\b", p.stdout), p.stdout


def test_a_mistake_in_a_new_rule_is_found_where_it_stands(home: Path) -> None:
    broken = home / "rules" / "house" / "half-used-sms.yaml"
    broken.write_text(RULE.replace("expect: silent", "expect: fires"), "utf-8")
    try:
        p = run("check", "rules/house/half-used-sms.yaml", cwd=home)
    finally:
        broken.write_text(RULE, "utf-8")
    assert p.returncode == 1
    assert "expected fires, got silent" in p.stdout
    assert "half-used-sms.yaml" in p.stdout
