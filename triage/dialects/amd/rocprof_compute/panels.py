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


PERCENT = 0.01
PANELS = (
    Panel(
        "6.2 Workgroup Manager, Resource Allocation",
        "Insufficient SIMD VGPRs",
        {
            "Not-scheduled Rate (Workgroup Manager)": ("sched.not_scheduled", PERCENT),
            "Scheduler-Pipe Stall Rate": ("sched.resource_stall", PERCENT),
            "Scratch Stall Rate": ("sched.insufficient_scratch", PERCENT),
            "Insufficient SIMD Waveslots": ("sched.insufficient_waveslots", PERCENT),
            "Insufficient SIMD VGPRs": ("sched.insufficient_vgprs", PERCENT),
            "Insufficient SIMD SGPRs": ("sched.insufficient_sgprs", PERCENT),
            "Insufficient CU LDS": ("sched.insufficient_lds", PERCENT),
            "Insufficient CU Barriers": ("sched.insufficient_barriers", PERCENT),
            "Reached CU Workgroup Limit": ("sched.workgroup_limit", PERCENT),
            "Reached CU Wavefront Limit": ("sched.wave_limit", PERCENT),
        },
    ),
    Panel(
        "7.9 Wait State Analysis (RDNA)",
        "Wait for Barrier",
        {
            "Wait for Any": ("waves.dependency_wait", PERCENT),
            "Wait for Instruction Fetch": ("waves.fetch_wait", PERCENT),
            "Wait for Barrier": ("waves.barrier_wait", PERCENT),
        },
    ),
    Panel("7.10 Instruction Cache (RDNA)", "Icache Hit Rate", {"Icache Hit Rate": ("l1i.hit_rate", PERCENT)}),
    Panel("7.11 Scalar Data Cache (RDNA)", "Dcache Hit Rate", {"Dcache Hit Rate": ("sl1d.hit_rate", PERCENT)}),
    Panel("13.1 GL2C Cache Performance (RDNA)", "GL2C Hit Rate", {"GL2C Hit Rate": ("l2.hit_rate", PERCENT)}),
    Panel(
        "12.1 LDS Speed-of-Light",
        "Bank Conflict Rate",
        {
            "Utilization": ("lds.busy", PERCENT),
            "Bandwidth (Pct-of-Peak)": ("lds.throughput", PERCENT),
            "Theoretical Bandwidth (% of Peak)": ("lds.throughput", PERCENT),
            "Bank Conflict Rate": ("lds.bank_conflict_rate", PERCENT),
        },
    ),
    Panel(
        "16.1 Vector L1 Speed-of-Light",
        "Coalescing",
        {
            "Hit Rate": ("l1tex.hit_rate", PERCENT),
            "Bandwidth": ("l1tex.throughput", PERCENT),
            "Bandwidth Utilization": ("l1tex.throughput", PERCENT),
            "Utilization": ("l1tex.busy", PERCENT),
            "Coalescing": ("l1tex.coalescing", PERCENT),
        },
    ),
    Panel(
        "16.2 Vector L1 Stalls",
        "Stalled on L2 Data",
        {
            "Stalled on L2 Data": ("l1tex.stalled_l2", PERCENT),
            "Tag RAM Stall (Read)": ("l1tex.tag_stall", PERCENT),
        },
    ),
    Panel(
        "16.5 Vector L1 Address Translation",
        "Translation Misses",
        {"Hit Ratio": ("tlb.miss_rate", PERCENT)},
        frozenset({"Hit Ratio"}),
    ),
    Panel(
        "17.2 L2-Fabric Transactions",
        "HBM Read Traffic",
        {
            "Remote Read Traffic": ("fabric.remote_reads", PERCENT),
            "Atomic Traffic": ("atomics.fabric_share", PERCENT),
            "Read Latency": ("fabric.read_latency", 1.0),
            "Write and Atomic Latency": ("fabric.write_latency", 1.0),
        },
    ),
    Panel(
        "17.1 L2 Speed-of-Light",
        "L2-Fabric Read BW",
        {
            "Utilization": ("l2.busy", PERCENT),
            "Bandwidth": ("l2.throughput", PERCENT),
            "Peak Bandwidth": ("l2.throughput", PERCENT),
            "Hit Rate": ("l2.hit_rate", PERCENT),
        },
    ),
    Panel(
        "18.1 L2 Channels",
        "L2 Cache Hit Rate",
        {"L2 Cache Hit Rate": ("l2.hit_rate", PERCENT)},
    ),
)
# rows of 17.1 in GB/s: their share of the row that states the memory's peak, else the rate itself
FABRIC = {
    "L2-Fabric Read BW": "fabric.read_throughput",
    "L2-Fabric Write and Atomic BW": "fabric.write_throughput",
    "L2-Fabric Write BW": "fabric.write_throughput",
}
PEAK = "HBM Bandwidth"
RATE, GIGA = "gb/s", 1e9  # bytes per second, although older versions print Gb/s
SPREAD = "Req"  # row of 18.1 whose average and maximum tell how evenly the channels are loaded
