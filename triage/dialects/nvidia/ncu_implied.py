"""Columns that Nsight Compute's counters imply but do not print: each with its formula and inputs."""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from triage import schema
from triage.capture.capture import Column, Table


def complete(table: Table) -> None:
    """Every computed column whose inputs are there, after the denominators are sorted out; changes the table."""
    issue_denominator(table)
    time_from_cycles(table)
    stalls_from_samples(table)


def time_from_cycles(table: Table) -> None:
    """GPU time where only cycles and clock were collected: both come from one counter, so the quotient is exact."""
    cycles, clock = table.columns.get("sm.cycles_elapsed"), table.columns.get("sm.frequency")
    if "gpu.time" in table.columns or cycles is None or clock is None:
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(clock.values > 0, cycles.values / clock.values * 1e9, np.nan)
    formula = "elapsed cycles / SM clock"
    inputs = ("sm.cycles_elapsed", "sm.frequency")
    table.columns["gpu.time"] = Column(values, "", unit="ns", formula=formula, inputs=inputs)
    table.notes.append("the export has no duration; GPU time is elapsed SM cycles over the SM clock")


def stalls_from_samples(table: Table) -> None:
    """Stall shares from program-counter samples where no stall ratios were collected."""
    # a few reasons alone would be taken for all of them: shares need most of the list
    samples = {m: c for m, c in table.columns.items() if m.startswith("stall_samples.")}
    if len(samples) < 5 or any(m.startswith(("stall.", "stall_cycles.")) for m in table.columns):
        return
    total = np.nansum(np.stack([c.values for c in samples.values()]), axis=0)
    for metric, column in samples.items():
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(total > 0, column.values / total, np.nan)
        reason = metric.partition(".")[2]
        formula = "samples of this reason / all warp samples"
        table.columns[f"stall.{reason}"] = Column(share, "", formula=formula, inputs=tuple(sorted(samples)))
    table.notes.append("stall shares come from the sampling counters")


def damaged_numbers(table: Table, texts: list[str]) -> None:
    """Spreadsheets shorten long numbers to `8.1097E+14`: say how many."""
    short = [t for t in texts if re.fullmatch(r"\d[.,]\d{1,6}E\+\d+", t.strip())]
    if short:
        message = f"{len(short)} distinct values look shortened by a spreadsheet (for example {short[0]})"
        table.remark("spreadsheet-damage", f"{message}: only their first digits are right")


def issue_denominator(table: Table) -> None:
    """Some versions print `Issue Slots Busy` over elapsed cycles: tell by the instruction rates beside it."""
    column = table.columns.get("sm.issue_per_active")
    active, elapsed = table.columns.get("sm.ipc_issued"), table.columns.get("sm.ipc_elapsed")
    active = active or table.columns.get("sm.ipc_active")
    if column is None or active is None or elapsed is None or schema.normal(column.header) != "issue slots busy":
        return
    # four schedulers, one issue each, on every SM since 2014 but GP100
    a, e = active.values / 4, elapsed.values / 4
    with np.errstate(invalid="ignore"):
        # only where the two rates are clearly apart can a figure agree with one of them and not the other
        over_elapsed = (a > 1.3 * e) & (np.abs(column.values - e) < 0.15 * e + 0.005) & (a > 0.05)
    if not over_elapsed.any():
        return
    moved = replace(column, values=np.where(over_elapsed, column.values, np.nan))
    table.columns.setdefault("sm.issue_per_elapsed", moved)
    column.values = np.where(over_elapsed, np.nan, column.values)
    table.notes.append("Issue Slots Busy agrees with the IPC over elapsed cycles, so it was read as such")
    if not np.isfinite(column.values).any():
        del table.columns["sm.issue_per_active"]
