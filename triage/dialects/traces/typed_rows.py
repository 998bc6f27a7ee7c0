"""Rows of a trace as typed columns: eight bytes a cell, where a list of tuples takes a hundred."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np


class TypedRows:
    """Grows row by row; kinds: one letter per column, `d` for floats and `q` for whole numbers."""

    def __init__(self, kinds: str) -> None:
        self._columns: list[array[Any]] = [array(kind) for kind in kinds]

    def append(self, row: Sequence[float]) -> None:
        """Add a row; raises TypeError or OverflowError, and adds nothing, for a cell that is no such number."""
        try:
            for column, value in zip(self._columns, row, strict=True):
                column.append(value)
        except (TypeError, OverflowError):
            done = min(len(c) for c in self._columns)
            for column in self._columns:
                del column[done:]
            raise

    def __len__(self) -> int:
        return len(self._columns[0])

    def column(self, i: int) -> np.ndarray[tuple[int], np.dtype[Any]]:
        """The cells of one column."""
        kind = np.float64 if self._columns[i].typecode == "d" else np.int64
        return np.frombuffer(self._columns[i], dtype=kind).copy() if len(self) else np.zeros(0, dtype=kind)
