"""Facts of the method and words of the limiter classes have one home: nobody else spells them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from triage.ground.limiters import BANDS, CLASSES, CONFIDENCE, LEVELS, LIMITERS
from triage.ground.method import NUMBERS, REVISIONS
from triage.rendering import terminal_bars
from triage.rendering.html import bars
from triage.rulebook import packs
from triage.rulebook.rule import PATH

PACKAGE = ROOT / "triage"
HOMES = {"ground/method.py", "ground/limiters.py", "ground/phrasing.py"}
# Rooms that speak of a workload's SOL; elsewhere a 0.8 is some other number.
PACKAGES = ("derive", "inference", "diagnosis", "document", "rendering", "products", "rulebook")
# What looks like a figure of the method and is another one.
OTHERS = {
    ("derive/work_model.py", 0.9): "bytes of moved sectors that threads used",
    ("diagnosis/operator_facts.py", 0.6): "share of DRAM's peak that moving operators reach",
    ("derive/work_model.py", 0.7): "share of the peak that good matrix products reach",
    ("diagnosis/operator_facts.py", 0.8): "share of DRAM's peak that good copies reach",
    ("products/compare/match.py", 0.6): "how alike two names are",
    ("rendering/html/drawings.py", 0.6): "pixels",
    ("rendering/timeline_phrases.py", 0.95): "share of a gap that its cause has to have as good as all of it",
    ("rulebook/packs.py", "write a number with its unit, such as 80%"): "an example of a unit",
    ("rulebook/rule.py", "a number with a unit, such as 80% or 32 byte"): "an example of a unit",
    ("products/compare/charts.py", 0.9): "nine in ten intervals fit the drawing",
    ("rulebook/gain_parser.py", "90%"): "the bound of a gain model that states none",
}
# Thresholds that cite the article, have the value of one of its numbers, and mean something else.
ELSEWHERE = {
    ("low-occupancy-sm", "full"): "of an SM's warps, not of a unit's peak",
    ("low-occupancy-sm", "low"): "of an SM's warps, not of a unit's peak",
    ("slow-texture-path", "half"): "twice the half rate of trilinear 3D fetches, rounded up",
    ("tiny-dispatches", "idle_floor"): "the second revision's floor for geometry, under both revisions",
}
FIGURES = {round(n.of(r), 4) for n in NUMBERS.values() for r in REVISIONS} - {0.01, 0.02, 0.1}
SPELLED = re.compile(r"\b(60|70|80|90|95) ?%|\b10 points")


def constants(path: Path) -> Iterator[tuple[int, object]]:
    """(line, value) of every constant in code, docstrings left out."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(n.body[0].value)
        for n in ast.walk(tree)
        if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef) and n.body and isinstance(n.body[0], ast.Expr)
    }
    for n in ast.walk(tree):
        if isinstance(n, ast.Constant) and id(n) not in docs:
            yield n.lineno, n.value


def test_no_code_spells_a_number_of_the_method() -> None:
    found = []
    for package in PACKAGES:
        for path in sorted((PACKAGE / package).rglob("*.py")):
            name = path.relative_to(PACKAGE).as_posix()
            for line, value in constants(path):
                spelled = isinstance(value, str) and SPELLED.search(value)
                if (spelled or (isinstance(value, float) and value in FIGURES)) and (name, value) not in OTHERS:
                    found.append(f"{name}:{line}: {value!r}")
    assert found == [], "take it from triage/ground/method.py"


def test_no_template_or_chart_spells_a_number_of_the_method() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{n}: {line.strip()[:80]}"
        for path in sorted((ROOT / "reports").rglob("*.j2"))
        for n, line in enumerate(path.read_text("utf-8").split("\n"), 1)
        if SPELLED.search(re.sub(r"\b(?:width|height|left|top):\d+%", "", line)) or re.search(r"\bat\(\d\d\)", line)
    ]
    assert found == [], "pages get the marks of the method with their data (C.marks)"


def test_rules_take_the_methods_numbers_by_name() -> None:
    wrong = []
    for rule in packs.load().rules:
        text = Path(rule.file).read_text("utf-8")
        for t in rule.thresholds.values():
            same = [n for n, x in NUMBERS.items() if all(t.value(r) == x.of(r) for r in REVISIONS)]
            by_name = re.search(rf"^\s*{t.name}: {{method: ", text, re.MULTILINE)
            if t.cite.startswith("p3") and t.unit == "ratio" and same and not by_name:
                wrong.append((rule.name, t.name))
    assert sorted(wrong) == sorted(ELSEWHERE), "write {method: NAME}"


WORDS = {word: x.id for x in LIMITERS for word in (x.name, x.phrase, x.limited, x.meaning) if len(word) > 14}


@pytest.mark.parametrize("word", [*WORDS, *(b for b in BANDS.values() if len(b) > 14)])
def test_the_words_of_limiter_classes_and_bands_stand_once(word: str) -> None:
    """In code and templates. Rules have sentences of their own, and the glossary explains."""
    homes = [
        path.relative_to(ROOT).as_posix()
        for folder, kind in (("triage", "*.py"), ("reports", "*.j2"))
        for path in sorted((ROOT / folder).rglob(kind))
        if word in path.read_text("utf-8") and path.relative_to(PACKAGE.parent / folder).as_posix() not in HOMES
    ]
    assert homes == []


@pytest.mark.slow
def test_lists_of_classes_stand_once() -> None:
    """A tuple, list or set that repeats the classes, levels or confidence words is a second home."""
    known = [set(CLASSES), set(LEVELS), set(CONFIDENCE), set(BANDS)]
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for n in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(n, ast.Tuple | ast.List | ast.Set) and name not in HOMES:
                words = {str(e.value).replace("_", "-") for e in n.elts if isinstance(e, ast.Constant)}
                if words in known:
                    found.append(f"{name}:{n.lineno}")
    assert found == []


def test_every_class_and_level_has_its_look() -> None:
    """Looks are kept by the renderers, by id: none may be missing, none may be left over."""
    assert set(terminal_bars.LOOKS) == set(CLASSES)
    assert set(terminal_bars.STYLES) == set(LEVELS)
    assert set(bars.HATCHES) == set(CLASSES)
    style = (ROOT / "reports" / "_parts" / "base.css.j2").read_text("utf-8")
    for name in CLASSES:
        assert f".c-{name}" in style, f"no fill for {name}"


def test_text_fields_of_rules_are_those_that_sentences_fill() -> None:
    from triage.findings.text_fields import FIELDS
    from triage.rulebook.rule import TEXT_FIELDS

    assert {*FIELDS, "detail"} == TEXT_FIELDS


def test_every_step_of_the_decision_path_is_asked_and_has_a_rule() -> None:
    """A step without a rule would compare with nothing."""
    tree = ast.parse((PACKAGE / "findings" / "decision_path.py").read_text("utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "self.limit"]
    asked = [n.args[0].value for n in calls if isinstance(n.args[0], ast.Constant)]
    assert len(asked) == len(calls)
    assert sorted(asked) == sorted(PATH)  # type: ignore[type-var]
    assert set(packs.load().path) == set(PATH)
