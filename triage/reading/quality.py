"""Data-quality checks: what is odd about the figures themselves, in plain words.

A check never changes a value silently; where it must blank one (an all-zero stall set is "unavailable", not zero),
it says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from triage import schema
from triage.capture.arrays import Masks
from triage.capture.capture import SEP, Column, Quality, Table
from triage.ground.method import CLOCK_NS, LOW, TINY_NS, in_words
from triage.ground.phrasing import first_of, percent, plural
from triage.ground.units import show

if TYPE_CHECKING:
    from triage.capture.trace_nouns import Timeline

ABSURD = 1e20  # 64-bit counters end at 1.8e19
MAX_OF = {"ns": 8.64e13, "hz": 1e12, "byte/s": 1e17}  # a day; a hundred times what any memory or clock reaches
# of graphics work: Windows resets a GPU after 2 s in one command buffer (TdrDelay, learn.microsoft.com)
RESET_NS = 1e10
ROUNDING = 0.005  # of a share: what the tools round to whole percent, and no more
TINY = 1e-9
OWN = 0.1  # of the span: from here on the profiler itself takes a part of the times that it shows
# heuristic: of the lowest memory clock; a larger difference moves the times of memory-bound work as much
SAME_CLOCK = 1.1
LOCKED = 0.9  # of the highest clock: nearer to it the busier side stays the busier
MANY_LAUNCHES, MANY_KERNELS = 50, 5  # from which on one value of a measured share in all of them is no measurement
SAME = 1e-6  # of floats
SET_BY_LAUNCH = ("launch.", "occupancy.", "device.", "registers")  # and not measured
MAX_REMARKS = 20  # remarks of one kind that name their row; the rest is counted


def check(table: Table, work: str = "") -> list[Quality]:
    """Run every check over a reader's table; blanks what cannot be true in its columns. work: what its dialect tells."""
    # Absurd figures first: one of them would make every maximum below meaningless.
    found = _impossible(table, RESET_NS if work == "graphics" else MAX_OF["ns"])
    for test in (_no_room, _zero_stalls, _constant, _no_time, _short_ranges, _locked_clock, _memory_clocks):
        found += test(table)
    return found


def _rows(table: Table, check_name: str, bad: Masks, message: str) -> list[Quality]:
    rows = np.flatnonzero(bad)
    out = [Quality(check_name, f"{str(table.names[r])[:80]}: {message}", int(r)) for r in rows[:MAX_REMARKS]]
    if len(rows) > MAX_REMARKS:
        out.append(Quality(check_name, f"{len(rows) - MAX_REMARKS} more workloads: {message}"))
    return out


def _impossible(table: Table, longest: float) -> list[Quality]:
    """Figures that no machine can have measured are no evidence: missing, and so is what was computed from them.

    longest: ns that a workload can take.
    """
    out: list[Quality] = []
    blanked: dict[str, Masks] = {}
    for name, column in (*table.raw.items(), *table.columns.items()):
        why, bad = _beyond(name, column, longest)
        for other in column.inputs:
            if other in blanked:
                bad = bad | (blanked[other] & np.isfinite(column.values))
        if not bad.any():
            continue
        blanked[name] = blanked.get(name, bad) | bad
        first = int(np.argmax(bad))
        if why:
            label = schema.get(name).label if schema.known(name) else column.header or name
            unit = schema.get(name).unit if schema.known(name) else "count"
            count, shown = int(bad.sum()), show(float(column.values[first]), unit)
            figures = f"{count} of {len(table)} {'figure is' if count == 1 else 'figures are'} {why}"
            at = f"{str(table.names[first])[:80]}, line {_line(table, column, first)}"
            many = f"{label[:80]}: {figures} (first: {shown}, {at})"
            text = many if len(table) > 1 else f"{label[:80]} is {shown}, {why}"
            out.append(Quality("impossible-value", f"{text}; treated as missing", first))
        column.values = np.where(bad, np.nan, column.values)
    return out


def _beyond(name: str, column: Column, longest: float) -> tuple[str, Masks]:
    """Why some values of a column cannot be true, and which; "" where all can."""
    values = column.values
    known = schema.get(name) if schema.known(name) else None
    share = known is not None and known.unit == "ratio" and known.bounded
    if share:
        most, above = 1 + ROUNDING, "more than 100 %"
    elif name == "gpu.time" and longest < MAX_OF["ns"]:
        most, above = longest, "more than a GPU draws without a reset"
    else:
        most, above = MAX_OF.get(known.unit if known else "", ABSURD), "beyond anything measurable"
    # what was computed from rounded figures may fall a little below 0; nothing measured does
    least = -ROUNDING if share and column.inputs else -TINY
    low, high = float(np.fmin.reduce(values, initial=0)), float(np.fmax.reduce(values, initial=0))
    time = known is not None and known.unit == "ns" and not column.inputs
    short: Masks = (values > 0) & (values < CLOCK_NS) if time else np.zeros(len(values), dtype=bool)
    if low >= least and high <= most:
        return "shorter than any clock resolves" if short.any() else "", short
    why = "below 0" if high <= most else above
    if low < least and high > most:
        why = "out of range"
    with np.errstate(invalid="ignore"):
        return why, (values < least) | (values > most) | short


def _line(table: Table, column: Column, row: int) -> int:
    return int(column.lines[row]) if column.lines is not None else table.line(row)


def _no_room(table: Table) -> list[Quality]:
    """What ran did fit: where a tool's own calculation fails, it exports limits of 0 groups, no occupancy and no waves."""
    limits = [c for m, c in table.columns.items() if m.startswith(("occupancy.limit_", "occupancy.theoretical"))]
    bad: Masks = np.any([c.values == 0 for c in limits], axis=0) if limits else np.zeros(len(table), dtype=bool)
    if not bad.any():
        return []
    # the one resource without room is the one that runs out: what ran is one group of it
    allowed = [c for m, c in table.columns.items() if m.startswith("occupancy.limit_")]
    one = (np.sum([c.values == 0 for c in allowed], axis=0) == 1) & np.any([c.values > 0 for c in allowed], axis=0)
    waves = table.columns.get("launch.waves")  # 0 by itself is a small grid, rounded
    for column in [*limits, waves] if waves else limits:
        least = np.where(one, 1.0, np.nan) if any(column is c for c in allowed) else np.nan
        column.values = np.where(bad & (column.values == 0), least, column.values)
    first = int(np.argmax(bad))
    where = f"first: {str(table.names[first])[:80]}, line {_line(table, limits[0], first)}"
    some = f"{int(bad.sum())} of {plural(len(table), 'launch')}"
    text = f"the profiler's occupancy of {some} that ran is 0 groups per SM ({where}); treated as missing{', as 1 where one resource has no room' if (bad & one).any() else ''}"
    return [Quality("impossible-value", text, first)]


def _constant(table: Table) -> list[Quality]:
    """One measured share, or rate of bytes, in all launches of many kernels and sizes measures none of them: make it missing."""
    grid = table.columns.get("launch.grid_size")
    if grid is None or len(table) < MANY_LAUNCHES:
        return []
    if min(len(set(kinds.tolist())) for kinds in (table.names, grid.values)) < MANY_KERNELS:
        return []
    out: list[str] = []
    ns, gone = table.columns.get("gpu.time"), set()
    for name, column in table.columns.items():
        unit = schema.get(name).unit if schema.known(name) and not name.startswith(SET_BY_LAUNCH) else ""
        ratio = unit == "ratio"
        if column.inputs or not (ratio or (unit == "byte" and ns is not None and (ns.values > 0).all())):
            continue
        shown = column.values if ratio or ns is None else column.values / ns.values
        low, high = shown.min(), shown.max()
        if 0 < low < (1 if ratio else np.inf) and high <= low * (1 + SAME):  # NaN is no value
            out.append(f"{schema.get(name).label} ({percent(float(low)) if ratio else 'one rate'})")
            gone.add(name)
    for name, column in table.columns.items():
        if name in gone or not gone.isdisjoint(column.inputs):
            column.values = np.full(len(table), np.nan)
    if not out:
        return []
    text = f"the same in all {len(table):,} launches of different kernels, so not measured: {', '.join(out)}; treated as missing"
    return [Quality("constant", text)]


def _zero_stalls(table: Table) -> list[Quality]:
    """Stall counters that are all zero were not sampled: make them missing."""
    stalls = [m for m in table.columns if m.startswith(("stall.", "stall_cycles."))]
    if len(stalls) < 3:  # one or two reasons can honestly be 0
        return []
    stack = np.stack([table.columns[m].values for m in stalls])
    dead = np.all((stack == 0) | ~np.isfinite(stack), axis=0) & np.any(stack == 0, axis=0)
    if not dead.any():
        return []
    for m in stalls:
        column = table.columns[m]
        column.values = np.where(dead, np.nan, column.values)
    return _rows(table, "stalls-unavailable", dead, f"all {len(stalls)} stall counters are 0: treated as unavailable")


def _no_time(table: Table) -> list[Quality]:
    column = table.columns.get("gpu.time")
    if column is None:
        return []
    known = np.isfinite(column.values)
    out = _rows(table, "no-duration", known & (column.values <= 0), "duration of 0 or less; not ranked by time")
    lost = ~known & _holds_nothing(table)
    # frames of a presentation log may lack their GPU time; where more have none, the column is of something else
    if (
        table.trace is None
        and 2 * lost.sum() <= len(table)
        and not any(m.startswith("present.") for m in table.columns)
    ):
        out += _rows(table, "no-duration", lost, "no duration; not ranked, and the total is at least what is listed")
    return out


def _holds_nothing(table: Table) -> Masks:
    """Rows under which no other stands: what holds others may leave its time to them."""
    if table.paths is None:
        return np.ones(len(table), dtype=bool)
    holders = set(map(str, table.paths))
    full = (f"{p}{SEP}{n}" if p else str(n) for p, n in zip(table.paths, table.names, strict=True))
    return np.fromiter((name not in holders for name in full), bool, len(table))


def _short_ranges(table: Table) -> list[Quality]:
    column = table.columns.get("gpu.time")
    if column is None or table.trace is not None or not _counts(table):
        return []
    short = (column.values > 0) & (column.values < TINY_NS)
    count = int(short.sum())
    if not count:
        return []
    some = f"{count} of {plural(len(table), 'range')} {'is' if count == 1 else 'are'}"
    text = f"{some} shorter than {in_words()['tiny']}: counters of ranges this short include start-up and drain"
    return [Quality("short-range", text, int(np.argmax(short)))]


def _counts(table: Table) -> bool:
    """True where some column is a counter: times, calls and launch shapes are none, and no start-up falsifies them."""
    return any(not m.startswith(("gpu.time", "frame.", "launch.", "device.")) for m in table.columns)


def _memory_clocks(table: Table) -> list[Quality]:
    """Launches that are long enough to time their memory clock, and ran at different ones."""
    if not {"gpu.time", "vram.frequency"} <= table.columns.keys():
        return []
    clock = table.columns["vram.frequency"].values[table.columns["gpu.time"].values >= TINY_NS]
    clock = clock[clock > 0]
    if not len(clock) or clock.max() <= SAME_CLOCK * clock.min():
        return []
    low, high = float(clock.min()), float(clock.max())
    text = f"memory clock {show(low, 'hz')} in some launches, {show(high, 'hz')} in others: at equal % of peak the "
    text += f"former take up to {percent(high / low - 1)} longer; lock the clocks before times are compared"
    return [Quality("memory-clocks", text)]


def _locked_clock(table: Table) -> list[Quality]:
    """The longest launch that the SM limits at the clock of the profiler, and DRAM at that of the device."""
    needed = ("gpu.time", "sm.frequency", "device.max_clock", "sm.throughput", "vram.throughput")
    if any(m not in table.columns for m in needed):
        return []
    time, clock, most, sm, dram = (table.columns[m].values for m in needed)
    with np.errstate(all="ignore"):
        part = clock / (most * 1e3)  # kHz
        changed = (part < LOCKED) & (sm >= LOW) & (dram < sm) & (dram / part > sm)
    if not changed.any():
        return []
    row = int(np.argmax(np.where(changed, np.nan_to_num(time), -1.0)))
    name, own, full = str(table.names[row])[:80], show(float(clock[row]), "hz"), show(float(most[row]) * 1e3, "hz")
    text = (
        f"{name}: profiled at {own}, {percent(part[row])} of the device's {full}; at full clock DRAM ({percent(dram[row])} "
        f"busy here) passes the SM ({percent(sm[row])}) - profile with --clock-control none as well"
    )
    return [Quality("locked-clock", text, row)]


def timeline(t: Timeline) -> list[Quality]:
    """Limits of a timeline: too short, a slice of a longer run, without host calls."""
    out = []
    span = max(d.span_ns for d in t.devices)
    if t.is_short:
        text = f"{plural(len(t.own_ns), 'operation')} in {show(float(span), 'ns')}: timeline too short to generalise"
        if not t.has_judged_gaps:
            text += ", idle time not judged"
        out.append(Quality("short-timeline", text))
    if (before := float(t.steady - t.start)) > 0:
        text = f"a tenth of the operations or less takes the first {show(before, 'ns')} of {show(float(t.end - t.start), 'ns')}: start-up or waiting, in no finding or share"
        most = f"the host is in {t.starting} for most of it: record several whole steps"
        text += f"; {most if t.starting else 'the timeline shows it'}"
        out.append(Quality("start-up", text))
    whole = t.end - t.start
    late = [d for d in t.devices if whole - d.span_ns > OWN * whole]
    if late:
        shown = show(float(whole), "ns")
        each = [f"device {d.key} works in {show(float(d.span_ns), 'ns')} of {shown} only" for d in late]
        text = f"{first_of(each, 4)}: time before its first work and after its last is in no item or share, as nothing tells whether the program could use it then"
        out.append(Quality("device-unused", text))
    if t.host is None:
        text = "no host API calls recorded: reasons for idle time are unknown"
        out.append(Quality("no-host-calls", text))
        return out
    own = sum(d.gap("profiler").blamed_ns for d in t.judged) / max(sum(d.span_ns for d in t.judged), 1)
    if own >= OWN:
        text = f"profiler overhead takes {show(own, 'ratio')} of the span; these gaps are not the program's: record less at a time"
        out.append(Quality("profiler-overhead", text))
    if (early := float(sum(d.earlier_ns for d in t.judged))) >= OWN * sum(d.span_ns for d in t.judged):
        text = f"idle time holds {show(early, 'ns')} before a stream's first work: work from before the record may have run there"
        out.append(Quality("earlier-work", text))
    if t.sliced:
        text = "launch calls of many operations are missing: the capture is a slice of a longer run"
        out.append(Quality("sliced-timeline", text))
    return out
