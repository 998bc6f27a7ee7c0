"""Figures that are never above another one of their workload, or never 0 beside it (at_most.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Table

ROOM, ROUNDED = 1.25, 0.01  # times its whole, as a part of another replay may be, and what rounding adds to it
NO_ROOM = "occupancy."  # where a 0 is a failed calculation of the tool, which quality.check remarks
_Found = tuple[tuple[str, str], Masks, str]  # both figures, rows in which they contradict each other, in words
_FILE = Path(__file__).with_name("at_most.toml")


@cache
def _declared() -> tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[tuple[str, str, float], ...]]:
    """(whole, its parts) and (figure, another one, from which height of the other it is not 0)."""
    data = tomllib.loads(_FILE.read_text("utf-8"))
    wholes = tuple((whole, tuple(parts)) for whole, parts in data["at_most"].items())
    return wholes, tuple(
        (idle, other, least) for idle, beside in data["busy"].items() for other, least in beside.items()
    )


def found(table: Table) -> Iterator[_Found]:
    """Contradictions among the figures of a table's rows; those that are blank when the next are looked for have none."""
    wholes, busy = _declared()
    with np.errstate(invalid="ignore"):
        for whole, parts in wholes:
            for part in _present(table, parts) if whole in table.columns else ():
                low, high = measured(table, part), measured(table, whole)
                if low is None or high is None:
                    continue
                bad = low > ROOM * high + ROUNDED
                if whole.startswith(NO_ROOM):
                    bad &= high > 0
                if bad.any():
                    yield (part, whole), bad, "a part is above its whole"
        for idle, other, least in busy:
            zero, work = measured(table, idle), measured(table, other)
            if zero is not None and work is not None and (bad := (zero == 0) & (work >= least)).any():
                yield (idle, other), bad, "nothing was at work where something was done"


def measured(table: Table, metric: str) -> Floats | None:
    """A column's figures; None for what was computed from others."""
    column = table.columns.get(metric)
    return None if column is None or column.inputs else column.values


def _present(table: Table, parts: tuple[str, ...]) -> list[str]:
    return [
        m
        for part in parts
        for m in ([m for m in table.columns if m.startswith(part)] if part.endswith(".") else [part])
    ]
