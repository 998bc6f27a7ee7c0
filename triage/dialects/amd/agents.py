"""GPU model and sizes from the `*_agent_info.csv` that rocprofv3 writes beside its other tables."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from triage.capture import shape
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match
from triage.dialects.amd.rocm_export import Export
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture, TriageError

# size as formulas call it -> column of the agent table
_SPECS = {"cu_per_gpu": "Cu_Count", "num_xcd": "Num_Xcc", "max_sclk": "Max_Engine_Clk_Fcompute"}


def beside(source: Source, ending: str, other: str = "_agent_info") -> Source | None:
    """The table of the same run with another ending: `run_kernel_trace.csv` goes with `run_agent_info.csv`."""
    stem = Path(source.name.removesuffix(".gz")).stem
    if stem == ending.lstrip("_"):
        return source.sibling(f"{other.lstrip('_')}.csv")
    return source.sibling(f"{stem.removesuffix(ending)}{other}.csv") if stem.endswith(ending) else None


def tables_in_folder(source: Source, ending: str) -> list[Source]:
    """The tables of one kind in an output folder of rocprofv3."""
    return source.children(f"*{ending.lstrip('_')}.csv")


def folder(source: Source, ending: str) -> Match | None:
    """An output folder that holds tables of this kind; a folder with pmc_perf.csv is rocprof-compute's."""
    files = tables_in_folder(source, ending)
    if not files or source.sibling("pmc_perf.csv") or source.sibling("pmc_perf.csv.gz"):
        return None
    return Match(0.90, f"a folder with {files[0].name}")


def only(source: Source, ending: str) -> Source:
    """The one table of this kind in a folder, or the file itself; raises BadCapture when the folder holds several."""
    if not source.is_folder:
        return source
    files = tables_in_folder(source, ending)
    if len(files) != 1:
        shown = ", ".join(f.path for f in files[:3])
        raise BadCapture(
            f"{source.path}: {len(files)} runs or passes in this folder ({shown})", "name one of these files"
        )
    return files[0]


def under(source: Source, table: Table) -> Table:
    """The folder or companion that was given comes first among the files, for it is what the user typed."""
    if source.path != table.files[0].path:
        table.put_first(source)
    return table


def add(table: Table, export: Export, source: Source, ending: str) -> None:
    """Device, architecture and sizes, when the run's agent table lies beside the file and names one kind of GPU."""
    info = beside(source, ending)
    if info is None:
        return
    odd = Odd()
    try:
        at, headers = wide_table.header(info)
        shape.check(info, at + 1, None, headers)
        if not {"Agent_Type", "Name"} <= set(headers):
            raise BadCapture(f"{info.path}:{at}: columns Agent_Type and Name missing", "name rocprofv3's agent table")
        rows = list(enumerate(csv.DictReader(info.head_lines[at - 1 :], delimiter=info.delimiter), at + 1))
    except (TriageError, csv.Error) as e:  # a companion that cannot be read takes nothing from the export itself
        table.remark("companion-left-out", f"a file beside the export was left out: {e}")
        return
    gpus = [(line, row) for line, row in rows if (row.get("Agent_Type") or "").strip().upper() == "GPU"]
    if not gpus or len({row.get("Name") for _, row in gpus}) > 1:
        return  # none, or several kinds: which one ran is not ours to guess
    line, row = gpus[0]
    table.files.append(info)
    export.arch = (row.get("Name") or "").split(":")[0].strip()  # `gfx90a:sramecc+:xnack-` is gfx90a
    table.device = (row.get("Product_Name") or "").strip()
    n, file = len(table), len(table.files) - 1
    places = {h: i + 1 for i, h in enumerate(row)}

    def number(header: str) -> float:
        value = odd.number(row.get(header) or "", "us", header, line)
        if value < 0:
            table.remark("impossible-value", f"{header} is {value:g} in {info.name}, line {line}; treated as missing")
        return value if value == value else 0.0

    values = {spec: number(column) for spec, column in _SPECS.items()}
    for spec, column in _SPECS.items():
        if values[spec] > 0:
            export.specs[spec] = Column.of_cell(values[spec], column, places[column], line, rows=n, file=file)
    waves, simds = number("Max_Waves_Per_Simd"), number("Simd_Per_Cu")
    if waves > 0 and simds > 0:
        text = "Max_Waves_Per_Simd * Simd_Per_Cu"
        export.specs["max_waves_per_cu"] = Column(np.full(n, waves * simds), text, formula=text, file=file)
    wave = number("Wave_Front_Size")
    table.quality += odd.remarks()
    if wave > 0 and "wave" not in export.roles:
        header = "Wave_Front_Size"
        export.roles["wave"] = Column.of_cell(wave, header, places[header], line, rows=n, file=file)
