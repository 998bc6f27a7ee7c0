"""How the columns of a custom table were read, and the lines to paste that read more of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence

from triage import schema
from triage.capture.capture import Decision
from triage.dialects.custom.say import by_name, is_unknown_unit
from triage.dialects.tables import wide_table

MAX_COLUMNS = 60  # listed; -f json has all
_WIDTH = 40  # characters of a header


def decisions(columns: Sequence[Decision]) -> list[str]:
    """Lines of text: what each column was read as and why, then what to paste for those that were not read."""
    lines = ["columns, what each was read as, and why:"]
    lines += [f"  {printable(c.header)[:_WIDTH]:{_WIDTH}} {c.read_as or '-':32} {printable(c.why)}" for c in columns[:MAX_COLUMNS]]  # fmt: skip
    if len(columns) > MAX_COLUMNS:
        lines.append(f"  ... and {len(columns) - MAX_COLUMNS} more (-f json lists all)")
    unread = [c.header for c in columns if not c.read_as][:MAX_COLUMNS]
    return [*lines, *to_paste((header, guess(header)) for header in unread)]


def guess(header: str) -> str:
    """The metric that a header spells in an unknown unit, or whose words it has, if in another order; else `metric.id`."""
    named = by_name(header)
    if named.metric and is_unknown_unit(named.unit):
        return named.metric
    bare = schema.normal(wide_table.split_unit(header)[0]).replace(" ", ".")
    return next((m for m in schema.close(bare) if set(m.split(".")) == set(bare.split("."))), "metric.id")


def to_paste(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of text that map headers to metrics, for the command line and for triage.toml; none without headers."""
    mapped = [(printable(header.strip()), metric) for header, metric in pairs if header.strip()]
    if not mapped:
        return []
    return [
        *("to read a column, name its metric (triage list metrics) on the command line:",),
        *(f"  --map {shlex.quote(f'{header}={metric}')}" for header, metric in mapped),
        *("or in triage.toml:", "  [columns]"),
        *(f'  {json.dumps(header, ensure_ascii=False)} = "{metric}"' for header, metric in mapped),
    ]


def printable(text: str) -> str:
    """Text without control characters, which a terminal would obey: it comes from the file."""
    return "".join(ch if ch.isprintable() else "?" for ch in text)
