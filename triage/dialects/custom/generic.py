"""Custom table: one row per workload, headers in the words of whoever wrote it.

What people write by hand or from their own scripts, and the way in for every table that no dialect knows
(`--map "Their Column=canonical.id"`). Read in four steps over one list of headers, each a module of its own: `say` what
each may mean, `agree` on one reading by the columns beside it, `believe` it or not by its values, `place` it in the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from triage import schema
from triage.capture.arrays import Floats
from triage.capture.capture import Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.custom import column_units, frame_totals, host_rows, metric_tables, rows, target_size
from triage.dialects.custom.agree import Columns, agree, pick
from triage.dialects.custom.believe import Evidence, believe
from triage.dialects.custom.place import enter_all_calls, place
from triage.dialects.custom.say import by_name, say, worded
from triage.dialects.tables import device_name, kernel_sums, wide_table
from triage.dialects.tables.wide_table import Wide
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.kernel_owners import owner_of

_WORK_RE = re.compile(r"\b(?:kernel(?: name)?|op|operator|operation)\Z")
_MAKERS = ("compiler", "framework", "library")
SAME_RATIO = 0.01  # between rounded percentages and their times
NAME = "generic"
TITLE = "Custom table, one row per workload"
CAPTURE = "Write a CSV with a `name` column and one column per metric; headers are canonical ids or aliases, units in brackets. `triage facts FILE` shows how each column was read."


def names() -> dict[str, list[str]]:
    """Every metric under its id and aliases."""
    return {m.id: [m.id, *m.aliases] for m in schema.all_metrics().values()}


def recognise(source: Source) -> Match | None:
    """A header with a name column and at least one known measure, or at least two known columns.

    Names and a count alone are any list there is: of people and their calls, say.
    """
    if not source.head_text.strip():
        return None
    line, headers = wide_table.header(source)
    known = [metric for h in headers if (metric := by_name(h).metric)]
    roles = rows.roles(source, line, headers)
    named = bool({"name", "path"} & roles.keys())
    if named and len(known) < 2:  # words alone say less than names: a tool's table has some of them too
        with suppress(BadCapture):  # two units of one column, which reading says
            headers, _ = column_units.with_units(source, line, headers)
        by_words = [h.reading.metric for h in pick([worded(i, h) for i, h in enumerate(headers)]) if h.reading.metric]
        known = by_words if len(by_words) >= (1 if _is_of_kernels(headers, roles) else 2) else known
    measured = any(schema.get(metric).unit != "count" for metric in known)
    if (named and measured) or len(known) >= 2:
        # low: a tool's own export has aliases among its headers too, and its own reader knows more
        return Match(0.30, f"{len(known)} of {len(headers)} headers are canonical metrics or aliases of them")
    return None


def read(source: Source, options: Options) -> Table:
    """The table; raises BadCapture without rows or metrics, UnknownUnit for a header's unit that does not fit."""
    line, headers = wide_table.header(source)
    if not line:
        raise BadCapture(f"{source.path}: the file is empty", "export again")
    headers, unit_row = column_units.with_units(source, line, headers)
    roles = rows.roles(source, line, headers, options.mapping)
    columns = agree(say(headers, roles.values(), options.mapping))
    _require_any(columns, source, headers)
    wide = _values(source, line, headers, unit_row, columns, roles, options)
    category = host_rows.column(headers)
    wide, left_out = host_rows.set_aside(source.path, wide, wide.texts[category]) if category >= 0 else (wide, "")
    frame_totals.set_aside(columns, wide.numbers)
    if "frame" in roles:
        frame_totals.refuse_lone(f"{source.path}:{line}", columns, wide.numbers, wide.texts[roles["frame"]])
    table = _without_columns(source, line, wide, roles)
    evidence = Evidence(columns, wide.numbers, table.device, f"{source.path}:{line}")
    table.notes += [left_out] if left_out else []
    believe(evidence)
    _require_any(columns, source, headers)
    _refuse_list(source, evidence, named="device" in roles and schema.normal(headers[roles["device"]]) == "gpu")
    place(table, evidence, wide, roles, headers)
    target_size.enter(table, headers, wide.numbers)
    _say_missing(table, wide.numbers.get(_share_column(headers)))
    table.collect, asked_for = metric_tables.asking(headers, columns.used)
    if _is_of_kernels(headers, roles) or ("name" in roles and all(map(_is_compiled, wide.texts[roles["name"]]))):
        enter_all_calls(table, evidence)
        table.tells["work"] = "compute"
    if not metric_tables.tool_of(headers):
        table.collectable = frozenset((*columns.used, *asked_for(schema.all_metrics())))
    return table


def _is_of_kernels(headers: Sequence[str], roles: Mapping[str, int]) -> bool:
    """True for a table that calls its rows kernels or operators."""
    return "name" in roles and bool(_WORK_RE.search(schema.normal(headers[roles["name"]])))


def _is_compiled(name: str) -> bool:
    """True for a function's whole C++ name, or one that a compiler, a framework or a library gives its kernels."""
    owner = owner_of(name)
    return name.startswith(("void ", "_Z")) or (owner is not None and owner.owner in _MAKERS)


def _without_columns(source: Source, line: int, wide: Wide, roles: dict[str, int]) -> Table:
    """The rows of a table and the GPU that they ran on, before any column is entered."""
    row_names = rows.names(roles, wide.texts, len(next(iter(wide.numbers.values()))))
    table = wide.table(NAME, source, row_names)
    if "device" in roles:
        rows.enter_device(table, wide.texts[roles["device"]])
    else:
        device_name.by_comment(table, source.head_lines[: line - 1])
    return table


def _values(
    source: Source,
    line: int,
    headers: Sequence[str],
    unit_row: Sequence[int],
    columns: Columns,
    roles: Mapping[str, int],
    options: Options,
) -> Wide:
    """The cells of the columns that are read. Raises BadCapture without rows or numbers."""
    numeric = [h.place for h in (*columns.used.values(), *columns.rivals)]
    texts = [c for c in (*roles.values(), host_rows.column(headers)) if c >= 0]
    sides = target_size.columns(headers) or ()
    also = [c for c in (_share_column(headers), *sides) if c >= 0 and c not in (*texts, *numeric) and numeric]
    read = [*numeric, *also]
    wide = wide_table.read(
        source,
        line,
        wide_table.header(source)[1],
        read,
        texts,
        decimal=options.decimal,
        skip=unit_row,
        printed={c: wide_table.stated_unit(headers[c]) for c in read},
    )
    if not any(np.isfinite(wide.numbers[c]).any() for c in numeric):
        # a single record that ends before its first number is a cut file, not a workload without metrics
        row = cells(source.head_lines[line], source.delimiter) if len(source.head_lines) > line else []
        where = f"{source.path}:{line + 1}"
        if len(wide.numbers[numeric[0]]) == 1 and len(row) < len(headers):
            raise BadCapture(f"{where}: the only row has {len(row)} of {len(headers)} cells", "export again")
        seen = next((f" ({row[c].strip()[:40]!r} in {headers[c]})" for c in numeric if c < len(row)), "")
        raise BadCapture(f"{where}: no numeric cells{seen}", "check the column, or export again")
    return wide


def _share_column(headers: Sequence[str]) -> int:
    """0-based column of percentages of the time, -1 for none."""
    return wide_table.find(headers, "percentage", "percent", "time (%)", "time(%)", "time %", "pct")


def _say_missing(table: Table, shares: Floats | None) -> None:
    """Remark where percentages of the time, as their ratio to the times shows, leave out rows."""
    if shares is None or "gpu.time" not in table.columns:
        return
    ratio = shares / table.columns["gpu.time"].values
    if len(ratio) > 1 and np.ptp(ratio) <= SAME_RATIO * np.abs(ratio).max():
        kernel_sums.say_missing(table, shares)


def _require_any(columns: Columns, source: Source, headers: Sequence[str]) -> None:
    """Raise BadCapture where no column is read."""
    if not columns.used:
        raise BadCapture(
            f"{source.path}: none of the {len(headers)} columns is a known metric (first: {headers[0][:40]!r})",
            'map columns with --map "Their Column=canonical.id"; see: triage list metrics',
        )


def _refuse_list(source: Source, evidence: Evidence, named: bool) -> None:
    """Raise NotTriageable for a list of files or machines: it has a column called `gpu` and one that counts.

    named: that column holds names.
    """
    measures = [h for m, h in evidence.columns.used.items() if m != "frame.calls"]
    if (measures or named) and not any(np.isfinite(evidence.numbers[h.place]).any() for h in measures):
        raise NotTriageable(
            f"{source.path}: no numeric cells in {', '.join(repr(h.text) for h in measures[:3]) or 'any measure'}",
            "a list of counts is not a capture; name the profiler's export",
        )
