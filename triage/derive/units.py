"""Unit SOL% -> top unit, clusters and sides: steps 2 and 3 of the P3 method.

A cluster starts when a unit lies more than 10 points below the cluster's leader; comparing with the leader, not with
the neighbour, reproduces every clustering the article prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.derive._derivation import Derivation
from triage.schema.derived import UNITS

if TYPE_CHECKING:
    from triage.derive import View

DELTA = 0.10  # P3 v2, section 4.3: units within about 10 % of the leader limit together
RAISED = 0.90  # P3 v2, section 4.2: 50 % SOL raised to 90 % would be 1.8x
_EPS = 1e-9
_MEMORY = ("l1tex", "l2", "vram")
_FRONT = ("pd", "vaf", "vpc", "pes", "raster", "prop")
_ROP = ("crop", "zrop")


@dataclass(slots=True)
class Clusters:
    """names: units measured. sol: (units, workloads). primary, secondary: boolean of the same shape. top: per workload."""

    names: list[str]
    sol: Any
    top: Any
    top_index: Any
    primary: Any
    secondary: Any


def clusters(view: View) -> Clusters:
    """First and second cluster of every workload; needs two measured units, else top is NaN and nothing is primary."""
    if "clusters" in view.scratch:
        found: Clusters = view.scratch["clusters"]
        return found
    have = [u for u in UNITS if np.ndim(view[f"{u}.throughput"])]
    if any(u in have for u in _MEMORY) and "memory" in have:
        have.remove("memory")  # it repeats the busiest of the others
    if not have:
        empty = np.zeros((0, view.size), dtype=bool)
        out = Clusters([], np.zeros((0, view.size)), np.full(view.size, np.nan), np.full(view.size, -1), empty, empty)
    else:
        sol = np.stack([view[f"{u}.throughput"] for u in have])
        filled = np.where(np.isnan(sol), -1.0, sol)
        top = filled.max(axis=0)
        enough = ((filled >= 0).sum(axis=0) >= 2) & (top >= 0)
        primary = (filled >= top - DELTA - _EPS) & (filled > 0) & enough
        rest = np.where(primary, -1.0, filled)
        leader = rest.max(axis=0)
        secondary = (rest >= leader - DELTA - _EPS) & (rest > 0) & enough
        out = Clusters(have, sol, np.where(enough, top, np.nan), np.where(enough, filled.argmax(axis=0), -1), primary, secondary)
    view.scratch["clusters"] = out
    return out


def _primary(unit: str) -> Derivation:
    def flags(view: View) -> Any:
        c = clusters(view)
        if unit not in c.names:
            return np.nan
        i = c.names.index(unit)
        return np.where(np.isnan(c.sol[i]) | np.isnan(c.top), np.nan, c.primary[i].astype(float))

    return Derivation(f"primary.{unit}", (f"{unit}.throughput",), f"{UNITS[unit]} SOL within 10 points of the top SOL", flags, whole=True)


def _involved(unit: str) -> Derivation:
    def flags(view: View) -> Any:
        c = clusters(view)
        if unit not in c.names:
            return np.nan
        i = c.names.index(unit)
        return np.where(np.isnan(c.sol[i]) | np.isnan(c.top), np.nan, (c.primary[i] | c.secondary[i]).astype(float))

    return Derivation(f"involved.{unit}", (f"{unit}.throughput",), f"{UNITS[unit]} SOL in the first or second cluster", flags, whole=True)


def _next(view: View) -> Any:
    c = clusters(view)
    if not c.names:
        return np.nan
    rest = np.where(c.primary | np.isnan(c.sol), -1.0, c.sol).max(axis=0)
    return np.where(np.isnan(c.top) | (rest < 0), np.nan, rest)


def _top(unit: str) -> Derivation:
    def flags(view: View) -> Any:
        c = clusters(view)
        if unit not in c.names:
            return np.nan
        i = c.names.index(unit)
        return np.where(np.isnan(c.sol[i]) | np.isnan(c.top), np.nan, (c.top_index == i).astype(float))

    return Derivation(f"top.{unit}", (f"{unit}.throughput",), f"{UNITS[unit]} has the highest SOL", flags, whole=True)


def _most(*values: Any) -> Any:
    out = values[0]
    for v in values[1:]:
        out = np.fmax(out, v)
    return out


def _side(metric: str, units: tuple[str, ...], first: str = "") -> Derivation:
    names = tuple(f"{u}.throughput" for u in units)
    text = f"highest of {', '.join(UNITS[u] for u in units)} SOL"
    if not first:
        return Derivation(metric, (), text, _most, optional=names)
    return Derivation(metric, (), f"{first}, else {text}", lambda a, *rest: np.where(np.isnan(a), _most(*rest), a), optional=(first, *names))


MAIN = ("sm.throughput", "l1tex.throughput", "l2.throughput", "vram.throughput")
ALL = tuple(f"{u}.throughput" for u in UNITS)
DERIVATIONS = (
    Derivation("sol.top", (), "highest unit SOL", lambda view: clusters(view).top if clusters(view).names else np.nan, ALL, whole=True, ask=MAIN),
    Derivation("sol.count", (), "units with a SOL", lambda view: np.isfinite(clusters(view).sol).sum(axis=0).astype(float)
               if clusters(view).names else np.nan, ALL, whole=True, ask=MAIN),
    Derivation("sol.next", (), "highest SOL outside the first cluster", _next, ALL, whole=True, ask=MAIN),
    Derivation("sol.bound", ("sol.top",), "90 % / top SOL", lambda top: RAISED / top),
    Derivation("sol.sm_tex_gap", ("sm.throughput", "l1tex.throughput"), "|SM SOL - TEX SOL|", lambda a, b: np.abs(a - b)),
    Derivation("sm.side", ("sm.throughput",), "SM SOL", lambda a: a),
    _side("memory.side", _MEMORY, "memory.throughput"),
    _side("frontend.side", _FRONT),
    _side("rop.side", _ROP),
    *(_primary(u) for u in UNITS),
    *(_top(u) for u in UNITS),
    *(_involved(u) for u in UNITS),
)  # fmt: skip
