"""Every author mistake is caught when the file is read, with file:line and the next step."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run
from triage.files import strict_yaml
from triage.ground.errors import RuleError, TriageError
from triage.products.rule_checks import rule_tests
from triage.rulebook import packs, rulefile

GOOD = """\
id: TST001
name: test-rule
title: A rule for tests
cites:
  src: {text: "A source", url: "https://example.com/a"}
needs: [sm.throughput]
thresholds:
  low: {value: 60%, cite: src}
when: {all: [sm.throughput < low]}
finding: "SM at {sm.throughput}."
gain: {time: 1 - sm.throughput / low, time_at_best: 90%, confidence: low, because: a test}
advice: [Do something.]
tests:
  - {name: low, given: {sm.throughput: 30%}, expect: fires, gain: 50%}
  - {name: high, given: {sm.throughput: 80%}, expect: silent}
  - {name: none, given: {}, expect: blind}
"""


def write(tmp_path: Path, text: str, name: str = "test-rule.yaml") -> Path:
    path = tmp_path / "tst" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


LABELLED = GOOD.replace(
    "when: {all: [sm.throughput < low]}",
    'let: {room: {is: 1 - sm.throughput, label: "Free of the SM"}}\nwhen: {all: [sm.throughput < low, room > low]}',
)


def test_a_let_may_say_what_people_read(tmp_path: Path) -> None:
    from triage import api
    from triage.rendering import phrases

    rule = rulefile.read(write(tmp_path, LABELLED))[0]
    assert rule.labels == {"room": "Free of the SM"}
    (tmp_path / "c.csv").write_text("name,gpu.time [ms],sm.throughput [%]\na,1,30\n", "utf-8")
    d = api.diagnose(str(tmp_path / "c.csv"), rules=str(tmp_path / "tst"))
    found = next(f for f in d.bundle.document["findings"] if f["rule"] == "TST001")
    told = {phrases.check(e): phrases.cell(e["source"]) for e in found["evidence"]}
    cell = told["Free of the SM 70.0 % > 60 %"]
    assert cell.startswith("1 - SM SOL") and "“30” (c.csv:2" in cell


@pytest.mark.parametrize("let", ["{is: 1 - sm.throughput}", "{is: 1 - sm.throughput, labl: x}"])
def test_a_let_with_a_label_is_written_in_full(tmp_path: Path, let: str) -> None:
    bad = LABELLED.replace('{is: 1 - sm.throughput, label: "Free of the SM"}', let)
    with pytest.raises(RuleError, match="is a formula, or `is`"):
        rulefile.read(write(tmp_path, bad))


def test_a_good_rule_passes(tmp_path: Path) -> None:
    book = packs.build(rulefile.read(write(tmp_path, GOOD)))
    assert list(rule_tests.check(book.rules)) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("title: A", "titel: A", 3, "did you mean 'title'"),
        ("title: A rule for tests", "title: A\ntitle: B", 4, "duplicate key"),
        ("name: test-rule", "name: other-rule", 2, "is not the file name"),
        ("id: TST001", "id: test1", 1, "capital letters and three digits"),
        ("needs: [sm.throughput]", "needs: [sm.troughput]", 6, "did you mean 'sm.throughput'"),
        ("sm.throughput < low]}", "sm.throughput < 60]}", 9, "number 60 in a condition"),
        ("sm.throughput < low]}", "sm.throughput < lo]}", 9, "did you mean 'low'"),
        ("{value: 60%, cite: src}", "{value: 60%}", 8, "neither `why` nor `cite`"),
        ("cite: src}", "cite: srk}", 8, "cites 'srk'"),
        ('finding: "SM at {sm.throughput}."', 'finding: "SM at {l2.throughput}."', 10, "neither a need"),
        ("when: {all: [sm.throughput < low]}", "when: {all: [sm.throughput < low], not: [x]}", 9, "given, all and any"),
        ("gain: {time: 1 -", "gain: {time: eval('1') -", 11, "unknown function eval()"),
        ("because: a test", "becauze: a test", 11, "needs `because`"),
        ("confidence: low", "confidence: sure", 11, "confidence is one of"),
        ("title: A rule", "title: !!python/object:os.system A rule", 3, "not allowed"),
        ("title: A rule for tests", "title: &a A\nsummary: *a", 4, "anchors and aliases"),
        ("https://example.com/a", "javascript:alert(1)", 4, "not a web address"),
        ("id: TST001", "id: [", 2, "not valid YAML"),
    ],
)  # fmt: skip
def test_mistakes_name_file_line_and_next_step(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(RuleError) as e:
        rulefile.read(path)
    assert says in str(e.value)
    assert abs(e.value.line - line) <= 1
    assert str(path) in str(e.value)


def test_wrong_expectation_is_a_failure(tmp_path: Path) -> None:
    book = packs.build(rulefile.read(write(tmp_path, GOOD.replace("expect: silent", "expect: fires"))))
    assert any("expected fires, got silent" in str(f) for f in rule_tests.check(book.rules))


def test_missing_blind_case_is_a_failure(tmp_path: Path) -> None:
    text = GOOD.replace("  - {name: none, given: {}, expect: blind}\n", "")
    assert any("blind" in str(f) for f in rule_tests.check(rulefile.read(write(tmp_path, text))))


def test_unit_mismatch_is_a_failure(tmp_path: Path) -> None:
    text = GOOD.replace("value: 60%", "value: 60 byte").replace(", gain: 50%", "")
    assert any(
        "sm.throughput is a ratio, low a byte" in str(f) for f in rule_tests.check(rulefile.read(write(tmp_path, text)))
    )


def test_concept_cycles_and_unknown_concepts(tmp_path: Path) -> None:
    a = write(
        tmp_path, GOOD.replace("when: {all", "when: {given: b-rule, all").replace("test-rule", "a-rule"), "a-rule.yaml"
    )
    b = write(
        tmp_path,
        GOOD.replace("when: {all", "when: {given: a-rule, all")
        .replace("test-rule", "b-rule")
        .replace("TST001", "TST002"),
        "b-rule.yaml",
    )
    with pytest.raises(RuleError, match="circle"):
        packs.build([rulefile.read(a)[0], rulefile.read(b)[0]])
    with pytest.raises(RuleError, match="given: unknown derived fact 'b-rule'"):
        packs.build(rulefile.read(a))


def test_ids_and_names_are_unique(tmp_path: Path) -> None:
    rule = rulefile.read(write(tmp_path, GOOD))[0]
    with pytest.raises(RuleError, match="taken"):
        packs.build([rule, rulefile.read(write(tmp_path, GOOD.replace("test-rule", "two-rule"), "two-rule.yaml"))[0]])


def test_alias_bombs_and_huge_files_are_refused(tmp_path: Path) -> None:
    bomb = "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n"
    with pytest.raises(RuleError, match="aliases"):
        strict_yaml.loads(bomb, "bomb.yaml")
    with pytest.raises(RuleError, match="larger than"):
        strict_yaml.load(write(tmp_path, "a: " + "x" * 70_000))
    with pytest.raises(RuleError, match="deep"):
        strict_yaml.loads("a: " + "[" * 40 + "]" * 40, "deep.yaml")


@pytest.mark.slow
def test_bundled_rules_prove_themselves(book: packs.Rulebook) -> None:
    assert [str(f) for f in rule_tests.check(book.rules)] == []


def test_shuffled_files_give_the_same_book(book: packs.Rulebook) -> None:
    files = packs.files()
    random.Random(0).shuffle(files)
    shuffled = packs.load(only=files)
    assert [r.id for r in shuffled.rules] == [r.id for r in book.rules]
    assert shuffled.sha256 == book.sha256


def test_set_select_ignore(book: packs.Rulebook) -> None:
    changed = packs.select(book, sets=["busy-top-unit.busy=70%"])
    assert changed.by_name["busy-top-unit"].threshold("busy", "v2") == 0.7
    assert changed.sha256 != book.sha256
    only: Any = packs.select(book, keep=["SOL001"])
    assert [r.name for r in only.rules if not r.is_concept] == ["busy-top-unit"]
    for bad in (["nope.x=1%"], ["busy-top-unit.nope=1%"], ["busy-top-unit.busy=5 byte"], ["busy-top-unit.busy=x"]):
        with pytest.raises(TriageError):
            packs.select(book, sets=bad)
    with pytest.raises(TriageError):
        packs.select(book, keep=["no-such-rule"])


def test_broken_rule_file_is_one_line_and_exit_2(tmp_path: Path) -> None:
    sample = tmp_path / "a.csv"
    sample.write_text("name,gpu.time [ms],sm.throughput [%]\nA,1,50\n")
    folder = write(tmp_path, GOOD.replace("needs:", "need:")).parent
    p = run("diagnose", sample, "--rules", folder)
    assert p.returncode == 2
    assert p.stdout == ""
    assert len(p.stderr.strip().splitlines()) == 1
    assert "test-rule.yaml:6" in p.stderr


@pytest.mark.parametrize("name", ["rule.yml", "_draft.yaml", ""])
def test_a_folder_without_rules_is_told(name: str, tmp_path: Path) -> None:
    """A folder named by mistake, or rules that are called otherwise, would go unnoticed."""
    if name:
        (tmp_path / name).write_text("id: MINE001\n", "utf-8")
    with pytest.raises(TriageError, match="no rule files"):
        packs.files([tmp_path])
