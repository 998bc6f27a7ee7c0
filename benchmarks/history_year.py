"""A simulated year of a farm: 365 builds x 3 runs x 200 markers, with regressions hidden in noise.

    python benchmarks/history_year.py [--seeds N] [--file PATH]

Noise of 1 to 4 % per marker and run, regressions of 2 to 10 % in a quarter of the markers. Each build is added run by
run and judged by the gate as a farm does it (judging every build takes a while: --seeds 1 judges the first year so, the
others are searched at once, which is the same search). Prints what was found when, what was not, what was found
although it is not there, the size of the file and the time of a gate; exit 1 where a promise of docs/history.md is
broken.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from triage.products.history import store
from triage.products.history.changepoints import levels, shifts
from triage.products.history.gate import gate
from triage.products.history.record import Key, Run, Todo

BUILDS, RUNS, MARKERS, HIDDEN = 365, 3, 200, 50
NAMES = [f"Frame\x1fPass {m // 10}\x1fMarker {m}" for m in range(MARKERS)]
CAUSES = ("texture-latency", "register-spill", "bandwidth", "small-launch", "divergence")


@dataclass(frozen=True)
class Hidden:
    """A regression. times: its size in standard deviations of one run."""

    marker: int
    build: int
    size: float
    times: float


def year(seed: int, stray: float = 0.0) -> tuple[np.ndarray, np.ndarray, list[Hidden]]:
    """(times in ns of runs x markers, build of each run, what is hidden). stray: share of runs that are outliers."""
    random = np.random.default_rng(seed)
    noise = random.uniform(0.01, 0.04, MARKERS)
    level = np.tile(np.log(random.lognormal(11, 1.2, MARKERS)), (BUILDS, 1))
    hidden = []
    for m in random.choice(MARKERS, HIDDEN, replace=False).tolist():
        build, size = int(random.integers(10, BUILDS - 5)), float(random.uniform(0.02, 0.10))
        level[build:, m] += np.log1p(size)
        hidden.append(Hidden(m, build, size, size / float(noise[m])))
    runs = np.repeat(level, RUNS, axis=0) + random.normal(0, 1, (BUILDS * RUNS, MARKERS)) * noise
    odd = random.random(runs.shape) < stray
    runs = np.where(odd, runs + random.uniform(0.1, 0.5, runs.shape), runs)
    return np.exp(runs), np.repeat(np.arange(BUILDS), RUNS), hidden


def run(times: np.ndarray, number: int, hidden: list[Hidden], build: int) -> Run:
    """A run as `triage history add` would keep it: a hidden regression brings its cause along."""
    worse = {h.marker for h in hidden if h.build <= build}
    rows = tuple(
        (NAMES[m], float(ns), CAUSES[m % 5] if m in worse else "high-sol") for m, ns in enumerate(times.tolist())
    )
    todo = tuple(Todo(c, c, i + 1, 1e5, 0.01, "notable", "medium", 9) for i, c in enumerate((*CAUSES, "high-sol")))
    return Run(f"{number:064x}", f"run-{number}.csv", float(times.sum()), 1e6, "0", "0", rows, todo)


Said = dict[tuple[str, str], tuple[int, int, int]]


def fill(path: str, seed: int, judge: bool) -> tuple[list[Hidden], Said, list[float]]:
    """Add a year. judge: ask the gate after each build.

    Returns what is hidden, and (marker, build named) -> (build that said so first, earliest and latest it may be).
    """
    times, of, hidden = year(seed)
    said: Said = {}
    took = []
    with store.opened(path, create=True) as db:
        for n in range(len(times)):
            b = int(of[n])
            store.add(
                db, Key("main", f"{b:04}", "Frame", "GPU"), 1_700_000_000 + b * 86_400, run(times[n], n, hidden, b), b
            )
            if judge and n % RUNS == RUNS - 1:
                found = store.builds(db)
                start = time.perf_counter()
                doc = gate(db, found, found[-1])
                took.append(time.perf_counter() - start)
                for m in doc["slower"]:
                    key = ("\x1f".join(m["marker"]), m["by"]["revision"])
                    said[key] = (said.get(key, (b,))[0], int(m["between"][0]), int(m["between"][-1]))
    return hidden, said, took


def score(hidden: list[Hidden], named: dict[tuple[int, int], tuple[int, int, int]]) -> dict[str, float]:
    """named: (marker, build) -> (first build that said so, earliest and latest build it may be)."""
    out = {"large": 0, "found": 0, "exact": 0, "range": 0, "at once": 0, "within 3": 0, "small": 0, "small found": 0}
    mine = set()
    for h in hidden:
        hits = {k: v for k, v in named.items() if k[0] == h.marker and abs(k[1] - h.build) <= 8}
        mine |= set(hits)
        if h.times < 2:
            out["small"] += 1
            out["small found"] += bool(hits)
            continue
        out["large"] += 1
        if not hits:
            continue
        (_, build), (_, first, last) = list(hits.items())[-1]  # what was said last, when most builds were known
        out["found"] += 1
        out["exact"] += build == h.build
        out["range"] += first <= h.build <= last
        when = min(v[0] for v in hits.values())
        out["at once"] += when == h.build
        out["within 3"] += when <= h.build + 3
    out["false"] = len({k[0] for k in named if k not in mine and k[0] >= 0})
    return out


def searched(seed: int, stray: float = 0.0) -> dict[str, float]:
    """The same search over a whole year at once."""
    times, of, hidden = year(seed, stray)
    steps = shifts(levels(times, of, BUILDS))
    return score(hidden, {(s.marker, s.at): (s.seen, s.first, s.last) for s in steps if s.change > 0})


def farm(path: str, seed: int) -> tuple[dict[str, float], list[float]]:
    """A year as a farm lives it: the gate is asked after every build."""
    hidden, said, took = fill(path, seed, judge=True)
    place = {name: m for m, name in enumerate(NAMES)}
    # the whole frame moves with its markers: it is not counted beside them
    named = {(place[m], int(b)): where for (m, b), where in said.items() if m in place}
    return score(hidden, named), took


def table(title: str, s: dict[str, float], years: int) -> None:
    print(f"\n{title}")
    large = s["large"]
    for word, text in (
        ("found", "found"),
        ("exact", "named at the very build"),
        ("range", "that build among those named"),
        ("at once", "found at once, from the 3 runs of that build"),
        ("within 3", "found within 3 builds"),
    ):
        print(f"  {text:46} {s[word]:5.0f} of {large:.0f} ({s[word] / large:.1%})")
    print(f"  {'smaller ones found':46} {s['small found']:5.0f} of {s['small']:.0f}")
    print(f"  {'false alarms in 100 builds':46} {s['false'] / (years * BUILDS) * 100:.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="years that are searched at once")
    parser.add_argument("--file", default="", metavar="PATH", help="keep the year's history here")
    given = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    path = given.file or str(Path(folder.name) / "year.sqlite")
    Path(path).unlink(missing_ok=True)
    print(
        f"{BUILDS} builds x {RUNS} runs x {MARKERS} markers; {HIDDEN} regressions of 2 to 10 %, noise of 1 to 4 % a run"
    )
    start = time.perf_counter()
    lived, took = farm(path, 1)
    print(
        f"added and judged build by build in {time.perf_counter() - start:.0f} s; inside, a gate takes {max(took):.2f} s at most"
    )
    table("One year, judged after every build (regressions of at least twice the noise)", lived, 1)
    for stray, title in ((0.0, "searched at once"), (0.01, "with 1 % of all times 10 to 50 % too long")):
        total: dict[str, float] = {}
        for seed in range(given.seeds):
            for k, v in searched(seed + 100, stray).items():
                total[k] = total.get(k, 0) + v
        table(f"{given.seeds} more years, {title}", total, given.seeds)
        if not stray:
            plain = total
    size = Path(path).stat().st_size / 1e6
    walls, work = [], []
    for _ in range(5):
        start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "triage", "history", "gate", "--history", path], capture_output=True, check=False
        )
        walls.append(time.perf_counter() - start)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        work.append(now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
    # the promise is about its work: what else the machine does at the time is not the gate's
    wall = min(walls)
    print(
        f"\nfile {size:.1f} MB; `triage history gate` {wall:.2f} s at best of 5 ({min(work):.2f} s of work), exit code {done.returncode}"
    )
    if done.stderr:
        print(done.stderr.decode().strip())
    alarms = plain["false"] / (given.seeds * BUILDS) * 100
    held = (
        plain["found"] == plain["large"]
        and lived["found"] == lived["large"]
        and alarms <= 1
        and size < 60
        and min(work) < 1
    )
    print("every promise held" if held else "a promise was broken")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
