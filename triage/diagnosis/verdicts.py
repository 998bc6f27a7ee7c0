"""One verdict per workload: to fix, suspected, not diagnosed, or at its hardware limit.

A cause with measured evidence is a fix, one with weak evidence a suspect. Without a cause, silence is no health: the
workload is at its limit only where what decides was measured (deciding.toml) and a roof that no rewrite passes is reached,
and not diagnosed everywhere else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Codes, Masks
from triage.derive import View
from triage.derive.work_model import ROOF
from triage.diagnosis.limiter import Limits
from triage.diagnosis.root_causes import CauseIndex, Leaders
from triage.ground.columns import anywhere, is_column
from triage.ground.limiters import BANDS
from triage.ground.method import HIGH
from triage.inference.rule_context import setting

FIX, SUSPECT, NOT_DIAGNOSED, AT_LIMIT = range(4)  # positions in document.entries.VERDICT_CLASSES
# units of phones and Intel's sampler, which export the time in which they worked and no share of peak
BUSY_UNITS = ("alu.utilization", "texture_pipe.busy", "load_store.busy", "sampler.busy")
_HIGH = tuple(BANDS).index("high")


class Group(Struct, frozen=True):
    """Metrics of which one must be known. vendor: "" for all; ask: what to collect."""

    label: str
    any: tuple[str, ...]
    ask: tuple[str, ...]
    vendor: str


@cache
def _groups(work: str) -> tuple[Group, ...]:
    """Groups of a kind of work; an unknown kind is judged like graphics."""
    data = tomllib.loads(Path(__file__).with_name("deciding.toml").read_text(encoding="utf-8"))
    return tuple(
        Group(g["label"], tuple(g["any"]), tuple(g["ask"]), g.get("vendor", ""))
        for g in data["compute" if work == "compute" else "graphics"].values()
    )


def missing(view: View) -> Iterator[tuple[Group, Masks]]:
    """Groups that are not known everywhere, each with the workloads that lack it."""
    here = setting(view)
    for group in _groups(here.get("work", "")):
        if group.vendor in ("", here.get("vendor", "nvidia")):
            lacks = np.ones(view.size, dtype=bool)
            for metric in group.any:
                lacks &= np.isnan(view[metric])
            if anywhere(lacks):
                yield group, lacks


AT_DRAM = ("vram.bytes_read", "vram.bytes_written", "global_load.sectors", "global_store.sectors", "l2.hit_rate")


def deciding(view: View, undiagnosed: Masks) -> list[str]:
    """Metrics to collect for the workloads that are not diagnosed.

    Where DRAM is at its roof in all of them, stalls and access patterns decide nothing: bytes moved and asked for do.
    """
    here = undiagnosed if undiagnosed.any() else np.ones(view.size, dtype=bool)
    with np.errstate(invalid="ignore"):
        at_dram = bool((view["unit.vram"] >= ROOF)[here].all()) if is_column(view["unit.vram"]) else False
    groups = [g for g, lacks in missing(view) if anywhere(lacks & here)]
    if groups and at_dram and setting(view).get("vendor", "nvidia") == "nvidia":
        return [m for m in AT_DRAM if anywhere(np.isnan(view[m]) & here)]
    return [m for g in groups for m in g.ask]


def verdicts(view: View, limits: Limits, leaders: Leaders, index: CauseIndex, rows: slice) -> Codes:
    """Verdict per workload of a block: FIX to AT_LIMIT. rows: of the block in `leaders`."""
    rule = leaders.rule[rows]
    out = np.full(view.size, NOT_DIAGNOSED, dtype=np.int8)
    with np.errstate(invalid="ignore"):
        full = view["work.roof"] >= ROOF
        if setting(view).get("work") != "compute":  # units of a frame have no work model yet: the method's band decides
            full = full | (limits.band == _HIGH)
            for unit in BUSY_UNITS:
                full = full | (view[unit] > HIGH)
        # a roof with no excess is proven whatever else was counted
        proven = (view["work.counted_once"] == 1) & (view["unit.vram"] >= ROOF)
        proven = proven | (view["work.needed_rate"] >= ROOF) | (view["work.library_roof"] == 1)
    for _, lacks in missing(view):
        full = full & ~lacks
    full = full | proven
    out[np.broadcast_to(full, view.size)] = AT_LIMIT
    led = leaders.cause[rows] >= 0
    out[led] = np.where(index.is_suspect[rule[led]], SUSPECT, FIX)
    return out
