"""How much of a frame its passes take, and which are too short to be worth a finding."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Capture
from triage.derive import View
from triage.reading.pass_tree import CALL

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


def pass_shares(view: View) -> Floats | None:
    """Of the frame, what the passes around a view's workloads take; None where no times are known.

    Draws of one pass share its causes, so that it counts what the pass would save.
    """
    shares: Floats | None = view.whole.once("pass shares", lambda: _shares(view.capture))
    return None if shares is None else shares[view.rows]


def _shares(capture: Capture) -> Floats | None:
    if capture.frame_ns <= 0 or len(capture) == 1:  # the frame itself
        return None
    out = np.array(capture.self_ns / capture.frame_ns)
    out[~(out > 0)] = 1.0  # of unknown length: not known to be short
    for p in capture.passes:
        calls = np.array([i for i in p.rows if CALL.match(str(capture.names[i]))], dtype=np.int64)
        out[calls] = np.fmax(out[calls], p.time_ns / capture.frame_ns)
    return out
