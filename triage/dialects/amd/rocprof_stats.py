"""rocprof v1 `*.stats.csv`: kernels with calls and total time."""

from __future__ import annotations

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options, always
from triage.dialects.amd import stats
from triage.dialects.tables import wide_table
from triage.ground.collect_command import Command

NAME = "rocprof-stats"
REDUNDANT = stats.REDUNDANT
SIGN = ("totalduration",)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD rocprof kernel stats (calls and total time per kernel)"
CAPTURE = """\
`rocprof --stats ./app` writes `results.stats.csv` with one kernel per row. It ranks kernels; the counters that say why they
are slow need a counter run (see rocprof). The tables `*.hip_stats.csv`, `*.hsa_stats.csv` and `*.copy_stats.csv` have the same
columns but hold host calls and copies, and are refused.
"""
HINT = "the kernels are in results.stats.csv; for counters: rocprof -i counters.txt --timestamp on ./app"
names = stats.names


def recognise(source: Source) -> Match | None:
    """Match for the stats header without MinNs and MaxNs, which only rocprofv3 writes."""
    line, headers = stats.header(source)
    if not line or wide_table.find(headers, "MinNs") >= 0:
        return None
    return Match(0.85, f"rocprof stats columns (Name, Calls, TotalDurationNs, ...) on line {line}")


def read(source: Source, options: Options) -> Table:
    """The kernels; raises NotTriageable for HIP, HSA and copy stats."""
    return stats.read(source, NAME, HINT, options.decimal)


_RUN = "echo 'pmc: VALUBusy MemUnitBusy L2CacheHit' > counters.txt; rocprof -i counters.txt --timestamp on ./app"
collect = always(Command(_RUN, "rocprof"))
