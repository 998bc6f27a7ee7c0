"""rocprofv3 `*_pc_sampling_host_trap.csv` and `*_pc_sampling_stochastic.csv`: one sampled wave per row."""

from __future__ import annotations

import numpy as np

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.amd import agents
from triage.dialects.amd.counters import counter_names
from triage.dialects.amd.pc_sampling import sample_file, samples
from triage.dialects.amd.rocprofv3 import rocprofv3_counters, rocprofv3_kernels
from triage.dialects.tables import wide_table
from triage.ground.collect_command import Command
from triage.ground.errors import BadCapture

NAME = "rocprofv3-pc-samples"
SIGN = ("timestamp",)
MAY_LACK = ("Instruction_Comment",)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD rocprofv3 program-counter samples (host trap, stochastic)"
CAPTURE = """\
    rocprofv3 --kernel-trace --pc-sampling-beta-enabled --pc-sampling-method stochastic --pc-sampling-unit cycles \\
      --pc-sampling-interval 65536 -f csv json -- ./app

writes `*_pc_sampling_stochastic.csv`: what each sampled wave did, or why it did not. Before MI300: `--pc-sampling-method host_trap \
--pc-sampling-unit time --pc-sampling-interval 1`. The kernels' names and times are in the `*_kernel_trace.csv` beside it. Compile with \
`-gline-tables-only`, and places name source lines. `*_results.json` holds both.
"""
_COMMAND = "rocprofv3 --kernel-trace --pc-sampling-beta-enabled --pc-sampling-method {} -f csv -- ./app"
_STOCHASTIC = "stochastic --pc-sampling-unit cycles --pc-sampling-interval 65536"
_HOST_TRAP = "host_trap --pc-sampling-unit time --pc-sampling-interval 1"


def names() -> dict[str, list[str]]:
    """Shares of the waves' life; the trace beside them gives more."""
    return {metric: ["samples"] for metric in samples.METRICS}


def recognise(source: Source) -> Match | None:
    """The header of samples."""
    line, headers = wide_table.header(source)
    if not line or any(wide_table.find(headers, h) < 0 for h in sample_file.NEED):
        return None
    return Match(0.92, f"samples of waves (Sample_Timestamp, Exec_Mask, Instruction) on line {line}")


def read(source: Source, options: Options) -> Table:
    """The dispatches of the trace beside it, with the waits of their kernels; else one row for all samples.

    Raises BadCapture where no sample holds an instruction.
    """
    for ending in sample_file.ENDINGS:
        if trace := agents.beside(source, ending, rocprofv3_kernels.ENDING):
            table = rocprofv3_kernels.read(trace, options)
            table.dialect = NAME
            return agents.under(source, table)
    found, dispatches, remarks = sample_file.spots(source, {})
    if not found:
        raise BadCapture(f"{source.path}: no sample holds an instruction", "sample a kernel of the program for longer")
    what = f"{dispatches} sampled launches" if dispatches > 1 else "sampled launch"
    table = Table(NAME, [source], np.array([what], dtype=object), {}, lines=np.array([2]))
    table.kinds = np.full(1, "compute", dtype=object)
    table.quality += remarks
    samples.attach(table, {what: found[sample_file.ALL]}, source.name)
    table.notes.append(
        "samples without kernel names: record with --kernel-trace, and keep *_kernel_trace.csv beside the file"
    )
    return table


def collect(metrics: list[str], arch: str = "") -> str:
    """The counter run for what has counters, else the sampling run; "" where the GPU can do neither."""
    if counted := [m for m in metrics if counter_names.counters(m, arch)]:
        return rocprofv3_counters.collect(counted, arch)
    if not arch or arch.startswith(("gfx94", "gfx950")):
        return Command(_COMMAND.format(_STOCHASTIC), "rocprofv3")
    inexact = any(m in samples.METRICS and not samples.METRICS[m][2] for m in metrics)
    return Command(_COMMAND.format(_HOST_TRAP), "rocprofv3") if inexact and arch.startswith("gfx90a") else ""
