"""Data-quality checks: what is odd about the figures themselves, in plain words.

A check never changes a value silently; where it must blank one (an all-zero stall set is "unavailable", not zero),
it says so.
"""

from __future__ import annotations

import numpy as np

from triage import schema
from triage.capture.arrays import Masks
from triage.capture.capture import Quality, Table
from triage.capture.trace import Timeline
from triage.ground.units import show

ABSURD = 1e20  # 64-bit counters end at 1.8e19
FEW, SHORT = 20, 1_000_000  # operations, ns: a timeline with less says little of the program
MOST = 20  # remarks of one kind that name their row; the rest is counted


def check(table: Table) -> list[Quality]:
    """Run every check over a reader's table; blanks what cannot be true in its columns."""
    # Absurd figures first: one of them would make every maximum below meaningless.
    found: list[Quality] = []
    for test in (_absurd, _zero_stalls, _above_100, _no_time, _short_ranges):
        found += test(table)
    return found


def _rows(table: Table, check_name: str, bad: Masks, message: str) -> list[Quality]:
    rows = np.flatnonzero(bad)
    out = [Quality(check_name, f"{str(table.names[r])[:80]}: {message}", int(r)) for r in rows[:MOST]]
    if len(rows) > MOST:
        out.append(Quality(check_name, f"{len(rows) - MOST} more workloads: {message}"))
    return out


def _absurd(table: Table) -> list[Quality]:
    """Figures that no machine can have measured are damage: make them missing, before they overflow a product."""
    out: list[Quality] = []
    for column in (*table.columns.values(), *table.raw.values()):
        with np.errstate(invalid="ignore"):
            bad = np.abs(column.values) > ABSURD
        if bad.any():
            out.append(
                Quality(
                    "absurd-value",
                    f"{column.header[:80]}: {int(bad.sum())} of {len(table)} figures are beyond anything measurable "
                    "(more than 1e20); taken as missing",
                    int(np.argmax(bad)),
                )
            )
            column.values = np.where(bad, np.nan, column.values)
    return out


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
    return _rows(table, "stalls-unavailable", dead, f"all {len(stalls)} stall counters are 0: unavailable, not zero")


# Genuine exports have hit rates of 202 %, hits and lookups being counted in different passes; half a point is rounding.
def _above_100(table: Table) -> list[Quality]:
    out: list[Quality] = []
    for metric, column in table.columns.items():
        if not schema.known(metric):
            continue
        entry = schema.get(metric)
        if (
            entry.unit == "ratio"
            and entry.bounded
            and column.values.size
            and np.nanmax(column.values, initial=0) > 1.005
        ):
            over = column.values > 1.005
            worst = float(np.nanmax(column.values))
            out.append(
                Quality(
                    "above-100-percent",
                    f"{entry.label} exceeds 100 % in {int(over.sum())} of {len(table)} rows "
                    f"(up to {show(worst, 'ratio')}): counters of several replay passes disagree",
                    int(np.argmax(over)),
                )
            )
    return out


def _no_time(table: Table) -> list[Quality]:
    column = table.columns.get("gpu.time")
    if column is None:
        return []
    bad = np.isfinite(column.values) & (column.values <= 0)
    return _rows(table, "no-duration", bad, "the duration is 0 or negative; it cannot be ranked by time")


def _short_ranges(table: Table) -> list[Quality]:
    column = table.columns.get("gpu.time")
    if column is None or table.trace is not None:  # a timeline holds no counters
        return []
    short = (column.values > 0) & (column.values < 10_000)
    count = int(short.sum())
    if not count:
        return []
    return [
        Quality(
            "short-range",
            f"{count} of {len(table)} ranges are shorter than 10 µs: counters of so short a range "
            "carry start and end effects",
            int(np.argmax(short)),
        )
    ]


def timeline(t: Timeline) -> list[Quality]:
    """What limits what a timeline can say: too short, cut from a longer run, without the host."""
    out = []
    span = max(d.span_ns for d in t.devices)
    if len(t.own_ns) < FEW or span < SHORT:
        text = f"{len(t.own_ns)} operations in {show(float(span), 'ns')}: too short a timeline to generalise from"
        out.append(Quality("short-timeline", text))
    if t.host is None:
        text = "no calls of the host were recorded: what the devices waited for cannot be told"
        out.append(Quality("no-host-calls", text))
    elif t.sliced:
        text = "for many operations the call that started them is missing: the capture was cut from a longer run"
        out.append(Quality("sliced-timeline", text))
    return out
