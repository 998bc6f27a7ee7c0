"""Nsight Systems, summaries per kernel: cuda_gpu_kern_sum, cuda_gpu_sum, and times of NVTX ranges on the GPU."""

from __future__ import annotations

import numpy as np

from triage.capture.capture import Column, Table
from triage.capture.redundancy import Extremes, Ordered, Product, Shares
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.tables import extents, kernel_sums, trace_span
from triage.dialects.traces import nsys
from triage.ground.errors import BadCapture
from triage.ground.units import show

NAME = "nsys-kernels"
SIGN = ("calls", "corrid", "grdx", "instances", "operation", "proj", "qcount", "queue", "range")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "Nsight Systems, GPU time per kernel"
CAPTURE = nsys.CAPTURE
_READS = ("cuda_gpu_kern_sum", "cuda_gpu_sum", "nvtx_gpu_proj_sum", "nvtx_kern_sum")
_COPIES, _CALLS = "cuda_gpu_mem_time_sum", "cuda_api_sum"
MUCH = 1.5  # heuristic: what takes that much longer than the kernels is said first
_TRACE = "cuda_gpu_trace"  # read by nsys_trace
_TIMES = {
    "gpu.time": ("Total Time", "Total Proj Time"),
    "gpu.time_median": ("Med", "Median", "Proj Med"),
    "gpu.time_min": ("Min", "Minimum", "Proj Min"),
    "gpu.time_max": ("Max", "Maximum", "Proj Max"),
    "gpu.time_stddev": ("StdDev", "Proj StdDev"),
}
_NAMES = ("kernel name", "name", "operation", "range")
_TOTAL, _COUNT = ("totaltime", "totalprojtime"), ("instances", "kerninst", "rangeinstances")
_SHORTEST, _LONGEST, _MEAN = ("min", "minimum", "projmin"), ("max", "maximum", "projmax"), ("avg", "average", "projavg")
REDUNDANT = (
    Product(_TOTAL, _COUNT, _MEAN),
    Shares(("time%",), _TOTAL),
    Ordered((_SHORTEST, _MEAN, _LONGEST)),
    Ordered((_SHORTEST, ("med", "median", "projmed"), _LONGEST)),
    Extremes(_TOTAL, _COUNT, _SHORTEST, _LONGEST, ("stddev", "projstddev")),
)
# one of them, or more in another unit of time (Nsight Systems User Guide, reports of nsys stats)
DECIMALS = ("Time (%)", "Time(%)", "Avg (ns)", "Med (ns)", "StdDev (ns)", "Average", "Median", "StdDev")
WHOLE = ("total time (ns)", "total proj time (ns)", "instances", "min (ns)", "max (ns)")
collect = nsys.collect


def names() -> dict[str, list[str]]:
    """canonical id -> header in the reports read here."""
    return {
        **{metric: [f"{name} (ns)" for name in accepted] for metric, accepted in _TIMES.items()},
        "frame.calls": ["Instances", "Kern Inst", "Range Instances"],
        "launch.grid_size": ["GridXYZ"],
        "launch.block_size": ["BlockXYZ"],
    }


def recognise(source: Source) -> Match | None:
    """Headers of an `nsys stats` report; those without GPU times are recognised to be refused by name."""
    if source.is_folder:
        return None
    found = nsys.find(source)
    usable = next((f for f in found if f.report in _READS), None)
    if usable:
        return Match(0.9, f"columns of the nsys stats report {usable.report}")
    if found and all(f.report != _TRACE for f in found):
        return Match(0.85, f"columns of the nsys stats report {found[0].report}")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per kernel (or per NVTX range projected on the GPU); raises NotTriageable for other reports."""
    found = nsys.find(source)
    usable = [f for f in found if f.report in _READS]
    if not usable:
        raise nsys.refuse(source, found) if found else BadCapture(f"{source.path}: no table found", "export again")
    # of several reports in one output the plainest: a kernel's time, not that of ranges around kernels
    best = min(usable, key=lambda f: _READS.index(f.report))
    low = [nsys.bare(h) for h in best.headers]
    name = next(low.index(n) for n in _NAMES if n in low)
    times = {m: low.index(n.lower()) for m, some in _TIMES.items() for n in reversed(some) if n.lower() in low}
    calls = next((low.index(n) for n in ("instances", "kern inst", "range instances", "count") if n in low), -1)
    shapes = {
        m: low.index(n) for m, n in (("launch.grid_size", "gridxyz"), ("launch.block_size", "blockxyz")) if n in low
    }
    texts = [name, *shapes.values(), *(low.index(n) for n in ("category", "nvtx range") if n in low)]
    share = low.index("time") if "time" in low and best.layout != "csv" else -1
    numeric = [*times.values(), *(c for c in (calls, share) if c >= 0)]
    grid = nsys.read(source, best, numeric, texts)
    table = grid.table(NAME, source, grid.texts[name])
    for metric, c in times.items():
        table.columns[metric] = nsys.time(source, grid, best, c)
    if share >= 0 and best.report == _READS[0]:
        # of CSV the check of redundant columns says so
        kernel_sums.say_missing(table, grid.numbers[share])
    if calls >= 0:
        table.columns["frame.calls"] = grid.column(calls)
    odd = Odd()
    for metric, c in shapes.items():
        values = extents.totals(extents.read(grid.texts[c], best.headers[c], table.line, odd, blanks=True))
        table.columns[metric] = Column(values, best.headers[c], 1 if grid.aligned else c + 1, "(x, y, z)")
    table.quality += odd.remarks()
    if "nvtx range" in low:
        table.paths = grid.texts[low.index("nvtx range")]
    marked = best.report == "nvtx_gpu_proj_sum"
    table.kinds = np.full(len(table), "marker", dtype=object) if marked else trace_span.kinds(table.names)
    used = {name, *times.values(), calls, *shapes.values(), *texts}
    table.unmapped = [h for i, h in enumerate(best.headers) if i not in used]
    table.notes.append(f"nsys stats report {best.report}: times without counters")
    kernel_sums.keep_cut_apart(table)
    _say_left_out(source, table, [f for f in found if f.report != best.report])
    return table


def _say_left_out(source: Source, table: Table, found: list[nsys.ReportTable]) -> None:
    """Note the other reports of an output; remark on the copies and the host's calls that they time."""
    others = sorted({f.report for f in found})
    if others:
        table.notes.append(f"other reports in the file were left out: {', '.join(others)}")
    kernels = float(np.nansum(table.columns["gpu.time"].values)) if "gpu.time" in table.columns else 0.0

    def longer(spent: float) -> str:
        return f", {spent / kernels:,.0f} times as long as the kernels" if MUCH * kernels < spent and kernels else ""

    for other in found:
        low = [nsys.bare(h) for h in other.headers]
        if other.report == _COPIES:
            spent = nsys.read(source, other, [at := low.index("total time")], [])
            copies = float(np.nansum(nsys.time(source, spent, other, at).values))
            text = f"memory operations in the same file take {show(copies, 'ns')}{longer(copies)}; they are not in the total"
            table.remark("copies", text)
        elif other.report == _CALLS:
            at, count, name = (low.index(n) for n in ("total time", "num calls", "name"))
            grid = nsys.read(source, other, [at, count], [name])
            own = np.array(
                ["Synchronize" not in str(n) for n in grid.texts[name]]
            )  # else the host waits for the kernels
            lasted = np.where(own, np.nan_to_num(nsys.time(source, grid, other, at).values), 0.0)
            first = int(np.argmax(lasted))
            if more := longer(float(lasted.sum())):
                text = f"the host's calls in the same file take {show(float(lasted.sum()), 'ns')}{more} ({grid.texts[name][first]} {show(float(lasted[first]), 'ns')} in {grid.numbers[count][first]:,.0f} calls): record a timeline, which shows what the GPU waits for"
                table.remark("host-time", text)
