"""List of counters, one row per workload and counter: read as the custom table whose columns these counters are."""

from __future__ import annotations

import csv
import io

import numpy as np
from msgspec.structs import replace

from triage.capture.capture import Column, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.custom import generic
from triage.dialects.custom.say import by_name
from triage.dialects.tables import tool_names, wide_table
from triage.ground.phrasing import plural

NAME = "counter-list"
SIGN = ("counter", "metric")
TITLE = "Counter list, one row per workload and counter"
CAPTURE = "Write a CSV of four columns: the workload's name, `Counter`, `Unit` and `Value`; each workload has its time among its counters."
MIN_KNOWN = 2  # counters with a known name
_ROLES = (("Counter", "Counter Name", "Metric", "Metric Name"), ("Value", "Counter Value", "Metric Value"), ("Unit", "Units", "Metric Unit"))  # fmt: skip

names = generic.names


def _places(source: Source) -> tuple[int, int, int, int]:
    """Columns of names, counters, values and units (-1 for none); all -1 for any other table."""
    _, headers = wide_table.header(source)
    counter, value, unit = (wide_table.find(headers, *role) for role in _ROLES)
    rest = {*range(len(headers))} - {counter, value, unit}
    return (rest.pop(), counter, value, unit) if len(rest) == 1 and min(counter, value) >= 0 else (-1, -1, -1, -1)


def _title(counter: str, unit: str) -> str:
    """A counter as the header of a column: without the chart that it stands in, where its own name says enough."""
    chart, _, series = counter.rpartition(":")
    spelled = (series, f"{series} {chart.split()[-1].lower()}") if chart.strip() else ()
    if unit == "cycles":  # of which shares have the same names
        spelled = spelled[::-1]
    name = next((s.strip() for s in spelled if by_name(s).metric or tool_names.tools(s)), counter)
    return f"{name} ({unit})" if unit else name


def recognise(source: Source) -> Match | None:
    """Columns of names, counters and values, with counters that are known."""
    name, counter, _, _ = _places(source)
    if name < 0:
        return None
    rows = (cells(line, source.delimiter) for line in source.head_lines[1:])
    known = {row[counter] for row in rows if len(row) > counter and by_name(_title(row[counter], "")).metric}
    return Match(0.5, f"names, counters and values: {plural(len(known), 'counter')}") if len(known) >= MIN_KNOWN else None


def read(source: Source, options: Options) -> Table:
    """The custom table of the counters; each cell keeps the line that its value stands on."""
    name, counter, value, unit = _places(source)
    line, headers = wide_table.header(source)
    rows: dict[str, dict[str, tuple[int, str]]] = {}
    repeated = 0
    for number, text in source.numbered(line + 1):
        row = cells(text, source.delimiter) if number > line and text.strip() else []
        if len(row) == len(headers):
            title = _title(row[counter].strip(), row[unit].strip() if unit >= 0 else "")
            held = rows.setdefault(row[name].strip(), {})
            repeated += title in held
            held.setdefault(title, (number, row[value]))
    titles = list(dict.fromkeys(title for held in rows.values() for title in held))
    table = generic.read(_turned(source, line, [headers[name], *titles], rows), options)
    table.dialect, table.files = NAME, [source]
    if repeated:
        table.remark("repeated-counter", f"{plural(repeated, 'value')} of a counter given before: the first one is used")
    held = {min(at for at, _ in held.values()): held for held in rows.values()}
    for columns in (table.columns, table.raw):
        for key, column in columns.items():
            if column.column:
                own = [held[table.line(i)].get(titles[column.column - 2]) for i in range(len(table))]
                lines = np.array([cell[0] if cell else 0 for cell in own])
                columns[key] = replace(column, column=value + 1, lines=lines)
    return table


def _turned(source: Source, line: int, heads: list[str], rows: dict[str, dict[str, tuple[int, str]]]) -> Source:
    """The list as a table with a column per counter, each row on the first line of its workload."""
    out = [""] * max(number for held in rows.values() for number, _ in held.values())
    out[line - 1] = _record(source, heads)
    for name, held in rows.items():
        first = min(number for number, _ in held.values())
        out[first - 1] = _record(source, [name, *(held.get(title, (0, ""))[1] for title in heads[1:])])
    part = source.without(source.path, ())
    part.rewrite("\n".join([*out, ""]).encode(source.encoding.removesuffix("-sig"), "replace"))
    return part


def _record(source: Source, row: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=source.delimiter, lineterminator="").writerow(row)
    return text.getvalue()
