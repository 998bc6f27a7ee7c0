"""Facts about the passes of a frame, where single draws are too small to measure."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Floats, Masks, Values
from triage.capture.capture import Capture
from triage.derive import View
from triage.ground.columns import is_column
from triage.reading.pass_tree import Pass, passes

Facts = dict[str, tuple[float, str]]  # metric -> (value, formula)

TINY = 4.0  # pixels per primitive: the limit of rule GFX001
DENSE = 100_000  # heuristic: primitives of a pass below which its density is not worth a finding
MAX_LISTED_PASSES = 3


def pass_facts(capture: Capture, total: float) -> Facts:
    """Facts of rule scope `frame` about passes: geometry finer than the screen. {} without passes or pixel counts."""
    view = View(capture)
    prims, pixels = column(view, "prims.drawn"), column(view, "pixels.drawn")
    if total <= 0 or not np.isfinite(prims).any() or not np.isfinite(pixels).any():
        return {}
    found = [p for p in passes(capture) if len(p.rows) > 1]
    if not found:
        return {}
    leaf = capture.leaf
    dense = [(p, n, px) for p in found for n, px in [geometry(p, prims, pixels, leaf)] if n >= DENSE and px < TINY]
    if not dense:
        none = "no pass with many primitives of a few pixels"
        return {"frame.dense_share": (0.0, none), "frame.dense_excess": (0.0, none)}
    dense.sort(key=lambda d: -d[0].time_ns)
    time = sum(p.time_ns for p, _, _ in dense)
    text = ", ".join(
        f"“{p.levels[-1]}” ({n / 1e6:.1f} M primitives, {px:.1f} pixels each)"
        for p, n, px in dense[:MAX_LISTED_PASSES]
        if p.levels
    )
    text += f" + {len(dense) - MAX_LISTED_PASSES} more" if len(dense) > MAX_LISTED_PASSES else ""
    excess = sum(p.time_ns * (1 - px / TINY) for p, _, px in dense) / time
    return {"frame.dense_share": (time / total, text), "frame.dense_excess": (excess, text)}


def column(view: View, metric: str) -> Floats:
    """A metric of every workload, NaN where the whole capture lacks it."""
    values: Values = view[metric]
    return values if is_column(values) else np.full(view.size, np.nan)


def geometry(p: Pass, prims: Floats, pixels: Floats, leaf: Masks) -> tuple[float, float]:
    """(primitives, pixels per primitive) over the ranges of a pass that draw; prims, pixels: what reached the rasteriser, as drawn.

    leaf: true for ranges of the capture without ranges inside. Counts of markers are those of the ranges within, once more: they
    stand only for a pass none of whose ranges was counted.
    """
    counted = np.isfinite(prims[p.rows]) & np.isfinite(pixels[p.rows])
    rows = p.rows[counted & leaf[p.rows]]
    if not len(rows):
        rows = p.rows[counted & (p.rows == p.marker)]
    drawn = float(prims[rows].sum())
    return drawn, float(pixels[rows].sum()) / drawn if drawn else np.inf
