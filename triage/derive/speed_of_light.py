"""Unit SOL% -> top unit, clusters and sides: steps 2 and 3 of the P3 method.

A cluster starts when a unit lies more than 10 points below the cluster's leader; comparing with the leader, not with
the neighbour, reproduces every clustering the article prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.derive._derivation import Derivation
from triage.schema.derived import HARDWARE_UNITS

if TYPE_CHECKING:
    from triage.derive import View

DELTA = 0.10  # P3 v2, section 4.3: units within about 10 % of the leader limit together
BUSY = 0.80  # P3 v2, Summary: above 80 % remove work; a unit not measured could only join one that is this busy
RAISED = 0.90  # P3 v2, section 4.2: 50 % SOL raised to 90 % would be 1.8x
_EPS = 1e-9
PASSED = 1e3  # taken off the SOL of a unit that is out of the running
_MEMORY = ("l1tex", "l2", "vram")
_FRONT = ("pd", "vaf", "vpc", "pes", "raster", "prop")
_ROP = ("crop", "zrop")


@dataclass
class Clusters:
    """names: units measured. sol: (units, workloads). primary, secondary: boolean of the same shape.

    top, next: per workload, the highest SOL and the highest outside the first cluster (below 0: none).
    """

    names: list[str]
    sol: Any
    top: Any
    next: Any
    complete: Any
    primary: Any
    secondary: Any

    @cached_property
    def top_index(self) -> Any:
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
    if "clusters" in view.scratch:
        found: Clusters = view.scratch["clusters"]
        return found
    have = [u for u in HARDWARE_UNITS if np.ndim(view[f"{u}.throughput"])]
    if not have:
        empty = np.zeros((0, view.size), dtype=bool)
        no = np.zeros(view.size, dtype=bool)
        out = Clusters(
            [], np.zeros((0, view.size)), np.full(view.size, np.nan), np.full(view.size, -1.0), no, empty, empty
        )
    else:
        sol = np.stack([view[f"{u}.throughput"] for u in have])
        if "memory" in have:  # it repeats the busiest of its levels, unless one of them is missing
            levels = reduce(np.logical_and, (np.isfinite(view[f"{u}.throughput"]) for u in _MEMORY))
            sol[have.index("memory"), np.broadcast_to(levels, view.size)] = np.nan
        filled = np.where(np.isnan(sol), -1.0, sol)
        top = filled.max(axis=0)
        measured = filled >= 0
        count = measured.sum(axis=0, dtype=np.int8)
        certain = _complete(have, measured, count) | _with_memory(view) | (top >= BUSY)
        enough = (count >= 2) & (top >= 0) | (top >= BUSY)
        primary = _cluster(filled, top, enough)
        leader = _leader(filled, primary)
        secondary = _cluster(filled, leader, enough) & ~primary
        out = Clusters(have, sol, np.where(enough, top, np.nan), leader, enough & certain, primary, secondary)
    view.scratch["clusters"] = out
    return out


def _cluster(sol: Any, leader: Any, enough: Any) -> Any:
    """Which units lie within ten points below a leader."""
    edge = np.where(enough, leader - DELTA - _EPS, np.inf)
    return np.stack([(row >= edge) & (row > 0) for row in sol])


def _leader(sol: Any, gone: Any) -> Any:
    """Highest SOL of the other units, below 0 where there is none.

    Row by row, and what is gone is subtracted: a table of temporaries falls out of the cache, and choosing by a random
    mask takes ten times as long.
    """
    return reduce(np.maximum, (row - PASSED * out for row, out in zip(sol, gone, strict=True)))


def _complete(have: list[str], measured: Any, count: Any) -> Any:
    """Where the top SOL is certain: the four main units are there, or it is a list of the top units.

    Profilers list the five units with the highest SOL, tables in articles the top two; whatever is missing from such a
    list is lower than what is on it. Otherwise the missing unit might be the top one, and not seeing is not passing.
    """
    seen = dict(zip(have, measured, strict=True))
    nowhere = np.zeros(measured.shape[1], dtype=bool)
    main = np.logical_and.reduce([seen.get(u, nowhere) for u in ("sm", *_MEMORY)])
    return main | (count == 2) | (count == 5)


def _with_memory(view: View) -> Any:
    """Where SM and the profiler's own figure for the whole memory system are known: nothing main is missing then."""
    return np.isfinite(view["sm.throughput"] + view["memory.throughput"])


def _flag(metric: str, unit: str, text: str, holds: Callable[[Clusters, int], Any]) -> Derivation:
    """1 where something holds of a unit, 0 where not, missing where the top SOL is not certain."""

    def flags(view: View) -> Any:
        c = clusters(view)
        if unit not in c.names:
            return np.nan
        i = c.names.index(unit)
        return np.where(np.isnan(c.sol[i]) | ~c.complete, np.nan, holds(c, i).astype(float))

    return Derivation(f"{metric}.{unit}", (f"{unit}.throughput",), f"{HARDWARE_UNITS[unit]} {text}", flags, whole=True)


def _next(view: View) -> Any:
    c = clusters(view)
    if not c.names:
        return np.nan
    return np.where(c.complete & (c.next >= 0), c.next, np.nan)


def _most(*values: Any) -> Any:
    out = values[0]
    for v in values[1:]:
        out = np.fmax(out, v)
    return out


def _side(metric: str, units: tuple[str, ...]) -> Derivation:
    text = f"highest of {', '.join(HARDWARE_UNITS[u] for u in units)} SOL"
    return Derivation(metric, (), text, _most, optional=tuple(f"{u}.throughput" for u in units))


def _memory_side(whole: Any, *units: Any) -> Any:
    """The profiler's own figure; else the highest of the three levels, where none is missing or one is busy anyway."""
    top = _most(*units)
    some = reduce(np.logical_or, (np.isnan(u) for u in units))
    return np.where(np.isnan(whole), np.where(some & ~(top >= BUSY), np.nan, top), whole)


MAIN = ("sm.throughput", "l1tex.throughput", "l2.throughput", "vram.throughput")
ALL = tuple(f"{u}.throughput" for u in HARDWARE_UNITS)
DERIVATIONS = (
    Derivation("sol.top", (), "highest unit SOL", lambda view: np.where(clusters(view).complete, clusters(view).top, np.nan) if clusters(view).names else np.nan, ALL, whole=True, ask=MAIN),
    Derivation("sol.count", (), "units with a SOL", lambda view: np.isfinite(clusters(view).sol).sum(axis=0).astype(float)
               if clusters(view).names else np.nan, ALL, whole=True, ask=MAIN),
    Derivation("sol.next", (), "highest SOL outside the first cluster", _next, ALL, whole=True, ask=MAIN),
    Derivation("sol.bound", ("sol.top",), "90 % / top SOL", lambda top: RAISED / top),
    Derivation("sol.sm_tex_gap", ("sm.throughput", "l1tex.throughput"), "|SM SOL - TEX SOL|", lambda a, b: np.abs(a - b)),
    Derivation("sm.side", ("sm.throughput",), "SM SOL", lambda a: a),
    Derivation(
        "memory.side",
        (),
        "memory.throughput, else highest of TEX, L2 and VRAM SOL",
        _memory_side,
        optional=("memory.throughput", *(f"{u}.throughput" for u in _MEMORY)),
    ),
    _side("frontend.side", _FRONT),
    _side("rop.side", _ROP),
    *(_flag("primary", u, "SOL within 10 points of the top SOL", lambda c, i: c.primary[i]) for u in HARDWARE_UNITS),
    *(_flag("top", u, "has the highest SOL", lambda c, i: c.top_index == i) for u in HARDWARE_UNITS),
    *(_flag("involved", u, "SOL in the first or second cluster", lambda c, i: c.primary[i] | c.secondary[i]) for u in HARDWARE_UNITS),
)  # fmt: skip
