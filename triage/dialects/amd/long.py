"""Long AMD tables: one row per dispatch and counter (rocprofv3 counter collection, rocprof-compute with rocpd).

Every dispatch becomes one row; each counter keeps the line its value stands on. A dispatch that was replayed for several
passes has several pairs of timestamps: the middle one is used, and a wide spread is reported.
"""

from __future__ import annotations

import numpy as np

from triage.capture import shape
from triage.capture.arrays import Floats, Indices, Masks, Names, numbered
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects.amd import rocm
from triage.dialects.amd.rocm_export import Export
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture

# key of a dispatch: several processes and GPUs may stand in one table, each counting from its own start
_KEYS = ("Process_Id", "Agent_Id", "GPU_ID", "Dispatch_Id")
SPREAD = 1.25  # slowest pass over fastest pass that is worth a remark


def is_long(headers: list[str]) -> bool:
    """Kernel name, counter name, counter value."""
    return len(wide_table.positions(headers, ("Kernel_Name", "Counter_Name", "Counter_Value"))) == 3


def load(source: Source, dialect: str, line: int, headers: list[str], decimal: str = "") -> tuple[Table, Export]:
    """The dispatches with launch shape, counters and time (ns); raises BadCapture without rows or the three columns."""
    if not is_long(headers):
        raise BadCapture(f"{source.path}: columns of kernels, counters and values missing", "export again")
    roles = {r: c for r, c in wide_table.roles(headers, rocm.ROLES).items() if r not in ("duration", "dispatch")}
    counter_at, value_at = wide_table.find(headers, "Counter_Name"), wide_table.find(headers, "Counter_Value")
    known = wide_table.positions(headers, _KEYS)
    if "Dispatch_Id" not in known:  # then its launching call is part of the key
        known = wide_table.positions(headers, ("Correlation_Id", "Kernel_Name"))
    keys = list(known.values())
    launch = {r: c for r, c in roles.items() if r not in ("name", "start", "end")}
    # timestamps as text: as float64 they would lose their last digits
    text = {roles["name"], counter_at, *keys, *(roles[r] for r in ("start", "end") if r in roles)}
    numeric = [*launch.values(), value_at]
    style = wide_table.number_style(source, source.head_lines[line:], [value_at], decimal)
    wide = wide_table.read(source, line, headers, numeric, sorted(text), style=style)
    count = len(wide.numbers[value_at])
    lines = wide.lines if wide.lines is not None else np.arange(count) + wide.first_line
    repeated = wide.texts[counter_at] == headers[counter_at]  # the header again: files appended to each other
    numbers = [c for c in (*keys, *(roles[r] for r in ("start", "end") if r in roles)) if c != roles["name"]]
    live = np.flatnonzero(~repeated)
    shape.alike(source, {headers[c]: wide.texts[c][live] for c in numbers}, lambda row: int(lines[live[row]]))
    dispatch, first = _dispatches([wide.texts[c] for c in keys], repeated)
    table = Table(dialect, [source], rocm.names(wide.texts[roles["name"]][first]), {}, lines=lines[first])
    # a repeated header is text in number columns: known, and no remark
    table.quality += [q for q in wide.quality if not repeated.any() or q.check != "not-a-number"]
    export = Export(source)
    for role, c in launch.items():
        export.roles[role] = Column(wide.numbers[c][first], headers[c], c + 1)
    _counters(export, table, wide.texts[counter_at], wide.numbers[value_at], dispatch, lines, value_at, len(first))
    if "start" in roles and "end" in roles:
        _time(table, export, headers, roles, wide, dispatch, first, lines)
    named = {*launch.values(), roles["name"], counter_at, value_at, *(roles[r] for r in ("start", "end") if r in roles)}
    table.unmapped += [h for i, h in enumerate(headers) if h and i not in named]
    return table, export


def _dispatches(keys: list[Names], dead: Masks) -> tuple[Indices, Indices]:
    """Dispatch number of every row by first appearance (-1 for dead rows), and the first row of each dispatch.

    Raises BadCapture when every row is dead.
    """
    codes = np.zeros(len(dead), dtype=np.int64)
    for key in keys:
        part, distinct = numbered(key)
        codes = codes * (len(distinct) + 1) + part
        codes, _ = numbered(codes)  # numbered anew after each key, so that the product cannot overflow
    codes = np.where(dead, -1, codes)
    live = np.flatnonzero(codes >= 0)
    if not len(live):
        raise BadCapture("header without rows", "nothing was recorded; capture again")
    again = numbered(codes[live])[0]
    out = np.full(len(dead), -1, dtype=np.int64)
    out[live] = again
    first = live[np.unique(again, return_index=True)[1]]
    return out, first


def _counters(
    export: Export, table: Table, names: Names, values: Floats, dispatch: Indices, lines: Indices, column: int, n: int
) -> None:
    """Every counter as one column over the n dispatches; a counter of no use is listed and left."""
    codes, distinct = numbered(names)
    wanted = rocm.wanted([str(d) for d in distinct])
    repeats = 0
    order = np.argsort(codes, kind="stable")  # rows by counter, in file order, so that the first value is kept
    bounds = np.searchsorted(codes[order], np.arange(len(distinct) + 1))
    for k, name in enumerate(map(str, distinct)):
        if name not in wanted:
            if name and name != "Counter_Name":
                table.unmapped.append(name)
            continue
        rows = order[bounds[k] : bounds[k + 1]]
        rows = rows[dispatch[rows] >= 0]
        which, at = np.unique(dispatch[rows], return_index=True)
        repeats += len(rows) - len(which)
        out, where = np.full(n, np.nan), np.zeros(n, dtype=np.int64)
        out[which], where[which] = values[rows[at]], lines[rows[at]]
        export.counters[name] = Column(out, name, column + 1, lines=where)
    if repeats:
        again = f"{repeats} counter values were recorded again for the same dispatch (another pass or instance)"
        table.remark("repeated-counter", f"{again}; the first was used")


def _time(
    table: Table,
    export: Export,
    headers: list[str],
    roles: dict[str, int],
    wide: wide_table.Wide,
    dispatch: Indices,
    first: Indices,
    lines: Indices,
) -> None:
    """gpu.time of each dispatch: its only pair of timestamps, or the middle one of its passes."""
    start, end = wide.texts[roles["start"]], wide.texts[roles["end"]]
    # rows of one pass share their pair of timestamps: one row per dispatch and pass is enough
    pair, _ = numbered(start)
    pair2, distinct2 = numbered(end)
    key = (dispatch * (pair.max() + 2) + pair) * (len(distinct2) + 1) + pair2
    rows = np.unique(key, return_index=True)[1]
    rows = rows[dispatch[rows] >= 0]
    took, _ = rocm.elapsed(start[rows], end[rows])
    chosen, spread = first.copy(), 0.0
    if len(rows) > len(first):
        order = np.lexsort((took, dispatch[rows]))
        at = np.searchsorted(dispatch[rows][order], np.arange(len(first) + 1))
        for d in range(len(first)):
            mine = order[at[d] : at[d + 1]]
            good = mine[np.isfinite(took[mine])]
            if len(good):
                chosen[d] = rows[good[(len(good) - 1) // 2]]  # a measured pass, never a mean of two
                low, high = took[good[0]], took[good[-1]]
                spread = max(spread, high / low if low > 0 else 0.0)
        passes = int(np.diff(at).max())
        table.notes.append(f"dispatches were replayed in up to {passes} passes; each one's median duration is used")
    if spread > SPREAD:
        apart = f"the slowest pass of a dispatch took {spread:.1f} times its fastest"
        means = "the passes did not run alike, so their counters need not fit together"
        table.remark("multipass-times", f"{apart}: {means}")
    for role, texts in (("start", start), ("end", end)):
        c = roles[role]
        export.roles[role] = Column(rocm.stamps(texts[chosen]), headers[c], c + 1, "ns", lines=lines[chosen])
    rocm.add_time(table, export, start[chosen], end[chosen])
