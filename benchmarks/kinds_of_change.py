"""Pairs of simulated series of each kind of change: does `triage compare` name the kind?

    python benchmarks/kinds_of_change.py [--series N]

Twelve kernels, 1 to 5 runs a side, noise of 0.3 to 2 % per run. Real: one to four kernels change. Method: the profiler locks the clock,
leaves the caches warm, or collects other counters. Hardware: another GPU, lower clocks, or all kernels slower alike.
Work: other numbers of launches or threads. Noise: nothing. Right is the kind itself, and real or noise only where they
are. Exit 1 below 95 % of any kind.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

from triage.diagnosis.diagnosing import Diagnoser
from triage.products.compare.comparing import compare
from triage.reading import reader
from triage.rulebook.packs import load

KERNELS, RIGHT = 12, 0.95
KINDS = ("real", "method", "hardware", "work", "noise")
COUNTERS = {"sm.throughput [%]": 40, "vram.throughput [%]": 50, "l2.hit_rate [%]": 60, "l1tex.hit_rate [%]": 30}


def series(
    random: np.random.Generator, kind: str
) -> tuple[list[dict[str, np.ndarray]], list[dict[str, np.ndarray]], dict[str, str]]:
    """(runs before, runs after as columns, GPU per side "" where the runs do not say it)."""
    runs, noise = int(random.integers(1, 6)), float(np.exp(random.uniform(np.log(0.003), np.log(0.02))))
    time, clock, calls = random.lognormal(0, 1, KERNELS), bool(random.random() < 0.6), random.integers(4, 40, KERNELS)
    way = int(random.integers(3))
    base = {c: np.clip(random.normal(v, 12, KERNELS), 5, 95) for c, v in COUNTERS.items()}
    base |= {"launch.grid_size": random.integers(64, 4096, KERNELS), "launch.block_size": np.full(KERNELS, 256)}
    base |= {"inst.executed": random.integers(10_000, 10_000_000, KERNELS)}
    after, scale, hertz, gpus = dict(base), np.ones(KERNELS), (1.7e9, 1.7e9), {"before": "", "after": ""}
    more, fixed = calls, False
    if kind == "real":
        some = random.choice(KERNELS, int(random.integers(1, 5)), replace=False)
        scale[some] = 1 + random.choice([-1, 1]) * random.uniform(0.12, 0.5, len(some))
    elif kind == "method" and way == 0:
        clock, fixed, hertz = True, True, (1.7e9, 1.1e9)
        scale *= 1.7 / 1.1
    elif kind == "method" and way == 1:
        after["l2.hit_rate [%]"] = np.minimum(99, base["l2.hit_rate [%]"] + random.uniform(8, 25, KERNELS))
        scale *= random.uniform(0.7, 0.95, KERNELS)
    elif kind == "method":
        after = {k: v for k, v in base.items() if k not in ("l2.hit_rate [%]", "l1tex.hit_rate [%]")}
        scale *= random.uniform(1.0, 1.05)
    elif kind == "hardware" and way == 0:
        gpus, scale = (
            {"before": "NVIDIA A100-SXM4-80GB", "after": "NVIDIA H100 80GB HBM3"},
            random.uniform(0.4, 0.8, KERNELS),
        )
    elif kind == "hardware" and way == 1:
        clock, hertz = True, (1.7e9, 1.7e9 * float(random.uniform(0.8, 0.94)))
        scale *= hertz[0] / hertz[1]
    elif kind == "hardware":
        clock, scale = False, scale * random.uniform(1.08, 1.3)
    elif kind == "work" and way == 0:
        more = calls * int(random.integers(2, 4))
    elif kind == "work" and way == 1:
        more = np.maximum(1, np.round(calls * random.uniform(0.6, 0.9))).astype(int)
    elif kind == "work":
        after["launch.grid_size"] = base["launch.grid_size"] * 2
        scale *= 2.0

    def run(
        columns: dict[str, np.ndarray], factor: np.ndarray, count: np.ndarray, hz: float, locked: bool
    ) -> dict[str, np.ndarray]:
        out = columns | {
            "frame.calls": count,
            "gpu.time [ms]": time * factor * count * np.exp(random.normal(0, noise, KERNELS)),
        }
        return out | ({"sm.frequency": hz * np.exp(random.normal(0, 0 if locked else 0.004, KERNELS))} if clock else {})

    first = [run(base, np.ones(KERNELS), calls, hertz[0], False) for _ in range(runs)]
    return first, [run(after, scale, more, hertz[1], fixed) for _ in range(runs)], gpus


def named(
    doctor: Diagnoser,
    folder: Path,
    sides: tuple[list[dict[str, np.ndarray]], list[dict[str, np.ndarray]], dict[str, str]],
) -> set[str]:
    """The kinds that compare names."""
    judged = []
    for side, runs in zip(("before", "after"), sides, strict=False):
        captures = []
        for n, columns in enumerate(runs):
            path = folder / f"{side}{n}.csv"
            with path.open("w", newline="") as f:
                w = csv.writer(f)
                w.writerow(["name", "kind", *columns])
                w.writerows([f"kernel_{i}", "compute", *(v[i] for v in columns.values())] for i in range(KERNELS))
            capture = reader.read(str(path))
            capture.table.device = sides[2][side]
            captures.append(capture)
        judged.append(doctor.diagnose(captures))
    return {k["kind"] for k in compare(*judged)["kinds"]}


def right(kind: str, found: set[str]) -> bool:
    """The kind itself; real and noise are claims about the code, false where they are not the kind."""
    return kind in found and not ({"real", "noise"} & found - {kind})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--series", type=int, default=40, metavar="N", help="series of each kind")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    given = parser.parse_args()
    random, doctor, worst = np.random.default_rng(given.seed), Diagnoser(load()), 1.0
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            found = [named(doctor, Path(folder), series(random, kind)) for _ in range(given.series)]
            good = sum(right(kind, f) for f in found)
            wrong = [", ".join(sorted(f)) for f in found if not right(kind, f)]
            print(
                f"  {kind:10} {good:4} of {given.series} right"
                + (f"; said instead: {'; '.join(wrong[:6])}" if wrong else "")
            )
            worst = min(worst, good / given.series)
    return 1 if worst < RIGHT else 0


if __name__ == "__main__":
    sys.exit(main())
