"""Nsight Systems' own database (`nsys export --type sqlite`): the timeline that its tables for people have lost."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Floats, Indices
from triage.capture.capture import Column, Quality, Table
from triage.capture.source import Source
from triage.capture.timeline.device_steps import device_steps
from triage.capture.trace_nouns import COPY, KERNEL, SET, Step, Trace
from triage.dialects import Match, Options
from triage.dialects.tables import extents
from triage.dialects.tables.database import Database, finder, is_database
from triage.dialects.traces import marked_steps, next_command, nsys, nsys_ranges
from triage.dialects.traces.nsys_database import META, Export
from triage.ground.errors import CaptureError, NotTriageable
from triage.ground.phrasing import plural

NAME = "nsys-sqlite"
SIGN = b"SQLite format 3"
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "Nsight Systems, SQLite export (timeline of devices and host)"
CAPTURE = """\
    nsys profile -t cuda,nvtx,osrt -o report ./your-app
    nsys export --type sqlite report.nsys-rep

The second line writes `report.sqlite` (`nsys stats` leaves the same file behind). It holds every launch, copy and call with
its times: triage tells what the GPU waited for, and which kernels to profile next."""
_PRODUCTS = {
    "launch.grid_size": ("gridX", "gridY", "gridZ"),
    "launch.block_size": ("blockX", "blockY", "blockZ"),
}
_PLAIN = {
    "launch.registers": "registersPerThread",
    "launch.shared_static": "staticSharedMemory",
    "launch.shared_dynamic": "dynamicSharedMemory",
}
# enough to name any cause of a kernel, in a few passes
_SECTIONS = (
    "SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "SchedulerStats", "WarpStateStats", "Occupancy",
    "LaunchStats",
)  # fmt: skip
_CELLS = ("start", "end", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", *_PLAIN.values())
collect = nsys.collect


def names() -> dict[str, list[str]]:
    """canonical id -> column of the kernels' table."""
    return {
        "gpu.time": ["end - start"],
        **{metric: [" * ".join(parts)] for metric, parts in _PRODUCTS.items()},
        **{metric: [column] for metric, column in _PLAIN.items()},
        "device.sm_count": ["TARGET_INFO_GPU.smCount"],
        "frame.calls": ["(rows)"],
    }


def recognise(source: Source) -> Match | None:
    """A SQLite file with Nsight Systems' table about the export, or with its kernels and strings."""
    if not is_database(source):
        return None
    try:
        database = Database(source)
    except CaptureError:  # damaged, or still being written: its readable part must name the tool
        head = source.head
        if any(name.encode() in head for name in META) or b"CUPTI_ACTIVITY_KIND" in head or b"TARGET_INFO" in head:
            return Match(0.98, "a damaged database with Nsight Systems' tables")
        return None
    if database.table(*META):
        return Match(0.99, "a SQLite database with META_DATA_EXPORT")
    if database.table("CUPTI_ACTIVITY_KIND_KERNEL") and database.table("StringIds"):
        return Match(0.98, "a SQLite database with kernels and StringIds of Nsight Systems")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per kernel, copy, set, graph launch and graphics submission; raises NotTriageable where nothing ran on a GPU."""
    database = Database(source)
    export = Export(database)
    calls, processes, keys = export.calls()
    if not len(export):
        raise NotTriageable(
            f"{source.path}: Nsight Systems database without GPU work ({plural(len(calls), 'host call')}): "
            "no kernels, copies or graphs were recorded",
            "record again with: nsys profile -t cuda,nvtx ./your-app"
            + ("; " + "; ".join(export.diagnostics()[:1]) if export.diagnostics() else ""),
        )
    device, devices, sms, shared = export.devices()
    operations = export.operations(processes, keys, calls, device)
    ranges = nsys_ranges.read(database)
    trace = Trace(
        operations,
        calls,
        devices,
        export.words,
        export.functions,
        profile,
        ranges=ranges,
        system=nsys_ranges.system(database, calls),
    )
    source.find = finder(database, _CELLS, [(w.table, w.size) for w in export.work])
    trace.steps = _steps(trace)
    labels = np.array(export.words, dtype=object)[operations.name]
    paths = nsys_ranges.paths(ranges, calls, operations.call)
    table = Table(NAME, [source], labels, {}, lines=_lines(export), paths=paths)
    table.trace = trace
    if served := marked_steps.server([*export.words, *(ranges.names if ranges is not None else ())]):
        table.tells = {"framework": served}
    _columns(table, export, device, sms)
    copying = (operations.kind == COPY) | (operations.kind == SET)
    table.kinds = np.where(copying, "copy", "compute").astype(object)
    known = [name for _, name in devices if name]
    table.device, table.arch = known[0] if known else "", export.arch()
    table.versions = export.versions()
    _say(table, export, devices, shared)
    return table


def _steps(trace: Trace) -> list[Step]:
    """The steps that a framework marks by NVTX ranges, as the devices work them off."""
    ranges = trace.ranges
    if ranges is None:
        return []
    marks = np.array([marked_steps.is_of_a_framework(n) for n in ranges.names] or [False])
    rows = np.flatnonzero(marks[ranges.name])
    rows = rows[np.argsort(ranges.start[rows], kind="stable")]
    found = [
        Step(ranges.names[n], start, end)
        for n, start, end in zip(*(x[rows].tolist() for x in (ranges.name, ranges.start, ranges.end)), strict=True)
    ]
    return device_steps(trace, marked_steps.marked(found, ranges.thread[rows]))


def profile(function: str, skip: int) -> str:
    """The command that profiles one launch of a function with Nsight Compute."""
    return next_command.ncu(function, skip, _SECTIONS, "./your-app")


def _lines(export: Export) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Rows are counted from 1 through the tables read, in their order."""
    base = np.cumsum([0] + [w.size for w in export.work])
    return np.concatenate([w.rows + b + 1 for w, b in zip(export.work, base, strict=False)])


def _columns(table: Table, export: Export, device: Indices, sms: list[int | None]) -> None:
    at = {c: i + 1 for i, c in enumerate(_CELLS)}
    ops = table.trace.operations if table.trace else None
    assert ops is not None
    for header, values in (("start", ops.start), ("end", ops.end)):
        table.raw[header] = Column(values.astype(np.float64), header, at[header], "ns")
    time = (ops.end - ops.start).astype(np.float64)
    table.columns["gpu.time"] = Column(time, "", unit="ns", formula="end - start", inputs=("end", "start"))
    shapes = export.shapes()
    for metric, parts in _PRODUCTS.items():
        if all(p in shapes for p in parts):
            axes = [Column(shapes[p], p, at[p]) for p in parts]
            table.raw |= dict(zip(parts, axes, strict=True))
            table.columns[metric] = extents.volume(axes)
    for metric, header in _PLAIN.items():
        if header in shapes:
            unit = "" if metric == "launch.registers" else "byte"
            table.columns[metric] = Column(shapes[header], header, at[header], unit)
    if any(sms):
        each: Floats = np.array([np.nan if s is None else float(s) for s in sms])
        counts = np.where(ops.kind == KERNEL, each[device], np.nan)
        table.columns["device.sm_count"] = Column(counts, "", formula="smCount of TARGET_INFO_GPU")


def _say(table: Table, export: Export, devices: list[tuple[str, str | None]], shared: bool) -> None:
    """Notes on the export, and remarks on what may be wrong with it."""
    version = f" {export.version}" if export.version else ""
    table.notes.append(f"Nsight Systems{version}: times, launch shapes and host calls without counters")
    if len(devices) > 1:
        listed = ", ".join(f"{key} ({name})" if name else key for key, name in devices[:8])
        table.notes.append(f"work on {len(devices)} devices: {listed}; the first one's limits are used")
    if not any(name for _, name in devices):
        table.notes.append("the export names no GPU; with --device NAME its limits are known")
    if shared:
        text = "several processes use devices of the same number, and nothing in the file says which GPU each had"
        table.quality.append(Quality("devices-unmapped", text + "; they are shown as one"))
    table.quality += [Quality("rows-left-out", text) for text in export.remarks]
    table.quality += [Quality("profiler-warning", text) for text in export.diagnostics()[:3]]
