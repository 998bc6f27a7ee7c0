"""The Python function that takes most of the waits for a data loader, or of the time before the first work, where stacks were recorded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Indices

MIN_FUNCTION_US = 1_000.0  # shorter functions take no notable part of a wait
MIN_SHARE = 0.5  # of the waits: heuristic, a function that takes less is one of several


def hottest(
    waits: tuple[Indices, Indices], start: Indices, end: Indices, name: Indices, words: Sequence[str]
) -> tuple[str, float] | None:
    """(function, share of the waits) of the innermost function that takes at least half of all waits; None where none does."""
    order = np.argsort(waits[0], kind="stable")
    begun, ended = waits[0][order], waits[1][order]
    at = np.searchsorted(begun, start, "right") - 1
    inside = (at >= 0) & (end <= ended[at]) & np.array([".py(" in words[n] for n in name.tolist()], dtype=bool)
    if not inside.any():
        return None
    total = np.bincount(name[inside], (end - start)[inside], len(words))
    whole = float((ended - begun).sum())
    enough = np.flatnonzero(total >= MIN_SHARE * whole)
    if not len(enough):
        return None
    each = total[enough] / np.bincount(name[inside], minlength=len(words))[enough]
    best = enough[np.argmin(each)]  # a call of what calls it takes longer
    return words[best].rpartition("site-packages/")[2], min(float(total[best]) / whole, 1.0)
