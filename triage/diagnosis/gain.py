"""Saving of a fix, from the effect its rule states: one model for all rules.

After the fix no part of the GPU can need less than what remains of its demand, and none runs closer to its peak than fixed
kernels were seen to (or than it already ran). Time that the top unit does not explain is waiting; of that the fix saves the
measured waits it removes. Starting and ending a launch takes time that no fix inside it touches, and while some SMs idle the
others set its length, unless the fix `ends` that. The smaller of the two is the likely saving, the demands alone at full peak
are the bound, and a stated part of the likely saving is low.

Savings are fractions of a workload's self time; savings on one workload are alternatives and never add.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Indices, Values
from triage.derive import View
from triage.derive._arrays import highest
from triage.derive.work_model import ROOF
from triage.ground.columns import anywhere, is_column
from triage.ground.gpu_units import EVERY, ROLLUPS, UNITS
from triage.inference.evaluate import Lookup
from triage.rulebook.rule import GainModel, Rule

# nothing gives all of its time back; and 1 / (1 - 1) is no speedup
CAP = 0.99
OTHERS = ""  # all units but DRAM that a fix does not free
DRAM = "vram"
QUANTA = 10_000  # a tenth of a permille is already false precision


class Model(Struct, frozen=True):
    """The numbers that all savings share, fitted to measured fixes by benchmarks/truth.py --fit (docs/prediction-accuracy.md).

    reach: share of its peak at which a unit limits in practice; packs with sources of their own state theirs. streams: the same of DRAM, the share
    from which the verdict is at hardware limit. safe: factor on the parts of likely gains that rules call safe.
    """

    reach: float = 0.75
    safe: float = 1.0
    streams: float = ROOF

    @staticmethod
    def slowest(busy: Values, reach: Values) -> Values:
        """Share of the time that a demand takes at least, at the pace that is reached in practice."""
        return np.minimum(busy / reach, 1.0)


MODEL = Model()


def fractions(rule: Rule, lookup: Lookup, where: Indices) -> tuple[Floats, Floats, Floats]:
    """(low, likely, bound) fractions of the time of the workloads at positions `where`, NaN where an input is missing.

    low is 0 and bound the likely value where their own inputs are missing.
    """
    g = rule.gain
    if g is None:
        nothing = np.full(len(where), np.nan)
        return nothing, nothing, nothing
    chosen = _Chosen(lookup, where)
    saves: Values = g.time(chosen) if g.time is not None else np.nan
    most: Values = g.best(chosen) if g.best is not None else 1.0
    if rule.scope == "workload":
        saves, room = _limited(g, chosen, saves)
        most = np.fmin(room, most)
    bound, saves = _rounded(most), _rounded(saves)
    # fmin takes the bound where the likely value is missing: put back below, since an unknown gain is no large one
    likely, missing = np.fmin(saves, bound), np.isnan(saves)
    if anywhere(missing):
        likely = np.where(missing, np.nan, likely)
    likely = likely if is_column(likely) else np.full(len(where), likely)
    low = _rounded(likely * min(1.0, g.sure * MODEL.safe))
    # low <= likely <= bound whatever the formulas say
    return np.fmin(np.fmax(low, 0.0), likely), likely, np.fmax(bound, likely)


def _limited(g: GainModel, chosen: _Chosen, stated: Values) -> tuple[Values, Values]:
    """(likely, bound) by what every unit must still do."""
    stays = {d.unit: (np.clip(d.likely(chosen), 0.0, 1.0), np.clip(d.best(chosen), 0.0, 1.0)) for d in g.remains}
    rest = stays.pop(EVERY, None)
    needs: Values = 0.0  # share of the time now that the top unit takes after the fix
    least: Values = 0.0  # the same at best
    top: Values = 0.0  # the same now
    freed: Values = np.nan  # time that went to the freed units, where nothing was measured of waits
    freed_units = frozenset(stays)
    parts = chosen.lookup.view.once(("parts", freed_units), lambda: _parts(chosen.lookup.view, freed_units))
    start, spread = _idle(chosen)
    for unit, shares in parts.items():
        busy = chosen.select(shares)
        reach: Values = g.reach or MODEL.reach
        # where some SMs end early, the others' time is what a unit fills, and what it fills then it can fill throughout
        working = np.minimum(busy / spread, 1.0)
        if "uneven" in g.ends:
            reach, working = np.fmax(reach, np.where(spread < 1, working, 0.0)), busy
        pace = MODEL.slowest(working, reach)
        after = MODEL.slowest(working, np.fmax(reach, MODEL.streams)) if unit == DRAM and not g.reach else pace
        likely, best = stays.get(unit, rest or (1.0, 1.0))
        top = np.fmax(top, after)
        needs, least = np.fmax(needs, after * likely), np.fmax(least, busy * np.fmin(best, likely))
        if rest or unit in stays:
            freed = np.fmax(freed, (1 - likely) * pace)
    # without stated waits the time of a kernel falls with its top unit's; the draws of a range have several in turn
    falls = np.where(chosen("work.kernels") == 1, np.minimum(freed, top - needs), freed)
    waits = np.where(np.isnan(stated), falls, stated) if g.remains else stated
    likely = np.minimum(1 - needs, waits)
    return (likely if "start" in g.ends else likely * (1 - start)), 1 - least


def _idle(chosen: _Chosen) -> tuple[Values, Values]:
    """(share of the time that starting and ending takes, share of the rest in which the average SM works)."""
    start, spread = chosen("launch.start_share"), chosen("launch.spread")
    return np.where(np.isnan(start), 0.0, start), np.where(np.isnan(spread), 1.0, spread)


def _parts(view: View, freed: frozenset[str]) -> dict[str, Values]:
    """Freed unit and DRAM -> its share of peak, and under OTHERS the highest of all the other parts that were measured.

    Where none of a side was measured, its roll-up stands for a freed unit of it. Rules that free the same units share
    this: what a demand needs grows with its share of peak, so that of the others the busiest decides.
    """
    found = {unit: view[metric] for unit, metric in UNITS.items()}
    standing = []
    for metric, units in ROLLUPS.items():
        seen = highest(*(found[u] for u in units))
        if anywhere(np.isnan(seen)):
            standing.append((next((u for u in units if u in freed), OTHERS), np.where(np.isnan(seen), view[metric], np.nan)))  # fmt: skip
    out: dict[str, Values] = {}
    for unit, busy in (*standing, *((u if u in freed or u == DRAM else OTHERS, busy) for u, busy in found.items())):
        if is_column(busy) or not np.isnan(busy):
            out[unit] = np.fmax(out[unit], busy) if unit in out else busy
    return out


class _Chosen:
    """A rule's names over some of a view's workloads: formulas are computed only where the rule fired."""

    def __init__(self, lookup: Lookup, where: Indices) -> None:
        self.lookup, self.where = lookup, where

    def __call__(self, name: str) -> Values:
        return self.select(self.lookup(name))

    def select(self, values: Values) -> Values:
        """The chosen ones of a view's values."""
        return values.take(self.where) if is_column(values) else values


def _rounded(values: Values) -> Values:
    """Clamped and rounded; a number that is the same for all stays one number."""
    return np.rint(np.clip(values, 0.0, CAP) * QUANTA) / QUANTA


def speedup(fraction: float) -> float:
    """1 / (1 - fraction), two decimals."""
    return round(1.0 / (1.0 - min(fraction, CAP)), 2)
