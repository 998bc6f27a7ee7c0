"""What the SM / CU does: activity, issue, occupancy, stalls."""

from triage.ground.stalls import STALLS
from triage.schema._metric import Metric

# one reason, two names, by version of the tool
_ALSO = {"no_instruction": ("no_instructions",), "gmma": ("warpgroup_arrive",)}


def _stall(reason: str, meaning: str) -> tuple[Metric, ...]:
    names = (reason, *_ALSO.get(reason, ()))
    title = reason.replace("_", " ")
    # as the P3 article, RenderDoc and the Perf SDK's tools spell it
    share = tuple(
        a
        for r in names
        for a in (
            f"smsp__warp_stall_{r}_pct",
            f"smsp__warp_issue_stalled_{r}_per_warp_active.avg.pct",
            f"smsp__warp_issue_stalled_{r}_per_warp_active.pct",
        )
    )
    # ncu's raw page today, and its names from before 2019, which the P3 article has too
    cycles = tuple(
        a
        for r in names
        for a in (
            f"smsp__average_warps_issue_stalled_{r}_per_issue_active.ratio",
            f"smsp__warp_cycles_per_issue_stall_{r}",
        )
    )
    # the details page prints the same figure under a display label
    label = "Selected" if reason == "selected" else f"Stall {title.title()}"
    # title() does not know which words are abbreviations
    special = {"lg_throttle": "Stall LG Throttle", "imc_miss": "Stall IMC Miss", "mio_throttle": "Stall MIO Throttle"}
    return (
        Metric(
            f"stall.{reason}",
            "ratio",
            f"Stall: {title}",
            "low",
            f"Share of the active warps' cycles spent {meaning}",
            share,
        ),
        Metric(
            f"stall_cycles.{reason}",
            "count",
            f"Stall cycles: {title}",
            "low",
            f"Warp cycles per issued instruction spent {meaning}",
            (*cycles, special.get(reason, label)),
            bounded=False,
        ),
        # the same wait against another whole: cycles of a warp's life, hundreds where the one above is a few
        Metric(
            f"stall_latency.{reason}",
            "count",
            f"Stall latency: {title}",
            "low",
            f"Cycles of a warp's whole life spent {meaning}",
            tuple(f"smsp__average_warp_latency_issue_stalled_{r}.ratio" for r in names),
            bounded=False,
        ),
        Metric(
            f"stall_samples.{reason}",
            "count",
            f"Stall samples: {title}",
            "low",
            f"Program-counter samples of warps {meaning}",
            tuple(f"smsp__pcsamp_{w}_{r}" for r in names for w in ("warps_issue_stalled", "warp_stall")),
            bounded=False,
            additive=True,
        ),
    )


METRICS = (
    # GPU Trace counts warp slots that are empty while the SM idles, ncu cycles with a warp: 100 % minus the other
    Metric(
        "sm.active",
        "ratio",
        "SM active",
        "high",
        "Elapsed cycles with at least one warp resident, averaged over the SMs",
        (
            "SM Active",
            "SM Active %",
            "sm__active_cycles_pct",
            "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
            "tpc__cycles_active.avg.pct_of_peak_sustained_elapsed",
            "smsp__cycles_active.avg.pct_of_peak_sustained_elapsed",
        ),
    ),
    Metric(
        "sm.idle",
        "ratio",
        "SM idle",
        "low",
        "Elapsed cycles in which an SM had no warp at all",
        ("tpc__warps_inactive_sm_idle_realtime.avg.pct_of_peak_sustained_elapsed",),
    ),
    Metric(
        "sm.unused_slots",
        "ratio",
        "Unused warp slots",
        "low",
        "Warp slots left empty while the SM was active",
        ("tpc__warps_inactive_sm_active_realtime.avg.pct_of_peak_sustained_elapsed",),
    ),
    Metric(
        "sm.cycles_active",
        "cycle",
        "SM active cycles",
        "",
        "Cycles with at least one warp, per SM",
        ("sm__cycles_active.avg", "SM Active Cycles", "Average SM Active Cycles"),
        bounded=False,
    ),
    Metric(
        "sm.cycles_elapsed",
        "cycle",
        "Elapsed cycles",
        "low",
        "SM cycles of the whole range",
        (
            "sm__cycles_elapsed.max",
            "sm__cycles_elapsed.avg",
            "Elapsed Cycles",
            "sm__elapsed_cycles_avg",
            "gpc__cycles_elapsed.max",
        ),
        bounded=False,
    ),
    # P3 v1 judges by issue slots, v2 by the SM's throughput: both over active cycles, so that idle time hides nothing
    Metric(
        "sm.issue_per_elapsed",
        "ratio",
        "Issue utilisation, elapsed",
        "",
        "Issue slots used over elapsed cycles (P3 v1)",
        (
            "sm__issue_active_per_elapsed_cycle_sol_pct",
            "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
            "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
            "smsp__issue_active.avg.pct_of_peak_sustained_elapsed",
            "SM Issue Utilization per Elapsed Cycle",
        ),
    ),
    Metric(
        "sm.issue_per_active",
        "ratio",
        "Issue utilisation, active",
        "",
        "Issue slots used over cycles with a warp resident (P3 v1: decides case C or D)",
        (
            "sm__issue_active_per_active_cycle_sol_pct",
            "sm__inst_issued.avg.pct_of_peak_sustained_active",
            "smsp__issue_active.avg.pct_of_peak_sustained_active",
            "SM Issue Utilization per Active Cycle",
            "Issue Slots Busy",
            "One or More Eligible",
            "smsp__issue_active_per_active_cycle_pct",
            "sm__inst_issued_per_active_cycle_sol_pct",
        ),
    ),
    Metric(
        "sm.busy",
        "ratio",
        "SM busy",
        "",
        "Share of peak of the busiest SM pipeline, over active cycles",
        ("SM Busy", "sm__instruction_throughput.avg.pct_of_peak_sustained_active"),
    ),
    # Instructions per cycle of an SM; since Volta each of its four schedulers issues one at most.
    Metric(
        "sm.ipc_active",
        "count",
        "IPC, active",
        "high",
        "Instructions executed per active SM cycle",
        ("Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active", "sm__inst_executed_avg_per_active_cycle"),
        bounded=False,
    ),
    Metric(
        "sm.ipc_elapsed",
        "count",
        "IPC, elapsed",
        "high",
        "Instructions executed per elapsed SM cycle",
        ("Executed Ipc Elapsed", "sm__inst_executed.avg.per_cycle_elapsed", "sm__inst_executed_avg_per_elapsed_cycle"),
        bounded=False,
    ),
    Metric(
        "sm.ipc_issued",
        "count",
        "Issued IPC, active",
        "high",
        "Instructions issued per active SM cycle, replays included",
        ("Issued Ipc Active", "sm__inst_issued.avg.per_cycle_active", "sm__inst_issued_avg_per_active_cycle"),
        bounded=False,
    ),
    # warps there are, over cycles with any or over all of them: the latter are lower by the SM's idle time
    Metric(
        "sm.active_warps",
        "count",
        "Active warps per SM",
        "",
        "Warps resident per SM and active cycle",
        (
            "SM Occupancy",
            "sm__active_warps_avg_per_active_cycle",
            "sm__warps_active.avg.per_cycle_active",
            "Achieved Active Warps Per SM",
            "SM Occupancy [warps]",
        ),
        bounded=False,
    ),
    Metric(
        "sm.occupancy",
        "ratio",
        "Achieved occupancy",
        "",
        "Warps (waves) resident as a share of the hardware's slots, over active cycles",
        (
            "Achieved Occupancy",
            "sm__warps_active.avg.pct_of_peak_sustained_active",
            "sm__active_warps_avg_per_active_cycle_pct",
            "occupancy",
        ),
    ),
    Metric(
        "sm.occupancy_elapsed",
        "ratio",
        "Occupancy, elapsed",
        "",
        "Warps resident as a share of the hardware's slots, over elapsed cycles",
        ("sm__warps_active.avg.pct_of_peak_sustained_elapsed",),
    ),
    Metric(
        "sm.occupancy_most",
        "ratio",
        "Occupancy at most",
        "",
        "Waves per SIMD as a share of the wave slots that the GPU with the fewest has: used where the GPU is unknown",
    ),
    Metric(
        "sm.warps_cs",
        "ratio",
        "CS warps resident",
        "",
        "Warp slots held by compute shaders, over elapsed cycles",
        ("tpc__warps_active_shader_cs_realtime.avg.pct_of_peak_sustained_elapsed",),
    ),
    Metric(
        "sm.warps_ps",
        "ratio",
        "PS warps resident",
        "",
        "Warp slots held by pixel shaders, over elapsed cycles",
        ("tpc__warps_active_shader_ps_realtime.avg.pct_of_peak_sustained_elapsed",),
    ),
    Metric(
        "sm.warps_vtg",
        "ratio",
        "VTG warps resident",
        "",
        "Warp slots held by vertex, tessellation and geometry shaders, over elapsed cycles",
        ("tpc__warps_active_shader_vtg_realtime.avg.pct_of_peak_sustained_elapsed",),
    ),
    Metric(
        "sm.warps_launched",
        "count",
        "Warps launched",
        "",
        "Warps started",
        ("sm__warps_launched.sum", "smsp__warps_launched.sum"),
        additive=True,
    ),
    Metric(
        "warp.cycles_all",
        "cycle",
        "Cycles of all warps",
        "",
        "Cycles that each warp spent resident, added up",
        ("smsp__warps_active.sum", "sm__warps_active.sum"),
        additive=True,
        bounded=False,
    ),
    # schedulers: how often one has a warp to issue from
    Metric(
        "warp.cycles_per_issue",
        "count",
        "Warp cycles per issue",
        "low",
        "Cycles between two instructions of one warp (warp latency)",
        (
            "Warp Cycles Per Issued Instruction",
            "smsp__average_warp_latency_per_inst_issued.ratio",
            "smsp__average_warps_active_per_inst_issued.ratio",
            "smsp__warp_cycles_per_inst_issued",
            "smsp__average_warps_active_per_issue_active.ratio",
        ),
        bounded=False,
    ),
    Metric(
        "warp.cycles_per_executed",
        "count",
        "Warp cycles per executed instruction",
        "low",
        "Cycles between two executed instructions of one warp",
        (
            "Warp Cycles Per Executed Instruction",
            "smsp__average_warps_active_per_inst_executed.ratio",
            "smsp__warp_cycles_per_inst_executed",
        ),
        bounded=False,
    ),
    Metric(
        "warp.issued_per_scheduler",
        "count",
        "Issued warps per scheduler",
        "high",
        "Instructions issued per scheduler and active cycle, at most 1",
        (
            "Issued Warp Per Scheduler",
            "smsp__issue_active.avg.per_cycle_active",
            "smsp__issue_active_avg_per_active_cycle",
        ),
        bounded=False,
    ),
    Metric(
        "warp.eligible",
        "count",
        "Eligible warps per scheduler",
        "high",
        "Warps ready to issue, per scheduler and active cycle",
        (
            "Eligible Warps Per Scheduler",
            "smsp__warps_eligible.avg.per_cycle_active",
            "smsp__eligible_warps_avg_per_active_cycle",
        ),
        bounded=False,
    ),
    Metric(
        "warp.active_per_scheduler",
        "count",
        "Active warps per scheduler",
        "",
        "Warps resident per scheduler and active cycle",
        (
            "Active Warps Per Scheduler",
            "smsp__warps_active.avg.per_cycle_active",
            "smsp__active_warps_avg_per_active_cycle",
        ),
        bounded=False,
    ),
    # divergence: 32 lanes, less those branched away, less those predicated off
    Metric(
        "warp.threads_per_inst",
        "count",
        "Active threads per warp",
        "high",
        "Threads active per executed warp instruction, of the warp's width",
        (
            "Avg. Active Threads Per Warp",
            "smsp__thread_inst_executed_per_inst_executed.ratio",
            "smsp__thread_inst_executed_per_inst_executed",
        ),
        bounded=False,
    ),
    Metric(
        "warp.unpredicated_threads_per_inst",
        "count",
        "Unpredicated threads per warp",
        "high",
        "Threads neither inactive nor predicated off per executed warp instruction",
        (
            "Avg. Not Predicated Off Threads Per Warp",
            "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
            "smsp__thread_inst_executed_not_pred_off_per_inst_executed",
        ),
        bounded=False,
    ),
    *(m for reason, meaning in STALLS.items() for m in _stall(reason, meaning)),
)
