"""Nsight Compute, raw page as CSV: one record per launch, one column per counter, units in the record below the header.

With Block Size ... CC columns (2023 on) or with Kernel Time (before), PerfWorks or Pascal counter names.
"""

from __future__ import annotations

import re

from triage.capture.capture import Table
from triage.capture.cells import cells, delimiter
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.nvidia import ncu_names, ncu_wide
from triage.dialects.nvidia.ncu_file import Body, Header, header_text
from triage.schema import normal

NAME = "ncu-raw"
SIGN = ("process id", "==prof==", "==warning==", "==error==")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
MAY_LACK = ("launch__kernel_name", "derived_tempMetric4")
TITLE = "Nsight Compute CSV, raw page (wide)"
CAPTURE = """\
While profiling: `ncu --set full --csv --page raw --print-units base --log-file kernels.csv ./your-app`

From a report: `ncu --import report.ncu-rep --csv --page raw --print-units base > kernels.csv`

The raw page holds every collected counter under its full name, so it is the export that leaves the fewest blind \
spots. `--log-file` keeps the application's output out of the table."""

# what an application printed without a line end may stand before the first cell; spreadsheets add a column of their own
_START = re.compile(
    r'(?:\ufeff?(?:"?(?:Unnamed: 0)?"?[,;\t|])?"?ID"?|.{0,2000}"ID")\s*[,;\t|]\s*"?Process ID"?', re.DOTALL
)
_HEADER = Header(b"Process ID", _START)

names = ncu_names.names
collect = ncu_names.collect


def recognise(source: Source) -> Match | None:
    """A header that begins with ID, Process ID and goes on with counters instead of Metric Name."""
    if source.is_folder:
        return None
    line = next((t for t in source.head_lines[:20000] if _START.match(t)), "")
    # the table may begin beyond the head: behind the tool's own messages, or its header alone is longer than the head
    if not line and (
        re.search(r"^==(PROF|WARNING|ERROR)==", source.head_text, re.MULTILINE) or len(source.head_lines) < 2
    ):
        body = Body(source)
        line = next((body.line(at) for at in _HEADER.find(body, 1)), "")
    if not line:
        return None
    line = header_text(line)
    found = [c.strip() for c in cells(line, delimiter(line))]
    low = {normal(h) for h in found}
    if "metric name" in low or "kernel name" not in low:
        return None
    counters = sum("__" in h for h in found)
    return Match(0.95, f"wide Nsight Compute table: ID, Process ID, Kernel Name and {counters} counters")


def read(source: Source, options: Options) -> Table:
    """Every launch in file order; raises BadCapture when no record follows the header."""
    return ncu_wide.read(source, NAME, _HEADER, brackets=False, decimal=options.decimal)
