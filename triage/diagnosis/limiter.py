"""The one-word answer per workload: band, limiter class, hit grades. No holes: complete facts always get a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from triage.derive import View
from triage.derive.speed_of_light import Clusters, clusters
from triage.schema.derived import HARDWARE_UNITS

# P3 v2, sections 4.2 and "Summary": above 80 % remove work, below 60 % raise the SOL, both in between.
HIGH, LOW = 0.80, 0.60
# The same 60 % and 10 points that Nsight Compute's SOLBottleneck rule uses for latency and balance.
BALANCED = 0.10
# House judgement: when the GPU idles a fifth of the range and no unit is busy, the CPU is the answer.
IDLE = 0.20
# P3 v2 section 4.3 (v1: 80 %): hit rates above 90 % are great, below 70 % poor.
GREAT, GOOD = 0.90, {"v1": 0.80, "v2": 0.70}

_EPS = 1e-9  # 70.5 % lies 10 points above 60.5 %, whatever binary fractions say

BANDS = ("unknown", "low", "gray", "high")
CLASSES = ("unknown", "compute", "memory", "balanced", "latency", "small-grid", "front-end", "rop", "cpu")
PHRASES = {
    "unknown": "the limiter cannot be told from what was collected",
    "compute": "limited by the SM",
    "memory": "limited by the memory system",
    "balanced": "SM and memory system limit together",
    "latency": "latency-bound: no unit is busy",
    "small-grid": "the launch is too small to fill the GPU",
    "front-end": "limited by the graphics front end",
    "rop": "limited by the raster operation units",
    "cpu": "the GPU waits for the CPU",
}


@dataclass(slots=True)
class Verdict:
    """Codes per workload: index into BANDS and CLASSES."""

    band: Any
    limiter: Any
    clusters: Clusters


def judge(view: View) -> Verdict:
    """Band and limiter class of every workload of a view."""
    c = clusters(view)
    band = np.zeros(view.size, dtype=np.int8)
    with np.errstate(invalid="ignore"):
        band[c.top < LOW] = 1
        band[(c.top >= LOW) & (c.top <= HIGH)] = 2
        band[c.top > HIGH] = 3
    return Verdict(band, _limiter(view), c)


def _array(view: View, metric: str) -> Any:
    v = view[metric]
    return v if np.ndim(v) else np.full(view.size, v)


def _memory(view: View) -> Any:
    """The memory side as far as it was measured: a class is better than none, and rules judge more strictly."""
    out = _array(view, "memory.throughput")
    parts = [_array(view, f"{u}.throughput") for u in ("l1tex", "l2", "vram")]
    return np.where(np.isnan(out), np.fmax(np.fmax(parts[0], parts[1]), parts[2]), out)


def _limiter(view: View) -> Any:
    sm, mem = _array(view, "sm.side"), _memory(view)
    front, rop = _array(view, "frontend.side"), _array(view, "rop.side")
    waves, idle = _array(view, "launch.waves"), _array(view, "gpu.idle")
    waves = np.where(np.isnan(waves), _array(view, "launch.waves_estimate"), waves)
    with np.errstate(invalid="ignore"):
        # with one side missing the other can still decide when it is high; below that nothing can be said
        best = np.fmax(np.fmax(sm, mem), np.fmax(front, rop))
        both = np.isfinite(sm) & np.isfinite(mem)
        core = np.fmax(sm, mem)
        high = core >= LOW
        gap = sm - mem
        choices = [
            (idle >= IDLE) & (best < LOW),
            (front > 0) & (front >= best) & ~(core >= front),
            (rop > 0) & (rop >= best) & ~(core >= rop),
            both & ~high & (waves < 1),
            both & ~high,
            both & high & (np.abs(gap) < BALANCED - _EPS),
            both & high & (gap > 0),
            both & high,
            ~both & (sm >= LOW),
            ~both & (mem >= LOW),
        ]
    words = ("cpu", "front-end", "rop", "small-grid", "latency", "balanced", "compute", "memory", "compute", "memory")
    out, open_ = np.zeros(view.size, dtype=np.int8), np.ones(view.size, dtype=bool)
    for word, holds in zip(words, choices, strict=True):  # the first that holds; np.select takes ten times as long
        out += (holds & open_).view(np.int8) * np.int8(CLASSES.index(word))
        open_ &= ~holds
    return out


def grade(rate: float, method: str) -> str:
    """great | good | poor | unknown for one cache hit rate (ratio)."""
    if rate != rate:
        return "unknown"
    return "great" if rate > GREAT else "poor" if rate < GOOD[method] else "good"


def unit_names(c: Clusters, flags: Any, workload: int) -> list[str]:
    """Shown names of the units flagged for one workload, highest SOL first."""
    found = [(float(c.sol[i, workload]), -i, HARDWARE_UNITS[u]) for i, u in enumerate(c.names) if flags[i, workload]]
    return [name for _, _, name in sorted(found, reverse=True)]
