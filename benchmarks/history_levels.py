"""Histories whose level moves and whose builds differ by themselves: do kept changes blind the gate, does spread alone fail it?

    python benchmarks/history_levels.py [--rounds N]

Noise of 1 % per run, three runs, twelve markers, 8 to 40 builds. Builds differ by 0 to 3 times the noise; one marker took kept
steps of 2 to 20 % in none, an eighth or a third of its builds. Prints, for the last build: how often it fails without a
change of its own, how often a step of 6 standard deviations of its level is found in the marker with kept steps, and the
median change that the gate prints as never missed there, in such deviations. Exit 1 where a figure of docs/history.md is broken.
"""

from __future__ import annotations

import argparse
import math
import sys
from itertools import product

import numpy as np

from benchmarks.history_young import simulated
from triage.products.history.changepoints import detectable, levels, shifts
from triage.products.history.gate import judge
from triage.products.history.gate_lines import is_own
from triage.products.history.trend import Trend

NOISE, RUNS, MARKERS, MOVED = 0.01, 3, 12, 5
SPREADS, KEPT, BUILDS = (0.0, 0.5, 1.0, 3.0), (0.0, 0.125, 0.34), (8, 12, 20, 40)


def history(random: np.random.Generator, builds: int, spread: float, kept: float, step: float) -> Trend:
    """spread: of builds, in the noise of a run. kept: share of the builds before the last that moved marker MOVED. step: of the last, a share."""
    trend = simulated(random, builds, RUNS, MARKERS, (NOISE, NOISE))
    level = random.normal(0, spread * NOISE, (builds, MARKERS))
    count = round(kept * (builds - 2))
    where = random.choice(np.arange(1, builds - 1), count, replace=False)
    sizes = np.exp(random.uniform(np.log(0.02), np.log(0.2), count)) * random.choice((-1, 1), count)
    for at, size in zip(where.tolist(), sizes.tolist(), strict=True):
        level[at:, MOVED] += math.log1p(size)
    level[-1, MOVED] += math.log1p(step)
    times = trend.times[:, :-1] * np.exp(level[trend.of])
    trend.times[:] = np.column_stack([times, times.sum(axis=1)])
    return trend


def alarmed(trend: Trend, marker: int | None = None) -> bool:
    """True where the gate names the last build as slower in a marker; None: in any."""
    doc = judge(trend, "")
    name = None if marker is None else trend.markers[marker].split("\x1f")
    return any(is_own(m, doc) for m in doc["slower"] if name in (None, m["marker"]))


def figures(random: np.random.Generator, rounds: int, spread: float, kept: float) -> tuple[int, int, int, float]:
    """(builds failed without a change, steps found, of how many, median visible change in deviations of a build's level)."""
    sigma = NOISE * math.sqrt(spread**2 + 1 / RUNS)
    alarms = hits = 0
    visible = []
    for builds, _ in product(BUILDS, range(rounds)):
        trend = history(random, builds, spread, kept, 0.0)
        alarms += alarmed(trend)
        found = levels(trend.times, trend.of, builds)
        visible.append(math.log1p(detectable(found, shifts(found), 0.0)[MOVED]) / sigma)
        hits += alarmed(history(random, builds, spread, kept, math.expm1(6 * math.sqrt(2) * sigma)), MOVED)
    return alarms, hits, rounds * len(BUILDS), float(np.median(visible))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="histories of each kind and length")
    rounds = parser.parse_args().rounds
    random, alarms, total = np.random.default_rng(1), 0, 0
    print("spread  kept   failed without a change   step of 6 found   never missed (deviations)")
    for spread, kept in product(SPREADS, KEPT):
        a, hits, count, visible = figures(random, rounds, spread, kept)
        print(f"{spread:6g} {kept:5.0%} {a:14} of {count:4} {hits:17} of {count:4} {visible:16.1f}")
        alarms, total = alarms + a, total + count
    print(f"failed without a change of their own: {alarms} of {total} ({alarms / total:.2%})")
    return 1 if alarms > 0.01 * total else 0


if __name__ == "__main__":
    sys.exit(main())
