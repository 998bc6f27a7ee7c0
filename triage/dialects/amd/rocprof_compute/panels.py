"""Panels of ROCm Compute Profiler without percent of peak, as `rocprof-compute analyze --save-dfs` writes them.

A panel does not say its number: a row that only it has tells it. All figures are averages over the analysed dispatches.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: its title, a row that no other has, and what its rows mean.

    rows: name as printed -> (canonical id, factor to its unit from what is printed). inverse: rows of hits whose metric
    counts the misses.
    """

    title: str
    only: str
    rows: dict[str, tuple[str, float]] = field(default_factory=dict)
    inverse: frozenset[str] = frozenset()


_PCT = 0.01
PANELS = (
    Panel(
        "6.2 Workgroup Manager, Resource Allocation",
        "Insufficient SIMD VGPRs",
        {
            "Not-scheduled Rate (Workgroup Manager)": ("sched.not_scheduled", _PCT),
            "Scheduler-Pipe Stall Rate": ("sched.resource_stall", _PCT),
            "Scratch Stall Rate": ("sched.insufficient_scratch", _PCT),
            "Insufficient SIMD Waveslots": ("sched.insufficient_waveslots", _PCT),
            "Insufficient SIMD VGPRs": ("sched.insufficient_vgprs", _PCT),
            "Insufficient SIMD SGPRs": ("sched.insufficient_sgprs", _PCT),
            "Insufficient CU LDS": ("sched.insufficient_lds", _PCT),
            "Insufficient CU Barriers": ("sched.insufficient_barriers", _PCT),
            "Reached CU Workgroup Limit": ("sched.workgroup_limit", _PCT),
            "Reached CU Wavefront Limit": ("sched.wave_limit", _PCT),
        },
    ),
    Panel(
        "7.9 Wait State Analysis (RDNA)",
        "Wait for Barrier",
        {
            "Wait for Any": ("waves.dependency_wait", _PCT),
            "Wait for Instruction Fetch": ("waves.fetch_wait", _PCT),
            "Wait for Barrier": ("waves.barrier_wait", _PCT),
        },
    ),
    Panel("7.10 Instruction Cache (RDNA)", "Icache Hit Rate", {"Icache Hit Rate": ("l1i.hit_rate", _PCT)}),
    Panel("7.11 Scalar Data Cache (RDNA)", "Dcache Hit Rate", {"Dcache Hit Rate": ("sl1d.hit_rate", _PCT)}),
    Panel("13.1 GL2C Cache Performance (RDNA)", "GL2C Hit Rate", {"GL2C Hit Rate": ("l2.hit_rate", _PCT)}),
    Panel(
        "12.1 LDS Speed-of-Light",
        "Bank Conflict Rate",
        {
            "Utilization": ("lds.busy", _PCT),
            "Bandwidth (Pct-of-Peak)": ("lds.throughput", _PCT),
            "Theoretical Bandwidth (% of Peak)": ("lds.throughput", _PCT),
            "Bank Conflict Rate": ("lds.bank_conflict_rate", _PCT),
        },
    ),
    Panel(
        "16.1 Vector L1 Speed-of-Light",
        "Coalescing",
        {
            "Hit Rate": ("l1tex.hit_rate", _PCT),
            "Bandwidth": ("l1tex.throughput", _PCT),
            "Bandwidth Utilization": ("l1tex.throughput", _PCT),
            "Utilization": ("l1tex.busy", _PCT),
            "Coalescing": ("l1tex.coalescing", _PCT),
        },
    ),
    Panel(
        "16.2 Vector L1 Stalls",
        "Stalled on L2 Data",
        {
            "Stalled on L2 Data": ("l1tex.stalled_l2", _PCT),
            "Tag RAM Stall (Read)": ("l1tex.tag_stall", _PCT),
        },
    ),
    Panel(
        "16.5 Vector L1 Address Translation",
        "Translation Misses",
        {"Hit Ratio": ("tlb.miss_rate", _PCT)},
        frozenset({"Hit Ratio"}),
    ),
    Panel(
        "17.2 L2-Fabric Transactions",
        "HBM Read Traffic",
        {
            "Remote Read Traffic": ("fabric.remote_reads", _PCT),
            "Atomic Traffic": ("atomics.fabric_share", _PCT),
            "Read Latency": ("fabric.read_latency", 1.0),
            "Write and Atomic Latency": ("fabric.write_latency", 1.0),
        },
    ),
    Panel(
        "17.1 L2 Speed-of-Light",
        "L2-Fabric Read BW",
        {
            "Utilization": ("l2.busy", _PCT),
            "Bandwidth": ("l2.throughput", _PCT),
            "Peak Bandwidth": ("l2.throughput", _PCT),
            "Hit Rate": ("l2.hit_rate", _PCT),
        },
    ),
    Panel(
        "18.1 L2 Channels",
        "L2 Cache Hit Rate",
        {"L2 Cache Hit Rate": ("l2.hit_rate", _PCT)},
    ),
)
# rows of 17.1 in GB/s: their share of the row that states the memory's peak
FABRIC = {
    "L2-Fabric Read BW": "fabric.read_throughput",
    "L2-Fabric Write and Atomic BW": "fabric.write_throughput",
    "L2-Fabric Write BW": "fabric.write_throughput",
}
PEAK = "HBM Bandwidth"
SPREAD = "Req"  # row of 18.1 whose average and maximum tell how evenly the channels are loaded
