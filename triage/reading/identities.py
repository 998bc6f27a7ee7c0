"""Figures of one workload that must agree, whatever tool printed them: where they do not, none of them is used."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from triage import schema
from triage.capture.arrays import Floats, Indices, Masks, numbered
from triage.capture.capture import Quality, Table
from triage.devices import Device, listing
from triage.dialects.tables import formulas
from triage.ground.units import show
from triage.reading import at_most
from triage.reading.at_most import measured

_METRIC_RE = re.compile(r"\b[a-z]\w{0,40}\.\w+")
WARP_SLOTS = (16, 20, 24, 32, 40, 48, 64)  # per SM, CU or SIMD, of all architectures in devices/
WAVES = (8, 16, 32, 64, 128)  # threads, of all vendors
REGISTERS = ("launch.registers", "launch.accum_registers", "launch.scalar_registers")
FEW = 3  # launches of a kernel, of which one may well be of another build
MOVED = ("vram.bytes_read", "vram.bytes_written")
NEED_PEAK = (*MOVED, "vram.bandwidth")
PEAK_ROOM = 1.15  # data sheets round, and memory may be overclocked
UNLISTED_ROOM = 2.0  # times the fastest memory listed of an architecture, for its products that are not listed


class Identity(Struct, frozen=True):
    """`quotient` of the values of `metrics` lies between two bounds; sentence: what is wrong where it does not."""

    metrics: tuple[str, ...]
    quotient: Callable[..., Floats]
    low: float
    high: float
    sentence: str


def _slots(warps: Floats, occupancy: Floats) -> Floats:
    return _nearest(warps / occupancy, WARP_SLOTS)


def _nearest(values: Floats, among: tuple[int, ...]) -> Floats:
    off: Floats = np.min([np.abs(values / n - 1) for n in among], axis=0)
    return off


# of what no formula holds: the rest is in identities.toml
IDENTITIES = (
    Identity(("sm.active_warps", "sm.occupancy"), _slots, 0, 0.03, "active warps and occupancy are of no SM"),
    Identity(("occupancy.theoretical_warps", "occupancy.theoretical"), _slots, 0, 0.03, "theoretical warps and occupancy are of no SM"),
    Identity(("launch.wave_size",), lambda size: _nearest(size, WAVES), 0, 0.01, "waves of no GPU"),
)  # fmt: skip


def _formula(text: str, low: float, high: float, sentence: str) -> Identity:
    metrics = tuple(dict.fromkeys(_METRIC_RE.findall(text)))
    quotient = lambda *values: formulas.evaluate(text, dict(zip(metrics, values, strict=True)).__getitem__)  # noqa: E731
    return Identity(metrics, quotient, low, high, sentence)


@cache
def _declared() -> tuple[tuple[Identity, ...], dict[str, Any]]:
    """Identities, and what else identities.toml says."""
    data = tomllib.loads(Path(__file__).with_name("identities.toml").read_text("utf-8"))
    return (*itertools.starmap(_formula, data["identities"]), *IDENTITIES), data


def check(table: Table, device: Device | None) -> list[Quality]:
    """Blank figures that contradict each other; a remark for each kind. device: with its peak of the memory, if known."""
    if table.trace is not None:  # of launches alone: what else it tells is known by its operations
        return _not_whole(table) + _beyond_bounds(table)
    out = []
    longer = "a warp stalls longer than it takes between two instructions"
    stalls = [f"{m} / warp.cycles_per_issue" for m in table.columns if m.startswith("stall_cycles.")]
    with np.errstate(all="ignore"):
        for one in (*_declared()[0], *(_formula(text, 0, 2.5, longer) for text in stalls)):
            if not all(m in table.columns for m in one.metrics):
                continue
            values = [measured(table, m) for m in one.metrics]
            if any(v is None for v in values):
                continue
            quotient = one.quotient(*values)
            bad = (quotient < one.low) | (quotient > one.high)
            if bad.any():
                whole = np.logical_and.reduce([np.isfinite(v) & (v > 0) for v in values if v is not None])
                out += _blank(table, one.metrics, bad & whole, one.sentence)
    for metrics, bad, sentence in at_most.found(table):
        out += _blank(table, metrics, bad, sentence)
    out += _not_whole(table) + _one_binary(table)
    return out + _beyond_bounds(table) + _beyond_peak(table, device)


def _not_whole(table: Table) -> list[Quality]:
    out = []
    for metric in _declared()[1]["whole"]:
        if (column := table.columns.get(metric)) is not None:
            with np.errstate(invalid="ignore"):
                bad = np.isfinite(column.values) & (column.values != np.floor(column.values))
            out += _blank(table, (metric,), bad, "a count that is not whole")
    return out


def _one_binary(table: Table) -> list[Quality]:
    """A remark for each count where one launch of a kernel has other registers than all others: they belong to its code."""
    counted = {m: values for m in REGISTERS if (values := measured(table, m)) is not None}
    if not counted or len(table) <= FEW:
        return []
    codes, _ = numbered(table.names)
    order = np.argsort(codes, kind="stable")
    launches = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    several = [some for some in launches if len(some) > FEW]
    return [q for values in counted.values() for q in _other_registers(table, values, several)]


def _other_registers(table: Table, registers: Floats, several: list[Indices]) -> list[Quality]:
    for some in several:
        values = registers[some]
        other = values != (usual := np.median(values))
        if not np.isnan(usual) and other.sum() == 1:
            row = int(some[np.argmax(other)])
            text = f"{str(table.names[row])[:80]}, line {table.line(row)}: {registers[row]:g} registers, in {len(some) - 1} other launches {usual:g}"
            return [Quality("contradiction", text, row, doubt=True)]
    return []


def _beyond_bounds(table: Table) -> list[Quality]:
    """Counts that no launch has: of nothing at all, or of more than any SM holds."""
    out, bounds = [], _declared()[1]
    for metric in bounds["some"] + (bounds["run"] if "launch.block_size" in table.columns else []):
        if (column := table.columns.get(metric)) is not None:
            out += _blank(table, (metric,), column.values == 0, "a count of 0")
    for metric, most in bounds["max"].items():
        if (column := table.columns.get(metric)) is not None:
            with np.errstate(invalid="ignore"):
                out += _blank(table, (metric,), column.values > most, "more than any device has")
    return out


def _beyond_peak(table: Table, device: Device | None) -> list[Quality]:
    """More bytes per second than the device's memory moves: the time is wrong, or the bytes are."""
    if device is None:
        return []
    peak, room, whose = device.peaks.dram_bytes_per_s, PEAK_ROOM, "its memory"
    if not peak and device.vendor == "nvidia":  # others may count bytes of a cache beside the memory
        peak = max((d.peaks.dram_bytes_per_s or 0.0 for d in listing() if d.arch == device.arch), default=0.0)
        room, whose = UNLISTED_ROOM, f"that of any {device.arch}"
    if not peak:
        return []
    text = f"more bytes per second than {whose} moves ({show(peak, 'byte/s')})"
    out: list[Quality] = []
    with np.errstate(all="ignore"):
        if (rate := measured(table, "vram.bandwidth")) is not None:
            out += _blank(table, ("vram.bandwidth",), rate > room * peak, text)
        ns, moved = measured(table, "gpu.time"), [m for m in MOVED if measured(table, m) is not None]
        if moved and ns is not None:
            bad = sum(table.columns[m].values for m in moved) / (ns * 1e-9) > room * peak
            out += _blank(table, (*moved, "gpu.time"), bad, text)
    return out


def _blank(table: Table, metrics: tuple[str, ...], bad: Masks, sentence: str) -> list[Quality]:
    if not bad.any():
        return []
    first = int(np.argmax(bad))
    values = ((schema.get(m), float(table.columns[m].values[first])) for m in metrics)
    figures = ", ".join(f"{metric.label} {show(value, metric.unit)}" for metric, value in values)
    blank = set(metrics)
    # and whatever was computed from them
    for name, column in (*table.columns.items(), *table.raw.items()):
        if name in blank or blank & set(column.inputs):
            column.values = np.where(bad, np.nan, column.values)
    at = f"first: {str(table.names[first])[:80]}, line {table.line(first)}: {figures}"
    rows = f"{int(bad.sum())} of {len(table)} rows"
    return [Quality("contradiction", f"{rows}: {sentence} ({at}); treated as missing", first, doubt=True)]
