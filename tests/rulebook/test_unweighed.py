"""The section `unweighed` of a rule file: a second rule, for captures that counted the waste and nothing of its weight."""

from pathlib import Path

import pytest

from tests.rulebook.test_rulefile import write
from triage import api
from triage.ground.errors import RuleError
from triage.products.rule_checks import rule_tests
from triage.rulebook import packs, rulefile
from triage.rulebook.rule import Rule

GOOD = """\
id: TST001
name: test-rule
title: Wasted sectors
summary: Sectors are used in part.
cites:
  src: {text: "A source", url: "https://example.com/a"}
needs: [l2.throughput, l1tex.hit_rate]
uses: [vram.throughput]
thresholds:
  low: {value: 60%, cite: src}
  busy: {value: 50%, cite: src}
let:
  loaded: {is: vram.throughput, label: DRAM}
when: {all: [l1tex.hit_rate < low, l2.throughput > busy], any: [loaded > busy]}
overruled_by: [test-veto]
concludes: [test-veto]
finding: "L1 hits {l1tex.hit_rate}."
gain: {time: 1 - l1tex.hit_rate / low, evidence: mechanism, because: a test}
advice: [Do something.]
tests:
  - {name: low, given: {l1tex.hit_rate: 30%, l2.throughput: 80%, vram.throughput: 80%}, expect: fires}
  - {name: high, given: {l1tex.hit_rate: 80%, l2.throughput: 80%}, expect: silent}
  - {name: none, given: {}, expect: blind}
unweighed:
  id: TST002
  weight: [l2.throughput, vram.throughput]
  gain: {time: 0.2 * (1 - l1tex.hit_rate), because: a guess}
  tests:
    - {name: low, given: {l1tex.hit_rate: 30%}, expect: fires, gain: 14%}
    - {name: high, given: {l1tex.hit_rate: 80%}, expect: silent}
    - {name: weighed, given: {l1tex.hit_rate: 30%, vram.throughput: 5%}, expect: silent}
    - {name: none, given: {}, expect: blind}
"""


def both(tmp_path: Path, text: str = GOOD) -> list[Rule]:
    return rulefile.read(write(tmp_path, text))


def test_the_suspect_asks_what_was_counted_and_inherits_the_rest(tmp_path: Path) -> None:
    rule, suspect = both(tmp_path)
    assert (suspect.id, suspect.name) == ("TST002", "test-rule-unweighed")
    assert suspect.title == "Suspected wasted sectors"
    assert (
        suspect.summary
        == "Sectors are used in part. For captures without L2 SOL or VRAM SOL: what it costs is unknown."
    )
    assert suspect.finding == "L1 hits {l1tex.hit_rate}. What that costs was not measured."
    (when,) = set(suspect.when.values())
    assert [c.text for c in when.conditions] == ["l1tex.hit_rate < low", "unweighed"]
    # what only the weight needed is gone
    assert (suspect.needs, set(suspect.thresholds), set(suspect.let)) == (("l1tex.hit_rate",), {"low"}, {"unweighed"})
    assert suspect.gain and (suspect.gain.confidence, suspect.gain.sure) == ("low", 0)
    assert suspect.overruled_by == ("test-veto", "test-rule")
    assert (suspect.cause, suspect.concludes, suspect.advice) == (rule.cause, rule.concludes, rule.advice)
    assert list(rule_tests.check(packs.build([rule, suspect]).rules)) == []


def test_a_capture_gets_the_suspect_where_the_weight_is_missing(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("[test-veto]", "[]"))
    (tmp_path / "c.csv").write_text(
        "name,gpu.time [ms],l1tex.hit_rate [%],l2.throughput [%],vram.throughput [%]\na,1,30,,\nb,1,30,80,80\n"
    )
    d = api.diagnose(str(tmp_path / "c.csv"), rules=str(tmp_path / "tst"))
    found = {f["rule"]: f for f in d.bundle.document["findings"] if f["rule"].startswith("TST")}
    assert {f["workload"] for f in found.values()} == {"w1", "w2"} and set(found) == {"TST001", "TST002"}
    assert (gain := found["TST002"]["gain"]) and gain["low"] == 0
    # the missing weight is no evidence
    assert [e["metric"] for e in found["TST002"]["evidence"]] == ["l1tex.hit_rate"]


def test_the_compiled_rules_hold_no_tests(tmp_path: Path) -> None:
    assert [r.tests for r in rulefile.read(write(tmp_path, GOOD), tests=False)] == [(), ()]


@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        ("  weight: [l2", "  wieght: [l2", "  wieght", "unknown key 'wieght' - did you mean 'weight'?"),
        ("  id: TST002\n", "", "unweighed:", "`id` is missing - add `id:`"),
        ("  weight: [l2.throughput, vram.throughput]\n", "", "  id: TST002", "`weight` is missing - add `weight:`"),
        ("weight: [l2.throughput", "weight: [l2.troughput", "  weight", "'l2.troughput' is not a metric - did you mean 'l2.throughput'?"),
        ("weight: [l2.throughput, vram.throughput]", "weight: sm.throughput", "  weight", "no condition reads sm.throughput - name the metrics"),
        ("weight: [l2.", "weight: [l1tex.hit_rate, l2.", "  weight", "no condition is left that reads what was counted"),
        ("because: a guess", "sure: 0.5, because: a guess", "  gain", "none of its gain is sure"),
        ("  tests:\n    -", '  finding: "L2 at {l2.throughput}."\n  tests:\n    -', "  finding", "{l2.throughput} is of the weight"),
        (GOOD.partition("unweighed:")[2], " 1\n", "unweighed:", "a mapping of id, weight, gain"),
        ("0.2 * (1 - l1tex.hit_rate)", "0.2 * lo", "  gain", "'lo' is neither a need"),
    ],
)  # fmt: skip
def test_mistakes_name_line_and_next_step(tmp_path: Path, old: str, new: str, at: str, says: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    with pytest.raises(RuleError) as e:
        both(tmp_path, text)
    assert says in str(e.value)
    assert text.splitlines()[e.value.line - 1].startswith(at)


@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        ("gain: 14%", "gain: 50%", "    - {name: low", "expected a gain of 50.0%, got 14.0%"),
        ("    - {name: none, given: {}, expect: blind}\n", "", "  tests:", "no case expects blind"),
    ],
)
def test_its_tests_are_its_own(tmp_path: Path, old: str, new: str, at: str, says: str) -> None:
    text = GOOD.replace(old, new, 1)
    (wrong,) = rule_tests.check(packs.build(both(tmp_path, text)).rules)
    assert says in str(wrong)
    assert text.splitlines()[wrong.line - 1].startswith(at)
