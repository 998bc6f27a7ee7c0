"""Fraction of a workload's time -> time saved in the frame (Amdahl), clamped and rounded.

A gain is a model with a stated formula, never an adjective: `saves` (likely), `low` (surely), `at_most` (bound).
Fractions work on exclusive time. Gains on one workload are alternatives and never add.
"""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Floats, Indices, Values
from triage.inference.evaluate import Lookup
from triage.rulebook.rule import Rule

# nothing gives all of its time back; and 1 / (1 - 1) is no speedup
CAP = 0.99
QUANTA = 10_000  # a tenth of a permille is already false precision


def fractions(rule: Rule, lookup: Lookup, where: Indices) -> tuple[Floats, Floats, Floats]:
    """(low, likely, bound) fractions of the time of the workloads at positions `where`, NaN where an input is missing.

    low is 0 and bound the likely value where their own formulas lack an input.
    """
    if rule.gain is None:
        nothing = np.full(len(where), np.nan)
        return nothing, nothing, nothing
    chosen = _Chosen(lookup, where)
    bound, saves, low = (_rounded(e(chosen)) for e in (rule.gain.at_most, rule.gain.saves, rule.gain.low))
    # fmin takes the bound where the likely value is missing: put back below, since an unknown gain is no large one
    likely, missing = np.fmin(saves, bound), np.isnan(saves)
    if missing.any():
        likely = np.where(missing, np.nan, likely)
    likely = likely if np.ndim(likely) else np.full(len(where), likely)
    # low <= likely <= bound whatever the three formulas say
    return np.fmin(np.nan_to_num(low), likely), likely, np.fmax(bound, likely)


class _Chosen:
    """A rule's names over some of a view's workloads: a formula is worked out only where the rule fired."""

    def __init__(self, lookup: Lookup, where: Indices) -> None:
        self.lookup, self.where = lookup, where

    def __call__(self, name: str) -> Values:
        values = self.lookup(name)
        return values[self.where] if np.ndim(values) else values


def _rounded(values: Values) -> Values:
    """Clamped and rounded; a number that is the same for all stays one number."""
    return np.rint(np.clip(values, 0.0, CAP) * QUANTA) / QUANTA


def speedup(fraction: float) -> float:
    """1 / (1 - fraction), two decimals."""
    return round(1.0 / (1.0 - min(fraction, CAP)), 2)
