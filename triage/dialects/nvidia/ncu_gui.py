"""Nsight Compute, the table of the GUI's Summary page: a few figures per launch, units in the headers."""

from __future__ import annotations

import re

from triage.capture.capture import Table
from triage.capture.cells import cells, delimiter
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.nvidia import ncu_names, ncu_wide
from triage.dialects.nvidia.ncu_file import Header
from triage.schema import normal

NAME = "ncu-gui"
SIGN = ("function name", "demangled name")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "Nsight Compute GUI, Summary page export"
CAPTURE = """\
Open the report in Nsight Compute and export the table of the *Raw* page to CSV; the table of the *Summary* page is \
read too.

The Summary table carries durations, the two throughputs and registers only. For a full diagnosis export the raw page: \
`ncu --import report.ncu-rep --csv --page raw --print-units base > kernels.csv`"""

# columns can be chosen and ordered in the window, so nothing but a name and one figure with its unit is sure
_HEADER = Header(
    b"Name", re.compile(r'(?=.*(?:Function|Demangled) Name"?\s*[,;\t|])(?=.*(?:Duration|Cycles|Throughput) ?\[)')
)

names = ncu_names.names
collect = ncu_names.collect


def recognise(source: Source) -> Match | None:
    """A header with Function Name or Demangled Name and figures with bracketed units."""
    for line in source.head_lines[:200]:
        if "[" in line and ("Function Name" in line or "Demangled Name" in line):
            low = [normal(c) for c in cells(line, delimiter(line))]
            if "id" in low and "metric name" not in low:
                return Match(0.9, "Nsight Compute GUI columns: ID, Function Name, units in brackets")
    return None


def read(source: Source, options: Options) -> Table:
    """Every launch in file order; raises UnknownUnit when the decimal sign stays open."""
    return ncu_wide.read(source, NAME, _HEADER, brackets=True, decimal=options.decimal)
