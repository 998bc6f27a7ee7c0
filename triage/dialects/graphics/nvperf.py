"""NVIDIA Nsight Perf SDK report generator: nvperf_metrics.csv and nvperf_metrics_summary.csv."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Names
from triage.capture.capture import SEP, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.graphics import markers, perfworks
from triage.dialects.tables import wide_table
from triage.ground import units
from triage.ground.collect_command import Command
from triage.ground.errors import BadCapture

NAME = "nvperf"
SIGN = ("range",)
TELLS = {"vendor": "nvidia"}
TITLE = "Nsight Perf SDK report (nvperf_metrics.csv)"
CAPTURE = """\
In the application: a `ReportGenerator` of the Nsight Perf SDK with `outputOptions.enableCsvReport =
true`, `PushRange("Shadows")` and `PopRange()` around each pass, `SetNumNestingLevels` for nested ranges,
then `StartCollectionOnNextFrame()`. Give `nvperf_metrics.csv` of the report folder to `triage diagnose`;
`nvperf_metrics_summary.csv` has fewer counters per range. Lock the GPU clocks first
(`SetDeviceClockState`).
"""


_NAME = "Range Name"
_TIMES = ("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max")


def recognise(source: Source) -> Match | None:
    """First header `Range Name`, then PerfWorks counters."""
    _, headers = wide_table.header(source)
    if wide_table.find(headers, _NAME) < 0:
        return None
    counters = sum(bool(perfworks.counter(h)) for h in headers)
    if counters and counters >= 0.5 * (sum(bool(h) for h in headers) - 2):
        return Match(0.95, f"a column Range Name and {counters} PerfWorks counters")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per range; the range's full name is its path. Raises BadCapture without rows or known counters."""
    line, headers = wide_table.header(source)
    if not headers:
        raise BadCapture(f"{source.path}: the file is empty", "run the report again")
    name = max(wide_table.find(headers, _NAME), 0)
    counters = [(i, h) for i, h in enumerate(headers) if i != name and h]
    found, unmapped = markers.choose(counters, options.metrics)
    time = next(((i, h) for i, h in counters if perfworks.counter(wide_table.split_unit(h)[0]) in _TIMES), None)
    # shares of peak warp slots, from which perfworks computes stalls and occupancy
    raws = [(i, h) for i, h in counters if perfworks.stall_of(h) or perfworks.warps_of(h)]
    numeric = sorted({*(i for i, _, _ in found.values()), *(i for i, _ in raws), *([time[0]] if time else [])})
    if not numeric:
        raise BadCapture(f"{source.path}: none of the {len(counters)} counters is known", "see: triage list metrics")
    wide = wide_table.read(source, line, headers, numeric, [name], decimal=options.decimal)
    full = wide.texts[name]
    leaves, paths = _paths(full)
    table = wide.table(NAME, source, leaves)
    table.paths = paths
    for metric, (i, header, unit) in found.items():
        markers.column(table, metric, wide.numbers[i], i, header, unit)
    if time:
        # the report has no row of units, and PerfWorks counts times in ns; who edits a header may say another
        unit = wide_table.split_unit(time[1])[1] or "ns"
        table.columns["gpu.time"] = wide.column(time[0], unit, units.factor(unit, "ns"))
    for i, h in raws:
        unit = perfworks.unit_of(h)
        table.raw[h] = wide.column(i, unit, 0.01 if unit else 1.0)
    used = {h for _, h in raws} | ({time[1]} if time else set())
    table.unmapped = [h for h in unmapped if h not in used]
    perfworks.compute(table)
    table.kinds = perfworks.kinds(table)
    return table


def _paths(full: Names) -> tuple[Names, Names]:
    """Leaf and parents of full range names (`Frame/Shadows/Cascade 0`); a known range wins over a '/' in a name."""
    known = {str(f) for f in full}
    leaves, paths = np.empty(len(full), dtype=object), np.empty(len(full), dtype=object)
    for row, text in enumerate(full):
        rest, above = str(text), []
        at = rest.rfind("/")
        while at > 0 and rest[:at] not in known:
            at = rest.rfind("/", 0, at)
        if at > 0:
            above, rest = [p for p in rest[:at].split("/") if p], rest[at + 1 :]
        leaves[row], paths[row] = rest or f"range {row + 1}", SEP.join(above)
    return leaves, paths


def names() -> dict[str, list[str]]:
    """Any PerfWorks counter can be configured."""
    return {**perfworks.names(), "gpu.time": ["gpu__time_duration.sum"]}


def collect(metrics: list[str]) -> str:
    """Counters to add to the report definition."""
    table = names()
    wanted = sorted({table[m][0] for m in metrics if m in table})
    return Command.asking("add to the report's additional metrics: ", [f'"{w}"' for w in wanted])
