"""The sentences of NVIDIA's rules about a run, in the shape of public exports of 2024 to 2026, without their advice.

Each comes with its section, rule and estimate: a local one is of the unit or stall, a global one of the time.
"""

from collections.abc import Iterator

from .counters import counters, throughputs
from .machine import Run

# fmt: off
WAITS = {
    "long_scoreboard": "for a scoreboard dependency on a L1TEX (local, global, surface, texture) operation",
    "short_scoreboard": "for a scoreboard dependency on an MIO (memory input/output) operation (not to L1TEX)",
    "lg_throttle": "for the L1 instruction queue for local and global (LG) memory operations to be not full",
    "mio_throttle": "for the MIO (memory input/output) instruction queue to be not full",
    "barrier": "for sibling warps at a CTA barrier",
    "membar": "on a memory barrier",
    "math_pipe_throttle": "for the execution pipe to be available",
    "imc_miss": "for an immediate constant cache (IMC) miss",
    "wait": "on a fixed latency execution dependency",
    "branch_resolving": "for a branch target to be computed, and the warp program counter to be updated",
    "no_instruction": "to be selected to fetch an instruction or waiting on an instruction cache miss",
    "drain": "after EXIT waiting for all outstanding memory operations to complete so that warp's resources can be freed",
    "tex_throttle": "for the L1 instruction queue for texture operations to be not full",
    "sleeping": "due to all threads in the warp being in the blocked, yielded, or sleep state",
    "dispatch_stall": "on a dispatch stall",
    "gmma": "for the warpgroup to arrive",
    "not_selected": "due to not being selected by the scheduler",
}
LIMITS = {"registers": "the number of required registers", "shared": "the required amount of shared memory",
          "warps": "the number of warps within each block", "blocks": "the number of blocks that can fit on the SM"}  # fmt: skip
OF_PIPE = {"FMA": "executes 32-bit floating point (FADD, FMUL, FMAD, ...) and integer (IMUL, IMAD) operations", "ALU": "executes integer and logic operations",
           "XU": "executes transcendental functions, integer-to-float, and float-to-integer conversions", "LSU": "executes load/store memory operations",
           "FP64": "executes 64-bit floating point operations", "Tensor": "is the logical aggregation of individual tensor pipelines. It's dominated by its Tensor (FP) sub-pipeline",
           "Shared FMA Heavy": "is a physical pipe and shared by the logical pipes FMA Heavy and ALU Lite. It's dominated by its FMA Heavy sub-pipeline"}  # fmt: skip
Said = tuple[str, str, str, str, float]  # section, rule, sentence, kind of estimate, percent



def _speed(run: Run) -> Iterator[Said]:
    sol, k = throughputs(run), run.work
    sm, memory = sol["sm"], sol["memory"]
    where = {"DRAM": sol["vram"], "L2": sol["l2"], "L1": sol["l1"]}
    top = max(where, key=lambda n: where[n])
    if sm < 80 and memory < 80:
        if run.waves < 1:
            yield "SpeedOfLight", "SOLBottleneck", f"This kernel grid is too small to fill the available resources on this device, resulting in only {run.waves:.1f} full waves across all SMs. Look at Launch Statistics for more details.", "", 0
        elif abs(sm - memory) < 10 and max(sm, memory) >= 60:
            yield "SpeedOfLight", "SOLBottleneck", "Compute and Memory are well-balanced: To reduce runtime, both computation and memory traffic must be reduced. Check both the Compute Workload Analysis and Memory Workload Analysis sections.", "", 0
        elif max(sm, memory) < 60:
            yield "SpeedOfLight", "SOLBottleneck", "This workload exhibits low compute throughput and memory bandwidth utilization relative to the peak performance of this device. Achieved compute throughput and/or memory bandwidth below 60.0% of peak typically indicate latency issues. Look at Scheduler Statistics and Warp State Statistics for potential reasons.", "", 0
        elif memory > sm:
            yield "SpeedOfLight", "SOLBottleneck", f"Memory is more heavily utilized than Compute: Look at the Memory Workload Analysis section to identify the {top} bottleneck. Check memory replay (coalescing) metrics to make sure you're efficiently utilizing the bytes transferred.", "", 0
        else:
            yield "SpeedOfLight", "SOLBottleneck", "Compute is more heavily utilized than Memory: Look at the Compute Workload Analysis section to see what the compute pipelines are spending their time doing.", "", 0
    else:
        unit = f"{top} in the Memory Workload Analysis section" if memory > sm else "workloads in the Compute Workload Analysis section"
        yield "SpeedOfLight", "SOLBottleneck", f"The workload is utilizing greater than 80.0% of the available compute or memory performance of this device. To further improve performance, work will likely need to be shifted from the most utilized to another unit. Start by analyzing {unit}.", "", 0
    peak = run.chip.fma / run.chip.fp64
    flops, doubles = (2 * k.ffma + k.fadd + k.fmul), 2 * k.dfma
    per = run.sums["warps"] / run.chip.sms / run.cycles * 100
    single, double = flops / 2 / run.chip.fma * per, doubles / 2 / run.chip.fp64 * per
    tail = "If Compute Workload Analysis determines that this workload is fp64 bound, consider using 32-bit precision floating point operations to improve its performance. " if double > 15 else ""
    yield "SpeedOfLight_RooflineChart", "SOLFPRoofline", f"The ratio of peak float (fp32) to double (fp64) performance on this device is {peak:.0f}:1. The workload achieved {single:.0f}% of this device's fp32 peak performance and {double:.0f}% of its fp64 peak performance. {tail}", "", 0


def _pipes(run: Run) -> Iterator[Said]:
    """NVIDIA's rule compares ALU, FMA, FP64 and tensor pipes by cycles, and names the pipe of most instructions from 60 % on."""
    new = run.chip.generation >= 10
    at = run.elapsed if new else run.while_active
    pipes = {"FMA": at("fma"), "ALU": at("alu"), "FP64": at("fp64"), "Tensor": at("tensor")}
    if new:
        pipes["Shared FMA Heavy"] = at("fmaheavy")
    top = max(pipes, key=lambda p: pipes[p])
    if pipes[top] < 20:
        yield "ComputeWorkloadAnalysis", "HighPipeUtilization", "All compute pipelines are under-utilized. Either this workload is very small or it doesn't issue enough warps per scheduler. Check the Launch Statistics and Scheduler Statistics sections for further details.", "local", 100 - pipes[top]
    else:
        basis = "elapsed cycles in the workload" if new else "active cycles"
        text = f"{top} is the highest-utilized pipeline ({pipes[top]:.1f}%) based on {basis}, taking into account the rates of its different instructions. It {OF_PIPE[top]}."
        if pipes[top] < 60:
            text += " It is well-utilized, but should not be a bottleneck."
        else:
            text += " The pipeline is over-utilized and likely a performance bottleneck." if pipes[top] >= 80 else " The pipeline is well-utilized, but might become a bottleneck if more work is added."
            inst = {"FMA": at("fma"), "ALU": at("alu"), "XU": at("xu"), "LSU": at("lsuin")}
            most = max(inst, key=lambda p: inst[p])
            text += f" Based on the number of executed instructions, the highest utilized pipeline ({inst[most]:.1f}%) is {most}. It {OF_PIPE[most]}. Comparing the two, the overall pipeline utilization appears to be caused by frequent, low-latency instructions."
        yield "ComputeWorkloadAnalysis", "HighPipeUtilization", text, "", 0
    k = run.work
    fused, single = k.ffma * run.sums["warps"], (k.fadd + k.fmul) * run.sums["warps"]
    if single and single > 0.1 * (fused + single):
        yield "InstructionStats", "FPInstructions", f"This kernel executes {fused:.0f} fused and {single:.0f} non-fused FP32 instructions. By converting pairs of non-fused instructions to their fused, higher-throughput equivalent, the achieved FP32 performance could be increased by up to {50 * single / (fused + single):.0f}% (relative to its current performance).", "global", 0.5 * run.while_active("fma") * single / (fused + single)


def _memory(run: Run) -> Iterator[Said]:
    k, s, sol = run.work, run.sums, throughputs(run)
    section = "MemoryWorkloadAnalysis_Tables"
    for what, a, sectors in (("loads from", k.load, s["loads"]), ("stores to", k.store, s["stores"])):
        if a.count and (used := a.bytes_per_sector) < 28:
            missed = what.startswith("loads") and s["l1"] < 0.5
            level = "L2" if missed else "L1TEX"
            applies = f"This applies to the {100 * (1 - s['l1']):.1f}% of sectors missed in L1TEX. " if missed else ""
            share = sectors / max(s["loads"] + s["stores"] + s["local_in"] + s["local_out"], 1)
            yield section, "MemoryCacheAccessPattern", f"The memory access pattern for global {what} {level} might not be optimal. On average, only {used:.1f} of the 32 bytes transmitted per sector are utilized by each thread. {applies}This could possibly be caused by a stride between threads. Check the Source Counters section for uncoalesced global {what.split()[0]}.", "global", (1 - used / 32) * share * max(sol["l1"], sol["l2"], sol["vram"])
    for what, a in (("loads from", k.local_load), ("stores to", k.local_store)):
        if a.count:  # interleaved by thread: of a sector each thread uses its own word only
            yield section, "MemoryCacheAccessPattern", f"The memory access pattern for local {what} L1TEX might not be optimal. On average, only 1.0 of the 32 bytes transmitted per sector are utilized by each thread. This could possibly be caused by a stride between threads. Check the Source Counters section for uncoalesced local {what.split()[0]}.", "global", 0.3 * sol["l1"]
    for what, n, ways, best in (("loads", k.shared_load, k.load_ways, k.ideal_load_ways), ("stores", k.shared_store, k.store_ways, 1.0)):
        if n and ways > best * 1.1:
            warps = s["warps"]
            lost, all_ = n * (ways - best) * warps, n * ways * warps
            yield section, "SharedMemoryConflicts", f"The memory access pattern for shared {what} might not be optimal and causes on average a {ways:.1f} - way bank conflict across all {n * warps:.0f} shared {what[:-1]} requests.This results in {lost:.0f} bank conflicts,  which represent {100 * lost / all_:.2f}% of the overall {all_:.0f} wavefronts for shared {what}. Check the Source Counters section for uncoalesced shared {what}.", "global", lost / all_ * run.elapsed("turns")
    total, useful = s["loads"] + s["stores"], (k.load.count * k.load.useful + k.store.count * k.store.useful) * s["warps"]
    if (excess := total - useful) > 0.05 * total:
        yield "SourceCounters", "UncoalescedGlobalAccess", f"This kernel has uncoalesced global accesses resulting in a total of {excess:.0f} excessive sectors ({100 * excess / total:.0f}% of the total {total:.0f} sectors). Check the L2 Theoretical Sectors Global Excessive table for the primary source locations.", "global", excess / total * max(sol["l2"], sol["vram"])
    c = {n: v for n, (v, _) in counters(run).items()}
    lost, all_ = c["derived__memory_l1_wavefronts_shared_excessive"], c["memory_l1_wavefronts_shared"]
    if lost > 0.05 * all_:
        yield "SourceCounters", "UncoalescedSharedAccess", f"This kernel has uncoalesced shared accesses resulting in a total of {lost:.0f} excessive wavefronts ({100 * lost / all_:.0f}% of the total {all_:.0f} wavefronts). Check the L1 Wavefronts Shared Excessive table for the primary source locations.", "global", lost / all_ * run.elapsed("turns")


def _warps(run: Run) -> Iterator[Said]:
    k, slots = run.work, run.chip.warps / 4
    per_issue, have = sum(run.stalls.values()), run.occupancy * slots
    eligible = run.issue * (1 + run.stalls.get("not_selected", 0))
    theory = run.limits.groups * k.warps / 4
    most = max(throughputs(run)["sm"], throughputs(run)["memory"])
    if run.issue < 0.6:
        yield "SchedulerStats", "IssueSlotUtilization", f"Every scheduler is capable of issuing one instruction per cycle, but for this workload each scheduler only issues an instruction every {1 / run.issue:.1f} cycles. This might leave hardware resources underutilized and may lead to less optimal performance. Out of the maximum of {slots:.0f} warps per scheduler, this workload allocates an average of {have:.2f} active warps per scheduler, but only an average of {eligible:.2f} warps were eligible per cycle. Eligible warps are the subset of active warps that are ready to issue their next instruction.", "local", 100 - most
    if run.issue < 0.8:
        for reason, said in WAITS.items():
            if (share := run.stalls.get(reason, 0) / per_issue) > 0.3:
                yield "WarpStateStats", "CPIStall", f"On average, each warp of this workload spends {run.stalls[reason]:.1f} cycles being stalled waiting {said}. This stall type represents about {100 * share:.1f}% of the total average of {per_issue:.1f} cycles between issuing two instructions.".replace("waiting due", "due").replace("waiting after", "after"), "global", min(100 * share, 100 - most)
    threads = k.threads * (1 - k.idle_lanes)
    on = min(k.unpredicated, k.threads) * (1 - k.idle_lanes) * 0.97
    if on < 24:
        yield "WarpStateStats", "ThreadDivergence", f"Instructions are executed in warps, which are groups of 32 threads. Optimal instruction throughput is achieved if all 32 threads of a warp execute the same instruction. The chosen launch configuration, early thread completion, and divergent flow control can significantly lower the number of active threads in a warp per cycle. This workload achieves an average of {threads:.1f} threads being active per cycle. This is further reduced to {on:.1f} threads per warp due to predication. The compiler may use predication to avoid an actual branch.", "global", (1 - on / 32) * max(100 * run.issue, 10)
    if theory / slots < 0.8:
        least = run.limits.groups
        by = [text for name, text in LIMITS.items() if getattr(run.limits, name) == least]
        yield "Occupancy", "TheoreticalOccupancy", f"The {theory:.2f} theoretical warps per scheduler this kernel can issue according to its occupancy are below the hardware maximum of {slots:.0f}. This kernel's theoretical occupancy ({100 * theory / slots:.1f}%) is limited by {', and '.join(by)}.", "global" if most < 60 else "local", 100 - max(most, 100 * theory / slots)
    if theory / slots - run.occupancy > 0.1:
        yield "Occupancy", "AchievedOccupancy", f"The difference between calculated theoretical ({100 * theory / slots:.1f}%) and measured achieved occupancy ({100 * run.occupancy:.1f}%) can be the result of warp scheduling overheads or workload imbalances during the kernel execution. Load imbalances can occur between warps within a block as well as across blocks of the same kernel.", "global", 100 * (1 - run.occupancy / theory * slots)


def _launch(run: Run) -> Iterator[Said]:
    k, sms = run.work, run.chip.sms
    if k.block % 32:
        yield "LaunchStats", "LaunchConfiguration", f"Threads are executed in groups of 32 threads called warps. This kernel launch is configured to execute {k.block} threads per block. Consequently, some threads in a warp are masked off and those hardware resources are unused. Try changing the number of threads per block to be a multiple of 32 threads.", "global", 100 * k.idle_lanes
    if k.grid < sms:
        yield "LaunchStats", "LaunchConfiguration", f"The grid for this launch is configured to execute only {k.grid} blocks, which is less than the GPU's {sms} multiprocessors. This can underutilize some multiprocessors.", "global", 100 * (1 - k.grid / sms)
    waves = k.grid / (run.limits.groups * sms)
    whole, left = int(waves), k.grid - int(waves) * run.limits.groups * sms
    if 1 <= waves < 5 and left and waves - whole < 0.9:
        yield "LaunchStats", "LaunchConfiguration", f"A wave of thread blocks is defined as the maximum number of blocks that can be executed in parallel on the target GPU. Depending on the number of blocks in a wave and the number of waves, the execution can have a tail effect. This kernel launch results in {whole} full waves and a partial wave of {left} thread blocks. Under the assumption of a uniform execution duration of all thread blocks, this partial wave may account for up to {100 / (1 + whole):.1f}% of the total runtime of this kernel.", "global", 100 / (1 + whole)
    above = run.busiest / run.active - 1
    if above > 0.05:
        for unit in ("SMs", "SMSPs", "L1 Slices"):
            yield "WorkloadDistribution", "WorkloadImbalance", f"One or more {unit} have a much higher number of active cycles than the average number of active cycles. Maximum instance value is {100 * above / (1 + above):.2f}% above the average, while the minimum instance value is {100 * min(1.0, above):.2f}% below the average.", "global", 100 * above / (1 + above)


def said(run: Run) -> Iterator[Said]:
    """Everything the rules say."""
    for part in (_speed, _pipes, _memory, _warps, _launch):
        yield from part(run)
