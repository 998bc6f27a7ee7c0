"""rocprofv3 `*_kernel_trace.csv`: one row per dispatch with times, registers, LDS and launch shape; rows are unsorted."""

from __future__ import annotations

import numpy as np

from triage.capture import shape
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.amd import agents, rocm, rocprof
from triage.dialects.amd.pc_sampling import sample_file
from triage.dialects.amd.rocm_export import Export
from triage.dialects.amd.rocprof import LAUNCH_NAMES
from triage.dialects.amd.rocprofv3 import kernel_trace, rocprofv3_counters
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture

NAME = "rocprofv3-kernels"
WHOLE = rocprof.WHOLE
SIGN = ("timestamp",)
FOLDERS = True
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD rocprofv3 kernel trace"
CAPTURE = """\
    rocprofv3 --kernel-trace -f csv -- ./app

writes `*_kernel_trace.csv` (this table) and `*_agent_info.csv`, from which the GPU is known. Add `--pmc COUNTERS` to learn why a
kernel is slow; the counters land in `*_counter_collection.csv`.
"""
ENDING = "_kernel_trace"
_AXES = ("X", "Y", "Z")
_NEED = ("Kernel_Name", "Start_Timestamp", "End_Timestamp")


def names() -> dict[str, list[str]]:
    """Time, registers, memory and launch shape."""
    return LAUNCH_NAMES | {
        "launch.grid_size": ["Grid_Size_X/Y/Z / Workgroup_Size_X/Y/Z"],
        "launch.block_size": ["Workgroup_Size_X/Y/Z"],
        "launch.threads": ["Grid_Size_X/Y/Z"],
    }


def recognise(source: Source) -> Match | None:
    """Kernel name, start and end, group size per axis, no counters."""
    if source.is_folder:  # counters, where there are any, say more than the trace
        return None if agents.tables_in_folder(source, rocprofv3_counters.ENDING) else agents.folder(source, ENDING)
    line, headers = wide_table.header(source)
    if not line or any(wide_table.find(headers, h) < 0 for h in _NEED) or wide_table.find(headers, "Counter_Name") >= 0:
        return None
    # rocprof-compute's tables have the same three, but neither sizes per axis nor the kind of record
    if wide_table.find(headers, "Workgroup_Size_X") < 0 and wide_table.find(headers, "Kind") < 0:
        return None
    return Match(0.88, f"kernel dispatches with start and end (Kernel_Name, Start_Timestamp, ...) on line {line}")


def read(source: Source, options: Options) -> Table:
    """The dispatches in file order; raises BadCapture for a header without rows."""
    folder, source = source, agents.only(source, ENDING)
    line, headers = wide_table.header(source)
    # a file named by --dialect, or cut: without times a trace is nothing
    if lost := [h for h in _NEED if wide_table.find(headers, h) < 0]:
        raise BadCapture(f"{source.path}: column {lost[0]} missing", "export again")
    roles = {r: c for r, c in wide_table.roles(headers, rocm.ROLES).items() if r not in ("duration", "dispatch")}
    axes = wide_table.positions(headers, [f"{what}_{a}" for what in ("Workgroup_Size", "Grid_Size") for a in _AXES])
    # timestamps as text: as float64 they would lose their last digits; ids are names
    sampled = sample_file.beside(source, ENDING)
    ids = wide_table.positions(headers, ["Agent_Id", "Correlation_Id", *(["Dispatch_Id"] if sampled else [])])
    text = [*(roles[r] for r in ("name", "start", "end")), *ids.values()]
    numeric = [c for r, c in roles.items() if r not in ("name", "start", "end")] + list(axes.values())
    wide = wide_table.read(source, line, headers, numeric, text, decimal=options.decimal)
    shown = rocm.names(wide.texts[roles["name"]])
    shape.alike(source, {headers[roles[r]]: wide.texts[roles[r]] for r in ("start", "end") if r in roles}, wide.line)
    table = wide.table(NAME, source, shown)
    export = Export(source)
    for role, c in roles.items():
        if role in ("start", "end"):
            export.roles[role] = Column(rocm.stamps(wide.texts[c]), headers[c], c + 1, "ns")
        elif role != "name":
            export.roles[role] = wide.column(c)
    rocm.add_time(table, export, wide.texts[roles["start"]], wide.texts[roles["end"]])
    _shape(table, {name: wide.column(c) for name, c in axes.items()})
    agents.add(table, export, source, ENDING)
    agent, key = (wide.texts[ids[h]] if h in ids else None for h in ("Agent_Id", "Correlation_Id"))
    recorded = kernel_trace.companions(source, ENDING)
    table.trace = kernel_trace.trace(wide.texts[roles["start"]], wide.texts[roles["end"]], shown, agent, key, recorded)
    rocm.finish(table, export, options, names())
    if sampled and "Dispatch_Id" in ids:
        sample_file.join(table, sampled, wide.texts[ids["Dispatch_Id"]])
    return agents.under(folder, table)


def _shape(table: Table, axes: dict[str, Column]) -> None:
    """Group size, work-items and groups from the sizes per axis (the grid counts work-items)."""
    for what, metric in (("Workgroup_Size", "launch.block_size"), ("Grid_Size", "launch.threads")):
        parts = [axes[n] for a in _AXES if (n := f"{what}_{a}") in axes]
        if not parts:
            continue
        formula = " * ".join(p.header for p in parts)
        values = np.prod([p.values for p in parts], axis=0)
        table.columns[metric] = Column.computed(values, formula, tuple(p.header for p in parts))
    both = [(f"Grid_Size_{a}", f"Workgroup_Size_{a}") for a in _AXES]
    pairs = [(axes[grid], axes[group]) for grid, group in both if grid in axes and group in axes]
    if pairs:
        values = rocm.groups([g.values for g, _ in pairs], [w.values for _, w in pairs])
        formula = " * ".join(f"ceil({g.header} / {w.header})" for g, w in pairs)
        table.columns["launch.grid_size"] = Column.computed(values, formula, tuple(axes))
    table.raw.update({c.header: c for c in axes.values()})


collect = rocprofv3_counters.collect
