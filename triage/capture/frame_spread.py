"""What a marker takes over several frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triage.capture.arrays import Floats

LISTED = 50  # markers of a capture, those that vary most
MANY = 100  # frames from which on the slowest hundredth is one of them


class Spread(NamedTuple):
    """Times in ns of one workload over the frames. worst_frame: counted from 1. p99, low: NaN for fewer than MANY frames.

    low: mean of the slowest hundredth of the frames (1 % low average; the 1 % low itself is p99).
    """

    workload: int
    median: float
    p99: float
    low: float
    worst: float
    worst_frame: int


def spreads(each: Floats) -> list[Spread]:
    """The LISTED workloads with the largest worst over median, from times by workload and frame."""
    count = each.shape[1]
    median, worst = np.median(each, axis=1), each.max(axis=1)
    order = np.argsort(median - worst, kind="stable")[:LISTED]
    out = []
    for w in order[worst[order] > 0]:
        p99, low = slowest(each[w]) if count >= MANY else (np.nan, np.nan)
        out.append(Spread(int(w), float(median[w]), p99, low, float(worst[w]), int(each[w].argmax()) + 1))
    return out


def slowest(times: Floats) -> tuple[float, float]:
    """(99th percentile, mean of the slowest hundredth) of the times of frames."""
    count = max(1, len(times) // 100)
    return float(np.percentile(times, 99)), float(np.sort(times)[-count:].mean())
