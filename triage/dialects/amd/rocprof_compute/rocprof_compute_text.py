"""What `rocprof-compute analyze` (Omniperf) prints: numbered panels drawn with box characters, as people paste them.

All panels describe the analysed dispatches together, so the text is one workload; with one kernel in 0.1 it has its name and time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.amd import rocm
from triage.dialects.amd.rocprof_compute import pmc_perf, rocprof_compute_panel, rocprof_compute_top
from triage.dialects.amd.rocprof_compute.rocprof_compute_panel import cell_number
from triage.dialects.tables import kernel_sums, wide_table
from triage.ground import units
from triage.ground.errors import NotTriageable

NAME = "rocprof-compute-text"
SIGN = ("╒═", "├─", "analysis mode = cli")
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD ROCm Compute Profiler / Omniperf console text (rocprof-compute analyze)"
CAPTURE = """\
`rocprof-compute analyze -p workloads/myapp/MI300X -k 0 > analysis.txt` prints all panels for one kernel. They are averages over its
dispatches; the workload folder itself (see rocprof-compute) holds every dispatch and is the better input.
"""
_BAR = "│"
_STARTS = "Analysis mode = cli"
_HEAD = re.compile(r"\s*(\d+(?:\.\d+)?)\.?\s+(\S.*?)\s*$")
_EDGE = re.compile(r"\s*[╒├╞╘┌└]")
_KERNELS, _SYSTEM, _LAUNCH = ("0.1", "0"), "1", "7.1"  # Omniperf 1 has no 0.1
_MIX, _ACCESSES = "10.1", "16.3"
_SHAPE = {
    "workgroup size": "launch.block_size",
    "total wavefronts": "waves.launched",
    "vgprs": "launch.registers",
    "agprs": "launch.accum_registers",
    "sgprs": "launch.scalar_registers",
    "lds allocation": "launch.shared",
    "scratch allocation": "launch.scratch",
}


class _Panel(Struct):
    """One drawn table: its number, header cells, and rows as (1-based line, cells)."""

    number: str
    headers: list[str] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)


def names() -> dict[str, list[str]]:
    """The rows of the panels."""
    shape = {metric: [f"{name} (panel 7.1)"] for name, metric in _SHAPE.items()}
    return rocprof_compute_panel.names() | shape | {"gpu.time": ["Sum(ns)"], "frame.calls": ["Count"]}


collect = pmc_perf.collect


def recognise(source: Source) -> Match | None:
    """A drawn table below a panel's number; or only the tool's own messages, to be refused with the next step."""
    if numbers := [panel.number for panel in _panels(source.head_lines) if panel.number]:
        return Match(0.9, f"drawn panels ({', '.join(numbers[:4])})")
    return Match(0.4, "messages of rocprof-compute analyze without a panel") if _STARTS in source.head_text else None


def read(source: Source, options: Options) -> Table:
    """The analysed kernel as one workload; raises NotTriageable where no panel says anything."""
    source.delimiter = _BAR  # so that origins quote the drawn cell
    drawn = list(_panels(source.lines()))
    kernels = next((p for p in drawn if p.number in _KERNELS and p.rows), None)
    name = kernels.rows[0][1][1] if kernels and len(kernels.rows) == 1 else rocprof_compute_panel.EVERY
    first = min((number for p in drawn for number, _ in p.rows), default=1)
    table = Table(NAME, [source], rocm.names(np.array([name], dtype=object)), {}, lines=np.array([first]))
    table.kinds = np.array(["compute"], dtype=object)
    for panel in drawn:
        if panel.number in _KERNELS:
            _times(source, panel, table)
        elif panel.number == _SYSTEM:
            about = {cells[0].lower(): cells[-1] for _, cells in panel.rows}
            table.device = about.get("gpu_model") or about.get("gpu_arch", "")
        elif panel.number == _LAUNCH:
            _launch(source, panel, table)
        else:
            # accesses per instruction: both panels count over the same, a wave or a kernel
            mixed = [p for p in drawn if p.number == _MIX and p.headers == panel.headers]
            listed = [panel, *mixed] if panel.number == _ACCESSES else [panel]
            rows = [row for p in listed for row in p.rows]
            part = rocprof_compute_panel.panel(source, panel.headers, rows, options, panel.number)
            if part is not None:
                for column in (*part.columns.values(), *part.raw.values()):
                    column.column += bool(column.column)  # a line begins with a bar; 0 is a formula
                table.columns |= {k: v for k, v in part.columns.items() if k not in table.columns}
                table.raw |= part.raw
                table.quality += part.quality
    if not table.columns:
        hint = "print all panels: rocprof-compute analyze -p FOLDER -k 0, or name the workload folder"
        raise NotTriageable(f"{source.path}: {len(drawn)} panels, of which none states a utilisation or a time", hint)
    if kernels and len(kernels.rows) > 1:
        table.notes.append(f"the panels sum up {len(kernels.rows)} kernels: print them for one of them with -k")
    table.notes.append("read from console text: averages over the analysed dispatches; the workload folder holds each")
    return table


def _panels(lines: Iterator[str] | list[str]) -> Iterator[_Panel]:
    """The drawn tables with rows, in order; a cell wrapped over several lines is joined."""
    number, panel, opened = "", None, False
    for at, line in enumerate(lines, 1):
        if _BAR not in line:
            if _EDGE.match(line):
                opened = True
            elif heading := _HEAD.match(line):
                if panel is not None and panel.rows:
                    yield panel
                number, panel = heading[1], None
            continue
        cells = [c.strip() for c in line.strip().strip(_BAR).split(_BAR)]
        if panel is None:
            panel = _Panel(number, cells)
        elif not opened and not cells[0] and panel.rows and len(cells) == len(panel.headers):
            last = panel.rows[-1][1]
            last[:] = [" ".join(filter(None, pair)) for pair in zip(last, cells, strict=True)]
        elif len(cells) == len(panel.headers):
            panel.rows.append((at, cells))
        opened = False
    if panel is not None and panel.rows:
        yield panel


def _times(source: Source, panel: _Panel, table: Table) -> None:
    """Time and calls of the kernels listed, together."""
    time, of_time = rocprof_compute_top.total_time(panel.headers)
    count = wide_table.find(panel.headers, "Count")
    for metric, i, unit in (("frame.calls", count, ""), ("gpu.time", time, of_time)):
        values = [cell_number(source, line, i, cells) for line, cells in panel.rows] if i >= 0 else []
        if not values or None in values:
            continue
        factor = units.factor(unit, "ns") if unit else 1.0
        total = sum(v for v in values if v is not None) * factor
        table.columns[metric] = Column.of_cell(total, panel.headers[i], i + 2, panel.rows[0][0], unit, factor)
    shares = wide_table.find(panel.headers, "Pct")
    values = [cell_number(source, line, shares, cells) for line, cells in panel.rows] if shares >= 0 else []
    if values and None not in values:
        kernel_sums.say_missing(table, np.array(values, dtype=float))


def _launch(source: Source, panel: _Panel, table: Table) -> None:
    """Panel 7.1: sizes and registers of a launch, averages over the dispatches."""
    try:
        name, average = panel.headers.index("Metric"), panel.headers.index("Avg")
    except ValueError:
        return
    numbers = ((line, row[name].lower(), cell_number(source, line, average, row)) for line, row in panel.rows)
    cells = {label: (line, v) for line, label, v in numbers if v is not None}
    for row, metric in _SHAPE.items():
        if row in cells:
            line, value = cells[row]
            table.columns[metric] = Column.of_cell(value, f"{row} (7.1)", average + 2, line)
    if "grid size" in cells and cells.get("workgroup size", (0, 0.0))[1]:
        (at, items), (beside, group) = cells["grid size"], cells["workgroup size"]
        for label, line, value in (("Grid Size", at, items), ("Workgroup Size", beside, group)):
            table.raw[label] = Column.of_cell(value, label, average + 2, line)
        groups, inputs = np.array([np.ceil(items / group)]), ("Grid Size", "Workgroup Size")
        table.columns["launch.grid_size"] = Column.computed(groups, " / ".join(inputs), inputs)
