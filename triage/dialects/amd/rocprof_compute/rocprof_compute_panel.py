"""Analysis panels of ROCm Compute Profiler / Omniperf saved as CSV (`rocprof-compute analyze`): `201.csv` and its kin.

The Speed-of-Light panel (2.1) has one metric per row with value, peak and percent of peak; panels of single units (workgroup
manager, LDS, vector L1, L2 and its channels) have values only. Each describes all analysed dispatches together, so it is one
workload. Panels of which nothing follows are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
from msgspec import Struct, field

from triage.capture import shape
from triage.capture.capture import Column, Table
from triage.capture.redundancy import Product
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.amd.counters.counter_names import SM_PARTS
from triage.dialects.amd.rocprof_compute import pmc_perf
from triage.dialects.tables import wide_table
from triage.ground import csv_rows, units
from triage.ground.errors import BadCapture, NotTriageable

NAME = "rocprof-compute-panel"
EVERY = "all analysed dispatches"  # name of the one workload
COUNTED = "count"  # cycles or units of hardware, as Omniperf 1 printed where later versions have a share
SIGN = ("metric",)
REDUNDANT = (Product(("avg", "value"), ("peak",), ("pctofpeak", "pop"), percent=True),)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
TITLE = "AMD ROCm Compute Profiler / Omniperf panels (201.csv, 1601.csv, 1701.csv, ...)"
CAPTURE = """\
`rocprof-compute analyze -p workloads/myapp/MI300X -b 2.1 --save-dfs out` saves the System Speed-of-Light panel as CSV. It sums up
all analysed dispatches without times; the workload folder itself (see rocprof-compute) holds every dispatch and is the better input.
`-k N` restricts the analysis to one kernel.
"""
# metric name as printed -> (canonical id, column used: "value" or "pop")
_SOL = {name: (metric, figure) for name, metric, figure in csv_rows.rows(__file__, "speed_of_light.csv")}


class Panel(Struct, frozen=True):
    """One panel: its title, a row that no other has, and what its rows mean.

    rows: name as printed -> (canonical id, factor to its unit from what is printed). inverse: rows of hits whose metric
    counts the misses. parts: rows whose metric is their share of another row, by its name.
    """

    title: str
    only: str
    rows: dict[str, tuple[str, float]] = field(default_factory=dict)
    inverse: frozenset[str] = frozenset()
    parts: dict[str, str] = field(default_factory=dict)


def _panels() -> Iterator[Panel]:
    for (title, only), rows in groupby(csv_rows.rows(__file__, "panels.csv"), key=itemgetter(0, 1)):
        listed = list(rows)
        named = {row[2]: (row[3], float(row[4])) for row in listed}
        inverse = frozenset(row[2] for row in listed if row[5])
        yield Panel(title, only, named, inverse, {row[2]: row[6] for row in listed if row[6]})


PERCENT = 0.01
PANELS = tuple(_panels())
# rows of 17.1 in GB/s: their share of the row that states the memory's peak, else the rate itself
FABRIC = {
    "L2-Fabric Read BW": "fabric.read_throughput",
    "L2-Fabric Write and Atomic BW": "fabric.write_throughput",
    "L2-Fabric Write BW": "fabric.write_throughput",
}
PEAK = "HBM Bandwidth"
RATE, GIGA = "gb/s", 1e9  # bytes per second, although older versions print Gb/s
SPREAD = "Req"  # row of 18.1 whose average and maximum tell how evenly the channels are loaded


def names() -> dict[str, list[str]]:
    """The rows of the panel."""
    out: dict[str, list[str]] = {
        "sm.throughput": ["VALU Utilization", "MFMA Utilization"],
        "vram.throughput": ["L2-Fabric Read BW", "L2-Fabric Write BW"],
        "valu.utilization": ["VALU Active Threads"],
    }
    for printed, (metric, _) in _SOL.items():
        out.setdefault(metric, []).append(printed)
    for panel in PANELS:
        for name, (metric, _) in panel.rows.items():
            out.setdefault(metric, []).append(f"{name} (panel {panel.title.partition(' ')[0]})")
    # the workload folder that the panels were made from holds the rest
    return pmc_perf.names() | out


def _columns(headers: list[str]) -> dict[str, int]:
    return wide_table.roles(
        headers,
        {
            "metric": ("Metric",),
            "value": ("Avg", "Value", "Mean"),
            "unit": ("Unit", "Units"),
            "peak": ("Peak", "Peak (Empirical)"),
            "pop": ("Pct of Peak", "PoP"),
            "min": ("Min",),
            "max": ("Max",),
            "expression": ("Expression",),
        },
    )


def recognise(source: Source) -> Match | None:
    """Metric with value, unit, peak and percent of peak; or the columns of the other panels."""
    line, headers = wide_table.header(source)
    found = _columns(headers)
    if not line or "metric" not in found:
        return None
    if {"value", "peak", "pop"} <= set(found):
        return Match(0.85, f"speed-of-light panel columns ({', '.join(headers[:5])})")
    if "unit" in found and {"value", "min", "max"} <= set(found) and len(headers) <= 9:
        return Match(0.75, f"analysis panel columns ({', '.join(headers[:5])})")
    if ({"value", "unit"} <= set(found) and len(headers) <= 5) or {"metric", "expression"} == set(found):
        return Match(0.70, f"analysis panel columns ({', '.join(headers[:5])})")
    return None


def read(source: Source, options: Options) -> Table:
    """The panel as one workload; raises NotTriageable naming one of which nothing follows."""
    line, headers = wide_table.header(source)
    found = _columns(headers)
    shape.check(source, line + 1, None, headers)
    records = sorted(source.records(range(line + 1, line + 400)).items())
    at = found["metric"]
    rows = [(number, cells) for number, cells in records if len(cells) > at and cells[at].strip()]
    if not rows:
        raise BadCapture(f"{source.path}: header without rows", "analyze the capture again")
    table = panel(source, headers, rows, options)
    if table is not None:
        return table
    if "pop" not in found:
        raise NotTriageable(
            f"{source.path}: panel of {rows[0][1][found['metric']].strip()}: averages over all kernels, without times",
            "name the folder with pmc_perf.csv, or panel 2.1 (201.csv)",
        )
    problem = f"{source.path}: panel with percent of peak, without a utilisation in its {len(rows)} rows"
    raise NotTriageable(problem, "name panel 2.1 (System Speed-of-Light) or the folder with pmc_perf.csv")


def panel(
    source: Source,
    headers: list[str],
    records: Sequence[tuple[int, Sequence[str]]],
    options: Options,
    section: str = "",
) -> Table | None:
    """One panel, as (1-based line, cells) per row, as one workload; None where nothing follows from it.

    section: its number, "6.2", where it is known; a row that no other panel has tells it otherwise.
    """
    found = _columns(headers)
    if "metric" not in found:
        return None
    rows: dict[str, tuple[int, Sequence[str]]] = {}
    for number, cells in records:
        rows.setdefault(_plain(cells[found["metric"]]), (number, cells))
    if "pop" in found:
        return _speed_of_light(source, found, headers, rows, options)
    return _single(source, found, rows, options, section)


def _speed_of_light(
    source: Source,
    found: dict[str, int],
    headers: list[str],
    rows: Mapping[str, tuple[int, Sequence[str]]],
    options: Options,
) -> Table | None:
    """Panel 2.1, None where no row states a utilisation."""
    first = min(number for number, _ in rows.values())
    odd = Odd()
    table = Table(NAME, [source], np.array([EVERY], dtype=object), {}, lines=np.array([first]))
    table.kinds = np.array(["compute"], dtype=object)
    used = set()
    style = _style(source, rows, [found["value"], found["pop"]], options.decimal)
    for name, (metric, which) in _SOL.items():
        if _plain(name) not in rows or metric in table.columns:
            continue
        number, cells = rows[_plain(name)]
        column = found[which]
        value = _value(source, number, column, cells, style)
        if value is None:
            if column < len(cells):
                odd.number(cells[column], style, name, number)
            continue
        used.add(_plain(name))
        unit = "%" if which == "pop" or _unit(cells, found) == "%" else ""
        factor = 0.01 if unit else 1.0
        header = f"{cells[found['metric']].strip()} / {headers[column]}"
        table.columns[metric] = Column.of_cell(value * factor, header, column + 1, number, unit, factor)
        if metric == "valu.active_threads":  # its percent of peak, threads of a full wave, is a metric of its own
            pop = found["pop"]
            if (share := _value(source, number, pop, cells, style)) is not None:
                of_peak = Column.of_cell(share / 100, headers[pop], pop + 1, number, "%", 0.01)
                table.columns["valu.utilization"] = of_peak
    if not table.columns:
        return None
    table.quality += odd.remarks()
    _sums(table)
    table.unmapped = [cells[found["metric"]].strip() for key, (_, cells) in rows.items() if key not in used]
    table.notes.append("the panel sums up all analysed dispatches and states no time: one workload, nothing to rank")
    return table


def _single(
    source: Source, found: dict[str, int], rows: Mapping[str, tuple[int, Sequence[str]]], options: Options, section: str
) -> Table | None:
    """A panel of one unit as one workload, None for a panel that is not among them or says nothing."""
    known = (p for p in PANELS if (p.title.startswith(f"{section} ") if section else _plain(p.only) in rows))
    panel = next(known, None)
    at = found.get("value", found.get("expression", -1))
    if panel is None or at < 0:
        return None
    # an untitled row is the panel itself
    first = min(number for number, _ in rows.values())
    table = Table(NAME, [source], np.array([EVERY], dtype=object), {}, lines=np.array([first]))
    table.kinds = np.array(["compute"], dtype=object)
    style = _style(source, rows, [at], options.decimal)

    def cell(name: str, column: int) -> float | None:
        if _plain(name) not in rows or column < 0:
            return None
        number, cells = rows[_plain(name)]
        return cell_number(source, number, column, cells, style)

    def compute(metric: str, formula: str, value: float, inputs: dict[str, tuple[str, int]]) -> None:
        for label, (name, column) in inputs.items():
            found_value = cell(name, column)
            number = rows[_plain(name)][0]
            table.raw[label] = Column(np.array([found_value]), label, column + 1, lines=np.array([number]))
        table.columns[metric] = Column.computed(np.array([value]), formula, tuple(inputs))

    for name, (metric, factor) in panel.rows.items():
        value, lacking = cell(name, at), cell(panel.parts.get(name, name), at) is None
        if value is None or lacking or metric in table.columns or _is_counted(rows[_plain(name)][1], found, factor):
            continue
        if name in panel.inverse:
            compute(metric, f"1 - {name}", 1 - value * factor, {name: (name, at)})
        elif whole := panel.parts.get(name):
            share = value / (cell(whole, at) or np.nan)
            compute(metric, f"{name} / {whole}", share, {name: (name, at), whole: (whole, at)})
        else:
            number, cells = rows[_plain(name)]
            header, unit = f"{cells[found['metric']].strip()} ({panel.title})", "%" if factor == 0.01 else ""
            table.columns[metric] = Column.of_cell(value * factor, header, at + 1, number, unit, factor)
    peak = cell(PEAK, at)
    for name, metric in FABRIC.items():
        if (value := cell(name, at)) is not None and peak and metric not in table.columns:
            pair = {name: (name, at), PEAK: (PEAK, at)}
            compute(metric, f"{name} / {PEAK}", value / peak, pair)
    of_fabric = {name: v for name in FABRIC if (v := cell(name, at)) is not None}
    moved = {name: v for name, v in of_fabric.items() if _unit_word(rows[_plain(name)][1], found) == RATE}
    if moved and not peak:
        rate = GIGA * sum(moved.values())
        compute("vram.bandwidth", " + ".join(moved), rate, {name: (name, at) for name in moved})
    highest = found.get("max", -1)
    mean, most = cell(SPREAD, at), cell(SPREAD, highest)
    if panel.title.startswith("18.1") and mean is not None and most:
        columns = {"average": at, "maximum": highest}
        pair = {f"{SPREAD} ({which})": (SPREAD, column) for which, column in columns.items()}
        compute("l2.channel_imbalance", "1 - average / maximum over the channels", 1 - mean / most, pair)
    if not table.columns:
        return None
    averages = "averages over all analysed dispatches; the workload folder holds every dispatch"
    table.notes.append(f"panel {panel.title}: {averages}")
    return table


def cell_number(
    source: Source, number: int, column: int, cells: Sequence[str], style: units.Style = "us"
) -> float | None:
    """A cell's number, None for an empty one or a missing counter; BadCapture for anything else. number: its line."""
    nothing = column >= len(cells) or cells[column].strip().lower() in ("", "none", "n/a", "nan")
    return None if nothing else _value(source, number, column, cells, style)


def _plain(name: str) -> str:
    """Metric names without case, separators and the maintainers' bulk renaming of LDS."""
    return re.sub(r"[\s_]+", " ", name.replace("LDS_Per_Workgroup", "LDS")).strip().lower()


def _style(
    source: Source, rows: Mapping[str, tuple[int, Sequence[str]]], columns: list[int], wanted: str
) -> units.Style:
    """Decimal point or comma; only a panel that is not cut by commas can hold the latter."""
    if source.delimiter == "," and not wanted:
        return "us"
    if wanted:
        return "eu" if wanted in ("comma", "eu") else "us"
    return units.style([r[c] for _, r in rows.values() for c in columns if c < len(r)], f"{source.path}: ")


def _value(source: Source, number: int, column: int, cells: Sequence[str], style: units.Style) -> float | None:
    """A cell's number, None for none; BadCapture for anything else. number: its line."""
    text = cells[column] if column < len(cells) else ""
    try:
        return units.parse(text, style)
    except ValueError as e:
        raise BadCapture(f"{source.path}:{number}: {text[:40]!r} is not a number", "export the panel again") from e


def _unit_word(cells: Sequence[str], found: dict[str, int]) -> str:
    return cells[found["unit"]].strip().lower() if "unit" in found and found["unit"] < len(cells) else ""


def _unit(cells: Sequence[str], found: dict[str, int]) -> str:
    """`%`, COUNTED for any other unit, "" where none is stated."""
    unit = _unit_word(cells, found)
    return "%" if unit in ("pct", "percent", "%", "pct of peak") else COUNTED if unit else ""


def _is_counted(cells: Sequence[str], found: dict[str, int], factor: float) -> bool:
    """True for a row of shares that an older version printed as a count."""
    return factor == PERCENT and _unit(cells, found) == COUNTED


def _sums(table: Table) -> None:
    """SM side: its busiest sub-unit. Memory: reads and writes share one bus. Occupancy counts idle CUs too."""
    parts = [p for p in SM_PARTS if p in table.columns]
    if "valu.busy" in parts:  # without the vector ALU the maximum would be a guess
        values = np.fmax.reduce([table.columns[p].values for p in parts])
        formula = f"max({', '.join(parts)})"
        table.columns["sm.throughput"] = Column(values, "busiest sub-unit", formula=formula, inputs=tuple(parts))
    pair = ("fabric.read_throughput", "fabric.write_throughput")
    if all(p in table.columns for p in pair):
        total = table.columns[pair[0]].values + table.columns[pair[1]].values
        table.columns["vram.throughput"] = Column(total, "reads + writes", formula=" + ".join(pair), inputs=pair)


collect = pmc_perf.collect
