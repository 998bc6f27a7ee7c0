"""nvprof, metrics and events per kernel: one record per kernel and counter with Min, Max, Avg over the invocations.

Meanings: NVIDIA, Profiler User's Guide (metrics reference); which PerfWorks counter each became: NVIDIA, Nsight
Compute CLI, nvprof transition guide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from triage import schema
from triage.capture.arrays import Floats, Indices
from triage.capture.capture import Column, Table
from triage.capture.redundancy import Ordered, Record
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.nvidia import ncu_names, nvprof
from triage.ground import csv_rows, units
from triage.ground.collect_command import Command
from triage.ground.errors import BadCapture, UnknownUnit
from triage.schema import normal

NAME = "nvprof-metrics"
SIGN = ("metric", "event")
TELLS = {"work": "compute", "vendor": "nvidia", "api": "cuda"}
TITLE = "nvprof CSV, metrics and events per kernel"
CAPTURE = nvprof.CAPTURE
REDUNDANT = (Record((("kernel",), ("device",)), (("invocations",),)), Ordered((("min",), ("avg",), ("max",))))

# nvprof's name -> (canonical id, factor on top of the printed unit's)
_MAP = csv_rows.factors(__file__, "nvprof_metrics.csv")
# shared-memory wavefronts needed / issued; nvprof prints 0 for kernels without shared memory
_SHARED = "shared_efficiency"
_DRAM = ("dram_read_throughput", "dram_write_throughput")
# lanes at work: idle ones request nothing, so that the efficiency falls with them
_LANES = "warp_execution_efficiency"
ONE_WORD = 0.0313  # one word of a wavefront's 32: of one lane, or of 32 lanes in one bank
_WIDE_BANKS = re.compile(r"(?:Tesla|Quadro) K\d")  # Kepler: 64 bits wide; words of 32 bits fill half of a wavefront
# wavefronts per access, loads and stores apart
_WAYS = ("shared_load_transactions_per_request", "shared_store_transactions_per_request")
_LEVEL = re.compile(r"(?:Idle|Low|Mid|High|Max)\s*\((\d+)\)", re.IGNORECASE)
_NOTES = {
    "utilization": "utilisation levels are whole tenths of the peak (Low (2) = 20 %), so they are exact to 5 points only",
    "stall_": "stall shares are of nvprof's stall samples; the barrier share includes memory barriers, \
the wait share every execution dependency",
}


def names() -> dict[str, list[str]]:
    """canonical id -> nvprof metrics and events."""
    table: dict[str, list[str]] = {
        "frame.calls": ["Invocations"],
        "vram.bandwidth": ["dram_read_throughput + dram_write_throughput"],
    }
    for name, (metric, _) in _MAP.items():
        table.setdefault(metric, []).append(name)
    table.setdefault("shared.conflict_share", []).append(_SHARED)
    table["shared.conflict_ways"] = [" + ".join(_WAYS)]
    return {m: n for m, n in table.items() if schema.known(m)}


def collect(metrics: list[str]) -> str:
    """One nvprof command for the metrics it has; Nsight Compute's for the rest."""
    table = names()
    mine = sorted(n for m in metrics for n in table.get(m, [])[:1] if n in _MAP)
    rest = [m for m in metrics if m not in table]
    own = Command.asking(f"{_RUN} ", mine, " ./your-app", glue=",", program="nvprof") if mine else ""
    if not rest or not (other := ncu_names.collect(rest)):
        return own
    newer = Command.asking(f"on Volta and newer: {other.before}", other.asks, other.after, glue=other.glue)
    return Command(f"{own}; {newer}", "nvprof") if own else newer


_RUN = "nvprof --csv --log-file metrics.csv --metrics"


def recognise(source: Source) -> Match | None:
    """Kernel, Metric Name or Event Name, and Avg in one header."""
    kinds = [f.kind for f in nvprof.find(source) if f.kind in ("metrics", "events")]
    return Match(0.93, f"nvprof columns: Device, Kernel, Invocations, {kinds[0].title()[:-1]} Name") if kinds else None


class _Rows(Struct):
    """Values per metric as they come: row -> (value, line)."""

    keys: dict[tuple[str, str], int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    cells: dict[str, dict[int, tuple[float, int]]] = field(default_factory=dict)
    heads: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)
    odd: Odd = field(default_factory=Odd)

    def column(self, name: str) -> tuple[Floats, Indices]:
        """Values of a metric, NaN where it was not printed, and the lines on which they stand."""
        values, lines = np.full(len(self.keys), np.nan), np.zeros(len(self.keys), dtype=np.int64)
        for row, (value, line) in self.cells[name].items():
            values[row], lines[row] = value, line
        return values, lines

    def raw(self, table: Table, name: str) -> Floats:
        """Values of a metric that others are computed from, kept beside them as printed."""
        values, lines = self.column(name)
        _, unit, at = self.heads[name]
        table.raw[name] = Column(values, name, at, unit, units.unit(unit)[1] if unit else 1.0, lines=lines)
        return values


def read(source: Source, options: Options) -> Table:
    """One row per device and kernel, means over its invocations; sums are means times invocations.

    Raises BadCapture when nothing was recorded, quoting nvprof.
    """
    tables = nvprof.find(source)
    found = [f for f in tables if f.kind in ("metrics", "events")]
    rows = _Rows()
    for part in found:
        _take(source, part, rows)
    if not rows.keys:
        if message := nvprof.chatter(source):
            raise BadCapture(f"{source.path}: nvprof message: {message}", "check that the application launches kernels")
        raise BadCapture(f"{source.path}: header without rows", "profile again")
    count = len(rows.keys)
    kernels, calls = np.array([k for _, k in rows.keys], dtype=object), np.array(rows.calls)
    table = Table(NAME, [source], kernels, {}, lines=np.array(rows.lines), group=False)
    at = [normal(h) for h in found[0].headers]
    place = found[0].position(at.index("invocations")) if "invocations" in at else 0
    table.columns["frame.calls"] = Column(calls, "Invocations", place)
    _times(table, source, [f for f in tables if f.kind == "summary"])
    for name in _MAP:
        _column(table, rows, name, calls)
    _conflicts(table, rows)
    _ways(table, rows)
    _bandwidth(table, rows)
    table.kinds = np.full(count, "compute", dtype=object)
    devices = list(dict.fromkeys(re.sub(r"\s*\(\d+\)\s*$", "", d) for d, _ in rows.keys))
    table.device = devices[0]
    table.unmapped = sorted(rows.unknown)
    table.quality += rows.odd.remarks()
    table.notes += [
        *sorted(rows.notes),
        "nvprof gives means over the invocations of a kernel; counts were multiplied by them",
    ]
    return table


def _times(table: Table, source: Source, summaries: Sequence[nvprof.TableLocation]) -> None:
    """Time of each kernel where the log holds a summary of times beside the counters."""
    taken: dict[str, tuple[float, str, int]] = {}
    for part in summaries:
        low = [normal(h) for h in part.headers]
        name, time = low.index("name"), low.index("time")
        for line, row in nvprof.records(source, part):
            value, unit = units.parse_glued(row[time])
            if value is not None and (unit := unit or part.units[time]):
                taken.setdefault(row[name], (value, unit, line))
    known = [taken.get(str(n)) for n in table.names]
    scales = {k[1] for k in known if k}
    if len(scales) == 1:
        scale = units.factor(unit := scales.pop(), "ns")
        values = np.array([k[0] * scale if k else np.nan for k in known])
        lines = np.array([k[2] if k else 0 for k in known])
        table.columns["gpu.time"] = Column(values, "Time", 1, unit, scale, lines=lines)


def _take(source: Source, part: nvprof.TableLocation, rows: _Rows) -> None:
    """The records of one table; metrics and events of one run are two tables about the same kernels."""
    low = [normal(h) for h in part.headers]
    name_at = low.index("metric name" if "metric name" in low else "event name")
    kernel, value_at = low.index("kernel"), low.index("avg")
    device = low.index("device") if "device" in low else -1
    calls = low.index("invocations") if "invocations" in low else -1
    for line, row in nvprof.records(source, part):
        key = (row[device] if device >= 0 else "", row[kernel])
        if not row[name_at].strip():
            continue
        if key not in rows.keys:  # its events may follow in a table of their own
            rows.keys[key] = len(rows.keys)
            rows.lines.append(line)
            rows.calls.append(rows.odd.number(row[calls], "us", part.headers[calls], line) if calls >= 0 else np.nan)
        name = row[name_at].strip()
        if name not in (*_MAP, _SHARED, *_WAYS) and not name.startswith(_DRAM):
            rows.unknown.add(name)
            continue
        rows.notes |= {
            text
            for word, text in _NOTES.items()
            if (word in name and _LEVEL.search(row[value_at] + row[value_at - 1]))
            or (word == "stall_" and name.startswith(word))
        }
        value, unit = cell(row[value_at])
        if value == value and not _fits(name, unit):
            rows.odd.add("foreign-unit", row[value_at], name, line)
            value = float("nan")
        elif value != value and row[value_at].strip().lower() not in units.MISSING:
            rows.odd.add("not-a-number", row[value_at], name, line)
        # units are glued to each value and scaled for it: GB/s here, MB/s below
        rows.cells.setdefault(name, {})[rows.keys[key]] = (value, line)
        rows.heads.setdefault(name, (part.headers[value_at], unit, part.position(value_at)))


def _fits(name: str, unit: str) -> bool:
    """True if a unit is of the metric's kind."""
    if unit and name.endswith(("_transactions", "_requests")):
        return False  # counted, whatever is made of the count
    metric = _MAP[name][0] if name in _MAP else "vram.bandwidth"
    if unit in ("", "level") or (unit == "%" and "efficiency" in name) or not schema.known(metric):
        return True
    try:
        units.factor(unit, schema.get(metric).unit)
    except UnknownUnit:
        return False
    return True


def cell(text: str) -> tuple[float, str]:
    """A value with its unit or level: `190.7GB/s` -> (1.907e11, GB/s), `47.8%` -> (0.478, %), `Low (2)` -> (2, level)."""
    if m := _LEVEL.fullmatch(text.strip()):
        return float(m[1]), "level"
    try:
        value, unit = units.parse_glued(text)
    except ValueError:
        return float("nan"), ""
    if value is None:
        return float("nan"), ""
    try:
        return (value * units.unit(unit)[1] if unit else value), unit
    except UnknownUnit:
        return float("nan"), unit


def _conflicts(table: Table, rows: _Rows) -> None:
    """Bank conflicts as a share of shared-memory wavefronts, from efficiency and lanes; broadcasts push it above 100 %."""
    if not rows.cells.get(_SHARED) or "shared.conflict_share" in table.columns:
        return
    header, efficiency = rows.heads[_SHARED][0], rows.raw(table, _SHARED)
    lanes = rows.column(_LANES)[0] if rows.cells.get(_LANES) else np.ones(len(rows.keys))
    banks = np.array([0.5 if _WIDE_BANKS.match(device) else 1.0 for device, _ in rows.keys])
    lost = np.clip(1 - efficiency / (np.where(lanes > 0, lanes, 1.0) * banks), 0.0, 1.0)
    lost = np.where(efficiency > ONE_WORD, lost, np.where(efficiency == 0, 0.0, np.nan))
    formula = f"1 - {header} of shared_efficiency / lanes at work; 0 where unused"
    table.columns["shared.conflict_share"] = Column(lost, _SHARED, formula=formula, inputs=(_SHARED,))


def _ways(table: Table, rows: _Rows) -> None:
    """Mean ways of loads and stores of shared memory; of one kind alone where the other has no access, printed as 0."""
    if not all(name in rows.cells for name in _WAYS):
        rows.unknown |= {name for name in _WAYS if name in rows.cells}
        return
    ways = np.nan_to_num(np.array([rows.raw(table, name) for name in _WAYS]))
    kinds = (ways > 0).sum(axis=0)
    mean = np.where(kinds > 0, ways.sum(axis=0) / np.maximum(kinds, 1), np.nan)
    table.columns["shared.conflict_ways"] = Column(mean, "", formula=f"mean of {' and '.join(_WAYS)}", inputs=_WAYS)


def _column(table: Table, rows: _Rows, name: str, calls: Floats) -> None:
    metric, factor = _MAP[name]
    # several names give one metric: the order of _MAP says which wins
    if not rows.cells.get(name) or metric in table.columns or not schema.known(metric):
        if rows.cells.get(name):
            rows.unknown.add(name)
        return
    values, lines = rows.column(name)
    values *= factor
    if metric.endswith("bytes_per_sector"):  # no access at all is not a bad one
        values[values == 0] = np.nan
    header, unit, at = rows.heads[name]
    table.columns[metric] = Column(values, name, at, unit, factor * (0.01 if unit == "%" else 1.0), lines=lines)
    if schema.get(metric).additive:  # Avg is of one invocation, the row is all of them
        table.multiply(metric, calls, f"{header} x Invocations")


def _bandwidth(table: Table, rows: _Rows) -> None:
    """VRAM bandwidth is what nvprof gives as reads and writes apart."""
    if not all(p in rows.cells for p in _DRAM):
        rows.unknown |= {p for p in _DRAM if p in rows.cells}
        return
    # both in one table or not at all: one half of a bandwidth would be taken for the whole
    total = np.add(*(rows.raw(table, p) for p in _DRAM))
    table.columns["vram.bandwidth"] = Column(total, "", formula=" + ".join(_DRAM), inputs=_DRAM)
    moved = ("vram.bytes_read", "vram.bytes_written")
    if "gpu.time" in table.columns or not all(m in table.columns for m in moved):
        return
    values = sum(table.columns[m].values for m in moved) / np.where(total > 0, total, np.nan) * 1e9
    formula = f"({' + '.join(moved)}) / vram.bandwidth"
    table.columns["gpu.time"] = Column.computed(values, formula, (*moved, "vram.bandwidth"))
    table.notes.append("the export has no duration; GPU time is DRAM's bytes over their rate")
