"""Passes that draw geometry whose depth an earlier pass laid: the pixels they shade are survivors of an equal test."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Capture, Derived, Pass
from triage.derive import View
from triage.ground.columns import is_column

SAME = 0.25  # heuristic: passes whose primitives differ by less draw the same geometry
COVERED = 2.0  # times the pixels: so much more the same geometry covers where its depth was not laid before
FORMULA = f"1 in passes behind one that drew as many primitives ({SAME:.0%}) over {COVERED:g} times the pixels or more"


def enter(capture: Capture, view: View) -> None:
    """Mark the workloads of such passes; nothing where pixels or primitives were not counted."""
    pixels, prims = view["pixels.drawn"], view["prims.drawn"]
    if not is_column(pixels) or not is_column(prims):
        return
    leaf, laid = capture.leaf, np.zeros(len(capture))
    before: list[tuple[float, float]] = []
    for p in capture.passes:
        drawn, covered = (counted(values, p, leaf) or 0.0 for values in (prims, pixels))
        alike = [px for n, px in before if abs(n - drawn) <= SAME * drawn]
        if drawn >= 1 and covered > 0 and any(px >= COVERED * covered for px in alike):
            laid[p.rows] = 1.0
        before.append((drawn, covered))
    if laid.any():
        capture.facts["range.depth_laid"] = laid
        capture.sources["range.depth_laid"] = Derived(FORMULA, ("pixels.drawn", "prims.drawn"))


def counted(values: Floats, p: Pass, leaf: Masks) -> float | None:
    """Sum over the ranges of a pass that have a value, else its marker's own; None where neither has, or the sum is 0."""
    rows = p.rows[leaf[p.rows]]
    known = rows[np.isfinite(values[rows])]
    if len(known):
        return float(values[known].sum()) or None
    own = values[p.marker] if p.marker >= 0 and not p.rest else np.nan
    return float(own) or None if np.isfinite(own) else None
