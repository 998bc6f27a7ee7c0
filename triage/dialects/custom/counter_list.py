"""List of counters, one row per workload and counter: read as the custom table whose columns these counters are."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from triage.capture.capture import Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.custom import generic
from triage.dialects.custom.say import by_name
from triage.dialects.tables import tool_names, wide_table
from triage.ground.errors import BadCapture
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
    return (
        Match(0.5, f"names, counters and values: {plural(len(known), 'counter')}") if len(known) >= MIN_KNOWN else None
    )


def read(source: Source, options: Options) -> Table:
    """The custom table of the counters; each cell keeps the line that its value stands on."""
    names_at, counter, value, unit = _places(source)
    line, headers = wide_table.header(source)
    rows: dict[str, dict[str, tuple[int, str]]] = {}
    repeated = 0
    for number, text in source.numbered(line + 1):
        row = cells(text, source.delimiter) if number > line and text.strip() else []
        if row and len(row) != len(headers):
            raise BadCapture(f"{source.path}:{number}: {len(row)} cells, header has {len(headers)}", "export again")
        if row:
            title = _title(row[counter].strip(), row[unit].strip() if unit >= 0 else "")
            held = rows.setdefault(row[names_at].strip(), {})
            repeated += title in held
            held.setdefault(title, (number, row[value]))
    if not rows:
        raise BadCapture(f"{source.path}: header without rows", "nothing was recorded; capture again")
    titles = list(dict.fromkeys(title for held in rows.values() for title in held))
    begun = {min(at for at, _ in held.values()): (name, held) for name, held in rows.items()}
    turned = {n: [name, *(held.get(t, (0, ""))[1] for t in titles)] for n, (name, held) in begun.items()}
    table = generic.read(_written(source, {line: [headers[names_at], *titles]} | turned), options)
    table.dialect, table.files = NAME, [source]
    if repeated:
        table.remark(
            "repeated-counter", f"{plural(repeated, 'value')} of a counter given before: the first one is used"
        )
    for columns in (table.columns, table.raw):
        for key, column in columns.items():
            if column.column:
                own = [begun[table.line(i)][1].get(titles[column.column - 2], (0, ""))[0] for i in range(len(table))]
                columns[key] = replace(column, column=value + 1, lines=np.array(own))
    return table


def _written(source: Source, rows: Mapping[int, Sequence[str]]) -> Source:
    """A table in place of the list, with each row on its line."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=source.delimiter, lineterminator="\n")
    writer.writerows(rows.get(number, ()) for number in range(1, max(rows) + 1))
    part = source.without(source.path, ())
    part.rewrite(text.getvalue().encode(source.encoding.removesuffix("-sig"), "replace"))
    return part
