"""Wide AMD tables: one dispatch per row, one counter per column (rocprof v1 and v2, rocprof-compute)."""

from __future__ import annotations

import numpy as np

from triage.capture import shape
from triage.capture.arrays import Names
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects.amd import rocm, unquoted_names
from triage.dialects.amd.rocm_export import Export
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture


def is_wide(headers: list[str]) -> bool:
    """A kernel name with a launch shape, a dispatch number or registers beside the time, and no counter-per-row columns."""
    if wide_table.find(headers, "Counter_Name") >= 0:
        return False
    return wide_table.find(headers, *rocm.ROLES["name"]) >= 0 and (
        wide_table.find(headers, "grd", "Grid_Size", "Dispatch_ID") >= 0
        or (wide_table.find(headers, "DurationNs") >= 0 and wide_table.find(headers, "arch_vgpr") >= 0)
    )


def is_amd(headers: list[str]) -> bool:
    """True for a column that only AMD's tools write: a launch column or a counter."""
    own = {name: spellings for name, spellings in rocm.ROLES.items() if name not in ("name", "grid")}
    return bool(wide_table.roles(headers, own)) or bool(rocm.wanted(headers))


def load(
    source: Source, dialect: str, line: int, headers: list[str], decimal: str = ""
) -> tuple[Table, Export, Names | None, Names | None]:
    """The table with its names, the export's columns, and the timestamps as text (None when there are none).

    Raises BadCapture without rows, or for a single row without a number.
    """
    roles = wide_table.roles(headers, rocm.ROLES)
    source = unquoted_names.quoted(source, line, headers, roles["name"])
    taken = set(roles.values())
    wanted = rocm.wanted(headers)
    counters: dict[str, int] = {}
    for i, h in enumerate(headers):
        if h in wanted and i not in taken and h not in counters:
            counters[h] = i
    numeric = [c for r, c in roles.items() if r not in ("name", "start", "end")] + list(counters.values())
    text = [roles[r] for r in ("name", "start", "end") if r in roles]
    repeats = _repeats(source, line)
    wide = wide_table.read(source, line, headers, numeric, text, decimal=decimal, skip=repeats)
    shape.alike(source, {headers[roles[r]]: wide.texts[roles[r]] for r in ("start", "end") if r in roles}, wide.line)
    names = rocm.names(wide.texts[roles["name"]])
    table = wide.table(dialect, source, names)
    export = Export(source)
    for role, c in roles.items():
        if role == "name":
            continue
        values = rocm.stamps(wide.texts[c]) if role in ("start", "end") else wide.numbers[c]
        export.roles[role] = Column(values, headers[c], c + 1, "ns" if role in ("start", "end", "duration") else "")
    for name, c in counters.items():
        export.counters[name] = wide.column(c)
    # a single record that ends before its first number is a cut file, not a dispatch without counters
    if len(table.names) == 1 and not any(
        np.isfinite(c.values).any() for c in (*export.roles.values(), *export.counters.values())
    ):
        raise BadCapture(f"{source.path}: no number in its only row", "profile again")
    start, end = (wide.texts[roles[r]] if r in roles else None for r in ("start", "end"))
    return table, export, start, end


def _repeats(source: Source, line: int) -> list[int]:
    """Lines that repeat the header: several runs appended to one file."""
    first = source.head_lines[line - 1].strip()
    if first not in "\n".join(source.head_lines[line:]):  # rare: a look at the head saves a pass over the file
        return []
    return [i for i, text in enumerate(source.lines(), 1) if i > line and text.strip() == first]
