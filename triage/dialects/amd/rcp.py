"""Radeon Compute Profiler / CodeXL sessions: `# ...` lines, then one kernel dispatch per row with counters."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.amd import rocm
from triage.dialects.amd.counters import counter_names
from triage.dialects.amd.rocm_export import Export
from triage.dialects.tables import extents, wide_table
from triage.ground import units
from triage.ground.collect_command import Command

NAME = "rcp"
SIGN = ("globalworksize",)
TELLS = {"work": "compute", "vendor": "amd", "api": "opencl"}
TITLE = "AMD Radeon Compute Profiler / CodeXL session (SESSION.csv)"
CAPTURE = """\
    rcprof -P -o session.csv ./app        (older: CodeXLGpuProfiler -p -o session.csv ./app)

collects the counters of every kernel dispatch with its time. `-c counters.txt` chooses counters, `-O` adds kernel occupancy.
In CodeXL: Profile Mode, GPU: Performance Counters; the session folder holds the CSV.
"""
_LAUNCH = {
    "VGPRs": "launch.registers",
    "SGPRs": "launch.scalar_registers",
    "LocalMemSize": "launch.shared",
    "KernelOccupancy": "occupancy.theoretical",
}
# compute counters of the GPU Performance API that are metrics here (its manual, counter tables for compute)
_COUNTERS = (
    "Wavefronts", "VALUUtilization", "VALUBusy", "SALUBusy", "FetchSize", "WriteSize", "L2CacheHit", "MemUnitBusy", "MemUnitStalled",
    "WriteUnitStalled", "LDSBankConflict",
)  # fmt: skip
_DEVICE = re.compile(r"#\s*Device\s*(?:Name)?\s*[=:]?\s*([A-Za-z0-9][\w ()\-]*?)\s*(?:Platform|$)", re.MULTILINE)


def names() -> dict[str, list[str]]:
    """Launch columns and derived counters."""
    out = {m: [n] for n, m in _LAUNCH.items()} | {
        "gpu.time": ["Time"],
        "launch.block_size": ["WorkGroupSize"],
        "launch.threads": ["GlobalWorkSize"],
        "launch.grid_size": ["GlobalWorkSize / WorkGroupSize"],
    }
    for header, (metric, _) in counter_names.DIRECT.items():
        if not header.isupper():  # `FETCH_SIZE` and its like are the names of ROCm, not of this older tool
            out.setdefault(metric, []).append(header)
    return out


def recognise(source: Source) -> Match | None:
    """Method, ExecutionOrder and GlobalWorkSize after the comment lines."""
    line, headers = wide_table.header(source)
    if len(wide_table.positions(headers, ("Method", "GlobalWorkSize", "WorkGroupSize"))) == 3:
        return Match(0.95, f"session columns (Method, ..., GlobalWorkSize) on line {line}")
    return None


def read(source: Source, options: Options) -> Table:
    """The dispatches; raises BadCapture for a session without any."""
    line, headers = wide_table.header(source)
    bare = [wide_table.split_unit(h) for h in headers]  # `Time (ms)`, `LocalMemSize`: units only on some
    plain = [b for b, _ in bare]
    method, time = wide_table.find(plain, "Method"), wide_table.find(plain, "Time")
    sizes = wide_table.positions(plain, ("GlobalWorkSize", "WorkGroupSize"))
    launch = {_LAUNCH[h]: c for h, c in wide_table.positions(plain, _LAUNCH).items()}
    counters = {h: i for i, h in enumerate(plain) if h in counter_names.DIRECT}
    numeric = [*launch.values(), *counters.values(), *([time] if time >= 0 else [])]
    wide = wide_table.read(source, line, headers, numeric, [method, *sizes.values()], decimal=options.decimal)
    table = wide.table(NAME, source, rocm.names(wide.texts[method]))
    export = Export(source)
    if time >= 0:
        unit = bare[time][1] or "ms"  # the tool's only unit for this column
        table.columns["gpu.time"] = wide.column(time, unit, units.factor(unit, "ns"))
    for metric, c in launch.items():
        table.columns[metric] = wide.column(c, *(("%", 0.01) if metric == "occupancy.theoretical" else ()))
    _sizes(table, wide, sizes)
    for h, c in counters.items():
        export.counters[h] = wide.column(c)
    # only the comment lines say which GPU it was
    if m := _DEVICE.search("\n".join(source.head_lines[: line - 1])):
        table.device = m[1]
    return rocm.finish(table, export, options, names())


def _sizes(table: Table, wide: wide_table.Wide, sizes: dict[str, int]) -> None:
    """Group size, work-items and groups from cells like `{ 256 16 1 }`."""
    odd = Odd()
    parts = {w: extents.read(wide.texts[c], wide.headers[c], wide.line, odd, blanks=True) for w, c in sizes.items()}
    table.quality += odd.remarks()
    for what, metric in (("WorkGroupSize", "launch.block_size"), ("GlobalWorkSize", "launch.threads")):
        if what in parts:
            values = extents.totals(parts[what])
            formula = f"product of {wide.headers[sizes[what]]}"
            table.columns[metric] = Column.computed(values, formula)
    if len(parts) == 2:
        pairs = list(zip(parts["GlobalWorkSize"], parts["WorkGroupSize"], strict=True))
        values = np.array([_groups(g, w) for g, w in pairs])
        formula = "GlobalWorkSize / WorkGroupSize per axis"
        table.columns["launch.grid_size"] = Column.computed(values, formula, ("launch.threads", "launch.block_size"))


def _groups(work_items: list[float], group: list[float]) -> float:
    if not work_items or len(work_items) != len(group) or min(group) <= 0:
        return float("nan")
    return float(np.prod(np.ceil(np.divide(work_items, group))))  # a last group may be partly filled


def collect(metrics: list[str]) -> str:
    """The session command with the counters."""
    # the tool knows derived counters alone; raw ones of the hardware it refuses
    wanted = [header for m in metrics for header in _COUNTERS if counter_names.DIRECT[header][0] == m]
    counters = " ".join(dict.fromkeys(wanted)) or "VALUBusy MemUnitBusy"
    run = f"printf '%s\\n' {counters} > counters.txt; rcprof -P -c counters.txt -o session.csv ./app"
    return Command(run, "rcprof")
