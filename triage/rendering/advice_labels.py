"""The label in front of an item's first advice."""

from __future__ import annotations

from triage.document.todo_items import TodoItem
from triage.rendering.labels import HEADS

# how advice begins that changes nothing, but finds out more
_MEASUREMENTS = ("Record the thread", "Record the calls", "Record a timeline", "Mark the thread", "Profile ", "Time the ", "Measure ", "Compare ", "Find ", "Look ", "Count ", "Check ")  # fmt: skip


def advised(c: TodoItem) -> str:
    """Label of what to do: `Fix`; `Try` for a suspect; `Investigate` where the first step finds out more."""
    if c["action"].startswith(_MEASUREMENTS):
        return str(HEADS.investigate)
    return str(HEADS.attempt if c["verdict_class"] == "suspect" else HEADS.fix)
