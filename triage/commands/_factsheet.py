"""A capture's facts as text: values with units and source cells, and the unmapped columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from triage.capture.capture import SEP, Capture, Column
from triage.commands import _columns
from triage.derive import View
from triage.findings.finding_types import Origin
from triage.findings.origins import Origins
from triage.findings.text_fields import path_text
from triage.ground.phrasing import plural
from triage.ground.units import display, show
from triage.rendering.findings_csv import inert

MAX_COLUMNS = 60  # unmapped columns listed in the table


def _facts(capture: Capture, metrics: Sequence[str], most: int | None) -> Iterator[tuple[int, Origin]]:
    """(workload, origin) of every value, workload by workload."""
    count = len(capture) if most is None else min(most, len(capture))
    # in pieces: cells are read again from the file, and a million of them exceed the memory
    for start in range(0, count, 2_000):
        rows = np.arange(start, min(start + 2_000, count))
        origins = Origins(capture, View(capture, rows))
        origins.want(metrics, [int(r) for r in rows])
        for i, w in enumerate(rows):
            for m in metrics:
                if not np.isnan(capture.facts[m][w]):
                    yield int(w), origins.origin(m, int(w), i)


def table(capture: Capture, metrics: Sequence[str], most: int | None) -> str:
    """Plain text for people."""
    c = capture
    lines = [
        f"file      {_columns.printable(c.input.path)}",
        f"format    {c.input.dialect} ({c.input.why})",
        f"device    {_columns.printable(c.device_name or 'unknown')}",
        f"read      {c.input.rows} ranges, {len(c)} workloads, {len(c.facts)} metrics, {plural(len(c.table.unmapped), 'unmapped column')}",
    ]
    if c.frame_ns > 0:
        outside = f", {show(c.uncovered_ns, 'ns')} outside all markers" if c.uncovered_ns > 0 else ""
        lines.append(f"time      {show(c.frame_ns, 'ns')}{outside}")
    lines += [f"note      {_columns.printable(n)}" for n in c.notes]
    lines += [f"quality   {q.check}: {_columns.printable(q.message)}" for q in c.quality]
    last = -1
    for w, origin in _facts(c, metrics, most):
        if origin.formula and not origin.value:  # counted as zero, without a source cell
            continue
        if w != last:
            calls = f"  ({c.calls[w]:g} calls)" if c.calls[w] > 1 else ""
            lines += ["", _columns.printable(path_text(str(c.paths[w]), str(c.names[w])))[:160] + calls]
            last = w
        lines.append(f"  {origin.metric:32} {show(origin.value, origin.unit):>16}   {_where(origin)}")
    if most is not None and len(c) > most:
        lines += ["", f"{len(c) - most} more: --all"]
    lines += ["", *(_columns.decisions(c.table.decisions) if c.table.decisions else _unmapped(c))]
    return "\n".join(lines).rstrip() + "\n"


def _where(o: Origin) -> str:
    if o.formula:
        cells = [i for i in o.inputs if not i.formula]
        return f"= {o.formula}" + (f" ({cells[0].record} {', '.join(str(i.line) for i in cells[:3])})" if cells else "")
    return f"{o.record} {o.line}, {_columns.printable(o.column)[:60]!r} = {_columns.printable(o.text)[:40]!r}"


def _unmapped(c: Capture) -> list[str]:
    if not c.table.unmapped:
        return []
    shown = [_columns.printable(u)[:80] for u in c.table.unmapped[:MAX_COLUMNS]]
    out = [f"{plural(len(c.table.unmapped), 'unmapped column')}:", *(f"  {u}" for u in shown)]
    if len(c.table.unmapped) > MAX_COLUMNS:
        out.append(f"  ... and {len(c.table.unmapped) - MAX_COLUMNS} more (-f json lists all)")
    return out


def unknown(path: str) -> str:
    """The columns of an unknown table, with the metrics they may be, and a command that maps them.

    "" for a file without a table. Raises CaptureError when the file cannot be read.
    """
    from triage.capture.cells import cells, delimiter
    from triage.capture.source import Source
    from triage.dialects.custom.say import by_name

    source = Source(path)
    if path == "-" or source.is_folder:
        return ""
    line = next((x for x in source.head_lines if len(cells(x)) > 1), "")
    if not line:
        return ""
    metrics = {header: by_name(header).metric for header in cells(line, delimiter(line))[:MAX_COLUMNS]}
    out = [f"{path}: unknown format. Columns:"]
    out += [
        f"  {_columns.printable(header)[:60]:60}" + (f" = {metric}" if metric else "")
        for header, metric in metrics.items()
    ]
    out.append(
        "To read it as a custom table, map the column of names (--map COLUMN=name) and what matters (--map 'COLUMN=gpu.time [ms]')."
    )
    out += _columns.to_paste((header, _columns.guess(header)) for header, metric in metrics.items() if not metric)
    return "\n".join(out) + "\n"


def as_json(capture: Capture, metrics: Sequence[str]) -> dict[str, object]:
    """All values as plain data, with all workloads and unmapped columns."""
    c = capture
    rows: list[dict[str, object]] = []
    facts: list[dict[str, object]] = []
    last = -1
    for w, o in _facts(c, metrics, None):
        if w != last:
            last, facts = w, []
            path = str(c.paths[w]).split(SEP) if c.paths[w] else []
            rows.append({"id": f"w{w + 1}", "name": str(c.names[w]), "path": path, "facts": facts})
        facts.append({**o.as_input})
    columns = {
        m: {"header": s.header, "unit": s.unit, "factor": s.factor}
        for m, s in c.sources.items()
        if isinstance(s, Column)
    }
    return {
        "schema": "triage-facts/1",
        "path": c.input.path,
        "dialect": c.input.dialect,
        "why": c.input.why,
        "rows": c.input.rows,
        "device": c.device_name or None,
        "columns": columns,
        "workloads": rows,
        "unmapped": list(c.table.unmapped),
        "readings": [d._asdict() for d in c.table.decisions],
        "notes": list(c.notes),
        "quality": [{"check": q.check, "message": q.message} for q in c.quality],
    }


def write_csv(capture: Capture, metrics: Sequence[str], write: Callable[[str], object]) -> None:
    """One row per value."""
    # CSV for spreadsheets: `inert` keeps a marker name from being a formula
    buffer = io.StringIO()
    out = csv.writer(buffer)
    out.writerow(["workload", "name", "metric", "value", "unit", "file", "line", "column", "text", "formula"])
    for w, o in _facts(capture, metrics, None):
        value, unit = display(o.value, o.unit)
        cell = (o.file, o.line or "", o.column, o.text, o.formula)
        out.writerow(map(inert, (f"w{w + 1}", str(capture.names[w]), o.metric, value, unit, *cell)))
    write(buffer.getvalue())
