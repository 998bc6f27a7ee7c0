"""Rows of a trace as typed columns: eight bytes a cell, where a list of tuples takes a hundred."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np


class TypedRows:
    """Grows by many rows at once; kinds: one letter per column, `d` for floats and `q` for whole numbers."""

    def __init__(self, kinds: str) -> None:
        self._columns: list[array[Any]] = [array(kind) for kind in kinds]

    def extend(self, *columns: Iterable[float]) -> None:
        """Add rows, given by column: all of them, or none where a cell is no number that its column can hold."""
        made = [array(own.typecode, cells) for own, cells in zip(self._columns, columns, strict=True)]
        for own, cells in zip(self._columns, made, strict=True):
            own.extend(cells)

    def __len__(self) -> int:
        return len(self._columns[0])

    def column(self, i: int) -> np.ndarray[tuple[int], np.dtype[Any]]:
        """The cells of one column."""
        return np.array(self._columns[i])


def entered(known: dict[Any, int], keys: Iterable[Any]) -> list[int]:
    """The number of each key; new keys are counted on."""
    return [known.setdefault(key, len(known)) for key in keys]


def wholes(values: list[Any]) -> array[int]:
    """Values as cells of whole numbers, 0 for what is none."""
    try:
        return array("q", values)
    except (TypeError, OverflowError):
        return array("q", map(whole, values))


def whole(value: Any) -> int:
    """A value as a whole number of eight bytes, 0 for what is none."""
    try:
        found = value if type(value) is int else int(float(value))
    except (TypeError, ValueError, OverflowError):
        return 0
    return found if abs(found) < 1 << 63 else 0
