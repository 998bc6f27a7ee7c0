"""Young histories: is a slow-down found when few builds and runs are known, and does noise alone pass?

    python benchmarks/history_young.py [--rounds N]

Slow-downs of 1.3x, 2x and 7x, in the whole frame or one marker of twelve, in histories of 2 to 8 builds with 2, 3 or 5 runs and noise
of 0.5 to 3 % per run, judged against the builds before, the build before, the first build and another branch; then steps
just above the change that the gate prints as never missed, and noise alone. Prints what was judged rightly; exit 1
where a slow-down passes, or noise alone fails more than one build in a hundred.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product

import numpy as np

from triage.products.history.gate import judge
from triage.products.history.history_result import Gate
from triage.products.history.record import Key
from triage.products.history.store import Build
from triage.products.history.trend import FRAME, Trend

FACTORS, BUILDS, RUNS = (1.3, 2.0, 7.0), range(2, 9), (2, 3, 5)
BASELINES = ("rolling", "previous", "first", "other branch")


def simulated(
    random: np.random.Generator,
    builds: int,
    runs: int,
    markers: int,
    noise: tuple[float, float],
    change: np.ndarray | float = 1.0,
) -> Trend:
    """Builds with equal levels but for the last, whose markers take `change` times as long. noise: per run, from, to."""
    level, sigma = random.lognormal(11, 1, markers), np.exp(random.uniform(*np.log(noise), markers))
    times = level * np.exp(random.normal(0, 1, (builds * runs, markers)) * sigma)
    of = np.repeat(np.arange(builds), runs)
    times[of == builds - 1] *= change
    times = np.column_stack([times, times.sum(axis=1)])
    row = [
        Build(b, Key("main", f"{b:03}", "Frame", ""), b, (), tuple(range(b * runs, (b + 1) * runs)))
        for b in range(builds)
    ]
    names = [*(f"Frame\x1f{m}" for m in range(markers)), FRAME]
    return Trend(row, names, times, of, np.full(times.shape, -1), [])


def judged(trend: Trend, baseline: str) -> Gate:
    """The gate's answer; another branch is the builds before under another name."""
    first = {"previous": len(trend.builds) - 2, "first": 0}.get(baseline)
    return judge(trend, baseline, first)


def slow_downs(random: np.random.Generator, rounds: int) -> int:
    """Prints a row per factor; slow-downs that passed."""
    passed = 0
    for factor, whole in product(FACTORS, (True, False)):
        right = total = 0
        for builds, runs, baseline in [*product(BUILDS, RUNS, BASELINES)] * rounds:
            change = np.full(12, factor) if whole else np.where(np.arange(12) == 5, factor, 1.0)
            doc = judged(simulated(random, builds, runs, 12, (0.005, 0.03), change), baseline)
            found = {tuple(m["marker"]) for m in doc["slower"] if m["by"]["revision"] == f"{builds - 1:03}"}
            right += (("Frame", "5") in found) and bool(doc["failed"])
            total += 1
        print(
            f"  {factor:g}x, {'the whole frame' if whole else 'one marker':16} {right:5} of {total} found at its build"
        )
        passed += total - right
    return passed


def promises(random: np.random.Generator, rounds: int, builds: int = 0, runs: int = 0) -> tuple[int, int, int, int]:
    """(steps above the printed change that passed, of how many, noise alone that failed, of how many)."""
    missed = alarms = asked = 0
    for _ in range(rounds):
        size = (
            builds or int(random.integers(2, 13)),
            runs or int(random.integers(1, 10)),
            int(10 ** random.uniform(0, 3)),
        )
        baseline, seed = BASELINES[int(random.integers(4))], int(random.integers(1 << 32))
        quiet = simulated(np.random.default_rng(seed), *size, (0.001, 0.05))
        doc = judged(quiet, baseline)
        alarms += bool(doc["failed"])
        if doc["visible"] is None:
            continue
        asked += 1
        marker = int(random.integers(size[2]))
        step = np.where(np.arange(size[2]) == marker, 1 + doc["visible"] * 1.001, 1.0)
        doc = judged(simulated(np.random.default_rng(seed), *size, (0.001, 0.05), step), baseline)
        missed += not any(m["marker"] == ["Frame", str(marker)] for m in doc["slower"])
    return missed, asked, alarms, rounds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="histories of each kind")
    rounds = parser.parse_args().rounds
    random = np.random.default_rng(1)
    print("Slow-downs in 2 to 8 builds of 2, 3 or 5 runs, noise of 0.5 to 3 % per run, four baselines")
    passed = slow_downs(random, rounds)
    print("1 to 1,000 markers, 2 to 12 builds, 1 to 9 runs, noise of 0.1 to 5 % per run")
    missed, asked, alarms, total = promises(random, 300 * rounds)
    print(f"  steps above the printed change {asked - missed:5} of {asked} found")
    print(f"  noise alone {alarms} of {total} failed ({alarms / total:.2%})")
    return 1 if passed or missed or alarms > 0.01 * total else 0


if __name__ == "__main__":
    sys.exit(main())
