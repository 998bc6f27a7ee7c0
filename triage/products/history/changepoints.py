"""Times of many builds -> where their level moved: which build, by how much, and how sure that is.

Columns are markers, rows builds; everything is done for all markers at once. A build's level is the mean of its runs
(logarithms, runs far from the others pulled in); its noise is measured inside builds and between neighbouring ones.
Walking from old to new, the builds since the last shift are cut in two wherever the halves differ most; where that
is more than noise explains, a shift begins.

Noise is that of the runs inside a build until enough builds tell how far builds differ by themselves: a step cannot
be part of the noise that it is held against. What was repeated too seldom for that is held against the noisiest
runs that are assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from triage.capture.arrays import Floats, Indices, Masks
from triage.products.noise import FLOOR, student

ALARMS = 0.01  # false alarms per build, over all markers together
REACH = 8  # builds that a shift may take to be seen; one that took longer is no step
_FAR = 4.0  # standard deviations from the median of its build beyond which a run is left out
_CLIP = 3.0  # beyond which it counts as that far where noise is measured
_WILD = 5.0  # a build's own variance counts where it is so many times that of all builds
_PAIR = 0.9539  # median distance of two runs, in standard deviations
KNOWN = (
    6  # steps between the builds before it from which their spread is estimated; below it a build is judged by its runs
)
_TIMES = 4.0 ** np.arange(7)  # variances that are tried, in those that the runs explain
_MIN_VARIANCE = 1e-10  # least variance
_PRICE = 9.0  # of a level of its own: a change of three standard deviations, as a square
_ONCE = 1.5  # prices of a level that one build has alone; both measured by benchmarks/history_levels.py
NOISIEST = (
    0.05  # assumed of a run where noise is not measured: heuristic, the largest of games and kernels at free clocks
)
SURE = 1e-4  # chance that a step of the detectable size is missed
_EXTRA = 1.4  # builds may differ by this much more than their runs explain before it counts as noise between builds
_JUST = 5  # builds
_LOOKS = 40  # so many independent looks the search over builds is worth; measured by benchmarks/history_year.py
_YOUNG = (
    3  # of which two builds are worth two, one per limit, and each further one so many; benchmarks/history_young.py
)
_SURE = 6.63  # 99 % of chi squared: builds whose likelihood is within this of the best may be the one, too


class Levels(Struct, frozen=True):
    """Per build and marker: `mean` (of logarithms, NaN where it did not run) and `variance` of it; per marker `free`.

    free: degrees of freedom of the variance, 0 where nothing was repeated and `variance` is an assumption. assumed:
    variance at the noisiest runs that are assumed, infinite where measured ones are noisier. spread: whether the
    spread between builds is measured, per marker.
    """

    mean: Floats
    variance: Floats
    free: Floats
    assumed: Floats
    spread: Masks


class Shift(Struct, frozen=True):
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


def with_frame(times: Floats, of: Indices, builds: int, floor: float = FLOOR) -> tuple[Levels, list[Shift]]:
    """Levels and shifts of markers, and of the frame they make (the last column): what moves a marker moves it, too."""
    markers, count = levels(times[:, :-1], of, builds), times.shape[1]
    steps = shifts(markers, floor, count)
    there = np.isfinite(markers.mean)
    moved = np.append(False, (there[1:] != there[:-1]).any(axis=1))
    moved[[s.at for s in steps]] = True
    frame = levels(times[:, -1:], of, builds, moved)
    both = [np.concatenate([getattr(x, name) for x in (markers, frame)], axis=-1) for name in Levels.__struct_fields__]
    own = [replace(s, marker=count - 1) for s in shifts(frame, floor, count)]
    return Levels(*both), sorted([*steps, *own], key=lambda s: (s.at, s.marker))


def levels(times: Floats, of: Indices, builds: int, moved: Masks | None = None) -> Levels:
    """times: runs x markers, ns, NaN where missing. of: build of each run, ascending. moved: builds known to begin a level."""
    with np.errstate(all="ignore"):
        x = np.log(np.where(times > 0, times, np.nan))
    known = np.isfinite(x)
    n = _sums(known.astype(np.float64), of, builds)
    scale = _pair_scale(x, of)
    middle = _medians(x, of, builds)
    with np.errstate(all="ignore"):
        # a run far from the others says nothing about its build, unless it alone is where earlier builds were
        before = _recent(middle)[of]
        # the scale of few runs is itself uncertain
        stray = (np.abs(x - middle[of]) > _FAR * (1 + 4 / len(x)) * scale) & ~(
            np.abs(x - before) < np.abs(middle[of] - before)
        )
        taken = known & ~((n[of] > 2) & stray)
        n = _sums(taken.astype(np.float64), of, builds)
        mean = _sums(np.where(taken, x, 0.0), of, builds) / n
        apart = np.square(np.where(taken, x - mean[of], 0.0))
        inside = np.maximum(n - 1, 0).sum(axis=0)
        pulled = np.minimum(apart, np.square(_CLIP * scale))
        within = np.where(np.isfinite(pulled), pulled, apart).sum(axis=0) / inside
        own = _sums(apart, of, builds) / np.maximum(n - 1, 1)
        expected = within * np.where(n > 0, 1 / n, 0.0).sum(axis=0) / (n > 0).sum(axis=0)
        # a suspect is not part of the noise that it is held against
        between, own_free, spread = _between(
            mean[:-1], expected, np.zeros(builds, dtype=bool)[:-1] if moved is None else moved[:-1]
        )
        repeated = inside > 0
        differ = between > np.maximum(_EXTRA, 1 + np.sqrt(2 / own_free)) * expected
        extra = np.where(repeated, np.where(differ, between - expected, 0.0), between)
        extra = np.where(spread & np.isfinite(extra), extra, 0.0)
        # a build whose runs disagree more than chance explains counts for less
        wild = own > _WILD * within
        trusted = np.where(wild, own, within)
        variance = np.where(repeated, trusted / n + extra, extra)
        # degrees of freedom of a sum of two estimates (F. E. Satterthwaite, Biometrics Bulletin 2, 1946)
        parts = np.where(repeated, expected**2 / inside, 0.0) + np.where(extra > 0, extra**2 / own_free, 0.0)
        free = np.where(repeated, expected, 0.0) + extra
        free = np.where(parts > 0, free**2 / parts, np.where(repeated, inside, 0.0))
        # not where they are surely noisier
        surely = 1 + 2 * np.sqrt(2 / np.maximum(free, 1))
        quiet = np.where(repeated, within, 0.0) + extra <= NOISIEST**2 * surely
        assumed = np.where(quiet & ~wild & (n > 0), NOISIEST**2 / np.where(extra > 0, 1.0, n), np.inf)
    variance = np.where(free >= 1, np.maximum(variance, _MIN_VARIANCE), assumed)
    return Levels(mean, np.where(n > 0, variance, np.inf), np.where(free >= 1, free, 0.0), assumed, spread)


def _sums(x: Floats, of: Indices, builds: int) -> Floats:
    out = np.zeros((builds, x.shape[1]))
    np.add.at(out, of, x)
    return out


def _medians(x: Floats, of: Indices, builds: int) -> Floats:
    out = np.full((builds, x.shape[1]), np.nan)
    edges = np.searchsorted(of, np.arange(builds + 1))
    for b in range(builds):
        rows = x[edges[b] : edges[b + 1]]
        if len(rows):
            out[b] = rows[0] if len(rows) == 1 else _median(rows)
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
    ordered = np.sort(x, axis=0)  # NaN last
    count = np.isfinite(x).sum(axis=0)
    take = np.arange(x.shape[1])
    found = (ordered[np.maximum(count - 1, 0) // 2, take] + ordered[np.minimum(count // 2, len(x) - 1), take]) / 2
    return np.where(count > 0, found, np.nan)


def _between(mean: Floats, expected: Floats, moved: Masks) -> tuple[Floats, Floats, Masks]:
    """(variance of a build's level, its degrees of freedom, whether it is known), from the builds of one level each.

    expected: variance that the runs explain. moved: builds that are known to begin a level. Builds are cut into levels,
    and the variance in them chosen, so that both together are likeliest, at a price per level (J. Yao, Statistics &
    Probability Letters 6, 1988: Schwarz' criterion): a change that lasts is a level and no noise, differences that do
    not last are noise.
    """
    builds, markers = mean.shape
    if builds <= KNOWN:
        return np.full(markers, np.nan), np.ones(markers), np.zeros(markers, dtype=bool)
    there, column = np.isfinite(mean), np.arange(markers)
    x = np.where(there, mean - _median(mean), 0.0)
    count, total, squared = (_from_zero(y) for y in (there.astype(np.float64), x, np.square(x)))
    few = np.maximum(count[-1], 1)
    quietest = np.where(expected > 0, expected, np.square(_median(np.abs(np.diff(mean, axis=0))) / _PAIR) / 2)
    tried = np.maximum(np.nan_to_num(quietest), _MIN_VARIANCE) * _TIMES[:, None]
    best, apart, cuts, placed = np.zeros((4, builds + 1, len(_TIMES), markers))
    for end in range(1, builds + 1):
        n = count[end] - count[:end]
        squares = np.maximum(squared[end] - squared[:end] - np.square(total[end] - total[:end]) / np.maximum(n, 1), 0.0)
        new = ~moved[:end, None]
        price = np.where(n > 1, _PRICE, _ONCE * _PRICE) * new  # a level of one build came and went
        cost = best[:end] + squares[:, None] / tried + price[:, None]
        at = np.argmin(cost, axis=0)
        best[end] = np.take_along_axis(cost, at[None], axis=0)[0]
        for kept, more in ((apart, squares[at, column]), (cuts, 1), (placed, new[at, 0] & (at > 0))):
            kept[end] = np.take_along_axis(kept[:end], at[None], axis=0)[0] + more
    likeliest = np.argmin(best[-1] + few * np.log(tried), axis=0)
    apart, cuts, placed = (x[-1, likeliest, column] for x in (apart, cuts, placed))
    known = count[-1] > KNOWN
    # where a level begins was chosen, too: it costs as much knowledge as its height
    return np.where(known, apart / np.maximum(few - cuts, 1), np.nan), np.maximum(few - cuts - placed, 1), known


def _each(markers: int, builds: int) -> float:
    """Chance of a false alarm per marker and build: a part of it, because each build is looked at with those around it."""
    return ALARMS / min(_LOOKS, 2 + _YOUNG * (builds - 2)) / max(1, markers)


class Limits(Struct, frozen=True):
    """Standard errors beyond which a marker has moved, per marker: measured ones, and assumed ones."""

    measured: Floats
    assumed: float

    def half(self, error: Floats, assumed: Floats, markers: Indices | int) -> Floats:
        """The lesser of both limits, for these standard errors of some markers."""
        half: Floats = np.minimum(self.measured[markers] * error, self.assumed * assumed)
        return half


def limit(found: Levels, chance: float | None = None, markers: int = 0) -> Limits:
    """The price of looking at all markers, at every build. chance: per marker, default: that of a false alarm. markers: default: these."""
    chance = _each(markers or found.mean.shape[1], max(2, len(found.mean))) if chance is None else chance
    values, back = np.unique(np.round(found.free), return_inverse=True)
    normal = student(1 - chance, 1_000.0)
    return Limits(np.array([student(1 - chance, f) if f >= 1 else normal for f in values.tolist()])[back], normal)


def detectable(found: Levels, steps: Sequence[Shift], floor: float, before: int | None = None) -> Floats:
    """Changes of the last build that are never missed, per marker, shares; infinite where unknown.

    steps: what `shifts` found. before: the one build that the last is held against, None for the level before it.
    """
    last = len(found.mean) - 1
    start = np.zeros(found.mean.shape[1], dtype=np.int64)
    for s in steps:
        if s.at < last:
            start[s.marker] = s.at
    sums, far, sure = Sums(found), limit(found), limit(found, SURE)
    if before is None:
        _, error, assumed = sums.step(start, np.full(len(start), last), np.full(len(start), last + 1))
    else:
        error, assumed = (np.sqrt(x[before] + x[last]) for x in (found.variance, found.assumed))
    with np.errstate(all="ignore"):
        halves = (
            np.maximum(f * e, math.log1p(floor)) + s * e
            for f, s, e in ((far.measured, sure.measured, error), (far.assumed, sure.assumed, assumed))
        )
        seen: Floats = np.expm1(np.minimum(*halves))
    return seen


def shifts(found: Levels, floor: float = FLOOR, among: int = 0) -> list[Shift]:
    """Every step, by build and then marker. floor: share below which a step is none. among: markers that are looked at, default: these."""
    builds, markers = found.mean.shape
    sums = Sums(found)
    least, far, every = math.log1p(floor), limit(found, markers=among), np.arange(markers)
    start = np.zeros(markers, dtype=np.int64)
    begun: list[list[tuple[int, int]]] = [[] for _ in range(markers)]  # (at, seen)
    for now in range(1, builds):
        best, where = np.zeros(markers), np.zeros(markers, dtype=np.int64)
        for at in range(max(1, now - REACH + 1), now + 1):
            step, error, assumed = sums.step(start, np.full(markers, at), np.full(markers, now + 1))
            beyond = np.where(
                (start < at) & (np.abs(step) > least), np.abs(step) / far.half(error, assumed, every), 0.0
            )
            better = beyond > best
            best, where = np.where(better, beyond, best), np.where(better, at, where)
        for m in np.flatnonzero(best > 1).tolist():
            begun[m].append((int(where[m]), now))
            start[m] = where[m]
    out = [s for m in range(markers) if begun[m] for s in _refined(sums, m, begun[m], builds, far)]
    return sorted(out, key=lambda s: (s.at, s.marker))


class Sums:
    """Weighted sums from the first build on, so that the mean of any stretch of builds is two look-ups."""

    def __init__(self, found: Levels) -> None:
        there = np.isfinite(found.mean)
        self.weight, self.assumed = (_from_zero(np.where(there, 1 / v, 0.0)) for v in (found.variance, found.assumed))
        self.total = _from_zero(np.where(there, found.mean / found.variance, 0.0))
        self.markers = np.arange(there.shape[1])

    def step(
        self, start: Indices, at: Indices, end: Indices, markers: Indices | None = None, until: Indices | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """(step of the level, its standard error, the assumed one) from builds start..until-1 to at..end-1 of each marker.

        until: default at.
        """
        m = self.markers if markers is None else markers
        until = at if until is None else until
        with np.errstate(all="ignore"):
            left, right = self.weight[until, m] - self.weight[start, m], self.weight[end, m] - self.weight[at, m]
            step = (self.total[end, m] - self.total[at, m]) / right
            step = step - (self.total[until, m] - self.total[start, m]) / left
            error = np.sqrt(1 / left + 1 / right)
            less, more = self.assumed[until, m] - self.assumed[start, m], self.assumed[end, m] - self.assumed[at, m]
            assumed = np.where((less > 0) & (more > 0), np.sqrt(1 / less + 1 / more), np.inf)
        empty = (left <= 0) | (right <= 0)
        return np.where(empty, 0.0, step), np.where(empty, np.inf, error), np.where(empty, np.inf, assumed)


def _from_zero(x: Floats) -> Floats:
    return np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])


def _refined(sums: Sums, marker: int, begun: list[tuple[int, int]], builds: int, far: Limits) -> list[Shift]:
    """The steps of one marker with what was learnt later: the builds after a step tell more about where it was.

    A step that they do not confirm was noise.
    """
    out: list[Shift] = []
    for i, (at, seen) in enumerate(begun):
        start = out[-1].at if out else 0
        end = begun[i + 1][0] if i + 1 < len(begun) else builds
        tried = np.arange(max(start + 1, at - REACH), min(end, at + REACH + 1))
        if not len(tried):
            continue
        same = np.full(len(tried), marker)
        step, error, assumed = sums.step(np.full(len(tried), start), tried, np.full(len(tried), end), same)
        z = np.square(step / error)
        best = int(np.argmax(z))
        near = tried[z > z[best] - _SURE]
        half = float(far.half(error[best], assumed[best], marker))
        change = float(step[best])
        if abs(change) <= half:
            continue
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
