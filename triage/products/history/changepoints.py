"""Times of many builds -> where their level moved: which build, by how much, and how sure that is.

Columns are markers, rows builds; everything is done for all markers at once. A build's level is the mean of its runs
(logarithms, runs far from the others pulled in); its noise is measured inside builds and between neighbouring ones.
Walking from old to new, the builds since the last shift are cut in two wherever the halves differ most; where that
is more than noise explains, a shift begins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from triage.products.noise import FLOOR, UNREPEATED, student

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ALARMS = 0.01  # false alarms per build, over all markers together
REACH = 8  # builds that a shift may take to be seen; one that took longer is no step
_FAR = 4.0  # standard deviations from the median of its build beyond which a run is left out
_CLIP = 3.0  # beyond which it counts as that far where noise is measured
_WILD = 5.0  # a build's own variance counts where it is so many times that of all builds
_PAIR = 0.9539  # median distance of two runs, in standard deviations
_EXTRA = 1.4  # builds may differ by this much more than their runs explain before it counts as noise between builds
_JUST = 5  # builds
_LOOKS = 40  # so many independent looks the search over builds is worth; measured by benchmarks/history_year.py
_SURE = 6.63  # 99 % of chi squared: builds whose likelihood is within this of the best may be the one, too


@dataclass(frozen=True, slots=True)
class Levels:
    """Per build and marker: `mean` (of logarithms, NaN where it did not run) and `variance` of it; per marker `free`.

    free: degrees of freedom of the variance, 0 where nothing was repeated and `variance` is an assumption.
    """

    mean: Floats
    variance: Floats
    free: Floats


@dataclass(frozen=True, slots=True)
class Shift:
    """A step of one marker. Builds are row numbers: `at` the first with the new level, known from build `seen` on.

    first, last: builds that may have brought it, `at` among them. change, low, high: shares of the level before.
    until: row of the next shift, or the number of builds.
    """

    marker: int
    at: int
    seen: int
    first: int
    last: int
    change: float
    low: float
    high: float
    until: int


def levels(times: Floats, of: Indices, builds: int, floor: float = FLOOR) -> Levels:
    """times: runs x markers, ns, NaN where missing. of: build of each run, ascending. floor: see `triage.products.noise`."""
    with np.errstate(all="ignore"):
        x = np.log(np.where(times > 0, times, np.nan))
    known = np.isfinite(x)
    n = _sums(known.astype(np.float64), of, builds)
    scale = _pair_scale(x, of)
    middle = _medians(x, of, builds)
    with np.errstate(all="ignore"):
        # a run far from the others says nothing about its build, unless it alone is where earlier builds were
        before = _recent(middle)[of]
        stray = (np.abs(x - middle[of]) > _FAR * scale) & ~(np.abs(x - before) < np.abs(middle[of] - before))
        taken = known & ~((n[of] > 2) & stray)
        n = _sums(taken.astype(np.float64), of, builds)
        mean = _sums(np.where(taken, x, 0.0), of, builds) / n
        apart = np.square(np.where(taken, x - mean[of], 0.0))
        inside = np.maximum(n - 1, 0).sum(axis=0)
        pulled = np.minimum(apart, np.square(_CLIP * scale))
        within = np.where(np.isfinite(pulled), pulled, apart).sum(axis=0) / inside
        own = _sums(apart, of, builds) / np.maximum(n - 1, 1)
        between, steps = _between(mean)
        expected = within * np.where(n > 0, 1 / n, 0.0).sum(axis=0) / (n > 0).sum(axis=0)
        repeated = inside > 0
        extra = np.where(repeated, np.where(between > _EXTRA * expected, between - expected, 0.0), between)
        extra = np.where(np.isfinite(extra), extra, 0.0)
        # a build whose runs disagree more than chance explains counts for less
        trusted = np.where(own > _WILD * within, own, within)
        variance = np.where(repeated, trusted / n + extra, extra)
    free = np.where(repeated, inside, steps * 2 / 3)
    # nothing was repeated: two builds differ by noise as long as they differ by less than three times the floor
    assumed = (math.log1p(UNREPEATED * floor) / student(1 - _each(times.shape[1]), 1_000)) ** 2 / 2
    variance = np.where(free >= 1, np.maximum(variance, 1e-10), assumed)
    return Levels(mean, np.where(n > 0, variance, np.inf), np.where(free >= 1, free, 0.0))


def _sums(x: Floats, of: Indices, builds: int) -> Floats:
    out = np.zeros((builds, x.shape[1]))
    np.add.at(out, of, x)
    return out


def _medians(x: Floats, of: Indices, builds: int) -> Floats:
    out = np.full((builds, x.shape[1]), np.nan)
    edges = np.searchsorted(of, np.arange(builds + 1))
    for b in range(builds):
        rows = x[edges[b] : edges[b + 1]]
        if len(rows) == 1:
            out[b] = rows[0]
        elif len(rows):
            ordered = np.sort(rows, axis=0)  # NaN last
            count = np.isfinite(rows).sum(axis=0)
            take = np.arange(rows.shape[1])
            low, high = np.maximum(count - 1, 0) // 2, count // 2
            out[b] = (ordered[low, take] + ordered[np.minimum(high, len(rows) - 1), take]) / 2
    return out


def _recent(middle: Floats) -> Floats:
    """Median of the builds just before each one."""
    out = np.full_like(middle, np.nan)
    for b in range(1, len(middle)):
        out[b] = _median(middle[max(0, b - _JUST) : b])
    return out


def _pair_scale(x: Floats, of: Indices) -> Floats:
    """Standard deviation of a run, from the median distance of neighbouring runs of one build."""
    apart = np.abs(np.diff(x, axis=0))[np.diff(of) == 0]
    if not len(apart):
        return np.full(x.shape[1], np.nan)
    with np.errstate(all="ignore"):
        return _median(apart) / _PAIR


def _median(x: Floats) -> Floats:
    """np.nanmedian, without its warnings and slow ways."""
    ordered = np.sort(x, axis=0)
    count = np.isfinite(x).sum(axis=0)
    take = np.arange(x.shape[1])
    found = (ordered[np.maximum(count - 1, 0) // 2, take] + ordered[np.minimum(count // 2, len(x) - 1), take]) / 2
    return np.where(count > 0, found, np.nan)


def _between(mean: Floats) -> tuple[Floats, Floats]:
    """(variance of a build's level, steps it was taken from), from neighbouring builds; real steps are pulled in."""
    if len(mean) < 2:
        return np.full(mean.shape[1], np.nan), np.zeros(mean.shape[1])
    steps = np.diff(mean, axis=0)
    scale = _median(np.abs(steps)) / _PAIR
    pulled = np.clip(steps, -3.0 * scale * math.sqrt(2), 3.0 * scale * math.sqrt(2))
    count = np.isfinite(steps).sum(axis=0)
    with np.errstate(all="ignore"):
        return np.nansum(np.square(pulled), axis=0) / count / 2, count.astype(np.float64)


def _each(markers: int) -> float:
    """Chance of a false alarm per marker and build: a part of it, because each build is looked at with those around it."""
    return ALARMS / _LOOKS / max(1, markers)


def limit(found: Levels) -> Floats:
    """Standard errors beyond which a marker has moved: the price of looking at all of them, at every build."""
    chance = _each(found.mean.shape[1])
    values, back = np.unique(np.round(found.free), return_inverse=True)
    # what was assumed has its limit built in
    return np.array([student(1 - chance, f if f >= 1 else 1_000.0) for f in values.tolist()])[back]


def shifts(found: Levels, floor: float = FLOOR) -> list[Shift]:
    """Every step, by build and then marker. floor: share below which a step is none."""
    builds, markers = found.mean.shape
    sums = _Sums(found)
    least, far = math.log1p(floor), limit(found)
    start = np.zeros(markers, dtype=np.int64)
    begun: list[list[tuple[int, int]]] = [[] for _ in range(markers)]  # (at, seen)
    for now in range(1, builds):
        best, where = np.zeros(markers), np.zeros(markers, dtype=np.int64)
        for at in range(max(1, now - REACH + 1), now + 1):
            step, error = sums.step(start, np.full(markers, at), np.full(markers, now + 1))
            z = np.where((start < at) & (np.abs(step) > least), np.abs(step) / error, 0.0)
            better = z > best
            best, where = np.where(better, z, best), np.where(better, at, where)
        for m in np.flatnonzero(best > far).tolist():
            begun[m].append((int(where[m]), now))
            start[m] = where[m]
    out = [s for m in range(markers) if begun[m] for s in _refined(sums, m, begun[m], builds, float(far[m]))]
    return sorted(out, key=lambda s: (s.at, s.marker))


class _Sums:
    """Weighted sums from the first build on, so that the mean of any stretch of builds is two look-ups."""

    def __init__(self, found: Levels) -> None:
        weight = np.where(np.isfinite(found.mean), 1 / found.variance, 0.0)
        zero = np.zeros((1, weight.shape[1]))
        self.weight = np.concatenate([zero, np.cumsum(weight, axis=0)])
        self.total = np.concatenate([zero, np.cumsum(weight * np.nan_to_num(found.mean), axis=0)])
        self.markers = np.arange(weight.shape[1])

    def step(self, start: Indices, at: Indices, end: Indices, markers: Indices | None = None) -> tuple[Floats, Floats]:
        """(step of the level, its standard error) between builds start..at-1 and at..end-1 of each marker."""
        m = self.markers if markers is None else markers
        left, right = self.weight[at, m] - self.weight[start, m], self.weight[end, m] - self.weight[at, m]
        with np.errstate(all="ignore"):
            step = (self.total[end, m] - self.total[at, m]) / right - (self.total[at, m] - self.total[start, m]) / left
            error = np.sqrt(1 / left + 1 / right)
        empty = (left <= 0) | (right <= 0)
        return np.where(empty, 0.0, step), np.where(empty, np.inf, error)


def _refined(sums: _Sums, marker: int, begun: list[tuple[int, int]], builds: int, far: float) -> list[Shift]:
    """The steps of one marker with what was learnt later: the builds after a step tell more about where it was."""
    out: list[Shift] = []
    for i, (at, seen) in enumerate(begun):
        start = out[-1].at if out else 0
        end = begun[i + 1][0] if i + 1 < len(begun) else builds
        tried = np.arange(max(start + 1, at - REACH), min(end, at + REACH + 1))
        if not len(tried):
            continue
        same = np.full(len(tried), marker)
        step, error = sums.step(np.full(len(tried), start), tried, np.full(len(tried), end), same)
        z = np.square(step / error)
        best = int(np.argmax(z))
        near = tried[z > z[best] - _SURE]
        half = far * float(error[best])
        change = float(step[best])
        out.append(
            Shift(
                marker,
                int(tried[best]),
                seen,
                int(near.min()),
                int(near.max()),
                math.expm1(change),
                math.expm1(change - half),
                math.expm1(change + half),
                end,
            )
        )
    return out
