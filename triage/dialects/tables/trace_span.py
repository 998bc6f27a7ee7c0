"""The span of a trace: from the first start to the last end of its records."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Floats, Names

MAX_RECORD_NS = 8.64e13  # a day: no kernel runs that long


def span(start: Floats, took: Floats) -> float | None:
    """ns from the first start to the last end; None without a plausible record."""
    good = (start >= 0) & (start < 1e19) & (took >= 0) & (took < MAX_RECORD_NS)
    return float((start[good] + took[good]).max() - start[good].min()) if good.any() else None


def kinds(labels: Names) -> Names:
    """`copy` for memory operations, `compute` for kernels."""
    known = {n: "copy" if str(n).startswith("[CUDA ") else "compute" for n in set(labels)}
    return np.array([known[n] for n in labels], dtype=object)
