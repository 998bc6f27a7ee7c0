"""Passes too short to be worth a finding: the shortest of a frame, which together take next to none of it."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Masks
from triage.capture.capture import Capture

MINOR = 0.02  # heuristic: two captures of one build differ by half of it, which is more than a fix of such a pass saves
MINOR_TOGETHER = 0.10  # heuristic: of the frame; many short passes are work like few long ones


def minor_passes(capture: Capture) -> Masks:
    """Mask of the workloads in passes below MINOR of the frame each, the shortest first, up to MINOR_TOGETHER of it."""
    out = np.zeros(len(capture), dtype=bool)
    if capture.frame_ns <= 0:
        return out
    taken = 0.0
    for p in sorted(capture.passes, key=lambda p: p.time_ns):
        taken += p.time_ns
        if p.time_ns >= MINOR * capture.frame_ns or taken > MINOR_TOGETHER * capture.frame_ns:
            break
        out[p.rows] = True
    return out
