"""The builds that a gate compares: the judged one, and those before it."""

from __future__ import annotations

from collections.abc import Sequence

from triage.ground.errors import TriageError
from triage.products.history.store import Build

WINDOW = 120  # builds compared; noise is measured on them


def choose(found: Sequence[Build], build: str = "") -> Build:
    """The newest build, or the one a label or the beginning of its commit names; raises TriageError."""
    if not found:
        raise TriageError("no such builds in the history", "see: triage history list")
    if not build:
        return found[-1]
    hits = [b for b in found if build in b.labels] or [b for b in found if b.key.revision == build]
    hits = hits or [b for b in found if b.key.revision.startswith(build)]
    if len({b.key.revision for b in hits}) != 1:
        what = "ambiguous" if hits else "unknown"
        raise TriageError(f"{what} build {build!r}", "see: triage history list")
    return hits[-1]


def builds_before(
    found: Sequence[Build], judged: Build, against: str, fixed: Build | None
) -> tuple[list[Build], list[str]]:
    """(builds that are looked at, the judged one last; remarks)."""
    base = against or judged.key.branch
    every = [b for b in found if b.key.branch == base and b.id != judged.id]
    if against and not every and {b.key.branch for b in found} - {judged.key.branch}:
        raise TriageError(f"unknown branch {against!r}", "see: triage history list")
    line = [b for b in every if _before(b, judged)]
    late = []
    if every and not line and against:
        # a branch whose builds are all newer: its oldest ones are nearest to where the judged one left it
        line, late = every, [f"all builds of {against} are newer than this one"]
    mine = [b for b in found if b.key.branch == judged.key.branch and _before(b, judged)] if against else []
    order = list({b.id: b for b in (*line, *mine, judged) if b.id != judged.id}.values())[1 - WINDOW :]
    if fixed and fixed not in order:
        order = [fixed, *order[2 - WINDOW :]]
    return [*order, judged], late


def _before(b: Build, judged: Build) -> bool:
    return (b.at, b.id) <= (judged.at, judged.id)
