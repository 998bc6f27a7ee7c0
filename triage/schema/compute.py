"""Instruction mix and arithmetic."""

from triage.schema._metric import Metric

_PIPES = {
    "alu": "integer and logic", "fma": "FP32 multiply-add", "fp16": "half precision", "fp64": "double precision",
    "xu": "special functions, conversions", "lsu": "load/store", "tex": "texture", "tensor": "matrix (tensor) unit",
    "uniform": "uniform datapath", "adu": "address divergence", "cbu": "branches",
}  # fmt: skip


def _pipe(name: str, what: str) -> tuple[Metric, ...]:
    return (
        Metric(f"pipe.{name}", "ratio", f"{name.upper()} pipe issue", "",
               f"Instructions issued to the {what} pipe as a share of its peak, over active cycles",
               (f"sm__inst_executed_pipe_{name}.avg.pct_of_peak_sustained_active",)),
        Metric(f"pipe_busy.{name}", "ratio", f"{name.upper()} pipe busy", "",
               f"Cycles in which the {what} pipe was active, over active cycles",
               (f"sm__pipe_{name}_cycles_active.avg.pct_of_peak_sustained_active",)),
    )  # fmt: skip


def _flops() -> tuple[Metric, ...]:
    out = []
    for letter, title in (("f", "FP32"), ("d", "FP64"), ("h", "FP16")):
        for op in ("add", "mul", "fma"):
            names = [f"{where}__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum" for where in ("sm", "smsp")]
            out.append(Metric(f"inst.{letter}{op}", "count", f"{title} {op} instructions", "",
                              f"Thread-level {title} {op} instructions", tuple(names), additive=True))  # fmt: skip
    return tuple(out)


METRICS = (
    *(m for name, what in _PIPES.items() for m in _pipe(name, what)),
    *_flops(),
    Metric("flop.rate_fp32", "flop/s", "FP32 rate", "", "FP32 operations per second (a multiply-add counts two)"),
    Metric("flop.rate_fp64", "flop/s", "FP64 rate", "", "FP64 operations per second (a multiply-add counts two)"),
    Metric("inst.executed", "count", "Instructions executed", "low", "Warp-level instructions executed",
           ("Executed Instructions", "smsp__inst_executed.sum", "sm__inst_executed.sum"), additive=True),
    Metric("inst.issued", "count", "Instructions issued", "low", "Warp-level instructions issued, replays included",
           ("Issued Instructions", "smsp__inst_issued.sum", "sm__inst_issued.sum"), additive=True),
    Metric("branch.efficiency", "ratio", "Branch efficiency", "high", "Branches in which all threads of the warp agreed",
           ("Branch Efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct")),
    Metric("branch.ratio", "ratio", "Branch share", "", "Branch instructions among all executed instructions",
           ("Branch Instructions Ratio", "smsp__inst_executed_op_branch_pct")),
    Metric("branch.divergent", "count", "Divergent branches", "low", "Divergent branches per scheduler",
           ("Avg. Divergent Branches", "smsp__branches_divergent.avg"), bounded=False),
    Metric("atomics.l2_sectors", "count", "L2 atomic sectors", "low", "L2 sectors of atomics and reductions",
           ("lts__t_sectors_op_atom.sum",), additive=True),
    Metric("atomics.l2_red_sectors", "count", "L2 reduction sectors", "low", "L2 sectors of reductions without return",
           ("lts__t_sectors_op_red.sum",), additive=True),
    Metric("sm.cycles_active_max", "cycle", "Busiest SM's active cycles", "", "Active cycles of the busiest SM",
           ("sm__cycles_active.max",), bounded=False),
    Metric("smsp.cycles_active", "cycle", "Sub-partition active cycles", "", "Active cycles per SM sub-partition",
           ("smsp__cycles_active.avg", "Average SMSP Active Cycles"), bounded=False),
    Metric("smsp.cycles_active_max", "cycle", "Busiest sub-partition's cycles", "",
           "Active cycles of the busiest SM sub-partition", ("smsp__cycles_active.max",), bounded=False),
    Metric("l1tex.cycles_active", "cycle", "L1 active cycles", "", "Active cycles per L1/TEX slice",
           ("l1tex__cycles_active.avg", "Average L1 Active Cycles"), bounded=False),
    Metric("l1tex.cycles_active_max", "cycle", "Busiest L1's active cycles", "", "Active cycles of the busiest L1/TEX",
           ("l1tex__cycles_active.max",), bounded=False),
    Metric("l2.cycles_active", "cycle", "L2 active cycles", "", "Active cycles per L2 slice",
           ("lts__cycles_active.avg", "Average L2 Active Cycles"), bounded=False),
    Metric("l2.cycles_active_max", "cycle", "Busiest L2 slice's cycles", "", "Active cycles of the busiest L2 slice",
           ("lts__cycles_active.max",), bounded=False),
    Metric("vram.cycles_active", "cycle", "VRAM active cycles", "", "Active cycles per VRAM channel",
           ("dram__cycles_active.avg", "Average DRAM Active Cycles"), bounded=False),
    Metric("vram.cycles_active_max", "cycle", "Busiest VRAM channel's cycles", "",
           "Active cycles of the busiest VRAM channel", ("dram__cycles_active.max",), bounded=False),
)  # fmt: skip
