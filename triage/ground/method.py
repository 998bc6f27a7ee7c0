"""The numbers of the P3 method, each once, with the section that states it and its value per revision.

Source: NVIDIA, The Peak-Performance-Percentage Analysis Method for Optimizing Any GPU Workload; v1 is the text of May
2018, v2 that of November 2018. Rules take these numbers by name (`thresholds: {high: {method: high}}`), code takes the
constants below; nobody else writes them down. House numbers that the article does not state say so.
"""

from __future__ import annotations

from dataclasses import dataclass

REVISIONS = ("v1", "v2")
LATEST = "v2"


@dataclass(frozen=True, slots=True)
class Number:
    """One figure of the method (ratio, 0-1). section: of the article. says: what it separates."""

    v1: float
    v2: float
    section: str
    says: str

    def of(self, revision: str) -> float:
        """The value in force under a revision of REVISIONS."""
        return self.v1 if revision == "v1" else self.v2


def _both(value: float, section: str, says: str) -> Number:
    return Number(value, value, section, says)


NUMBERS: dict[str, Number] = {
    "high": _both(0.80, "4.2, Summary", "above it only removing work from the unit helps"),
    "low": _both(0.60, "4.2, Summary", "below it something keeps the unit waiting: raise the SOL"),
    "raised": _both(0.90, "4.2", "what a unit's SOL can be raised to in practice: 50 % to 90 % would be 1.8x"),
    "cluster": _both(0.10, "4.3", "units within 10 points of the leader limit together"),
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

# Nsight Compute's SOLBottleneck rule names one side the limiter when it leads by the same 10 points.
BALANCED = CLUSTER

# House judgement: when the GPU idles a fifth of a range and no unit is busy, the CPU is the answer.
IDLE_LIMITS = 0.20
# House judgement: a pass below 1 % of the frame is not worth a second queue.
MATTERS = 0.01
# Nsight Compute and GPU Trace guidance: ranges below 10 µs are dominated by their start and end.
TINY_NS = 10_000.0
# House judgement: no clock tells a picosecond; a shorter time was not measured.
CLOCK_NS = 1e-3
# House judgement: up to three short ranges in a row are not worth merging.
CHAIN = 4

# What the article does not state and both a rule and the code use; rules take it by name, too.
HEURISTICS: dict[str, Number] = {
    "target_share": _both(0.40, "", "with so much of L2's traffic the colour targets are its largest source"),
}
TARGET_SHARE = HEURISTICS["target_share"].v2
