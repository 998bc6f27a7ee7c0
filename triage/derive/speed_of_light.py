"""Unit SOL% -> top unit, clusters and sides: steps 2 and 3 of the P3 method.

A cluster starts when a unit lies more than 10 points below the cluster's leader; comparing with the leader, not with
the neighbour, reproduces every clustering the article prints.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, reduce

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Codes, Floats, Masks, Values
from triage.derive import View
from triage.derive._arrays import highest
from triage.derive._derivation import Derivation
from triage.derive.vendor import tiler_of, vendor_of
from triage.ground.columns import is_column
from triage.ground.method import CLUSTER, HIGH, LOW, RAISED
from triage.ground.phrasing import points, whole_percent
from triage.schema.derived import HARDWARE_UNITS

_EPS = 1e-9  # 0.8 - 0.1 is more than 0.7 in binary, and a unit exactly 10 points below still belongs
MIN_MEASURED_UNITS = 4  # heuristic: the leader of these, from 60 % on, may be named although others were not measured
PASSED = 1e3  # taken off the SOL of a unit that is out of the running
# The sides of the pipeline, each as strong as its busiest unit.
_MEMORY = ("l1tex", "l2", "vram")
_FRONT = ("pd", "vaf", "vpc", "pes", "raster", "prop")
_ROP = ("crop", "zrop")


class Clusters(Struct, dict=True):
    """names: units measured. sol: (units, workloads), 0 to 1. primary, secondary: boolean of the same shape.

    top, next: per workload, the highest SOL and the highest outside the first cluster (below 0: none). complete: where
    no unmeasured unit can be the real top. plain: where so many were measured and the top is so high that it is busy
    enough to be named, whatever the few others do.
    """

    names: list[str]
    sol: Floats
    top: Floats
    next: Floats
    complete: Masks
    plain: Masks
    primary: Masks
    secondary: Masks

    @cached_property
    def top_index(self) -> Codes:
        """Position in `names` of the unit with the highest SOL, -1 where there is no top."""
        first = np.full(len(self.top), 127, dtype=np.int8)
        for i, row in enumerate(self.sol):  # many times as fast as argmax across the rows
            lower = (row != self.top).view(np.int8)
            np.minimum(first, lower * np.int8(100) + np.int8(i), out=first)
        return np.where(np.isnan(self.top), np.int8(-1), first)


def clusters(view: View) -> Clusters:
    """First and second cluster of every workload; needs two measured units, else top is NaN and nothing is primary.

    These describe what was measured. Rules read sol.top and the flags below, which are missing where an unmeasured
    unit might be the real top.
    """
    return view.once("clusters", lambda: _clusters(view))


def _clusters(view: View) -> Clusters:
    have = [u for u in HARDWARE_UNITS if is_column(view[f"{u}.throughput"])]
    if not have:
        none, no = np.zeros((0, view.size), dtype=bool), np.zeros(view.size, dtype=bool)
        unknown, nowhere = np.full(view.size, np.nan), np.full(view.size, -1.0)
        return Clusters([], np.zeros((0, view.size)), unknown, nowhere, no, no, none, none)
    sol = np.stack([view[f"{u}.throughput"] for u in have])
    if "memory" in have:  # it repeats the busiest of its levels, unless one of them is missing
        levels = reduce(np.logical_and, (np.isfinite(view[f"{u}.throughput"]) for u in _MEMORY))
        sol[have.index("memory"), np.broadcast_to(levels, view.size)] = np.nan
    filled = np.where(np.isnan(sol), -1.0, sol)
    top = filled.max(axis=0)
    measured = filled >= 0
    count = measured.sum(axis=0, dtype=np.int8)
    # One unit alone is no comparison, except one so busy that no other could leave it behind. AMD's and Intel's tools
    # hand out one unit per run: there a unit from 60 % on is busy whatever the others do, and rules of others say so.
    by_unit = vendor_of(view.capture) in ("amd", "intel")
    alone = LOW if by_unit else HIGH
    # what was computed stands on no list, nor do the two or five units that a phone's tool names
    exported = [not tiler_of(view.capture) and f"{u}.throughput" in view.capture.facts for u in have]
    listed = _ends(have, measured) if by_unit else _complete(have, measured, measured[exported].sum(axis=0))
    certain = listed | _with_memory(view) | (top >= alone)
    plain = (count >= MIN_MEASURED_UNITS) & (top >= LOW)
    enough = (count >= 2) & (top >= 0) | (top >= alone)
    primary = _cluster(filled, top, enough)
    leader = _leader(filled, primary)
    secondary = _cluster(filled, leader, enough) & ~primary
    return Clusters(have, sol, np.where(enough, top, np.nan), leader, enough & certain, plain, primary, secondary)


def _cluster(sol: Floats, leader: Floats, enough: Masks) -> Masks:
    """Which units lie within ten points below a leader; units at 0 do not work, so they limit nothing."""
    edge = np.where(enough, leader - CLUSTER - _EPS, np.inf)
    return np.stack([(row >= edge) & (row > 0) for row in sol])


def _leader(sol: Floats, gone: Masks) -> Floats:
    """Highest SOL of the other units, below 0 where there is none.

    Row by row, and what is gone is subtracted: a table of temporaries falls out of the cache, and choosing by a random
    mask takes ten times as long.
    """
    return reduce(np.maximum, (row - PASSED * out for row, out in zip(sol, gone, strict=True)))


def _complete(have: list[str], measured: Masks, count: Codes) -> Masks:
    """Where the top SOL is certain: the four main units are there, or it is a list of the top units.

    Profilers list the five units with the highest SOL, tables in articles the top two; whatever is missing from such a
    list is lower than what is on it. Otherwise the missing unit might be the top one, and not seeing is not passing.
    """
    seen = dict(zip(have, measured, strict=True))
    nowhere = np.zeros(measured.shape[1], dtype=bool)
    main = np.logical_and.reduce([seen.get(u, nowhere) for u in ("sm", *_MEMORY)])
    certain: Masks = main | (count == 2) | (count == 5)
    return certain


def _ends(have: list[str], measured: Masks) -> Masks:
    """Where the two ends of the way, compute units and memory, are both measured."""
    seen = dict(zip(have, measured, strict=True))
    nowhere = np.zeros(measured.shape[1], dtype=bool)
    ends: Masks = seen.get("sm", nowhere) & seen.get("vram", nowhere)
    return ends


def _with_memory(view: View) -> Masks:
    """Where SM and the profiler's own figure for the whole memory system are known: nothing main is missing then."""
    known: Masks = np.isfinite(view["sm.throughput"] + view["memory.throughput"])
    return known


def _flag(metric: str, unit: str, text: str, holds: Callable[[Clusters, int], Masks]) -> Derivation:
    """1 where something holds of a unit, 0 where not, missing where neither is certain."""

    def flags(view: View) -> Values:
        c = clusters(view)
        if unit not in c.names:
            return np.nan
        i = c.names.index(unit)
        found = holds(c, i)
        # if uncertain, name a top unit but exclude none
        known = c.complete | (c.plain & (c.sol[i] == c.top) & found)
        return np.where(np.isnan(c.sol[i]) | ~known, np.nan, found.astype(float))

    return Derivation(f"{metric}.{unit}", f"{HARDWARE_UNITS[unit]} {text}", flags, (f"{unit}.throughput",), whole=True)


def _next(view: View) -> Values:
    c = clusters(view)
    if not c.names:
        return np.nan
    return np.where(c.complete & (c.next >= 0), c.next, np.nan)


def _side(metric: str, units: tuple[str, ...]) -> Derivation:
    text = f"highest of {', '.join(HARDWARE_UNITS[u] for u in units)} SOL"
    return Derivation(metric, text, highest, optional=tuple(f"{u}.throughput" for u in units))


def _memory_side(whole: Values, *units: Values) -> Values:
    """The profiler's own figure; else the highest of the three levels, where none is missing or one is busy anyway."""
    top = highest(*units)
    some = reduce(np.logical_or, (np.isnan(u) for u in units))
    return np.where(np.isnan(whole), np.where(some & np.logical_not(top >= HIGH), np.nan, top), whole)


MAIN = ("sm.throughput", "l1tex.throughput", "l2.throughput", "vram.throughput")
ALL = tuple(f"{u}.throughput" for u in HARDWARE_UNITS)


def _top(view: View) -> Values:
    c = clusters(view)
    return np.where(c.complete, c.top, np.nan) if c.names else np.nan


DERIVATIONS = (
    Derivation("sol.top", "highest unit SOL", _top, optional=ALL, whole=True, ask=MAIN),
    Derivation("sol.seen", "highest unit SOL measured", highest, optional=ALL, ask=MAIN),
    Derivation("sol.next", "highest SOL outside the first cluster", _next, optional=ALL, whole=True, ask=MAIN),
    Derivation("sol.bound", f"{whole_percent(RAISED)} / top SOL", lambda top: RAISED / top, ("sol.top",)),
    Derivation("sol.sm_tex_gap", "|SM SOL - TEX SOL|", lambda a, b: np.abs(a - b), ("sm.throughput", "l1tex.throughput")),
    Derivation(
        "sm.side", "SM SOL, of the SMs that the launch could use",
        lambda a, part: np.minimum(a / np.where(part > 0, part, 1.0), np.maximum(a, 1.0)), ("sm.throughput",),
        ("launch.sm_share",),
    ),
    Derivation(
        "memory.side", "memory.throughput, else highest of TEX, L2 and VRAM SOL", _memory_side,
        optional=("memory.throughput", *(f"{u}.throughput" for u in _MEMORY)),
    ),
    _side("frontend.side", _FRONT),
    _side("rop.side", _ROP),
    *(_flag("primary", u, f"SOL within {points(CLUSTER)} of the top SOL", lambda c, i: c.primary[i]) for u in HARDWARE_UNITS),
    *(_flag("top", u, "has the highest SOL", lambda c, i: c.top_index == i) for u in HARDWARE_UNITS),
    *(
        _flag("involved", u, "SOL in the first or second cluster", lambda c, i: c.primary[i] | c.secondary[i])
        for u in HARDWARE_UNITS
    ),
)  # fmt: skip
