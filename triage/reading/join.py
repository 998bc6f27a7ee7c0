"""A trace and a report of the same application as one capture: times and launch counts of the one, counters of the other.

A trace times every launch as it really ran; a profiler of counters runs a few of them again, alone and with locked clocks.
Each launch of the trace takes the counters of the report's median launch of the same kernel and shape, cell by cell, so a
figure still leads back to the file, result and metric it came from. A summary of times per kernel serves as a trace does:
rocprof and nvprof write no times beside their counters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from triage import dialects, schema
from triage.capture.arrays import Floats, Indices
from triage.capture.capture import Capture, Column, Quality, Table
from triage.capture.location import Location
from triage.ground.phrasing import first_of, plural
from triage.ground.units import show
from triage.reading import reader

_SHAPE = ("launch.grid_size", "launch.block_size")
_TIMES = ("gpu.time", "frame.calls")  # the trace knows better
_AGAIN = ": collect again with --clock-control none --cache-control none"
_TWICE = 2.0  # NVIDIA, Compute Triage Guide: a replayed launch that differs more ran under other conditions
_PASSES = ("rocprofv3-counters", "rocprof")  # AMD's tools run a program again for every group of counters
_COUNTERS = ("ncu-", "nvprof-metrics", *_PASSES)  # how dialects of counters per kernel begin
_CAST = re.compile(r"\((?:unsigned |signed )?(?:int|long|short|char|bool|size_t)\)")


def joined(captures: Sequence[Capture], marker: str = "") -> list[Capture]:
    """The captures, but for reports of counters whose kernels another of them has: they go into it.

    That is the only trace; without one the only summary of times, or the first of several passes of one program. Traces of
    several ranks know of each other. marker: what the captures were cut down to.
    """
    if any(c.timeline is not None for c in captures):
        from triage.reading import ranks  # only traces need it

        ranks.enter(captures)
    base = _base(captures)
    if base is None:
        return list(captures)
    # a metric has one file: a first report of Nsight Compute goes in, and of AMD's passes each that counted something else
    reports = [c for c in captures if c is not base and c.input.dialect.startswith(_COUNTERS)]
    taken: list[Capture] = []
    for report in reports:
        first = not any(not c.input.dialect.startswith(_PASSES) for c in taken)
        if (first or report.input.dialect in _PASSES) and _join(base.table, report):
            taken.append(report)
    if not taken:
        return list(captures)
    module = dialects.require(base.input.dialect)
    whole = reader.capture(base.table, module, base.input.why, base.device.name if base.device else "", marker)
    return [whole if c is base else c for c in captures if not any(c is t for t in taken)]


def _base(captures: Sequence[Capture]) -> Capture | None:
    """The capture that others are put into, None where they stay apart."""
    if len(captures) < 2:
        return None
    traces = [c for c in captures if c.table.trace is not None]
    if len(traces) == 1:
        return traces[0]
    if traces:
        return None
    summaries = [c for c in captures if _is_summary(c.table)]
    if len(summaries) == 1:
        return summaries[0]
    kernels = [sorted(map(str, c.table.names)) for c in captures]
    passes = all(c.input.dialect in _PASSES for c in captures) and all(k == kernels[0] for k in kernels)
    return captures[0] if passes and _differ(captures) else None


def _is_summary(table: Table) -> bool:
    """True for times and calls of kernels, without any counter."""
    return "frame.calls" in table.columns and all(m == "frame.calls" or m.startswith("gpu.time") for m in table.columns)


def _differ(captures: Sequence[Capture]) -> bool:
    """Did each pass count something that no other did? Runs that are compared count the same."""
    sets = [set(c.table.columns) for c in captures]
    return all(s - set().union(*(o for o in sets if o is not s)) for s in sets)


def key(kernel: str) -> str:
    """What two tools agree on in a kernel's name: no return type, parameters, casts or blanks."""
    text = _CAST.sub("", kernel.removeprefix("void "))
    depth = 0
    for i, ch in enumerate(text):  # the parameters begin at the last bracket outside of template arguments
        depth += (ch == "<") - (ch == ">")
        if ch == "(" and depth == 0 and i and not text.startswith(("(anonymous", "(unnamed"), i):
            text = text[:i]
            break
    return re.sub(r"\s+", "", text)


def bare(kernel: str) -> str:
    """The function's own name, as short names of a trace have it."""
    return re.split(r"[<(]", key(kernel))[0].rpartition("::")[2]


def _join(table: Table, report: Capture) -> bool:
    """Put a report's counters into a trace's table; False where no kernel of it occurs there."""
    rows = _pairs(table, report.table)
    have = rows >= 0
    if not have.any():
        return False
    place = len(table.files)
    table.files += report.table.files
    _columns(table, report.table, rows, place)
    table.collectable = _collectable(table) | report.collectable
    if table.trace is None:  # whoever counted something is asked for more
        table.device, table.arch = table.device or report.table.device, table.arch or report.table.arch
        module = dialects.require(report.input.dialect)
        table.collect = report.table.collect or dialects.collector(module, report.device.arch if report.device else "")
    first = {int(r): int(np.argmax(rows == r)) for r in np.unique(rows[have])}
    table.opinions += [replace(o, row=first[o.row]) for o in report.table.opinions if o.row in first]
    if (locate := report.table.locate) is not None:

        def there(row: int, metrics: Sequence[str]) -> Sequence[Location]:
            return locate(int(rows[row]), metrics) if rows[row] >= 0 else []

        table.locate = there
    _say(table, report, rows, first)
    return True


def _collectable(table: Table) -> frozenset[str]:
    if table.collectable is not None:
        return table.collectable
    return frozenset(dialects.require(table.dialect).names())


def _pairs(table: Table, report: Table) -> Indices:
    """For each row of the trace the row of the report whose counters it takes, -1 for none."""
    full: dict[str, list[int]] = {}
    short: dict[str, list[int]] = {}
    for row, name in enumerate(map(str, report.names)):
        full.setdefault(key(name), []).append(row)
        short.setdefault(bare(name), []).append(row)
    ours, theirs = _shapes(table), _shapes(report)
    shaped = any(m in table.columns for m in _SHAPE)
    column = report.columns.get("gpu.time")
    time = np.zeros(len(report)) if column is None else np.nan_to_num(column.values)
    out = np.full(len(table), -1, dtype=np.int64)
    known: dict[tuple[str, tuple[float, ...]], int] = {}
    for row, name in enumerate(map(str, table.names)):
        if table.kinds is not None and table.kinds[row] == "copy":
            continue
        what = name, ours[row]
        if what not in known:
            # a trace may be of short names
            found = full.get(key(name)) or (short.get(name, []) if name == bare(name) else [])
            alike = sorted((r for r in found if not shaped or theirs[r] == ours[row]), key=lambda r: time[r])
            # one time for several shapes belongs to none of them
            several = len({theirs[r] for r in alike}) > 1
            known[what] = alike[len(alike) // 2] if alike and not several else -1
        out[row] = known[what]
    return out


def _shapes(table: Table) -> list[tuple[float, ...]]:
    """Grid and block size per row, NaN as -1: a kernel of another shape is another workload."""
    parts = [table.columns[m].values if m in table.columns else np.full(len(table), -1.0) for m in _SHAPE]
    return list(zip(*(np.nan_to_num(p, nan=-1.0).tolist() for p in parts), strict=True))


def _columns(table: Table, report: Table, rows: Indices, place: int) -> None:
    """The report's columns on the rows of the trace, each cell with the place it stands at."""
    have = rows >= 0
    lines = np.array([report.line(r) for r in range(len(report))], dtype=np.int64)
    new = [name for name in report.columns if name not in table.columns and name not in _TIMES]

    def taken(c: Column) -> Column:
        at = np.where(have, (lines if c.lines is None else c.lines)[rows], 0)
        return replace(c, values=np.where(have, c.values[rows], np.nan), file=place + c.file, lines=at)

    table.raw.update((name, taken(c)) for name, c in report.raw.items() if name not in table.raw)
    table.columns.update((name, taken(report.columns[name])) for name in new)
    calls = _calls(table) / _calls(report)[rows]
    if (calls[have] != 1).any():
        for name in new:
            if schema.get(name).additive:
                _per_call(table, name, calls)


def _calls(table: Table) -> Floats:
    """How many launches each row stands for, NaN where that is not known."""
    column = table.columns.get("frame.calls")
    return np.ones(len(table)) if column is None else np.where(column.values > 0, column.values, np.nan)


def _per_call(table: Table, metric: str, calls: Floats) -> None:
    """Count a metric, so far of other launches than the times, as often as the kernel was timed."""
    one = table.columns[metric]
    if "frame.calls" in one.inputs:  # an average, counted so already
        table.columns[metric] = replace(one, values=one.values * calls)
        return
    table.multiply(metric, calls, f"{one.header} x calls")


def _say(table: Table, report: Capture, rows: Indices, first: dict[int, int]) -> None:
    """What was joined, what was not, and where the two disagree about the time."""
    found = int((rows >= 0).sum())
    source = "the trace" if table.trace is not None else table.files[0].path
    row_is = "kernel" if "frame.calls" in table.columns else "launch"
    text = f"counters of {plural(found, row_is)} come from {report.input.path}, times and calls from {source}"
    table.quality.append(Quality("joined", text))
    table.notes += [n for n in report.table.notes if n not in table.notes]
    table.quality += [Quality(q.check, q.message, first.get(q.row, -1)) for q in report.table.quality]
    taken = {key(str(report.table.names[r])) for r in first}
    lost = list(dict.fromkeys(str(n) for n in report.table.names if key(str(n)) not in taken))
    if lost:
        names = first_of([n[:60] for n in lost], 3)
        text = f"{report.input.path}: {plural(len(lost), 'kernel')} without a launch in {source}, excluded: {names}"
        table.quality.append(Quality("not-in-the-trace", text))
    ours, theirs = table.columns.get("gpu.time"), report.table.columns.get("gpu.time")
    if ours is None or theirs is None:
        return
    each, once = ours.values / _calls(table), theirs.values / _calls(report.table)
    for r, row in first.items():
        real, replayed = float(np.median(each[rows == r])), float(once[r])
        if real > 0 and replayed > 0 and not 1 / _TWICE <= replayed / real <= _TWICE:
            counted = f"{str(table.names[row])[:80]}: {show(replayed, 'ns')} where its counters were collected"
            why = _AGAIN if report.input.dialect.startswith("ncu-") else ""
            text = f"{counted}, {show(real, 'ns')} in {source}{why}"
            table.quality.append(Quality("replayed-otherwise", text, row))
