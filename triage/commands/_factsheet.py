"""A capture's facts as text: the reader's account of what it understood, and of what it did not."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from triage import schema
from triage.capture.capture import SEP, Capture, Column
from triage.derive import View
from triage.findings.finding_types import Origin
from triage.findings.origins import Origins
from triage.findings.text_fields import path_text
from triage.ground.units import display, show
from triage.rendering.findings_csv import inert

LISTED = 60  # unmapped columns named in the table


def _facts(capture: Capture, metrics: Sequence[str], most: int | None) -> Iterator[tuple[int, Origin]]:
    """(workload, origin) of every value there is, workload by workload."""
    count = len(capture) if most is None else min(most, len(capture))
    # in pieces: cells are looked up again in the file, and a million of them would not fit
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
        f"file      {_plain(c.input.path)}",
        f"dialect   {c.input.dialect} ({c.input.why})",
        f"device    {_plain(c.device.name if c.device else c.table.device or 'not stated')}",
        f"read      {c.input.rows} ranges, {len(c)} workloads, {len(c.facts)} metrics, {len(c.table.unmapped)} columns not used",
    ]
    if c.frame_ns > 0:
        lines.append(
            f"time      {show(c.frame_ns, 'ns')}"
            + (f", {show(c.uncovered_ns, 'ns')} of it covered by no marker" if c.uncovered_ns > 0 else "")
        )
    lines += [f"note      {_plain(n)}" for n in c.notes]
    lines += [f"quality   {q.check}: {_plain(q.message)}" for q in c.quality]
    last = -1
    for w, origin in _facts(c, metrics, most):
        if origin.formula and not origin.value:  # what was counted here and is nothing: no cell says so
            continue
        if w != last:
            calls = f"  ({c.calls[w]:g} calls)" if c.calls[w] > 1 else ""
            lines += ["", _plain(path_text(str(c.paths[w]), str(c.names[w])))[:160] + calls]
            last = w
        lines.append(f"  {origin.metric:32} {show(origin.value, origin.unit):>16}   {_where(origin)}")
    if most is not None and len(c) > most:
        lines += ["", f"... {len(c) - most} more workloads; --all shows them"]
    lines += ["", *_unmapped(c)]
    return "\n".join(lines).rstrip() + "\n"


def _where(o: Origin) -> str:
    if o.formula:
        cells = [i for i in o.inputs if not i.formula]
        return f"= {o.formula}" + (f" ({cells[0].record} {', '.join(str(i.line) for i in cells[:3])})" if cells else "")
    return f"{o.record} {o.line}, {_plain(o.column)[:60]!r} = {_plain(o.text)[:40]!r}"


def _plain(text: str) -> str:
    """Nothing that a terminal would obey: all of this is text of somebody's file."""
    return "".join(ch if ch.isprintable() else "?" for ch in text)


def _unmapped(c: Capture) -> list[str]:
    if not c.table.unmapped:
        return []
    shown = [_plain(u)[:80] for u in c.table.unmapped[:LISTED]]
    out = [f"{len(c.table.unmapped)} columns were not used:", *(f"  {u}" for u in shown)]
    if len(c.table.unmapped) > LISTED:
        out.append(f"  ... and {len(c.table.unmapped) - LISTED} more (-f json lists all)")
    if c.input.dialect == "generic":
        guesses = [
            (u, close[0])
            for u in c.table.unmapped[:LISTED]
            if (close := schema.close(schema.normal(u).replace(" ", ".")))
        ]
        out.append("to use one of them, say what it means, for example:")
        out += [f'  --map "{_plain(u)}={m}"' for u, m in (guesses or [(c.table.unmapped[0], "canonical.id")])[:5]]
    return out


def unknown(path: str) -> str:
    """For a table nobody recognises: which columns could be mapped, and the line that would map them.

    "" where there is no table in it. Raises CaptureError when the file cannot be read.
    """
    from triage.capture.cells import cells, delimiter
    from triage.capture.source import Source
    from triage.dialects.custom import generic
    from triage.dialects.tables import wide_table

    source = Source(path)
    if path == "-" or source.is_folder:
        return ""
    line = next((x for x in source.head_lines if len(cells(x)) > 1), "")
    if not line:
        return ""
    out, guesses = [f"{path}: no known export. Columns:"], []
    for header in cells(line, delimiter(line))[:LISTED]:
        metric, _ = generic.metric_of(header)
        close = [] if metric else schema.close(schema.normal(wide_table.split_unit(header)[0]).replace(" ", "."))
        out.append(
            f"  {_plain(header)[:60]:60}" + (f" = {metric}" if metric else f"   perhaps {close[0]}" if close else "")
        )
        if not metric:
            guesses.append((header, close[0] if close else "canonical.id"))
    out.append("To read it as a generic table, name the workloads' column `name` and map what matters:")
    out.append("  triage diagnose " + path + "".join(f' --map "{_plain(h)}={m}"' for h, m in guesses[:3]))
    return "\n".join(out) + "\n"


def as_json(capture: Capture, metrics: Sequence[str]) -> dict[str, object]:
    """Everything as plain data, every workload and every unmapped column."""
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
        "device": c.device.name if c.device else c.table.device or None,
        "columns": columns,
        "workloads": rows,
        "unmapped": list(c.table.unmapped),
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
        out.writerow(
            [
                inert(v)
                for v in (
                    f"w{w + 1}",
                    str(capture.names[w]),
                    o.metric,
                    value,
                    unit,
                    o.file,
                    o.line or "",
                    o.column,
                    o.text,
                    o.formula,
                )
            ]
        )
    write(buffer.getvalue())
