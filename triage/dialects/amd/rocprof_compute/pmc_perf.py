"""ROCm Compute Profiler (rocprof-compute, formerly Omniperf) workloads: a folder, or its pmc_perf.csv.

Percent of peak is computed from the counters and the sizes in sysinfo.csv; where that file is missing those figures stay
blind. The same file name carries two layouts: wide (a column per counter) and, since the rocpd backend, long.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from triage.capture import shape
from triage.capture.arrays import Indices
from triage.capture.capture import Column, Quality, Table
from triage.capture.redundancy import Record, each
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.amd import agents, long, rocm, wide
from triage.dialects.amd.counters import counter_names, sizes, spread
from triage.dialects.amd.rocm_export import Export
from triage.dialects.amd.rocprof import LAUNCH_NAMES
from triage.dialects.amd.rocprofv3 import passes
from triage.dialects.tables import wide_table
from triage.ground.collect_command import Command
from triage.ground.errors import BadCapture, NotTriageable
from triage.schema import normal

NAME = "rocprof-compute"
SIGN = ("kernel", "cu_per", "cu per", "cu-per", "numcu", "hbmbw")
FOLDERS = True
_SAME = "kernelname gridsize workgroupsize ldsperworkgroup scratchperworkitem archvgpr accumvgpr sgpr"  # times are of a pass
REDUNDANT = (Record((("dispatchid",), ("gpuid",)), each(_SAME)),)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD ROCm Compute Profiler / Omniperf workload (folder or pmc_perf.csv)"
CAPTURE = """\
Profile, then give triage the workload folder, so that `sysinfo.csv` (clocks, CU count, memory bandwidth) is found and
percent of peak can be computed:

    rocprof-compute profile -n myapp -- ./app
    triage diagnose workloads/myapp/MI300X

`-k KERNEL` and `-d DISPATCH` restrict the profile to a kernel, `-b 2 6 11 12 16 17` to the blocks triage reads
(speed of light, workgroup manager, compute pipeline, LDS, vector L1, L2). Older name: `omniperf profile -n myapp -- ./app`.
Do not open the CSV files in a spreadsheet: it cuts the timestamps.
"""
# columns that a data-frame library numbers when it joins the passes; no single pass has them
_RESIDUE = re.compile(r"(wave_size|obj|correlation_id|kernel_id|xcc_index)_\d+", re.IGNORECASE)
_RESULTS_RE = re.compile(r"results_.+\.csv(\.gz)?")  # one pass each, before pmc_perf.csv is made of them
# the whole header of a pass that failed
_STUB = ["dispatch id", "kernel name"]


def names() -> dict[str, list[str]]:
    """What the counters of a full profile make."""
    return counter_names.exported() | spread.NAMES | LAUNCH_NAMES


def recognise(source: Source) -> Match | None:
    """Join residue or per-channel counters in a wide table, the rocpd long columns, a sysinfo.csv beside either."""
    if source.is_folder:
        found = _workloads(source)
        if found:
            return Match(0.95, f"a workload folder with {found[0].name}")
        info = _beside(source, "sysinfo.csv")
        if info is not None and _is_sysinfo(wide_table.header(info)[1]):
            return Match(0.90, "a workload folder with sysinfo.csv")
        return None
    line, headers = wide_table.header(source)
    if not line:
        return None
    low = [normal(h) for h in headers]
    if low == _STUB:
        return Match(0.90, "the header of an unfinished rocprof-compute pass")
    if _is_sysinfo(headers):
        return Match(0.90, "the sysinfo.csv of a rocprof-compute workload")
    if _is_roofline(headers):
        return Match(0.90, "the roofline.csv of a rocprof-compute workload")
    # neither layout is this tool's alone: what tells it are traces of joining, its own columns, or the file beside
    beside = (info := _beside(source, "sysinfo.csv")) is not None and _is_sysinfo(wide_table.header(info)[1])
    if long.is_long(headers) and "scratch per workitem" in low:
        return Match(0.92, "rocpd long columns (one row per dispatch and counter)")
    if wide.is_wide(headers):
        residue = next((h for h in headers if _RESIDUE.fullmatch(h)), "")
        if residue or any(rocm.CHANNEL.fullmatch(h) for h in headers):
            return Match(0.92, f"joined passes ({residue or 'per-channel counters'} among {len(headers)} columns)")
        if beside:
            return Match(0.90, "dispatches with a sysinfo.csv beside them")
    return None


def read(source: Source, options: Options) -> Table:
    """The dispatches of a workload; raises BadCapture for stubs and for folders of several workloads.

    Raises NotTriageable for the workload's side files (sysinfo.csv, roofline.csv).
    """
    main = source
    if source.is_folder:
        found = _workloads(source)
        if not found:
            raise BadCapture(
                f"{source.path}: folder without pmc_perf.csv and without passes (results_*.csv)",
                f"profile again, or run: rocprof-compute analyze -p {source.path}",
            )
        if len(found) != 1 and not all(_RESULTS_RE.fullmatch(f.name) for f in found):
            shown = ", ".join(str(Path(f.path).parent) for f in found[:4])
            raise BadCapture(f"{source.path}: {len(found)} captures in this folder ({shown})", "name one of them")
        main = found[0]
    _, headers = wide_table.header(main)
    # side files given by themselves were recognised to be refused by name
    if _is_sysinfo(headers):
        raise NotTriageable(f"{main.path}: sysinfo.csv of a run, not its counters", "name its folder")
    if _is_roofline(headers):
        raise NotTriageable(f"{main.path}: measured peaks of the GPU (roofline.csv), not counters", "name its folder")
    if [normal(h) for h in headers] == _STUB:
        raise BadCapture(f"{main.path}: header without counters (the profiling pass failed)", "profile again")
    files = found if source.is_folder else [main]
    table, export, main = passes.joined(source, files, lambda file: _dispatches(file, options))
    _companions(table, export, main)
    rocm.finish(table, export, options, names())
    return agents.under(source, table)


def _dispatches(file: Source, options: Options) -> tuple[Table, Export]:
    """The dispatches of one file in either layout; raises BadCapture for any other table."""
    line, headers = wide_table.header(file)
    if long.is_long(headers):
        return long.load(file, NAME, line, headers, options.decimal)
    if not wide.is_wide(headers):
        raise BadCapture(
            f"{file.path}: no dispatches (columns: {', '.join(headers[:4])})", "name the folder of the capture"
        )
    table, export, start, end = wide.load(file, NAME, line, headers, options.decimal)
    rocm.add_time(table, export, start, end)
    return table, export


def collect(metrics: list[str]) -> str:
    """The profile command with the blocks that hold the missing metrics."""
    areas = {m.split(".")[0] for m in metrics}
    blocks = [block for block, of in _BLOCKS.items() if areas & {*of.split()}]
    if not areas <= {*" ".join(_BLOCKS.values()).split()} or not blocks:
        blocks.insert(0, "2")
    return Command(f"rocprof-compute profile -n myapp -b {' '.join(blocks)} -- ./app", "rocprof-compute")


# block of the profiler's report -> beginnings of the metrics that it collects; "2", speed of light, has the rest
_BLOCKS = {
    "6": "sched", "7": "launch waves", "10": "inst", "11": "valu salu mfma flop", "12": "lds", "13": "l1i", "14": "sl1d",
    "15": "mem_unit", "16": "l1tex", "17": "l2 fabric vram",
}  # fmt: skip


def _workloads(folder: Source) -> list[Source]:
    """pmc_perf.csv in this folder, packed or not; else its passes; else pmc_perf.csv in the folders below it."""
    if (here := _beside(folder, "pmc_perf.csv")) is not None:
        return [here]
    if _beside(folder, "sysinfo.csv") is not None:
        inside = [f for f in folder.children("results_*.csv*") if _RESULTS_RE.fullmatch(f.name)]
        if inside := [f for f in inside if Path(f.path).parent == Path(folder.path)]:
            return inside
    return folder.children("pmc_perf.csv") or folder.children("pmc_perf.csv.gz")


def _beside(source: Source, name: str) -> Source | None:
    """A file beside this one or in this folder; ROCm Compute Profiler packs its tables in newer versions."""
    return source.sibling(name) or source.sibling(f"{name}.gz")


def _is_sysinfo(headers: list[str]) -> bool:
    cus, kernel = wide_table.find(headers, "cu_per_gpu", "numCU"), wide_table.find(headers, "Kernel_Name")
    return len(headers) > 8 and cus >= 0 and kernel < 0


def _is_roofline(headers: list[str]) -> bool:
    return wide_table.find(headers, "device") >= 0 and wide_table.find(headers, "HBMBw") >= 0


def _companions(table: Table, export: Export, main: Source) -> None:
    """sysinfo.csv, and the pass with wave occupancy, where they lie beside the counters."""
    n = len(table)
    info = _beside(main, "sysinfo.csv")
    if info is not None:
        table.files.append(info)
        odd = Odd()
        try:
            export.specs, export.arch, table.device = sizes.sizes_of_sysinfo(info, len(table.files) - 1, n, odd)
        except BadCapture as e:
            table.quality.append(_left_out(e))
        table.quality += odd.remarks()
        wave = export.specs.pop("wave_size", None)
        if wave is not None and "wave" not in export.roles:
            export.roles["wave"] = wave
        # sysinfo may state a clock of 0: the tool could not find it out
        lacking = [s for s in ("cu_per_gpu", "max_sclk") if s not in export.specs]
        if lacking:
            table.notes.append(f"sysinfo.csv does not state {' and '.join(lacking)}")
    else:
        table.notes.append("no sysinfo.csv beside the counters, which states the GPU's sizes: give the workload folder")
    if (roof := _beside(main, "roofline.csv")) is not None:
        _peak(table, export, roof)
    if "gpu.time" not in table.columns and (times := _beside(main, "timestamps.csv")) is not None:
        _join_times(table, export, times)
    levels = _beside(main, "SQ_LEVEL_WAVES.csv")
    if levels is not None and levels.name != main.name:
        _join_levels(table, export, levels)


def _peak(table: Table, export: Export, roof: Source) -> None:
    """The measured peak of the GPU's memory; where it cannot be read, a remark says that the device's own takes its place."""
    odd = Odd()
    try:
        peak = sizes.peak_of_roofline(roof, len(table.files), len(table), odd)
    except BadCapture as e:
        table.quality.append(_left_out(e))
        return
    table.quality += odd.remarks()
    if peak is not None:
        table.files.append(roof)
        export.specs["hbm_bw"] = peak
        text = f"the DRAM's peak is the {peak.values[0]:,.0f} GB/s measured on this GPU (roofline.csv)"
        table.remark("measured-peak", text)


def _places(table: Table, export: Export, other: Export, count: int) -> Indices | None:
    """For each dispatch of the main file its row in the other, -1 for none; None when they cannot be matched.

    count: rows of the other file. Without dispatch numbers only files of equal length match, row by row.
    """
    a, b = export.roles.get("dispatch"), other.roles.get("dispatch")
    if a is None or b is None:
        return np.arange(len(table)) if count == len(table) else None
    where = {float(d): i for i, d in enumerate(b.values)}
    return np.array([where.get(float(d), -1) for d in a.values], dtype=np.int64)


def _pick(column: Column, places: Indices, table: Table, other: Table) -> Column:
    """A companion's column in the order of the main table, with its own file and lines."""
    # 0: no line, for a dispatch that the companion lacks
    lines = np.array([other.line(int(p)) if p >= 0 else 0 for p in places])
    values = np.where(places >= 0, column.values[np.maximum(places, 0)], np.nan)
    return Column(values, column.header, column.column, column.unit, column.factor, len(table.files) - 1, lines)


def _companion(table: Table, export: Export, source: Source, counter: str = "") -> tuple[Table, Export, Indices] | None:
    """A file beside the counters, and for each dispatch its row there; None where it cannot be read or matched.

    counter: read only a file with this column. Without one, its times are read too.
    """
    line, headers = wide_table.header(source)
    if not line or not wide.is_wide(headers) or (counter and counter not in headers):
        return None
    try:
        other, more, start, end = wide.load(source, NAME, line, headers)
        if not counter:
            rocm.add_time(other, more, start, end)
    except shape.Misfit:  # read again without these rows
        raise
    except BadCapture as e:
        table.quality.append(_left_out(e))
        return None
    table.quality += other.quality
    places = _places(table, export, more, len(other))
    return None if places is None else (other, more, places)


def _join_levels(table: Table, export: Export, source: Source) -> None:
    """Wave occupancy from its own pass: the accumulator and that pass's own cycles, as `SQ_LEVEL_WAVES.<counter>`."""
    if (read := _companion(table, export, source, "SQ_ACCUM_PREV_HIRES")) is None:
        return
    other, more, places = read
    table.files.append(source)
    for name in ("SQ_ACCUM_PREV_HIRES", "GRBM_GUI_ACTIVE"):
        if name in more.counters:
            export.counters[f"SQ_LEVEL_WAVES.{name}"] = _pick(more.counters[name], places, table, other)


def _left_out(e: BadCapture) -> Quality:
    return Quality("companion-left-out", f"a file beside the counters was left out: {e.message}")


def _join_times(table: Table, export: Export, source: Source) -> None:
    """gpu.time from timestamps.csv, where the counters' own table has none."""
    read = _companion(table, export, source)
    if read is None or "gpu.time" not in read[0].columns:
        return
    other, _, places = read
    table.files.append(source)
    own = other.columns["gpu.time"]
    for header in own.inputs:
        table.raw[header] = _pick(other.raw[header], places, table, other)
    column = _pick(own, places, table, other)
    column.formula, column.inputs = own.formula, own.inputs
    table.columns["gpu.time"] = column
    table.notes.append("durations come from timestamps.csv")
