"""Writes a run as the long CSV of `ncu --page details --csv`: labelled rows, and the sentences of NVIDIA's rules."""

from collections.abc import Iterator
from pathlib import Path

from tests.helpers import ncu_pages

from .counters import counters, throughputs
from .machine import Run
from .sentences import said


def metrics(run: Run) -> Iterator[tuple[str, str, str, float]]:
    k, chip, sol = run.work, run.chip, throughputs(run)
    c = {n: v for n, (v, _) in counters(run).items()}
    speed, work, memory = "GPU Speed Of Light Throughput", "Compute Workload Analysis", "Memory Workload Analysis"
    scheduler, state, launch, spread = (
        "Scheduler Statistics",
        "Warp State Statistics",
        "Launch Statistics",
        "GPU and Memory Workload Distribution",
    )
    per_issue = sum(run.stalls.values())
    busy = max(run.while_active(u) for u in ("alu", "fma", "fmaheavy", "fp64", "tensor", "xu", "uniform", "cbu"))
    yield from (
        (speed, "DRAM Frequency", "hz", 1.2e9), (speed, "SM Frequency", "hz", chip.ghz * 1e9), (speed, "Elapsed Cycles", "cycle", run.cycles),
        (speed, "Memory Throughput", "%", sol["memory"]), (speed, "DRAM Throughput", "%", sol["vram"]), (speed, "Duration", "ns", run.ns),
        (speed, "L1/TEX Cache Throughput", "%", min(99.9, sol["l1"] / run.active)), (speed, "L2 Cache Throughput", "%", sol["l2"]),
        (speed, "SM Active Cycles", "cycle", run.cycles * run.active), (speed, "Compute (SM) Throughput", "%", sol["sm"]),
        (work, "Executed Ipc Active", "inst/cycle", 4 * run.issue * 0.995), (work, "Executed Ipc Elapsed", "inst/cycle", run.elapsed("issue") / 25),
        (work, "Issue Slots Busy", "%", 100 * run.issue), (work, "Issued Ipc Active", "inst/cycle", 4 * run.issue), (work, "SM Busy", "%", max(100 * run.issue, busy)),
        (memory, "Memory Throughput", "byte/second", c["dram__bytes.sum.per_second"]), (memory, "Mem Busy", "%", sol["access"]),
        (memory, "Max Bandwidth", "%", sol["request"]), (memory, "L1/TEX Hit Rate", "%", c["l1tex__t_sector_hit_rate.pct"]),
        (memory, "L2 Compression Success Rate", "%", 0), (memory, "L2 Compression Ratio", "", 0), (memory, "L2 Hit Rate", "%", c["lts__t_sector_hit_rate.pct"]),
        (memory, "Mem Pipes Busy", "%", sol["memory_pipes"]), (memory, "Local Memory Spilling Requests", "", c.get("derived__local_spilling_requests", 0)),
        (memory, "Local Memory Spilling Request Overhead", "%", c.get("derived__local_spilling_requests_pct", 0)),
        (scheduler, "One or More Eligible", "%", 100 * run.issue), (scheduler, "Issued Warp Per Scheduler", "", run.issue),
        (scheduler, "No Eligible", "%", 100 - 100 * run.issue), (scheduler, "Active Warps Per Scheduler", "warp", run.occupancy * chip.warps / 4),
        (scheduler, "Eligible Warps Per Scheduler", "warp", c["smsp__warps_eligible.avg.per_cycle_active"]),
        (state, "Warp Cycles Per Issued Instruction", "cycle", per_issue), (state, "Warp Cycles Per Executed Instruction", "cycle", per_issue * 1.004),
        (state, "Avg. Active Threads Per Warp", "", c["smsp__thread_inst_executed_per_inst_executed.ratio"]),
        (state, "Avg. Not Predicated Off Threads Per Warp", "", c["smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"]),
        ("Instruction Statistics", "Avg. Executed Instructions Per Scheduler", "inst", run.sums["inst"] / chip.sms / 4),
        ("Instruction Statistics", "Executed Instructions", "inst", run.sums["inst"]), ("Instruction Statistics", "Issued Instructions", "inst", run.sums["inst"] * 1.004),
        (launch, "Block Size", "", k.block), (launch, "Grid Size", "", k.grid), (launch, "Registers Per Thread", "register/thread", k.regs),
        (launch, "Driver Shared Memory Per Block", "byte/block", 1024), (launch, "Dynamic Shared Memory Per Block", "byte/block", k.dynamic),
        (launch, "Static Shared Memory Per Block", "byte/block", k.static), (launch, "# SMs", "SM", chip.sms), (launch, "Threads", "thread", k.block * k.grid),
        (launch, "Uses Green Context", "", 0), (launch, "Waves Per SM", "", c["launch__waves_per_multiprocessor"]),
        ("Occupancy", "Block Limit SM", "block", run.limits.blocks), ("Occupancy", "Block Limit Registers", "block", run.limits.registers),
        ("Occupancy", "Block Limit Shared Mem", "block", run.limits.shared), ("Occupancy", "Block Limit Warps", "block", run.limits.warps),
        ("Occupancy", "Theoretical Active Warps per SM", "warp", run.limits.groups * k.warps),
        ("Occupancy", "Theoretical Occupancy", "%", 100 * run.limits.groups * k.warps / chip.warps),
        ("Occupancy", "Achieved Occupancy", "%", 100 * run.occupancy), ("Occupancy", "Achieved Active Warps Per SM", "warp", run.occupancy * chip.warps),
        (spread, "Average SM Active Cycles", "cycle", run.cycles * run.active), (spread, "Total SM Elapsed Cycles", "cycle", run.cycles * chip.sms),
        (spread, "Average L1 Active Cycles", "cycle", run.cycles * run.active), (spread, "Average SMSP Active Cycles", "cycle", run.cycles * run.active * 0.998),
        (spread, "Average L2 Active Cycles", "cycle", run.cycles * 0.9), (spread, "Total L2 Elapsed Cycles", "cycle", run.cycles * chip.slices),
        ("Source Counters", "Branch Instructions Ratio", "", k.branch * run.sums["warps"] / run.sums["inst"]),
        ("Source Counters", "Branch Instructions", "inst", k.branch * run.sums["warps"]), ("Source Counters", "Branch Efficiency", "%", k.uniform_targets),
        ("Source Counters", "Avg. Divergent Branches", "", k.branch * run.sums["warps"] * (1 - k.uniform_targets / 100) / chip.sms / 4),
    )  # fmt: skip
    if chip.generation >= 9:
        yield launch, "Cluster Size", "", k.cluster
        yield "Occupancy", "Max Active Clusters", "cluster", c["launch__cluster_max_active"]
        yield "Occupancy", "Overall GPU Occupancy", "%", c["launch__occupancy_cluster_gpu_pct"]
        yield "Occupancy", "Cluster Occupancy", "%", c["launch__occupancy_cluster_pct"]
        yield "Occupancy", "Block Limit Barriers", "block", chip.blocks


def scaled(value: float, unit: str) -> tuple[float, str]:
    """A value in the unit the page chooses for its size."""
    steps = {"ns": ("us", 1e3, "ms", 1e6), "hz": ("Mhz", 1e6, "Ghz", 1e9), "byte/second": ("Mbyte/s", 1e6, "Gbyte/s", 1e9),
             "byte/block": ("Kbyte/block", 1e3, "Mbyte/block", 1e6)}.get(unit)  # fmt: skip
    if not steps or value < steps[1]:
        return value, unit
    return (value / steps[3], steps[2]) if value >= steps[3] else (value / steps[1], steps[0])


def write(path: Path, run: Run) -> Path:
    k = run.work
    return ncu_pages.details(path, ncu_pages.launch(k.name, k.block, k.grid, run.chip.cc), rows(run))


def rows(run: Run) -> Iterator[tuple[str, ...]]:
    """The cells of the page from `Section Name` on."""
    for section, metric, unit, value in metrics(run):
        value, unit = scaled(value, unit)
        shown = f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
        yield section, metric, unit, shown, ""
    for section, rule, sentence, kind, speedup in said(run):
        estimate = f"{max(speedup, 0):.2f}" if kind else ""
        yield section, "", "", "", rule, "OPT" if kind else "INF", sentence, kind, estimate
