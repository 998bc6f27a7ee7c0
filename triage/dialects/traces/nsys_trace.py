"""Nsight Systems, cuda_gpu_trace: one record per kernel launch and memory operation, with its launch shape."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.tables import extents, trace_span
from triage.dialects.tables.wide_table import Wide
from triage.dialects.traces import listed_trace, nsys
from triage.ground import units

NAME = "nsys-trace"
SIGN = ("grdx",)
TOGETHER = ("GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ", "Reg/Trd")  # of kernels
WHOLE = ("start (ns)", "duration (ns)", *map(str.lower, TOGETHER))
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "Nsight Systems, GPU trace (one record per launch)"
CAPTURE = nsys.CAPTURE
_PLAIN = {"launch.registers": ("reg/trd",), "launch.shared_static": ("stcsmem",), "launch.shared_dynamic": ("dymsmem",)}
_NUMBERS = "start duration grdx grdy grdz blkx blky blkz reg/trd stcsmem dymsmem bytes strm".split()
_SHAPES = {"launch.grid_size": ("grdx", "grdy", "grdz"), "launch.block_size": ("blkx", "blky", "blkz")}
collect = nsys.collect


def names() -> dict[str, list[str]]:
    """canonical id -> header of the trace."""
    return {
        "gpu.time": ["Duration (ns)"],
        "launch.grid_size": ["GrdX x GrdY x GrdZ"],
        "launch.block_size": ["BlkX x BlkY x BlkZ"],
        "launch.registers": ["Reg/Trd"],
        "launch.shared_static": ["StcSMem (MB)"],
        "launch.shared_dynamic": ["DymSMem (MB)"],
        "frame.calls": ["(records)"],
    }


def recognise(source: Source) -> Match | None:
    """Start, Duration, GrdX, BlkX and Name in one header."""
    if source.is_folder:
        return None
    if any(f.report == "cuda_gpu_trace" for f in nsys.find(source)):
        return Match(0.92, "columns of the nsys stats report cuda_gpu_trace")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per record in file order; memory operations have kind copy. Raises BadCapture without records."""
    found = next(f for f in nsys.find(source) if f.report == "cuda_gpu_trace")
    low = [nsys.bare(h) for h in found.headers]
    text = [i for i, h in enumerate(low) if h in ("name", "device", "srcmemkd", "dstmemkd")]
    numeric = [i for i, h in enumerate(low) if h in _NUMBERS]
    grid = nsys.read(source, found, numeric, text)
    if "device" in low:  # blanks behind a name make no other device
        named = grid.texts[low.index("device")]
        plain = {d: " ".join(str(d).split()) for d in set(named)}
        grid.texts[low.index("device")] = np.array([plain[d] for d in named], dtype=object)
    table = grid.table(NAME, source, grid.texts[low.index("name")])
    table.columns["gpu.time"] = nsys.time(source, grid, found, low.index("duration"))
    extents.multiply(table, grid, found.headers, {m: [low.index(a) for a in x if a in low] for m, x in _SHAPES.items()})
    # ignore registers and shared memory of copies: their cells hold other things
    launched = np.isfinite(table.columns["launch.grid_size"].values) if "launch.grid_size" in table.columns else None
    for metric, accepted in _PLAIN.items():
        for c in (i for i, h in enumerate(low) if h in accepted):
            unit = nsys.unit_of(found.headers[c])
            factor = units.factor(unit, "byte") if unit else 1.0
            column = table.columns[metric] = grid.column(c, unit, factor)
            if launched is not None:
                column.values = np.where(launched, column.values, np.nan)
    table.kinds = trace_span.kinds(table.names)
    _timeline(table, source, grid, found, low)
    if "device" in low:
        devices = list(dict.fromkeys(str(d) for d in grid.texts[low.index("device")] if d))
        table.device = re.sub(r"\s*\(\d+\)\s*$", "", devices[0]) if devices else ""
        if len(devices) > 1:
            table.notes.append(
                f"work on {len(devices)} devices ({', '.join(devices[:4])}); the first one's limits are used"
            )
    table.notes.append("nsys stats report cuda_gpu_trace: times and launch shapes without counters")
    return table


def _timeline(table: Table, source: Source, grid: Wide, found: nsys.ReportTable, low: list[str]) -> None:
    """What ran when. A table without starts, or with one that is none, is a list: its frame is what its rows add up to."""
    if "start" not in low:
        return
    began, lasted = nsys.time(source, grid, found, low.index("start")), table.columns["gpu.time"].values
    table.raw[began.header] = began
    size = None
    if "bytes" in low and (unit := nsys.unit_of(found.headers[low.index("bytes")])):
        size = grid.numbers[low.index("bytes")] * units.factor(unit, "byte")
    table.trace = listed_trace.trace(
        began.values,
        lasted,
        table.names,
        grid.texts[low.index("device")] if "device" in low else None,
        grid.numbers[low.index("strm")] if "strm" in low else None,
        size,
        [grid.texts[low.index(h)] for h in ("srcmemkd", "dstmemkd") if h in low],
    )
    if table.trace is None:
        table.frame_ns = trace_span.span(began.values, lasted)
