"""`triage check --coverage`: rules that fire on no sample capture, thresholds without effect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from triage import dialects
from triage.capture.capture import Capture
from triage.capture.source import Source
from triage.derive import View
from triage.diagnosis.diagnosing import Diagnoser
from triage.files.bundled import share
from triage.ground.errors import TriageError
from triage.ground.method import REVISIONS
from triage.inference.evaluate import infer
from triage.products.rule_checks import boundary
from triage.rulebook.packs import Rulebook
from triage.rulebook.rule import Rule

MAX_DEPTH = 4  # levels of sample_captures that are looked into


class Coverage(Struct):
    """What the samples and the embedded tests exercise. Rule ids, and (rule id, threshold) pairs."""

    captures: int = 0
    fired: set[str] = field(default_factory=set)
    overruled: set[str] = field(default_factory=set)
    possible: set[str] = field(default_factory=set)
    undecided: list[tuple[str, str]] = field(default_factory=list)


def samples(base: Path | None = None) -> Iterator[Capture]:
    """Yield every bundled capture that a reader takes; a folder that is one export counts once."""
    from triage.reading import reader

    def walk(path: Path, depth: int) -> Iterator[Capture]:
        for p in sorted(path.iterdir()):
            # README.md and ORIGIN.txt describe the samples
            if p.name.startswith((".", "_")) or (
                p.suffix.lower() in (".txt", ".md", ".py", ".json") and p.stem.isupper()
            ):
                continue
            try:
                if p.is_file() or dialects.is_known(Source(str(p))):
                    yield reader.read(str(p))
                    continue
            except TriageError:  # a file that no reader takes is skipped; a folder may hold exports
                pass
            if p.is_dir() and depth < MAX_DEPTH:
                yield from walk(p, depth + 1)

    yield from walk(base or share("sample_captures"), 0)


def measure(book: Rulebook, captures: Iterator[Capture] | None = None) -> Coverage:
    """Run every rule on every sample under both methods, and every embedded test's conditions."""
    diagnosers = [Diagnoser(book, m) for m in REVISIONS]
    out = Coverage()
    for capture in samples() if captures is None else captures:
        out.captures += 1
        for diagnoser in diagnosers:
            # frame facts come out of a diagnosis, and with them what it knows of the workloads; it need not list anything
            (part,) = diagnoser.diagnose([capture], top=0).parts
            views = [(part.view, diagnoser.workload)]
            if diagnoser.frame:
                views.append((View(part.frame), diagnoser.frame))
            for view, engine in views:
                _note(out, infer(view, engine), book)
    out.undecided = [(r.id, name) for r in book.rules for name in undecided(r)]
    return out


def _note(out: Coverage, truth: Any, book: Rulebook) -> None:
    for index, fired in truth.fired.items():
        if np.any(fired):
            out.fired.add(book.rules[index].id)
    for index, possible in truth.possible.items():
        if np.any(possible):
            out.possible.add(book.rules[index].id)
    out.overruled |= {book.rules[index].id for index in truth.overruled}


def undecided(rule: Rule) -> list[str]:
    """Thresholds of a rule's conditions at which no test that fires can be made to stop."""
    return list(dict.fromkeys(name for _, _, name, found in boundary.boundaries(rule) if found is None))


def report(book: Rulebook) -> str:
    """The coverage as text, a line per finding."""
    c = measure(book)
    silent = [r for r in book.rules if r.id not in c.fired and r.id not in c.overruled]
    vetoed = [r for r in book.rules if r.id in c.overruled and r.id not in c.fired]
    thresholds = len({(r.id, name) for r in book.rules for _, _, name in boundary.questions(r)})
    lines = ["", f"{len(c.fired)} of {len(book.rules)} rules fire on at least one of {c.captures} sample captures."]
    lines += _listing("always overruled there", vetoed, c)
    lines += _listing("never fire there", silent, c)
    lines.append(
        f"{thresholds - len(c.undecided)} of {thresholds} thresholds decide: a test that fires stops where one fact "
        "crosses them."
    )
    lines += [f"  {rule}.{name}: no fact of any test makes it decide" for rule, name in c.undecided]
    return "\n".join(lines)


def _listing(title: str, rules: list[Rule], c: Coverage) -> list[str]:
    if not rules:
        return []
    return [
        f"{len(rules)} {title}:",
        *(
            f"  {r.id} {r.name}" + ("" if r.id in c.possible or r.id in c.overruled else " (excluded everywhere)")
            for r in rules
        ),
    ]
