"""Fraction of a workload's time -> time saved in the frame (Amdahl), clamped and rounded.

A gain is a model with a stated formula, never an adjective: `saves` (likely), `low` (surely), `at_most` (bound).
Fractions work on exclusive time. Gains on one workload are alternatives and never add.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from triage.evaluate import Lookup
from triage.rule import Rule

CAP = 0.99
DIGITS = 4  # of a fraction: a tenth of a permille is already false precision
LEVELS = ((0.10, "critical"), (0.03, "high"), (0.01, "medium"), (0.0, "low"))  # share of the frame given back
LEVEL_ORDER = ("info", "low", "medium", "high", "critical")


def fractions(rule: Rule, lookup: Lookup, size: int) -> tuple[Any, Any, Any]:
    """(low, likely, bound) fractions of the workloads' time, NaN where the model lacks an input."""
    nothing = np.full(size, np.nan)
    if rule.gain is None:
        return nothing, nothing, nothing
    bound = np.clip(_full(rule.gain.at_most(lookup), size), 0.0, CAP)
    likely = np.clip(_full(rule.gain.saves(lookup), size), 0.0, CAP)
    likely = np.where(np.isnan(bound), likely, np.minimum(likely, bound))
    low = np.fmin(np.clip(_full(rule.gain.low(lookup), size), 0.0, CAP), likely)
    bound = np.fmax(bound, likely)
    return np.round(np.where(np.isnan(low), 0.0, low), DIGITS), np.round(likely, DIGITS), np.round(bound, DIGITS)


def _full(values: Any, size: int) -> Any:
    return values if np.ndim(values) else np.full(size, float(values))


def speedup(fraction: float) -> float:
    """1 / (1 - fraction), two decimals."""
    return round(1.0 / (1.0 - min(fraction, CAP)), 2)


def level(share: float | None) -> str:
    """Severity computed from the share of the frame that a fix gives back."""
    if share is None or share != share or share <= 0:
        return "info"
    return next(name for least, name in LEVELS if share >= least)
