"""Xcode's Metal debugger, exported encoder counters: one row per encoder, some counter names twice, no units."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from triage import schema
from triage.capture.arrays import Floats
from triage.capture.capture import SEP, Column, Quality, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.graphics import xcode_names
from triage.dialects.tables import unit_inference, wide_table
from triage.ground import units
from triage.ground.errors import BadCapture

NAME = "xcode-counters"
SIGN = ("encoder",)
TELLS = {"work": "graphics", "vendor": "apple", "api": "metal"}
TITLE = "Apple Xcode Metal debugger counters (one row per encoder)"
CAPTURE = """\
In Xcode capture a frame (Debug, Capture GPU Workload), open Performance, Counters, and choose Editor, Export GPU Counters (Export
Encoder Counters). The file is `<trace> Counters.csv`. Profile the capture first, else the counters are empty.
"""
_TIME = "gpu time"
_NEWER = "F32 Limiter"  # splits what older exports call ALU Limiter


def names() -> dict[str, list[str]]:
    """The counters used."""
    return {**xcode_names.by_metric(), "gpu.time": ["GPU Time"]}


def recognise(source: Source) -> Match | None:
    """CommandBuffer Label and Encoder Label."""
    line, headers = wide_table.header(source)
    if line and wide_table.find(headers, "Encoder Label") >= 0 and wide_table.find(headers, "CommandBuffer Label") >= 0:
        return Match(0.95, f"Metal encoder columns (CommandBuffer Label, Encoder Label) on line {line}")
    return None


def read(source: Source, options: Options) -> Table:
    """The encoders; raises BadCapture when no counter holds a number."""
    line, headers = wide_table.header(source)
    label, buffer = wide_table.find(headers, "Encoder Label"), wide_table.find(headers, "CommandBuffer Label")
    group = wide_table.find(headers, "Debug Group")
    # of some 240 counters a few are exported twice under one name, and one column has no name at all
    first: dict[str, int] = {}
    again: dict[str, list[int]] = {}
    for i, h in enumerate(headers):
        if h and h in first:
            again.setdefault(h, []).append(i)
        elif h:
            first[h] = i
    wanted = {h: first[h] for h in xcode_names.wanted() if h in first}
    time = next((i for i, h in enumerate(headers) if wide_table.split_unit(h)[0].lower() == _TIME), -1)
    printed = {} if time >= 0 else _nameless(source, line, headers)
    time = next(iter(printed), time)
    numeric = [*wanted.values(), *(c for h in wanted for c in again.get(h, [])), *([time] if time >= 0 else [])]
    text = [c for c in (label, buffer, group) if c >= 0]
    wide = wide_table.read(source, line, headers, numeric, text, decimal=options.decimal, printed=printed)
    labels = np.array([str(t) or f"encoder {i + 1}" for i, t in enumerate(wide.texts[label])], dtype=object)
    table = wide.table(NAME, source, labels)
    table.group = False
    parents = [
        [str(wide.texts[c][i]).strip("/").replace("/", SEP) for c in (buffer, group) if c >= 0]
        for i in range(len(table))
    ]
    table.paths = np.array([SEP.join(p for p in levels if p) for levels in parents], dtype=object)
    for h, c in wanted.items():
        others = [wide.numbers[o] for o in again.get(h, [])]
        if any(not np.array_equal(o, wide.numbers[c], equal_nan=True) for o in others):  # which one is meant?
            message = f"{h!r} stands {1 + len(others)} times with different values: not used"
            table.remark("ambiguous-counter", message)
            continue
        _column(table, h, c, wide.numbers[c])
    _several(table)
    if not table.columns:
        raise BadCapture(
            f"{source.path}: no known counter with a number", "profile the capture in Xcode, then export again"
        )
    if time >= 0:
        header = headers[time] or f"GPU Time ({printed[time]})"
        _time(table, f"{source.path}:{line}", header, time, wide.numbers[time])
    if "gpu.time" not in table.columns:
        _untimed(table, time >= 0)
    used = {c.column - 1 for c in (*table.columns.values(), *table.raw.values())}
    table.unmapped = [
        h for i, h in enumerate(headers) if h and i not in used and i not in text and first[h] not in used
    ]
    table.notes.append("the export states no units; rates were read as percent")
    if _NEWER in first:
        # what a GPU of this family cannot give is not asked for
        older = {m: [h for h in own if h in first] or own[-1:] for m, own in names().items()}
        gone = {m for m, own in names().items() if not any(h in first for h in own) and m != "gpu.time"}
        table.collectable = frozenset(names().keys() - gone)
        table.collect = partial(_collect, older)
    return table


def _nameless(source: Source, line: int, headers: list[str]) -> dict[int, str]:
    """The unit of the column without a name, by its position, where its first cell states one of time."""
    cells = next(iter(source.records([line + 1]).values()), [])
    stated = {i: units.glued(c.strip()) for i, (h, c) in enumerate(zip(headers, cells, strict=False)) if not h}
    return {i: u for i, u in stated.items() if u and units.unit(u)[0] == "ns"}


def _time(table: Table, where: str, header: str, c: int, values: Floats) -> None:
    """The encoders' times, in the unit that the header or, failing that, the values tell; nothing where neither does."""
    unit = wide_table.split_unit(header)[1]
    if not unit and np.isfinite(values).any():
        try:
            unit, remark = unit_inference.time_unit(where, header, values)
        except BadCapture as e:
            table.remark("time-unit", f"{e.message}: the times are left out; {e.hint}")
            return
        unit = unit or "ns"
        whole = units.show(np.nansum(values) * units.factor(unit, "ns"), "ns")
        text = f"{header!r} states no unit and was read as {unit}, which makes the frame {whole}"
        table.quality.append(remark or Quality("time-unit", text))
    if np.isfinite(values).any():
        factor = units.factor(unit, "ns")
        table.columns["gpu.time"] = Column(values * factor, header, c + 1, unit, factor)


def _untimed(table: Table, has_column: bool) -> None:
    what = "the column GPU Time holds nothing that could be read" if has_column else "no column is called GPU Time"
    text = f"{what}: savings can only be shares of each encoder; profile the capture and export again"
    table.remark("no-times", text)


def _column(table: Table, header: str, c: int, values: Floats) -> None:
    """One counter as a metric, unless the capture was not profiled: then every cell is empty."""
    if not np.isfinite(values).any():
        return
    if metric := xcode_names.PERCENT.get(header):
        table.columns.setdefault(metric, Column(values * 0.01, header, c + 1, "%", 0.01))
    elif metric := xcode_names.INVERTED.get(header):
        table.raw[header] = Column(values, header, c + 1, "%")
        formula = f"1 - {schema.get(metric).label}'s miss rate / 100"
        table.columns[metric] = Column(1 - values * 0.01, header, 0, formula=formula, inputs=(header,))
    elif metric := xcode_names.PLAIN.get(header):
        table.columns.setdefault(metric, Column(values, header, c + 1))
    else:
        table.raw[header] = Column(values, header, c + 1)


def _several(table: Table) -> None:
    """Metrics that several counters hold together: the highest of shares, the sum of counts."""
    held = {c.header: (key, c.values) for key, c in (*table.columns.items(), *table.raw.items())}
    for several, word, factor, combine in (
        (xcode_names.HIGHEST, "highest", 0.01, np.fmax.reduce),
        (xcode_names.SUMS, "sum", 1.0, np.nansum),
    ):
        for metric, headers in several.items():
            found = tuple(h for h in headers if h in held)
            if found and metric not in table.columns:
                values = combine([held[h][1] for h in found], axis=0) * factor
                inputs = tuple(held[h][0] for h in found)
                table.columns[metric] = Column(values, "", formula=f"{word} of {', '.join(found)}", inputs=inputs)


def collect(metrics: list[str]) -> str:
    """The counters as Xcode calls them, and where it exports them."""
    return _collect(names(), metrics)


def _collect(known: Mapping[str, list[str]], metrics: list[str]) -> str:
    wanted = ", ".join(dict.fromkeys(known[m][0] for m in metrics if m in known))
    counters = f" with {wanted}" if wanted else ""
    return f"Xcode: profile the captured workload, then Editor > Export GPU Counters{counters}"
