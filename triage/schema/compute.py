"""Instruction mix and arithmetic."""

from triage.schema._metric import Metric

_PIPES = {
    "alu": "integer and logic",
    "fma": "FP32 multiply-add",
    "fmaheavy": "heavy FP32 and integer multiply",
    "fmalite": "light FP32",
    "fp16": "half precision",
    "fp64": "double precision",
    "xu": "special functions, conversions",
    "lsu": "load/store",
    "tex": "texture",
    "tensor": "matrix (tensor) unit",
    "tc": "fifth-generation matrix (tensor) unit",
    "uniform": "uniform datapath",
    "adu": "address divergence",
    "cbu": "branches",
}


# the SM and its sub-partitions count the same instructions; tuners collect the latter
_AT = ("sm", "smsp")
# parts of a pipe that stand for it where the whole was not exported
_OPS = ("hmma", "imma", "dmma")
_PARTS = {"tensor": (*(f"tensor_op_{op}" for op in _OPS), *(f"tensor_subpipe_{op}" for op in _OPS))}


# A pipe can be busy without being issued to, as FP64 on consumer cards with one unit for many lanes: both are kept.
def _pipe(name: str, what: str) -> tuple[Metric, ...]:
    names = (name, *_PARTS.get(name, ()))
    return (
        Metric(
            f"pipe.{name}",
            "ratio",
            f"{name.upper()} pipe issue",
            "",
            f"Instructions issued to the {what} pipe as a share of its peak, over active cycles",
            tuple(f"{at}__inst_executed_pipe_{n}.avg.pct_of_peak_sustained_active" for n in names for at in _AT),
        ),
        Metric(
            f"pipe_busy.{name}",
            "ratio",
            f"{name.upper()} pipe busy",
            "",
            f"Cycles in which the {what} pipe was active, over active cycles",
            tuple(f"{at}__pipe_{n}_cycles_active.avg.pct_of_peak_sustained_active" for n in names for at in _AT),
        ),
    )


def _flops() -> tuple[Metric, ...]:
    out = []
    for letter, title in (("f", "FP32"), ("d", "FP64"), ("h", "FP16")):
        for op in ("add", "mul", "fma"):
            names = [f"{where}__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum" for where in ("sm", "smsp")]
            out.append(
                Metric(
                    f"inst.{letter}{op}",
                    "count",
                    f"{title} {op} instructions",
                    "",
                    f"Thread-level {title} {op} instructions",
                    tuple(names),
                    additive=True,
                )
            )
    return tuple(out)


def _rates() -> tuple[Metric, ...]:
    """Thread-level operations per cycle of the whole GPU, as the roofline section prints them."""
    out = []
    for letter, title in (("f", "FP32"), ("d", "FP64")):
        for op in ("add", "mul", "fma"):
            counter = f"smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum.per_cycle_elapsed"
            # the details page writes FFMA in capitals; PerfWorks writes ffma
            label = f"Predicated-On {letter}{op}".upper().replace("PREDICATED-ON", "Predicated-On")
            out.append(
                Metric(
                    f"inst_rate.{letter}{op}",
                    "count",
                    f"{title} {op} per cycle",
                    "",
                    f"Thread-level {title} {op} instructions per elapsed cycle, whole GPU",
                    (counter, f"{label} Thread Instructions Executed Per Cycle"),
                    bounded=False,
                )
            )
        peak = f"sm__sass_thread_inst_executed_op_{letter}fma_pred_on.sum.peak_sustained"
        shown = f"Theoretical Predicated-On {letter.upper()}FMA Thread Instructions Executed"
        out.append(
            Metric(
                f"peak.{letter}fma_per_cycle",
                "count",
                f"Peak {title} fma per cycle",
                "",
                f"Thread-level {title} multiply-adds the GPU can execute per cycle",
                (peak, shown),
                bounded=False,
            )
        )
    return tuple(out)


def _elapsed() -> tuple[Metric, ...]:
    units = {
        "sm": ("sm", "SM"),
        "smsp": ("smsp", "SMSP"),
        "l1tex": ("l1tex", "L1"),
        "l2": ("lts", "L2"),
        "vram": ("dram", "DRAM"),
    }
    return tuple(
        Metric(
            f"{where}.cycles_elapsed_sum",
            "cycle",
            f"{label} elapsed cycles, all",
            "",
            f"Elapsed cycles summed over all {label} units; divided by active cycles it shows uneven work",
            (f"{counter}__cycles_elapsed.sum", f"Total {label} Elapsed Cycles"),
            bounded=False,
        )
        for where, (counter, label) in units.items()
    )


METRICS = (
    *(m for name, what in _PIPES.items() for m in _pipe(name, what)),
    *_flops(),
    *_rates(),
    *_elapsed(),
    # instructions; sm__ and smsp__ names count the same, over SMs or over their four sub-partitions
    Metric(
        "inst.tensor",
        "count",
        "Tensor instructions",
        "",
        "Warp-level instructions of the tensor pipe",
        ("sm__inst_executed_pipe_tensor.sum", "smsp__inst_executed_pipe_tensor.sum"),
        additive=True,
    ),
    # one instruction of a warp group counts once per warp of it, and is not among those of the pipe above
    Metric(
        "inst.gmma",
        "count",
        "Warp-group matrix instructions",
        "",
        "Asynchronous matrix instructions of warp groups (WGMMA), counted per warp",
        ("sm__inst_executed_pipe_tensor_op_gmma.sum", "smsp__inst_executed_pipe_tensor_op_gmma.sum"),
        additive=True,
    ),
    Metric(
        "pipe.gmma",
        "ratio",
        "Warp-group matrix issue",
        "",
        "Asynchronous matrix instructions of warp groups as a share of their peak, over active cycles",
        tuple(f"{at}__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active" for at in _AT),
        bounded=False,
    ),
    Metric(
        "branch.count",
        "count",
        "Branch instructions",
        "",
        "Warp-level branch instructions executed",
        ("Branch Instructions", "smsp__inst_executed_op_branch.sum"),
        additive=True,
    ),
    Metric("flop.rate_fp32", "flop/s", "FP32 rate", "", "FP32 operations per second (a multiply-add counts two)"),
    Metric("flop.rate_fp64", "flop/s", "FP64 rate", "", "FP64 operations per second (a multiply-add counts two)"),
    Metric(
        "inst.executed",
        "count",
        "Instructions executed",
        "low",
        "Warp-level instructions executed",
        ("Executed Instructions", "smsp__inst_executed.sum", "sm__inst_executed.sum"),
        additive=True,
    ),
    Metric(
        "inst.issued",
        "count",
        "Instructions issued",
        "low",
        "Warp-level instructions issued, replays included",
        ("Issued Instructions", "smsp__inst_issued.sum", "sm__inst_issued.sum"),
        additive=True,
    ),
    Metric(
        "branch.efficiency",
        "ratio",
        "Branch efficiency",
        "high",
        "Branches in which all threads of the warp agreed",
        ("Branch Efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct"),
    ),
    Metric(
        "branch.ratio",
        "ratio",
        "Branch share",
        "",
        "Branch instructions among all executed instructions",
        ("Branch Instructions Ratio", "smsp__inst_executed_op_branch_pct"),
    ),
    Metric(
        "branch.divergent",
        "count",
        "Divergent branches",
        "low",
        "Divergent branches per scheduler",
        ("Avg. Divergent Branches", "smsp__branches_divergent.avg"),
        bounded=False,
    ),
    # average and busiest unit of a kind: their distance is the imbalance
    Metric(
        "sm.cycles_active_max",
        "cycle",
        "Busiest SM's active cycles",
        "",
        "Active cycles of the busiest SM",
        ("sm__cycles_active.max",),
        bounded=False,
    ),
    Metric(
        "smsp.cycles_active",
        "cycle",
        "Sub-partition active cycles",
        "",
        "Active cycles per SM sub-partition",
        ("smsp__cycles_active.avg", "Average SMSP Active Cycles"),
        bounded=False,
    ),
    Metric(
        "smsp.cycles_active_max",
        "cycle",
        "Busiest sub-partition's cycles",
        "",
        "Active cycles of the busiest SM sub-partition",
        ("smsp__cycles_active.max",),
        bounded=False,
    ),
    Metric(
        "l1tex.cycles_active",
        "cycle",
        "L1 active cycles",
        "",
        "Active cycles per L1/TEX slice",
        ("l1tex__cycles_active.avg", "Average L1 Active Cycles"),
        bounded=False,
    ),
    Metric(
        "l1tex.cycles_active_max",
        "cycle",
        "Busiest L1's active cycles",
        "",
        "Active cycles of the busiest L1/TEX",
        ("l1tex__cycles_active.max",),
        bounded=False,
    ),
    Metric(
        "l2.cycles_active",
        "cycle",
        "L2 active cycles",
        "",
        "Active cycles per L2 slice",
        ("lts__cycles_active.avg", "Average L2 Active Cycles"),
        bounded=False,
    ),
    Metric(
        "l2.cycles_active_max",
        "cycle",
        "Busiest L2 slice's cycles",
        "",
        "Active cycles of the busiest L2 slice",
        ("lts__cycles_active.max",),
        bounded=False,
    ),
    Metric(
        "vram.cycles_active",
        "cycle",
        "VRAM active cycles",
        "",
        "Active cycles per VRAM channel",
        ("dram__cycles_active.avg", "Average DRAM Active Cycles"),
        bounded=False,
    ),
    Metric(
        "vram.cycles_active_max",
        "cycle",
        "Busiest VRAM channel's cycles",
        "",
        "Active cycles of the busiest VRAM channel",
        ("dram__cycles_active.max",),
        bounded=False,
    ),
)
