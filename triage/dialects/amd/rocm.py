"""From the columns of any AMD profiler export to a Table: launch shape, time, counters, computed metrics.

Shared by rocprof, rocprofv3 and rocprof-compute, which name the same things differently. Raw counters that a formula
used are kept in Table.raw, so that every computed number leads back to the cells it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from functools import cache

import numpy as np
from msgspec.structs import replace

from triage.capture.arrays import Floats, Names
from triage.capture.capture import Column, Table
from triage.dialects import Options
from triage.dialects.amd import compiled
from triage.dialects.amd.counters import counter_names, rdna, sizes, spread
from triage.dialects.amd.rocm_export import Export
from triage.dialects.tables import formulas
from triage.ground.errors import NotTriageable
from triage.ground.phrasing import plural

# role -> its header in rocprof v1, v2, rocprofv3 and rocprof-compute; times in ns, sizes in bytes
ROLES = {
    "name": ("KernelName", "Kernel_Name", "Kernel Name"),
    "grid": ("grd", "Grid_Size"),
    "group": ("wgr", "Workgroup_Size"),
    "lds": ("lds", "LDS_Per_Workgroup", "LDS_Block_Size", "LDS_Block_Size_v", "Group_Segment_Size"),
    "scratch": ("scr", "Scratch_Per_Workitem", "Scratch_Size", "Private_Segment_Size"),
    "vgpr": ("arch_vgpr", "VGPR_Count", "vgpr", "Arch_VGPR_Count"),
    "agpr": ("accum_vgpr", "Accum_VGPR_Count"),
    "sgpr": ("sgpr", "SGPR_Count"),
    "wave": ("wave_size",),
    "start": ("BeginNs", "Start_Timestamp", "Begin_Timestamp"),
    "end": ("EndNs", "End_Timestamp"),
    "duration": ("DurationNs",),
    "dispatch": ("Dispatch_ID", "Index"),
}
LAUNCH = {
    "group": "launch.block_size",
    "lds": "launch.shared",
    "scratch": "launch.scratch",
    "vgpr": "launch.registers",
    "agpr": "launch.accum_registers",
    "sgpr": "launch.scalar_registers",
    "wave": "launch.wave_size",
}
# a counter of one L2 channel or texture unit, `TCC_HIT[17]`, where the tool wrote no sum
CHANNEL = re.compile(r"(.+)\[(\d+)\]\Z")
MAX_WAVES = 40  # slots of a compute unit before RDNA: four SIMDs of ten
# kernels of the runtime that copy and fill buffers, and packets that only order others
RUNTIME_RE = re.compile(r"__amd_rocclr_(copy|fill)|<barrier packet>|MEMORY_COPY_")
_LEVEL = re.compile(r"SQ\w*_LEVEL")
_KD = ("[clone .kd]", "(.kd)", ".kd")


def clean(name: str) -> str:
    """A kernel's name without the marks of its descriptor: `f(int) [clone .kd]` -> `f(int)`."""
    bare = name.strip()
    while mark := next((m for m in _KD if bare.endswith(m)), ""):
        bare = bare.removesuffix(mark).rstrip()
    return bare


def names(texts: Names) -> Names:
    """Clean kernel names; a nameless dispatch is called by its place."""
    short = {t: clean(str(t)) for t in set(texts)}
    return np.array([short[t] or f"dispatch {i + 1}" for i, t in enumerate(texts)], dtype=object)


def kinds(shown: Names) -> Names:
    """`copy` for what the runtime does by itself, `compute` for kernels of the program."""
    return np.array(["copy" if RUNTIME_RE.match(str(name)) else "compute" for name in shown], dtype=object)


def stamps(texts: Names) -> Floats:
    """Timestamps as floats, NaN where there is none: for provenance only, differences are taken on the texts."""
    out = np.full(len(texts), np.nan)
    for i, t in enumerate(texts):
        try:
            out[i] = float(t)
        except ValueError:
            continue
    return out


def _exact(text: str) -> tuple[int, float, bool]:
    """A timestamp as whole ns, the fraction, and whether its digits were lost (`8.1097E+14`).

    Raises ValueError or InvalidOperation where there is none.
    """
    value = Decimal(text)
    exponent = value.as_tuple().exponent
    if not value.is_finite() or abs(value.adjusted()) > 30:
        raise ValueError(text)  # no clock counts that far, and as a whole number it would fill the memory
    whole = int(value)
    return whole, float(value - whole), isinstance(exponent, int) and exponent > 0


def elapsed(start: Names, end: Names) -> tuple[Floats, int]:
    """End minus start in ns, exact for any size of timestamp, and how many rows had damaged timestamps.

    Timestamps reach 1.7e18 ns, where a float64 only holds steps of 256 ns, so they are subtracted as whole numbers.
    """
    try:
        a, b = start.astype(np.int64), end.astype(np.int64)
        return (b - a).astype(np.float64), 0
    except (ValueError, TypeError, OverflowError):  # fractions (averaged passes), blanks or a spreadsheet's work
        pass
    out, damaged = np.full(len(start), np.nan), 0
    for i, (s, e) in enumerate(zip(start, end, strict=True)):
        try:
            (sw, sf, sd), (ew, ef, ed) = _exact(str(s).strip()), _exact(str(e).strip())
        except (InvalidOperation, ValueError, OverflowError):
            continue  # empty or not a number: no time
        if sd or ed:
            damaged += 1
        else:
            out[i] = (ew - sw) + (ef - sf)
    return out, damaged


@cache
def _needed() -> frozenset[str]:
    every = (*counter_names.FORMULAS, *rdna.FORMULAS)
    inputs = {n.rpartition(".")[2] for _, formula in every for n in formulas.names(formula) if not n.islower()}
    return frozenset((*counter_names.DIRECT, *inputs, "SQ_LEVEL_WAVES"))


def wanted(headers: Iterable[str]) -> set[str]:
    """Which counters of a file are of use: metrics themselves, inputs of formulas, channels of inputs."""
    needed, headers = _needed(), list(headers)
    have = set(headers)
    out = have & needed
    out.update(h for h in have if f"{h}_sum" in needed)
    for h in headers:  # channels only where the tool did not sum them up: a GPU has up to 128
        if ((m := CHANNEL.fullmatch(h)) and f"{m[1]}_sum" in needed and f"{m[1]}_sum" not in have) or (
            m and m[1] == spread.COUNTER
        ):
            out.add(h)
    return out


def add_time(table: Table, export: Export, start: Names | None, end: Names | None) -> None:
    """gpu.time (ns) from the duration cell where there is one, else from two timestamps (given as text)."""
    if "duration" in export.roles:
        table.columns["gpu.time"] = export.roles["duration"]
        return
    if start is None or end is None:
        return
    values, damaged = elapsed(start, end)
    if damaged:
        rounded = f"timestamps of {damaged} of {len(values)} rows were rounded by a spreadsheet (first: {start[0]})"
        hint = "so they have no duration: use the file that the profiler wrote"
        table.remark("damaged-timestamps", f"{rounded}, {hint}")
    if np.isfinite(values).any():
        a, b = export.roles["start"], export.roles["end"]
        took = Column.computed(values, f"{b.header} - {a.header}", (b.header, a.header))
        table.columns["gpu.time"] = replace(took, unit="ns", file=a.file)
        table.raw[a.header], table.raw[b.header] = a, b


def finish(table: Table, export: Export, options: Options, metrics: Iterable[str] = ()) -> Table:
    """Launch shape, metrics printed as such, metrics computed by formula, architecture. gpu.time must be there already.

    names: metrics that the tool can export at all. Raises NotTriageable when nothing came of it.
    """
    n = len(table)
    table.kinds = kinds(table.names)
    for role, metric in LAUNCH.items():
        if role in export.roles:
            table.columns[metric] = export.roles[role]
    _groups(table, export)
    # what the tool printed as a metric wins over a formula for it
    sizes.complete(table, export, options.device)
    if not export.arch and "sgpr" in export.roles and rdna.has_rdna_registers(export.roles["sgpr"].values):
        export.arch = rdna.UNKNOWN
    compiled.join(table, export.source, export.arch)
    printed = counter_names.direct(export.arch, export.counters)
    if rdna.is_rdna(export.arch, export.counters):
        printed = printed | rdna.of_simds(export.counters)
    for name, column in export.counters.items():
        metric, factor = printed.get(name, ("", 1.0))
        if metric and metric not in table.columns:
            unit = "%" if factor == 0.01 else ""
            table.columns[metric] = replace(column, values=column.values * factor, unit=unit, factor=factor)
    if "cu_per_gpu" in export.specs:
        table.columns["device.sm_count"] = export.specs["cu_per_gpu"]
    _busy_in_cycles(table, export)
    find = _Lookup(table, export)
    for metric, formula in counter_names.formulas_of(export.arch, export.counters):
        if metric not in table.columns:
            _compute(table, find, metric, formula)
    spread.add(table, export)
    parts = [p for p in counter_names.SM_PARTS if p in table.columns]
    if "valu.busy" in parts:  # without the vector ALU the maximum would be a guess
        _compute(table, find, "sm.throughput", f"max({', '.join(parts)})")
    if not table.columns:
        problem = f"{export.source.path}: {plural(n, 'dispatch')} without times, launch shapes or counters"
        raise NotTriageable(problem, "name the table with the counters (pmc_perf.csv, results.csv)")
    table.arch = table.arch or export.arch
    table.collectable = _collectable(metrics, export)
    if unknown := sizes.lacking(export, set(table.columns), {*export.counters, *table.raw}):
        lacking = f"counters are there, but not the GPU's {', '.join(unknown)}"
        table.notes.append(f"{lacking}: metrics that need them stay blind; name the GPU with --device")
    if export.arch in counter_names.INFINITY_CACHE and "vram.throughput" in table.columns:
        counted = "VRAM figures count what L2 asks of the fabric"
        table.notes.append(f"{counted}; the Infinity Cache may answer part of it, so they are upper bounds")
    used = {c.header for c in (*table.columns.values(), *table.raw.values())}
    table.unmapped = [u for u in table.unmapped if u not in used]
    table.unmapped += [name for name, c in export.counters.items() if c.column and c.header not in used]
    return table


def _busy_in_cycles(table: Table, export: Export) -> None:
    """The cycles of busy compute units as cycles: AMD documents quad-cycles, and measured exports hold cycles.

    Quad-cycles where plain cycles would make more waves resident, over all kernels, than a compute unit has slots.
    """
    busy = export.counters.get("SQ_BUSY_CU_CYCLES")
    # waves that wait are resident too; both count in fours
    waves = next((c for name in ("SQ_WAVE_CYCLES", "SQ_WAIT_ANY") if (c := export.counters.get(name))), None)
    if busy is None or waves is None:
        return
    both = np.isfinite(busy.values) & np.isfinite(waves.values)
    slots = export.specs["max_waves_per_cu"].values.max() if "max_waves_per_cu" in export.specs else MAX_WAVES
    if 4 * waves.values[both].sum() > 1.25 * slots * busy.values[both].sum() > 0:  # two passes differ by less
        export.counters["SQ_BUSY_CU_QUADS"], formula = busy, "4 * SQ_BUSY_CU_QUADS"
        export.counters["SQ_BUSY_CU_CYCLES"] = Column.computed(4 * busy.values, formula, ("SQ_BUSY_CU_QUADS",))
        table.notes.append(
            f"SQ_BUSY_CU_CYCLES was read as quad-cycles: as cycles more than {slots:.0f} waves would share a CU"
        )


def _collectable(metrics: Iterable[str], export: Export) -> frozenset[str] | None:
    """What the tool can give for this GPU: more where sizes are known, less where it lacks counters; None: what it can."""
    arch, every = export.arch, counter_names.exported()
    if not export.specs and not arch:
        return None
    have = {*metrics, *counter_names.exported(tuple(export.specs), arch)}
    return frozenset(m for m in have if m not in every or not arch or counter_names.counters(m, arch))


def _groups(table: Table, export: Export) -> None:
    """Grid sizes of AMD's tools count work-items; groups are that over the group size."""
    grid, group = export.roles.get("grid"), export.roles.get("group")
    if grid is None or "launch.grid_size" in table.columns:
        return
    table.columns["launch.threads"] = grid
    if group is not None:
        formula, inputs = f"{grid.header} / {group.header}", ("launch.threads", "launch.block_size")
        found = Column.computed(groups([grid.values], [group.values]), formula, inputs)
        table.columns["launch.grid_size"] = replace(found, file=grid.file)


def groups(items: Iterable[Floats], sizes: Iterable[Floats]) -> Floats:
    """Groups of launches from work-items and group sizes per axis: a last one may be partly filled, on each axis by itself."""
    with np.errstate(all="ignore"):
        axes = [np.ceil(i / np.where(size > 0, size, np.nan)) for i, size in zip(items, sizes, strict=True)]
    out: Floats = np.prod(axes, axis=0)
    return out


class _Lookup:
    """Resolve a name in a formula: metrics first, then counters, sizes of the GPU, and kept inputs."""

    def __init__(self, table: Table, export: Export) -> None:
        self._table, self._export = table, export
        self._channels: dict[str, list[str]] = {}
        self._wave: Column | None = None
        if export.arch.startswith("gfx9"):  # has one width, and RDNA's tools print theirs
            self._wave = Column(np.full(len(table), 64.0), "64", formula=f"64 ({export.arch} knows no other wave)")
        for name in export.counters:
            if m := CHANNEL.fullmatch(name):
                self._channels.setdefault(f"{m[1]}_sum", []).append(name)

    def __call__(self, name: str) -> Column | None:
        for where in (self._table.columns, self._export.counters, self._export.specs, self._table.raw):
            if name in where:
                return where[name]
        if name == "launch.wave_size" and self._wave:
            return self._wave
        if name == "SQ_LEVEL_WAVES_ACCUM":
            # the accumulator belongs to the level counter of its pass; with two of them it is ambiguous
            one = not any(_LEVEL.match(h) for h in self._table.unmapped)
            if one and {"SQ_LEVEL_WAVES", "SQ_ACCUM_PREV_HIRES"} <= set(self._export.counters):
                return self._export.counters["SQ_ACCUM_PREV_HIRES"]
        if (bare := name.removesuffix("_sum")) != name and bare in self._export.counters:
            return self._export.counters[bare]  # rocprofv3 prints a counter summed over its instances
        if parts := self._channels.get(name):
            parts.sort(key=lambda p: int(p.rpartition("[")[2][:-1]))  # exported in any order
            total = np.sum([self._export.counters[p].values for p in parts], axis=0)
            text = f"sum of {parts[0]} to {parts[-1]}" if len(parts) > 1 else parts[0]
            self._export.counters[name] = Column(total, text, formula=text, inputs=tuple(parts))
            return self._export.counters[name]
        return None

    def keep(self, name: str) -> None:
        """Remember an exported input (and its own inputs) in Table.raw."""
        if name in self._table.columns or name in self._table.raw:
            return
        column = self(name)
        if column is not None:
            self._table.raw[name] = column
            for inner in column.inputs:
                self.keep(inner)


def _compute(table: Table, find: _Lookup, metric: str, formula: str) -> None:
    """One metric by its formula, where all names in it are there and the outcome is a number anywhere."""
    used = formulas.names(formula)
    columns = {name: column for name in used if (column := find(name)) is not None}
    if len(columns) < len(used):
        return
    values = formulas.evaluate(formula, lambda name: columns[name].values)
    if not np.isfinite(values).any():
        return
    for name in used:
        find.keep(name)
    table.columns[metric] = Column.computed(values, formula, used)
