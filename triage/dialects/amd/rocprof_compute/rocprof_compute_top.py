"""Kernel summary of ROCm Compute Profiler / Omniperf (`pmc_kernel_top.csv`, panel 0.1): calls and total time per kernel."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.capture import Table
from triage.capture.redundancy import Product
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.amd import rocm
from triage.dialects.amd.rocprof_compute import pmc_perf
from triage.dialects.tables import wide_table
from triage.ground import units

NAME = "rocprof-compute-top"
REDUNDANT = (Product(("sum",), ("count",), ("mean",)),)
SIGN = ("kernel",)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD ROCm Compute Profiler / Omniperf top kernels (pmc_kernel_top.csv)"
CAPTURE = """\
`rocprof-compute analyze -p workloads/myapp/MI300X` writes `pmc_kernel_top.csv` into the workload folder. It ranks kernels only;
the folder itself (see rocprof-compute) also says why they are slow.
"""
_SUM = re.compile(r"Sum\s*\((\w+)\)\Z", re.IGNORECASE)


def names() -> dict[str, list[str]]:
    """Time and calls."""
    return {"gpu.time": ["Sum(ns)"], "frame.calls": ["Count"]}


def total_time(headers: list[str]) -> tuple[int, str]:
    """Position and unit of the total time, (-1, "") when there is none."""
    return next(((i, m[1]) for i, h in enumerate(headers) if (m := _SUM.fullmatch(h))), (-1, ""))


def recognise(source: Source) -> Match | None:
    """Kernel_Name, Count and a sum with its unit."""
    line, headers = wide_table.header(source)
    name, count = wide_table.find(headers, "Kernel_Name", "KernelName"), wide_table.find(headers, "Count")
    if not line or name < 0 or count < 0 or not total_time(headers)[1]:
        return None
    return Match(0.85, f"kernel summary columns (Kernel_Name, Count, Sum, ...) on line {line}")


def read(source: Source, options: Options) -> Table:
    """One row per kernel; raises BadCapture without rows."""
    line, headers = wide_table.header(source)
    name, count = wide_table.find(headers, "Kernel_Name", "KernelName"), wide_table.find(headers, "Count")
    # `Sum(ns)`: the header states the unit
    total, unit = total_time(headers)
    wide = wide_table.read(source, line, headers, [count, total], [name])
    table = wide.table(NAME, source, rocm.names(wide.texts[name]))
    table.kinds = np.full(len(table), "compute", dtype=object)
    table.columns["gpu.time"] = wide.column(total, unit, units.factor(unit, "ns"))
    table.columns["frame.calls"] = wide.column(count)
    return table


collect = pmc_perf.collect
