"""Arm Streamline: the Timeline view's table (`Chart:Series` columns over time), one workload per annotated region."""

from __future__ import annotations

import re

import numpy as np

from triage import schema
from triage.capture.arrays import Floats, Indices
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.tables import number_cells, wide_table
from triage.ground.collect_command import Command
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.phrasing import plural

NAME = "arm-streamline"
SIGN = ("mali", "region", "annotation")
TELLS = {"work": "graphics", "vendor": "arm"}
TITLE = "Arm Streamline timeline table, one row per region or pass"
CAPTURE = """\
Mark passes with `ANNOTATE_CHANNEL_COLOR(...)` of streamline_annotate.h, capture with a Mali template, then in the Timeline view export the
charts as CSV. Columns are `Chart:Series` over `Time` or `Start`; a column `Region` (or `Annotation`, `Pass`) says which pass each line belongs to.
"""
MIN_SERIES = 3  # columns of charts of a Mali GPU that tell the table
_SERIES_RE = re.compile(r"^\s*((?:Mali|GPU)\b[^:]{0,80}):\s{0,4}([^:]{2,80}?)\s*$")
_TIMES = ("Time", "Start")
_LABELS = ("Region", "Annotation", "Pass", "Render pass", "Bookmark", "Marker")
_REST = "(no region)"


def metric_of(header: str) -> str:
    """The metric of a `Chart:Series` column, "" for one that is not used.

    A series is named in full, or by what its chart's last word goes on: `Mali Core Unit Utilization:Arithmetic unit`.
    """
    m = _SERIES_RE.match(wide_table.split_unit(header)[0])
    if not m:
        return ""
    for name in (m[2], f"{m[2]} {m[1].split()[-1].lower()}"):
        if found := schema.by_alias().get(schema.normal(name), ""):
            # charts of cycles hold counts, whatever the series is called
            return "" if "cycle" in m[1].lower() and schema.get(found).unit == "ratio" else found
    return ""


def _find(headers: list[str], *names: str) -> int:
    """The first column of one of these names, with or without a unit; -1 for none."""
    return wide_table.find([wide_table.split_unit(h)[0] for h in headers], *names)


def recognise(source: Source) -> Match | None:
    """A time, and several series of a Mali GPU's charts."""
    _, headers = wide_table.header(source)
    series = sum(bool(_SERIES_RE.match(wide_table.split_unit(h)[0])) for h in headers)
    if series < MIN_SERIES or _find(headers, *_TIMES) < 0:
        return None
    return Match(0.93, f"Streamline timeline: times and {plural(series, 'column')} of GPU charts")


def read(source: Source, options: Options) -> Table:
    """One row per run of lines of one region; raises NotTriageable without a series that is used, BadCapture without times."""
    line, headers = wide_table.header(source)
    time, label = _find(headers, *_TIMES), _find(headers, *_LABELS)
    length = _find(headers, "Duration")
    used: dict[str, int] = {}
    for c, header in enumerate(headers):
        if metric := metric_of(header):
            used.setdefault(metric, c)
    if not used:
        raise NotTriageable(
            f"{source.path}: Streamline table without a series that is used", "add the Mali charts to it"
        )
    numeric = sorted({*used.values(), *([length] if length >= 0 else [])})
    texts = [time, *([label] if label >= 0 else [])]
    wide = wide_table.read(source, line, headers, numeric, texts, decimal=options.decimal)
    begun = np.array([_seconds(str(t), headers[time]) for t in wide.texts[time]])
    lasted = wide.numbers[length] * _scale(headers[length]) if length >= 0 else _steps(begun)
    if not np.isfinite(lasted).any():
        raise BadCapture(f"{source.path}: Streamline table of one moment", "export a longer part of the timeline")
    shown = [str(t).strip() or _REST for t in wide.texts[label]] if label >= 0 else ["whole GPU"] * len(begun)
    first = np.flatnonzero([i == 0 or shown[i] != shown[i - 1] for i in range(len(shown))])
    table = wide.only(first).table(NAME, source, np.array([shown[i] for i in first], dtype=object))
    table.columns["gpu.time"] = Column(_sums(lasted, first) * 1e9, headers[length if length >= 0 else time], formula="time of its lines")  # fmt: skip
    for metric, c in used.items():
        table.columns[metric] = _column(metric, headers[c], wide.numbers[c], lasted, first)
    if label < 0:
        text = f"no column {', '.join(_LABELS[:3])}: the capture is one aggregate, without passes"
        table.remark("aggregate", text)
        table.kinds, table.group = np.full(len(table), "frame", dtype=object), False
    return table


def _column(metric: str, header: str, values: Floats, lasted: Floats, first: Indices) -> Column:
    """A counter over the lines of each region: sums of counts, means over time of everything else."""
    share = 0.01 if schema.get(metric).unit == "ratio" else 1.0
    if schema.get(metric).additive:
        return Column(_sums(values, first), header, formula="sum over its lines")
    known = np.where(np.isfinite(values), lasted, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _sums(np.nan_to_num(values) * known, first) / _sums(known, first)
    return Column(mean * share, header, unit="%" if share != 1.0 else "", factor=share, formula="mean over its lines")


def _sums(values: Floats, first: Indices) -> Floats:
    out: Floats = np.add.reduceat(np.nan_to_num(values), first)
    return out


def _steps(begun: Floats) -> Floats:
    """Length of each line, up to the next one; the last as long as most."""
    steps = np.diff(begun)
    return np.append(steps, np.median(steps)) if len(steps) else np.full(len(begun), np.nan)


def _scale(header: str) -> float:
    return {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}.get(wide_table.split_unit(header)[1], 1.0)


def _seconds(text: str, header: str) -> float:
    """A time as Streamline writes it: seconds, or minutes and seconds with a colon."""
    total = 0.0
    for piece in text.strip().rstrip("s").split(":"):
        total = total * 60 + number_cells.lone(piece)
    return total * _scale(header)


def names() -> dict[str, list[str]]:
    """Series that are used."""
    out: dict[str, list[str]] = {"gpu.time": ["Time"]}
    for name in ("Fragment overdraw", "Partial coverage rate", "Input primitives", "Visible primitives", "Read bytes", "External read bytes", "Write bytes", "External write bytes", "Arithmetic unit utilization", "Texture unit utilization", "Load/store unit utilization", "Varying unit utilization", "External bus read stall rate", "Late ZS killed quad percentage", "Late ZS tested quad percentage"):  # fmt: skip
        out.setdefault(schema.by_alias()[schema.normal(name)], []).append(name)
    return out


def collect(metrics: list[str]) -> str:
    """The series to add, by the names of Arm's counters."""
    wanted = [found[0] for metric in metrics if (found := names().get(metric))]
    return Command.asking("add to the capture's charts: ", wanted) if wanted else ""
