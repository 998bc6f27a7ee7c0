"""Frame facts about host transfers in a list of kernels and copies without a timeline."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Facts
from triage.capture.capture import Capture
from triage.capture.trace_nouns import FROM_DEVICE, TO_DEVICE, way_of


def facts(capture: Capture, total: float) -> Facts:
    """Facts of rule scope `frame`; {} for frames, for timelines, which have better facts, and without copies."""
    if capture.timeline is not None or capture.copying is None:
        return {}
    rows = bus_rows(capture)
    time = float(np.nan_to_num(capture.self_ns[rows]).sum())
    return {"frame.bus_copies": (time / total, "time of copies from or to the host / time of all kernels and copies")}


def bus_rows(capture: Capture) -> list[int]:
    """Copies from or to the host, by their names."""
    copies = [] if capture.copying is None else np.flatnonzero(capture.copying).tolist()
    return [i for i in copies if way_of(str(capture.names[i])) in (TO_DEVICE, FROM_DEVICE)]
