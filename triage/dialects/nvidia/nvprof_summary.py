"""nvprof, summary per kernel: total time, calls, mean, shortest and longest run."""

from __future__ import annotations

import numpy as np

from triage.capture.capture import Column, Table
from triage.capture.redundancy import summary
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.nvidia import nvprof, nvprof_metrics
from triage.ground.errors import NotTriageable
from triage.schema import normal

NAME = "nvprof-summary"
SIGN = ("time(%)", "avg", "nvprof", "profiling")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "nvprof CSV, summary per kernel"
CAPTURE = nvprof.CAPTURE
REDUNDANT = summary("time", "calls", "avg", "time%")
_TIMES = {"gpu.time": "time", "gpu.time_min": "min", "gpu.time_max": "max"}


def names() -> dict[str, list[str]]:
    """canonical id -> header."""
    return {"gpu.time": ["Time"], "gpu.time_min": ["Min"], "gpu.time_max": ["Max"], "frame.calls": ["Calls"]}


collect = nvprof_metrics.collect


def recognise(source: Source) -> Match | None:
    """Time(%), Calls, Avg, Name; and every nvprof output without a table, to refuse it by name."""
    found = nvprof.find(source)
    if any(f.kind == "summary" for f in found):
        return Match(0.9, "nvprof summary columns: Time(%), Time, Calls, Avg, Min, Max, Name")
    if not found and nvprof.is_text(source):
        return Match(0.8, "nvprof output without a CSV table")
    if found and all(f.kind == "unified memory" for f in found):
        return Match(0.7, "an nvprof table without kernels")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per GPU activity; API calls are left out. Raises NotTriageable when nothing ran on the GPU."""
    found = [f for f in nvprof.find(source) if f.kind == "summary"]
    if not found:
        raise nvprof.refuse(source, nvprof.find(source))
    runs = nvprof.runs(source)
    tables = [(f, *_activities(source, f)) for f in found]
    worked = [t for t in tables if t[1]]
    # of runs appended to one file the last that worked on the GPU
    best, gpu, rows = (worked[-1] if runs > 1 else worked[0]) if worked else tables[0]
    low = [normal(h) for h in best.headers]
    name = low.index("name")
    if not gpu:
        of_runs = f"{runs} runs in one file, each an " if runs > 1 else ""
        hint = "run: nvprof --csv --print-gpu-summary ./your-app"
        raise NotTriageable(f"{source.path}: {of_runs}nvprof summary of {rows} API calls, without GPU work", hint)
    names, lines = np.array([r[name] for _, r in gpu], dtype=object), np.array([n for n, _ in gpu])
    table = Table(NAME, [source], names, {}, lines=lines)
    odd = Odd()
    for metric, header in _TIMES.items():
        if header in low:
            c = low.index(header)
            table.columns[metric] = nvprof.glued_time(source, best, gpu, c, odd)
    calls = low.index("calls")
    header = best.headers[calls]
    counted = np.array([odd.number(r[calls], "us", header, n) for n, r in gpu], dtype=float)
    table.columns["frame.calls"] = Column(counted, header, best.position(calls))
    table.quality += odd.remarks()
    table.kinds = np.array(["copy" if n.startswith("[CUDA ") else "compute" for n in table.names], dtype=object)
    table.unmapped = [h for i, h in enumerate(best.headers) if h and low[i] not in ("name", "calls", *_TIMES.values())]
    table.notes.append("an nvprof summary: times without counters")
    if runs > 1:
        table.remark(
            "several-runs",
            f"{runs} runs of nvprof in one file: read is the last with GPU work, line {best.line} on; split the file to compare them",
        )
    if len(gpu) < rows:
        table.notes.append(f"{rows - len(gpu)} API calls in the table were left out")
    return table


def _activities(source: Source, found: nvprof.TableLocation) -> tuple[list[tuple[int, list[str]]], int]:
    """(line and cells of the GPU's activities, how many rows the table has). API calls are left out."""
    low = [normal(h) for h in found.headers]
    rows = nvprof.records(source, found)
    # versions with a Type column print GPU activities and API calls in one table
    kind, name = low.index("type") if "type" in low else -1, low.index("name")
    gpu = [(n, r) for n, r in rows if kind < 0 or not r[kind].strip() or r[kind].strip().lower().startswith("gpu")]
    if kind < 0:  # API tables look the same: their names are C functions of the runtime
        gpu = [(n, r) for n, r in gpu if not r[name].startswith(("cuda", "cu")) or "(" in r[name]]
    return gpu, len(rows)
