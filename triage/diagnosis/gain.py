"""Fraction of a workload's time -> time saved in the frame (Amdahl), clamped and rounded.

A gain is a model with a stated formula, never an adjective: `saves` (likely), `low` (surely), `at_most` (bound).
Fractions work on exclusive time. Gains on one workload are alternatives and never add.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from triage.inference.evaluate import Lookup
from triage.rulebook.rule import Rule

CAP = 0.99
QUANTA = 10_000  # a tenth of a permille is already false precision
LEVELS = ((0.10, "critical"), (0.03, "high"), (0.01, "medium"), (0.0, "low"))  # share of the frame given back
LEVEL_ORDER = ("info", "low", "medium", "high", "critical")


def fractions(rule: Rule, lookup: Lookup, where: Any) -> tuple[Any, Any, Any]:
    """(low, likely, bound) fractions of the time of the workloads at positions `where`, NaN where an input is missing.

    low is 0 and bound the likely value where their own formulas lack an input.
    """
    if rule.gain is None:
        nothing = np.full(len(where), np.nan)
        return nothing, nothing, nothing
    chosen = _Chosen(lookup, where)
    bound, saves, low = (_rounded(e(chosen)) for e in (rule.gain.at_most, rule.gain.saves, rule.gain.low))
    likely, missing = np.fmin(saves, bound), np.isnan(saves)
    if missing.any():
        likely = np.where(missing, np.nan, likely)
    likely = likely if np.ndim(likely) else np.full(len(where), likely)
    return np.fmin(np.nan_to_num(low), likely), likely, np.fmax(bound, likely)


class _Chosen:
    """A rule's names over some of a view's workloads: a formula is worked out only where the rule fired."""

    def __init__(self, lookup: Lookup, where: Any) -> None:
        self.lookup, self.where = lookup, where

    def __call__(self, name: str) -> Any:
        values = self.lookup(name)
        return values[self.where] if np.ndim(values) else values


def _rounded(values: Any) -> Any:
    """Clamped and rounded; a number that is the same for all stays one number."""
    return np.rint(np.clip(values, 0.0, CAP) * QUANTA) / QUANTA


def speedup(fraction: float) -> float:
    """1 / (1 - fraction), two decimals."""
    return round(1.0 / (1.0 - min(fraction, CAP)), 2)


def level(share: float | None) -> str:
    """Severity computed from the share of the frame that a fix gives back."""
    if share is None or share != share or share <= 0:
        return "info"
    return next(name for least, name in LEVELS if share >= least)
