"""ROCm's own database (rocprofv3 --output-format rocpd): the timeline of dispatches, copies, calls and markers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.capture import Column, Quality, Table
from triage.capture.source import Source
from triage.capture.trace_nouns import KERNEL, Trace
from triage.dialects import Match, Options
from triage.dialects.amd import rocm
from triage.dialects.amd.counters import counter_names
from triage.dialects.amd.rocm_export import Export
from triage.dialects.amd.rocprofv3 import rocprofv3_counters
from triage.dialects.amd.rocprofv3.kernel_trace import AGENT_SIZES, SEGMENTS, SYMBOL
from triage.dialects.amd.rocprofv3.rocpd_tables import AXES, COPIES, DISPATCH, Run, runs
from triage.dialects.tables import same_run
from triage.dialects.tables.database import Database, finder, is_database
from triage.ground.errors import BadCapture, CaptureError, NotTriageable

if TYPE_CHECKING:
    from triage.capture.arrays import Floats
    from triage.capture.capture import Table
    from triage.dialects.amd.rocprofv3.rocpd_tables import Run

EVENTS, NAMES = "rocpd_pmc_event", "rocpd_info_pmc"
NAME = "rocpd"
SIGN = b"SQLite format 3"
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD rocprofv3, rocpd database (timeline of devices and host)"
CAPTURE = """\
    rocprofv3 --hip-trace --kernel-trace --memory-copy-trace --marker-trace --output-format rocpd -- ./app

writes `*_results.db`, the default since ROCm 7.0: every dispatch, copy, HIP call and ROCTx range with its times. triage tells what
the GPU waited for, and which kernels to profile next. With `--pmc COUNTERS` the database holds the counters of each dispatch too."""
_ROCPROF1 = frozenset({"A", "OPS", "COPY", "HIP", "HSA", "rocTX"})  # tables of tblextr.py
_CELLS = ("start", "end", *AXES, *SEGMENTS.values())
collect = rocprofv3_counters.collect


def names() -> dict[str, list[str]]:
    """canonical id -> column of the dispatches' table."""
    return {
        "gpu.time": ["end - start"],
        "launch.block_size": ["workgroup_size_x/y/z"],
        "launch.threads": ["grid_size_x/y/z"],
        "launch.grid_size": ["grid_size_x/y/z / workgroup_size_x/y/z"],
        **{metric: [column] for metric, column in {**SYMBOL, **SEGMENTS}.items()},
        "frame.calls": ["(rows)"],
    } | counter_names.exported(rocprofv3_counters.SIZES)


def recognise(source: Source) -> Match | None:
    """A SQLite file with a table of dispatches whose name begins as rocpd's does."""
    if not is_database(source):
        return None
    try:
        database = Database(source)
        if len(_ROCPROF1 & set(database.tables)) > 1:
            return Match(0.9, "results.db of rocprof 1: recognised to be refused")
        return Match(0.99, "a SQLite database with rocpd's tables") if runs(database) else None
    except CaptureError:
        return Match(0.97, "a damaged database with rocpd's tables") if b"rocpd_" in source.head else None


def read(source: Source, options: Options) -> Table:
    """One row per dispatch and copy; raises NotTriageable where nothing ran, BadCapture for several runs in one file."""
    database = Database(source)
    endings = runs(database)
    if not endings and _ROCPROF1 & set(database.tables):
        hint = same_run.advice(source, "give the results.csv of the run, or record with rocprofv3")
        raise NotTriageable(f"{source.path}: results.db of rocprof 1, not read", hint)
    if not endings:
        hint = "record again with rocprofv3 --kernel-trace --output-format rocpd"
        raise BadCapture(f"{source.path}: table of dispatches missing", hint)
    kinds = (DISPATCH, COPIES)
    found = [e for e in endings if any(database.count(database.table(kind + e)) for kind in kinds)]
    if len(found) > 1:
        raise BadCapture(f"{source.path}: {len(found)} runs in the database", "name the files of single runs")
    run = Run(database, (found or endings)[0])
    if not len(run):
        raise NotTriageable(
            f"{source.path}: rocpd database without GPU work (no dispatches, no copies)",
            "record again with: rocprofv3 --hip-trace --kernel-trace --memory-copy-trace --output-format rocpd -- ./app",
        )
    calls, keys, nest = run.calls()
    operations, words, devices = run.operations(calls, keys)
    # what the run's tables hold in full: rows that were left out keep their number
    sizes = [(run.table(t), database.count(run.table(t))) for t in (DISPATCH, COPIES) if run.table(t)]
    source.find = finder(database, _CELLS, sizes)
    lines = np.concatenate([run.kernels["row"].to_numpy() + 1, run.copies["row"].to_numpy() + 1 + sizes[0][1]])
    shown = {w: rocm.clean(w) for w in words}
    labels = np.array([shown[w] for w in words], dtype=object)[operations.name]
    table = Table(NAME, [source], labels, {}, lines=lines, paths=run.paths(calls, operations.call, nest))
    table.trace = Trace(operations, calls, devices, [shown[w] for w in words], [""] * len(words))
    _columns(table, run, operations.start, operations.end)
    known = [run.agents[a] for a in run.kernels["agent_id"].unique().tolist() if a in run.agents]
    if known:
        table.device, table.arch = known[0][2], known[0][3].split(":")[0]
    if (export := _counted(table, run)) is None:
        table.notes.append("rocpd: times, launch shapes and host calls without counters")
    else:
        rocm.finish(table, export, options, names())
    own = [rocm.RUNTIME_RE.match(str(name)) is None for name in labels]
    table.kinds = np.where((operations.kind == KERNEL) & own, "compute", "copy").astype(object)
    if len(devices) > 1:
        table.notes.append(
            f"work on {len(devices)} devices: {', '.join(k for k, _ in devices[:8])}; the first one's limits are used"
        )
    table.quality += [Quality("rows-left-out", text) for text in run.remarks]
    return table


def _columns(table: Table, run: Run, start: Indices, end: Indices) -> None:
    at = {c: i + 1 for i, c in enumerate(_CELLS)}
    shapes = run.shapes()
    # with a table of timestamps the rows hold none: nothing to quote, so the figures stand as read
    for header, values in (("start", start), ("end", end)):
        table.raw[header] = Column(values.astype(np.float64), header, 0, "ns", formula=f"{header} of the row")
    took = (end - start).astype(np.float64)
    table.columns["gpu.time"] = Column(took, "", unit="ns", formula="end - start", inputs=("end", "start"))
    table.raw.update({a: Column(shapes[a], a, at[a]) for a in AXES if a in shapes})
    groups, items = (
        [shapes[f"{what}_size_{a}"] for a in "xyz" if f"{what}_size_{a}" in shapes] for what in ("workgroup", "grid")
    )
    for metric, parts, inputs in (("launch.block_size", groups, AXES[:3]), ("launch.threads", items, AXES[3:])):
        if len(parts) == 3:
            table.columns[metric] = Column(np.prod(parts, axis=0), "", formula=" * ".join(inputs), inputs=inputs)
    if len(groups) == len(items) == 3:
        text = "groups per axis, rounded up, multiplied"
        table.columns["launch.grid_size"] = Column(rocm.groups(items, groups), "", formula=text, inputs=AXES)
    for metric, column in SEGMENTS.items():
        if metric in shapes:
            table.columns[metric] = Column(shapes[metric], column, at[column], "byte")
    for metric, column in SYMBOL.items():
        if metric in shapes:
            table.columns[metric] = Column(shapes[metric], "", formula=f"{column} of the kernel's symbol")


def _of_dispatches(run: Run) -> dict[str, Floats]:
    """Counter -> its values, one for each of the run's dispatches; NaN where it was not counted.

    Instances (dies, channels) have a row each and are summed, as the view `counters_collection` of ROCm does it. Views are not
    run: the tables below them have kept their columns since ROCm 6.4.
    """
    import pandas as pd

    names = {int(i): name for i, name in run.db.texts(run.table(NAMES), ["id", "name"]) if i.isdigit()}
    if not names or "event_id" not in run.kernels:
        return {}
    keys, values = run.db.measured(run.table(EVENTS), ("event_id", "pmc_id"), "value")
    found = pd.DataFrame({**keys, "value": values})
    found["name"] = found["pmc_id"].map(names)
    summed = found.dropna(subset=["name", "value"]).groupby(["name", "event_id"])["value"].sum()
    events = run.kernels["event_id"]
    return {str(name): events.map(summed[name]).to_numpy(dtype=np.float64) for name in summed.index.unique(level=0)}


def _counted(table: Table, run: Run) -> Export | None:
    """The counters of a table's rows, dispatches before copies, as an export for formulas; None where none was collected."""
    found = _of_dispatches(run)
    if not found:
        return None
    export = Export(table.files[0], arch=table.arch)
    wanted = rocm.wanted(found)
    blank = np.full(len(run.copies), np.nan)
    for name, values in found.items():
        if name in wanted:
            text = f"{name} of the dispatch, all instances"
            export.counters[name] = Column(np.concatenate([values, blank]), name, formula=text)
    table.unmapped += sorted(set(found) - wanted)
    agent = next((a for a in run.kernels["agent_id"].unique().tolist() if a in run.agents), None)
    rows = run.db.texts(run.table("rocpd_info_agent"), ["id", "extdata"])
    described = next((text for number, text in rows if number == str(agent)), "")
    for size, key in AGENT_SIZES.items():
        if (m := re.search(rf'"{key}":(\d+)', described)) and int(m[1]) > 0:
            text = f"{key} of the agent"
            export.specs[size] = Column(np.full(len(table), float(m[1])), text, formula=text)
    return export
