"""What the formulas of this folder share: arithmetic on columns in which NaN means that nobody measured it.

Arguments are arrays with one value per workload, or one NaN for all; results are what NumPy makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Floats, Values
from triage.ground.columns import is_column


def first(*values: Values) -> Values:
    """Element by element the first value that is there."""
    out = values[0]
    for v in values[1:]:
        out = np.where(np.isnan(out), v, out)
    return out


def highest(*values: Values) -> Values:
    """Element by element the highest of the values that are there."""
    out, *more = _there(values)
    for v in more:
        out = np.fmax(out, v)  # unlike maximum, fmax takes the number where the other one is NaN
    return out


def least(*values: Values) -> Values:
    """Element by element the lowest of the values that are there."""
    out, *more = _there(values)
    for v in more:
        out = np.fmin(out, v)
    return out


def _there(values: Sequence[Values]) -> Sequence[Values]:
    """Those that a capture has: of a dozen most are one NaN, and each would be a pass over the column."""
    return [v for v in values if is_column(v) or v == v] or values[:1]


def over(part: Values, whole: Values) -> Values:
    """part / whole, missing where the whole is nothing: 0 of 0 sectors is no share at all, neither 0 nor 100 %."""
    return part / np.where(whole > 0, whole, np.nan)


def full(value: Values, size: int) -> Floats:
    """A column of `size` values to read, whether `value` is one already or one number for all, which is held once."""
    column: Floats = value if is_column(value) else np.broadcast_to(np.float64(value), (size,))
    return column


def either(a: Values, b: Values) -> Values:
    """Sum of two counts; where only one was counted, that one: at least so many."""
    return first(a + b, a, b)


def excess_share(excess: Values, total: Values, ideal: Values) -> Values:
    """Excess share of all accesses, 0 to 1, from the counters per source line."""
    return np.clip(first(over(excess, total), 1 - over(ideal, total)), 0.0, 1.0)
