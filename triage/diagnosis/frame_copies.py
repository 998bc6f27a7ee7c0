"""Frame facts about host transfers in a list of kernels and copies without a timeline."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.arrays import Facts
from triage.capture.capture import Capture

# [CUDA memcpy HtoD], [CUDA memcpy Host-to-Device], zeCommandListAppendMemoryCopy(M2D): from or to the host
_BUS = re.compile(r"h(ost)?-?(to|2)-?d|d(evice)?-?(to|2)-?h|m2d|d2m", re.I)


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
    return [i for i in copies if _BUS.search(str(capture.names[i]))]
