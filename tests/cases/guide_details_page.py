"""A patient as Nsight Compute's details page prints it: sections and labels of each chip, and the rules' sentences.

`details` prints what the page holds by default, `all` the stall reasons too (--print-details all). The sentences are in
the rules' form, without their advice; a rule speaks from NVIDIA's own threshold on.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.cases.guide_kernels import CALM, CHIPS, Patient, healthy
from tests.helpers import ncu_pages
from tests.simulation.sentences import WAITS

LIMITS = {
    "by_regs": "the number of required registers",
    "by_smem": "the required amount of shared memory",
    "by_warps": "the number of warps within each block",
    "by_blocks": "the number of blocks that can fit on the SM",
}
Row = tuple[str, str, str, str, str, str]  # section, metric or "", unit, value, rule or "", sentence


def _metrics(own: dict[str, float], sms: int, slots: int, modern: bool) -> Iterator[tuple[str, str, str, float]]:
    active, issue = own["sm_cycles"] / own["cycles"], own["issue"]
    cycles = own["time"] * 1.6
    warps = max(own["occ"] / 100 * slots, issue / 100)
    sol, work, memory = "GPU Speed Of Light Throughput", "Compute Workload Analysis", "Memory Workload Analysis"
    scheduler, state, launch = "Scheduler Statistics", "Warp State Statistics", "Launch Statistics"
    spread = "GPU and Memory Workload Distribution"
    yield from (
        (sol, "SM Frequency", "hz", 1.6e9),
        (sol, "Elapsed Cycles", "cycle", cycles),
        (sol, "Memory Throughput", "%", own["mem"]),
        (sol, "DRAM Throughput", "%", own["dram"]),
        (sol, "Duration", "ns", own["time"]),
        (sol, "L1/TEX Cache Throughput", "%", min(99.9, own["l1"] / active)),  # the page prints it over active cycles
        (sol, "L2 Cache Throughput", "%", own["l2"]),
        (sol, "SM Active Cycles", "cycle", cycles * active),
        (sol, "Compute (SM) Throughput", "%", own["sm"]),
        (work, "Executed Ipc Active", "inst/cycle", issue / 25 * 0.995),
        (work, "Executed Ipc Elapsed", "inst/cycle", own["inst"] / 25),
        (work, "Issue Slots Busy", "%", issue),
        (work, "Issued Ipc Active", "inst/cycle", issue / 25),
        (work, "SM Busy", "%", max(issue, *(own.get(p, 0) for p in ("fma", "alu", "fp64", "tensor")))),
        (memory, "Memory Throughput", "byte/second", (own["read"] + own["written"]) / own["time"] * 1e9),
        (memory, "Mem Busy", "%", max(own["l1"], own["l2"])),
        (memory, "Max Bandwidth", "%", max(own["wavefronts"], own["dram"])),
        (memory, "L1/TEX Hit Rate", "%", own["hit"]),
        (memory, "L2 Hit Rate", "%", own["l2_hit"]),
        (memory, "Mem Pipes Busy", "%", own["lsuin"]),
        (scheduler, "One or More Eligible", "%", issue),
        (scheduler, "Issued Warp Per Scheduler", "", issue / 100),
        (scheduler, "No Eligible", "%", 100 - issue),
        (scheduler, "Active Warps Per Scheduler", "warp", warps),
        (scheduler, "Eligible Warps Per Scheduler", "warp", min(warps, issue / 70 + 0.02)),
        (state, "Warp Cycles Per Issued Instruction", "cycle", warps / issue * 100),
        (state, "Avg. Active Threads Per Warp", "", own["threads"]),
        (state, "Avg. Not Predicated Off Threads Per Warp", "", own["pred_on"]),
        ("Instruction Statistics", "Executed Instructions", "inst", own["executed"]),
        ("Instruction Statistics", "Issued Instructions", "inst", own["issued"]),
        (launch, "Block Size", "", own["block"]),
        (launch, "Grid Size", "", own["grid"]),
        (launch, "Registers Per Thread", "register/thread", own["regs"]),
        (launch, "Dynamic Shared Memory Per Block", "byte/block", own["smem_dyn"]),
        (launch, "Static Shared Memory Per Block", "byte/block", own["smem_static"]),
        (launch, "# SMs", "SM", own["sms"]),
        (launch, "Threads", "thread", own["block"] * own["grid"]),
        (launch, "Uses Green Context", "", own.get("green", 0)),
        (launch, "Waves Per SM", "", own["waves"]),
        ("Occupancy", "Block Limit SM", "block", own["by_blocks"]),
        ("Occupancy", "Block Limit Registers", "block", own["by_regs"]),
        ("Occupancy", "Block Limit Shared Mem", "block", own["by_smem"]),
        ("Occupancy", "Block Limit Warps", "block", own["by_warps"]),
        ("Occupancy", "Theoretical Active Warps per SM", "warp", own["theory"] / 25 * slots),
        ("Occupancy", "Theoretical Occupancy", "%", own["theory"]),
        ("Occupancy", "Achieved Occupancy", "%", own["occ"]),
        (spread, "Average SM Active Cycles", "cycle", cycles * active),
        (spread, "Total SM Elapsed Cycles", "cycle", cycles * sms),
        (spread, "Average SMSP Active Cycles", "cycle", cycles * active * own["smsp_cycles"] / own["sm_cycles"]),
        ("Source Counters", "Branch Efficiency", "%", own["uniform_branches"]),
    )  # fmt: skip
    if "spill" in own:
        yield memory, "Local Memory Spilling Requests", "", own["spill"]
        yield memory, "Local Memory Spilling Request Overhead", "%", own.get("spill_pct", 50)
    if modern:
        yield launch, "Cluster Size", "", own.get("cluster", 0)
        yield from (("Occupancy", n, "%", 0.0) for n in ("Overall GPU Occupancy", "Cluster Occupancy"))


def _pipes(own: dict[str, float]) -> Iterator[tuple[str, str, str]]:
    pipes = {p.upper(): own.get(p, 0) for p in ("fma", "alu", "fp64", "xu", "lsu")}
    pipes["Tensor"] = max(own.get("tensor", 0), own.get("tc", 0))
    top = max(pipes, key=lambda p: pipes[p])
    if pipes[top] >= 20:
        text = f"{top} is the highest-utilized pipeline ({pipes[top]:.1f}%) based on active cycles."
        yield "ComputeWorkloadAnalysis", "HighPipeUtilization", text
    fused, single = own["ffma"], own["fadd"] + own["fmul"]
    if single > 0.1 * (fused + single):
        text = f"This kernel executes {fused / 32:.0f} fused and {single / 32:.0f} non-fused FP32 instructions."
        yield "InstructionStats", "FPInstructions", text


def _accesses(own: dict[str, float]) -> Iterator[tuple[str, str, str]]:
    for what, kind in (("loads from", "ld"), ("stores to", "st")):
        if (used := own[f"{kind}_bytes"]) < 24:
            text = f"The memory access pattern for global {what} DRAM might not be optimal. On average, only {used:.1f} of the 32 bytes transmitted per sector are utilized by each thread."
            yield "Memory Workload Analysis Tables", "MemoryCacheAccessPattern", text
    total = own["ld_sectors"] + own["st_sectors"]
    excess = sum(own[f"{k}_sectors"] * (1 - own[f"{k}_bytes"] / 32) for k in ("ld", "st"))
    if excess > 0.1 * total:
        text = f"This kernel has uncoalesced global accesses resulting in a total of {excess:.0f} excessive sectors ({100 * excess / total:.0f}% of the total {total:.0f} sectors)."
        yield "SourceCounters", "UncoalescedGlobalAccess", text
    lost, all_ = own["conflicts"], own["shared"]
    if lost > 0.1 * all_:
        text = f"The memory access pattern for shared loads might not be optimal. This results in {lost:.0f} bank conflicts,  which represent {100 * lost / all_:.2f}% of the overall {all_:.0f} wavefronts for shared loads."
        yield "Memory Workload Analysis Tables", "SharedMemoryConflicts", text
        text = f"This kernel has uncoalesced shared accesses resulting in a total of {lost:.0f} excessive wavefronts ({100 * lost / all_:.0f}% of the total {all_:.0f} wavefronts)."
        yield "SourceCounters", "UncoalescedSharedAccess", text


def _launch(own: dict[str, float]) -> Iterator[tuple[str, str, str]]:
    grid, sms, block, waves = int(own["grid"]), int(own["sms"]), int(own["block"]), own["waves"]
    if grid < sms:
        text = f"The grid for this launch is configured to execute only {grid} blocks, which is less than the GPU's {sms} multiprocessors."
        yield "LaunchStats", "LaunchConfiguration", text
    if block % 32:
        text = f"This kernel launch is configured to execute {block} threads per block. Consequently, some threads in a warp are masked off."
        yield "LaunchStats", "LaunchConfiguration", text
    if own["theory"] < 80:
        least = min(own[k] for k in LIMITS)
        text = " ".join(
            f"This kernel's theoretical occupancy ({own['theory']:.1f}%) is limited by {LIMITS[k]}."
            for k in LIMITS
            if own[k] == least
        )
        yield "Occupancy", "TheoreticalOccupancy", text
    if own["theory"] - own["occ"] > 10:
        text = f"The difference between calculated theoretical ({own['theory']:.1f}%) and measured achieved occupancy ({own['occ']:.1f}%) can be the result of warp scheduling overheads or workload imbalances during the kernel execution."
        yield "Occupancy", "AchievedOccupancy", text
    if max(own["sm"], own["mem"]) < 60:
        small = f"This kernel grid is too small to fill the available resources on this device, resulting in only {waves:.1f} full waves across all SMs."
        text = (
            small
            if waves < 1
            else "This workload exhibits low compute throughput and memory bandwidth utilization relative to the peak performance of this device."
        )
        yield "SpeedOfLight", "SOLBottleneck", text
    for unit, key in (("SMs", "sm_cycles"), ("SMSPs", "smsp_cycles")):
        if (above := own[f"{key}_max"] / own[key] - 1) > 0.05:
            text = f"One or more {unit} have a much higher number of active cycles than the average number of active cycles. Maximum instance value is {100 * above / (1 + above):.2f}% above the average, while the minimum instance value is 60.00% below the average."
            yield "WorkloadDistribution", "WorkloadImbalance", text


def write_details(path: Path, patient: Patient, form: str = "details") -> Path:
    """The patient's details page of one launch; form: details, or all."""
    own = healthy(patient.chip) | {"ffma": 4e9, "fadd": 2e8, "fmul": 1e8} | patient.counters
    _, capability, sms = CHIPS[patient.chip]
    slots = 16 if capability in ("8.0", "9.0", "10.0") else 12
    shares = dict(patient.stalls)
    rest, calm = 100 - sum(shares.values()), {k: v for k, v in CALM.items() if k not in shares}
    shares |= {k: v * rest / sum(calm.values()) for k, v in calm.items()}
    latency = max(own["occ"] / 100 * slots / own["issue"] * 100, 1.0)
    rows: list[Row] = [
        (s, m, u, f"{v:,.2f}", "", "") for s, m, u, v in _metrics(own, sms, slots, float(capability) >= 9)
    ]
    if form == "all":
        rows += [("Warp State Statistics", f"Stall {k.replace('_', ' ').title()}", "inst", f"{latency * v / 100:,.2f}", "", "")
                 for k, v in shares.items()]  # fmt: skip
    said = [*_pipes(own), *_accesses(own), *_launch(own)]
    longest = max(WAITS, key=lambda k: shares.get(k, 0))
    if shares.get(longest, 0) > 30 and own["issue"] < 80:
        said.append(("WarpStateStats", "CPIStall", f"On average, each warp of this workload spends {latency * shares.get(longest, 0) / 100:.1f} cycles being stalled waiting {WAITS[longest]}. This stall type represents about {shares[longest]:.1f}% of the total average of {latency:.1f} cycles between issuing two instructions."))  # fmt: skip
    if own["threads"] < 24 or own["pred_on"] < 24:
        said.append(("WarpStateStats", "ThreadDivergence", f"This workload achieves an average of {own['threads']:.1f} threads being active per cycle. This is further reduced to {own['pred_on']:.1f} threads per warp due to predication."))  # fmt: skip
    rows += [(section, "", "", "", rule, sentence) for section, rule, sentence in said]
    first = ncu_pages.launch(ncu_pages.NAME, round(own["block"]), round(own["grid"]), capability)
    return ncu_pages.details(
        path,
        first,
        (
            (
                section,
                metric,
                unit,
                value,
                rule,
                "OPT" if rule else "",
                sentence,
                "global" if rule else "",
                "10.0" if rule else "",
            )
            for section, metric, unit, value, rule, sentence in rows
        ),
    )
