"""Frame facts from the barriers of an event list: short work behind barriers, barriers between ranges."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Facts, Indices
from triage.capture.capture import Capture

SHORT_NS = 20_000.0  # heuristic: a drain of a few microseconds makes shorter work clearly longer


def facts(capture: Capture, total: float) -> Facts:
    """Facts of rule scope `frame`; {} where the export lists no barriers."""
    counts = capture.facts.get("barrier.count")
    if counts is None:
        return {}
    own, leaf = np.nan_to_num(capture.self_ns), capture.leaf
    # repeats of one call were added up: what matters is a barrier before each
    calls = np.maximum(capture.calls, 1.0)
    behind = leaf & (counts >= calls) & (own > 0) & (own / calls < SHORT_NS)
    text = "ranges below 20 µs with a barrier before each"
    return {
        "frame.barriers": (float(np.nansum(np.where(leaf, counts, 0.0))), "barriers before all leaf ranges"),
        "frame.barrier_share": (float(own[behind].sum() / total), text),
    }


def between(capture: Capture, order: Indices) -> list[float] | None:
    """Barriers before each of some ranges in the order of the frame, those before skipped ranges included; None for none."""
    counts = capture.facts.get("barrier.count")
    if counts is None or not np.isfinite(counts[order]).all():
        return None
    if (np.asarray(capture.calls)[order] > 1).any():  # repeats were folded: where each stood is not known
        return None
    summed = np.concatenate([[0.0], np.cumsum(np.nan_to_num(counts) * capture.leaf)])
    ends = summed[order + 1]
    return [float(x) for x in np.diff(np.concatenate([[0.0], ends]))]
