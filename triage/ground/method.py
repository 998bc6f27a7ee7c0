"""The numbers of the P3 method, each once, with the section that states it and its value per revision.

Source: NVIDIA, The Peak-Performance-Percentage Analysis Method for Optimizing Any GPU Workload; v1 is the text of May
2018, v2 that of November 2018. Rules take these numbers by name (`thresholds: {high: {method: high}}`), code takes the
constants below, sentences write `{high}` or `{good_hit_rate.v1}`. HEURISTICS are numbers that the article does not state.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from triage.ground.phrasing import as_written, fill

REVISIONS = ("v1", "v2")
LATEST = "v2"


class Number(Struct, frozen=True):
    """One figure in a canonical unit, or in `points` (0-1). section: of the article. says: what it separates."""

    v1: float
    v2: float
    section: str
    says: str
    unit: str = "ratio"

    def of(self, revision: str) -> float:
        """The value in force under a revision of REVISIONS."""
        return self.v1 if revision == "v1" else self.v2


def _both(value: float, section: str, says: str, unit: str = "ratio") -> Number:
    return Number(value, value, section, says, unit)


NUMBERS: dict[str, Number] = {
    "high": _both(0.80, "4.2, Summary", "above it only removing work from the unit helps"),
    "low": _both(0.60, "4.2, Summary", "below it something keeps the unit waiting: raise the SOL"),
    "raised": _both(0.90, "4.2", "what a unit's SOL can be raised to in practice"),
    "cluster": _both(0.10, "4.3", "units this close to the top unit limit together", "points"),
    "great_hit_rate": _both(0.90, "4.3", "a hit rate above it is great"),
    "good_hit_rate": Number(0.80, 0.70, "4.3", "a hit rate below it is poor"),
    "idle": _both(0.01, "5.1.1 (v1)", "a GPU idle for more waits for the CPU; v2 names no figure"),
    "active_screen": _both(0.95, "5.1.2", "share of the time that every SM holds warps in fullscreen and compute work"),
    "active_geometry": Number(0.95, 0.90, "5.1.2", "the same share for geometry"),
    "bandwidth": _both(0.60, "5.3.1", "VRAM above it is limited by bandwidth"),
    "stall": _both(0.10, "5.2.2", "a stall reason much above it is the reason"),
}

HIGH = NUMBERS["high"].v2
LOW = NUMBERS["low"].v2
RAISED = NUMBERS["raised"].v2
CLUSTER = NUMBERS["cluster"].v2
BANDWIDTH = NUMBERS["bandwidth"].v2
GREAT_HIT_RATE = NUMBERS["great_hit_rate"].v2
GOOD_HIT_RATE = {revision: NUMBERS["good_hit_rate"].of(revision) for revision in REVISIONS}

# Heuristic: single-pass copies and sums whose bytes are known to be needed reach this much of DRAM's peak, least and most.
DRAM_REACHED = (0.89, 0.97)

# FLOPs per byte at which every matrix unit of the device table still waits for memory (T4 and newer: 110 and more); NVIDIA,
# Matrix Multiplication Background User's Guide: a product below the device's FLOPs per byte is bound by memory.
LOW_INTENSITY = 100.0

# Nsight Compute's SOLBottleneck rule names one side the limiter when it is ahead by the same distance.
BALANCED = CLUSTER

HEURISTICS: dict[str, Number] = {
    "idle_limits": _both(0.20, "", "GPU idle above it, without a busy unit, is waiting for the CPU"),
    "matters": _both(0.01, "", "share of the frame below which a pass is not worth a second queue"),
    "tiny": _both(10_000.0, "", "start-up and drain dominate shorter ranges (Nsight Compute, GPU Trace)", "ns"),
    "clock": _both(1e-3, "", "a shorter time was not measured: no clock resolves it", "ns"),
    "target_share": _both(0.40, "", "colour targets are the largest source of L2 traffic above it"),
    "chain": _both(4, "", "consecutive tiny ranges worth merging", "count"),
}

IDLE_LIMITS = HEURISTICS["idle_limits"].v2
MATTERS = HEURISTICS["matters"].v2
TINY_NS = HEURISTICS["tiny"].v2
TARGET_SHARE = HEURISTICS["target_share"].v2
CLOCK_NS = HEURISTICS["clock"].v2
CHAIN = int(HEURISTICS["chain"].v2)


@cache
def in_words(revision: str = LATEST) -> Mapping[str, str]:
    """name -> number as sentences print it, under a revision; `name.v1` and `name.v2` for one of them by name."""
    out: dict[str, str] = {}
    for name, n in {**NUMBERS, **HEURISTICS}.items():
        out |= {f"{name}.{r}": as_written(n.of(r), n.unit) for r in REVISIONS}
        out[name] = out[f"{name}.{revision}"]
    return out


def stated(text: str) -> str:
    """A text with the method's numbers in the place of their names: `below {low}` -> `below 60 %`."""
    return fill(text, in_words())
