"""A project's settings (triage.toml, or [tool.triage] in pyproject.toml), checked without a capture."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from triage.ground.errors import TriageError
from triage.products import project
from triage.rulebook import packs


def mistakes(path: Path, today: date) -> Iterator[str]:
    """A line per mistake in one file: keys, rule packs, thresholds, and accepted causes that do not exist."""
    try:
        found = project.load(today, path.parent, {project.VARIABLE: str(path)})
        book = packs.select(packs.load([Path(r) for r in found.rules]), sets=found.sets)
    except TriageError as e:
        yield str(e) if str(path) in str(e) else f"{path}: {e}"
        return
    for entry in found.accepted:
        if entry.cause not in book.causes:
            close = difflib.get_close_matches(entry.cause, list(book.causes), 1)
            yield f"{path}: accepted: unknown cause {entry.cause!r} - " + (
                f"did you mean {close[0]!r}?" if close else "see: triage list causes"
            )
