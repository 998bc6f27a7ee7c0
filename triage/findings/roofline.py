"""Rooflines: intensity and FLOP rate of workloads, where FLOPs and bytes are known."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Indices
from triage.derive import View
from triage.document.page_entries import RooflineEntry
from triage.ground.columns import is_column

_METRICS = {
    "intensity": "roofline.intensity",
    "fp32": "flop.rate_fp32",
    "fp64": "flop.rate_fp64",
    "peak32": "flop.fp32_peak",
    "peak64": "flop.fp64_peak",
    "bandwidth": "vram.peak_bandwidth",
    "moved": "vram.bandwidth",
}


def with_flops(view: View) -> Indices:
    """Positions of the workloads with FLOPs."""
    rate = np.fmax(view[_METRICS["fp32"]], view[_METRICS["fp64"]])
    return np.flatnonzero(np.broadcast_to(rate > 0, view.size))


def roofline(view: View, i: int) -> RooflineEntry | None:
    """The i-th workload of a view under its roofs; None where FLOPs or bytes were not measured."""
    row = {}
    for name, metric in _METRICS.items():
        values = view[metric]
        row[name] = float(values[i]) if is_column(values) else float(values)
    # a precision that was not exported counts as not used
    rate = float(np.nansum([row["fp32"], row["fp64"]]))
    # without counts: two rates over the same time have the same quotient
    if row["intensity"] != row["intensity"] and rate > 0 and row["moved"] > 0:
        row["intensity"] = rate / row["moved"]
    if not (row["intensity"] > 0 and rate > 0):
        return None
    # one roof for one point: that of the precision that did more
    doubles = row["fp64"] > (row["fp32"] if row["fp32"] == row["fp32"] else 0)
    return {
        "intensity": _four(row["intensity"]),
        "rate": _four(rate),
        "precision": "FP64" if doubles else "FP32",
        "peak": _known(row["peak64"] if doubles else row["peak32"]),
        "bandwidth": _known(row["bandwidth"]),
    }


def _four(value: float) -> float:
    return float(f"{value:.4g}")


def _known(value: float) -> float | None:
    return None if value != value else _four(value)
