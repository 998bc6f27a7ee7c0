"""Numbers of the result: finite, rounded, integers where whole."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Values


def number(value: float, digits: int = 6) -> float | int | None:
    """A JSON number: null for NaN and infinity, an int when it is whole."""
    if value != value or value in (float("inf"), float("-inf")):
        return None
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded


def numbers(values: Values, digits: int = 6) -> list[float | int | None]:
    """`number` over an array."""
    rounded = np.round(np.asarray(values, dtype=np.float64), digits)
    out: list[float | int | None] = rounded.tolist()
    for i in np.flatnonzero((rounded == np.rint(rounded)) & (np.abs(rounded) < 1e15)).tolist():
        out[i] = int(rounded[i])
    for i in np.flatnonzero(~np.isfinite(rounded)).tolist():
        out[i] = None
    return out
