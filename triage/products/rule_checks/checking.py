"""Every rule and cause file is read and every mistake in it collected; embedded tests and published cases run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from triage.ground.errors import RuleError, TriageError
from triage.ground.phrasing import did_you_mean, plural
from triage.products import project
from triage.products.rule_checks import published, rule_tests, wording_check
from triage.products.rule_checks.references import cause_references, rule_references
from triage.rulebook import cause_reader, packs, rulefile
from triage.rulebook.packs import Rulebook
from triage.rulebook.rule import Rule

_T = TypeVar("_T")


class Checked(Struct, frozen=True):
    """What was checked: rules whose tests ran, number of causes and of published cases, and a line per failure."""

    book: Rulebook
    rules: list[Rule]
    causes: int
    cases: int
    failures: list[str]

    @property
    def summary(self) -> str:
        """One line: the counts."""
        tests = sum(len(r.tests) for r in self.rules)
        edges = sum(3 * len(rule_tests.plain_edges(r)) for r in self.rules)
        counts = ((len(self.rules), "rule"), (self.causes, "cause"), (tests, "test"), (edges, "edge test"))
        checked = ", ".join(plural(n, what) for n, what in (*counts, (self.cases, "published case")) if n)
        return f"{checked or 'no rule'}: {plural(len(self.failures), 'failure')}"


def run_checks(paths: Sequence[Path] = ()) -> Checked:
    """Check all rule and cause files, and `paths` beside the bundled ones; with paths only their tests run.

    paths: rule files, cause files of rules/causes, or folders of them. Raises TriageError for one that holds neither.
    """
    wrong: list[RuleError] = []
    files = packs.cause_files()
    # a path that holds causes alone holds no rules to read
    chosen_causes = [f for f in files if any(_holds(p, f) for p in paths)]
    with_rules = [p for p in paths if packs.below(p) or not any(_holds(p, f) for f in files)]
    rules = [rule for of_file in _each(rulefile.read, packs.files(with_rules), wrong) for rule in of_file]
    book = Rulebook(tuple(rules))
    # without one rule others lack what it concludes: that would only repeat the mistake
    if whole := not wrong:
        try:
            book = packs.build(rules)
        except RuleError as e:
            wrong.append(e)
            whole = False
    causes = {c.id: c for c in _each(cause_reader.read, files, wrong)}
    # a file with a mistake of its own was reported; the names that lead to it are right
    known = [f.stem for f in files]
    links = list(cause_reader.unknown_links(causes, known))
    if not links and len(causes) == len(files):
        try:
            cause_reader.order(causes)
        except RuleError as e:
            links.append(e)
    asked = {f.resolve() for p in with_rules for f in packs.below(p)}
    chosen = [r for r in book.rules if not paths or Path(r.file).resolve() in asked]
    wrong += [*links, *rule_references(book.rules, known), *cause_references(causes, book.rules)]
    wrong += rule_tests.check(chosen, book.rules)
    wrong += wording_check.check(chosen, () if paths else causes.values())
    failures, cases = [str(e) for e in wrong], 0
    if whole and published.applicable(book):
        for case, differences in published.run(book):
            cases += 1
            failures += [f"{case.label} ({case.method}): {text}" for text in differences]
    return Checked(book, chosen, len(chosen_causes) if paths else len(files), cases, failures)


def _holds(path: Path, file: Path) -> bool:
    return path.resolve() in (file.resolve(), *file.resolve().parents)


def _each(read: Callable[[Path], _T], files: Sequence[Path], wrong: list[RuleError]) -> list[_T]:
    """What was read of each file; the first mistake of a file goes into `wrong`."""
    out = []
    for file in files:
        try:
            out.append(read(file))
        except RuleError as e:
            wrong.append(e)
    return out


def mistakes(path: Path, today: date) -> Iterator[str]:
    """A line per mistake in a project's settings: keys, rule packs, thresholds, and accepted causes that do not exist."""
    try:
        found = project.load(today, path.parent, {project.VARIABLE: str(path)})
        book = packs.select(packs.load([Path(r) for r in found.rules]), sets=found.sets)
    except TriageError as e:
        yield str(e) if str(path) in str(e) else f"{path}: {e}"
        return
    for entry in found.accepted:
        if entry.cause not in book.causes:
            hint = did_you_mean(difflib.get_close_matches(entry.cause, list(book.causes), 1), "see: triage list causes")
            yield f"{path}: accepted: unknown cause {entry.cause!r} - {hint}"
