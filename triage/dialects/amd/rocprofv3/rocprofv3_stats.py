"""rocprofv3 `*_kernel_stats.csv`: kernels with calls, total, shortest and longest time."""

from __future__ import annotations

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.amd import stats
from triage.dialects.amd.rocprofv3 import rocprofv3_counters
from triage.dialects.tables import wide_table

NAME = "rocprofv3-stats"
REDUNDANT = stats.REDUNDANT
SIGN = ("totalduration",)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD rocprofv3 kernel stats (calls and total time per kernel)"
CAPTURE = """\
`rocprofv3 --kernel-trace --stats -f csv -- ./app` writes `*_kernel_stats.csv` (one kernel per row) beside
`*_kernel_trace.csv` (one dispatch per row). Prefer the trace, which also holds registers, LDS and launch shapes. The tables
`*_hip_api_stats.csv`, `*_domain_stats.csv` and `*_memory_copy_stats.csv` hold no kernels and are refused.
"""
HINT = "profile with: rocprofv3 --kernel-trace --stats -f csv -- ./app, and give the *_kernel_trace.csv"
names = stats.names


def recognise(source: Source) -> Match | None:
    """The stats header with MinNs, MaxNs and StdDev."""
    line, headers = stats.header(source)
    if not line or wide_table.find(headers, "MinNs") < 0:
        return None
    return Match(0.85, f"rocprofv3 stats columns (Name, Calls, TotalDurationNs, ..., StdDev) on line {line}")


def read(source: Source, options: Options) -> Table:
    """The kernels; raises NotTriageable for API, domain and copy stats."""
    return stats.read(source, NAME, HINT, options.decimal)


collect = rocprofv3_counters.collect
