"""nvprof, GPU trace: one record per launch and memory operation, units in the record below the header."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.arrays import Names
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.nvidia import nvprof, nvprof_metrics
from triage.dialects.tables import extents, trace_span, wide_table
from triage.ground import units
from triage.ground.errors import BadCapture, UnknownUnit
from triage.schema import normal

NAME = "nvprof-trace"
SIGN = ("grid",)
# of kernels
_LAUNCHED = tuple(f"{of} {axis}" for of in ("Grid", "Block") for axis in "XYZ")
TOGETHER = (*_LAUNCHED, "Registers Per Thread", "Static SMem", "Dynamic SMem")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "nvprof CSV, GPU trace (one record per launch)"
CAPTURE = nvprof.CAPTURE
_PLAIN = {
    "registers per thread": "launch.registers",
    "static smem": "launch.shared_static",
    "dynamic smem": "launch.shared_dynamic",
}
_TEXT_SIZES = {"Grid Size": "launch.grid_size", "Block Size": "launch.block_size"}
_TEXT_PLAIN = {"Regs*": "launch.registers", "SSMem*": "launch.shared_static", "DSMem*": "launch.shared_dynamic"}
_SHAPES = {"launch.grid_size": ("grid x", "grid y", "grid z"), "launch.block_size": ("block x", "block y", "block z")}


def names() -> dict[str, list[str]]:
    """canonical id -> header of the trace."""
    return {
        "gpu.time": ["Duration"],
        "launch.grid_size": ["Grid X x Grid Y x Grid Z"],
        "launch.block_size": ["Block X x Block Y x Block Z"],
        "launch.registers": ["Registers Per Thread"],
        "launch.shared_static": ["Static SMem"],
        "launch.shared_dynamic": ["Dynamic SMem"],
        "frame.calls": ["(records)"],
    }


collect = nvprof_metrics.collect


def recognise(source: Source) -> Match | None:
    """Start, Duration, Grid X and Name in one header."""
    if not any(f.kind == "trace" for f in nvprof.find(source)):
        return None
    return Match(0.9, "nvprof trace columns: Start, Duration, Grid X, Name")


def read(source: Source, options: Options) -> Table:
    """One row per record in file order; memory operations have kind copy.

    Raises UnknownUnit where the record of units is missing, BadCapture without records.
    """
    found = next(f for f in nvprof.find(source) if f.kind == "trace")
    if found.aligned:
        return _of_text(source, found)
    low = [normal(h) for h in found.headers]
    numeric = [i for i, h in enumerate(low) if h in ("start", "duration", *_PLAIN, *sum(_SHAPES.values(), ()))]
    text = [low.index("name"), *([low.index("device")] if "device" in low else [])]
    wide = wide_table.read(source, found.first - 1, found.headers, numeric, text, end_line=found.end)
    table = wide.table(NAME, source, wide.texts[text[0]])
    table.names = _without_correlation(table)
    duration = low.index("duration")
    table.columns["gpu.time"] = _time(source, found, wide, duration)
    extents.multiply(table, wide, found.headers, {m: [low.index(a) for a in x if a in low] for m, x in _SHAPES.items()})
    for header, metric in _PLAIN.items():
        if header in low:
            c = low.index(header)
            unit = found.units[c].strip()
            if not unit and metric != "launch.registers":  # the unit differs from file to file: no guess
                continue
            factor = _binary(unit) if unit else 1.0
            table.columns[metric] = wide.column(c, unit, factor)
    # copies and fills stand among the launches as `[CUDA memcpy HtoD]`, without a grid
    table.kinds = trace_span.kinds(table.names)
    if "start" in low:
        began = table.raw[found.headers[low.index("start")]] = _time(source, found, wide, low.index("start"))
        table.frame_ns = trace_span.span(began.values, table.columns["gpu.time"].values)
    if "device" in low:
        named = next((str(d) for d in wide.texts[low.index("device")] if d), "")
        table.device = re.sub(r"\s*\(\d+\)\s*$", "", named)
    table.notes.append("an nvprof GPU trace: times and launch shapes without counters")
    return table


def _of_text(source: Source, found: nvprof.TableLocation) -> Table:
    """The same from the text for people; raises BadCapture without records.

    Starts have five digits: rounded to 10 us and more they say nothing of the gaps between kernels.
    """
    rows = nvprof.records(source, found)
    if not rows:
        raise BadCapture(f"{source.path}: header without rows", "nothing ran on the GPU during profiling")
    source.delimiter = "\x1f"  # a quoted origin is then the whole line
    head = found.headers
    lines = np.array([n for n, _ in rows])
    texts = {h: [row[i] for _, row in rows] for i, h in enumerate(head)}
    table = Table(NAME, [source], np.array(texts["Name"], dtype=object), {}, lines=lines)
    table.names = _without_correlation(table)
    odd = Odd()
    table.columns["gpu.time"] = nvprof.glued_time(source, found, rows, head.index("Duration"), odd)
    for header, metric in _TEXT_SIZES.items():
        if header in head:
            read = extents.read(texts[header], header, table.line, odd, blanks=True)
            table.columns[metric] = Column(extents.totals(read), header, 1, "(x y z)")
    for header, metric in _TEXT_PLAIN.items():
        if header in head:
            values = np.array([_size(t) for t in texts[header]])
            table.columns[metric] = Column(values, header, 1)
    table.quality += odd.remarks()
    table.kinds = trace_span.kinds(table.names)
    table.device = next((t for t in texts.get("Device", []) if t.strip("-")), "")
    used = {"Start", "Duration", "Name", "Device", *_TEXT_SIZES, *_TEXT_PLAIN}
    table.unmapped = [h for h in head if h not in used]
    table.notes.append("an nvprof GPU trace as text: times and launch shapes without counters, rounded as printed")
    return table


def _size(text: str) -> float:
    """`8` and `1.5000KB` as a number, in bytes where a unit is printed; NaN for none."""
    m = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?B)?", text.strip())
    return float(m[1]) * (_binary(m[2]) if m[2] else 1.0) if m else np.nan


def _without_correlation(table: Table) -> Names:
    """Names without the launch number nvprof appends, which would keep repeats apart: `f(int) [1073]` -> `f(int)`."""
    cut = np.array([re.sub(r"\s\[\d+\]$", "", str(n)) for n in table.names], dtype=object)
    if (cut != table.names).any():
        table.notes.append("launch numbers behind the kernel names (`[1073]`) were cut off")
    return cut


def _binary(unit: str) -> float:
    """Factor to bytes. nvprof counts memory in binary steps: 8 KB of 2048 floats are 8192 bytes."""
    size = {"b": 1.0, "kb": 1024.0, "mb": 1024.0**2, "gb": 1024.0**3}.get(unit.lower())
    return size if size is not None else units.factor(unit, "byte")


def _time(source: Source, found: nvprof.TableLocation, wide: wide_table.Wide, c: int) -> Column:
    """A time column in ns; raises UnknownUnit when the record of units has none for it."""
    unit = found.units[c].strip()
    if not unit:
        raise UnknownUnit(
            f"{source.path}:{found.line}: column {found.headers[c]!r} without a unit", "export with nvprof --csv"
        )
    factor = units.factor(unit, "ns")
    return wide.column(c, unit, factor)
