"""Repeated times -> difference, interval, detectable change, verdict, outliers and modes.

Times are compared as logarithms, because the noise of a time is a share of it; then "twice as long" is as far from "the
same" as "half as long". The difference is that of 20 % trimmed means with Winsorised variances (K. K. Yuen, "The
two-sample trimmed t for unequal population variances", Biometrika 61, 1974), so that from five runs on one outlier does
not decide; below that it is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Codes, Floats, Indices, Masks
from triage.ground.phrasing import plural

Runs: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]  # runs x workloads
VERDICTS = FASTER, SLOWER, SAME, UNKNOWN = "faster", "slower", "same", "cannot tell"
_INCONCLUSIVE = VERDICTS.index(UNKNOWN)
_SHOWN = {SAME: "unchanged", UNKNOWN: "inconclusive"}
# two captures of one build differ by about this much at fixed clocks; smaller differences are not reported
FLOOR = 0.01
MARGIN = 0.05  # heuristic: a change worth acting on; "same" excludes changes of this size
UNREPEATED = 3  # times the floor: assumed noise where a side has one run
MAX_SHORTENING = 1 - 1e-9  # nothing takes no time
CHANCE = 0.05  # family-wise error of a whole comparison
MAX_EXTRA_RUNS = 99  # further runs; more than these are not proposed
TRIM = 0.2
_OUTLYING = 6.0  # robust standard deviations; calibrated, like the next, to 1 % false remarks on normal noise
MIN_RUNS_OF_MODES = 8  # heuristic: of fewer, two and two within what single runs may differ by are chance
_GAP = 7.0  # widths of a gap between two groups of runs, in standard deviations inside them
_MIN_OUTLIER_GAP = 0.01  # nor is anything an outlier or a mode of its own that lies closer than this share of the time


class Repeats(Struct, frozen=True):
    """One figure of many workloads, once per run. ordered: runs x workloads, each column rising, NaN behind its last run.

    count: runs of each workload.
    """

    ordered: Runs
    count: Indices

    @classmethod
    def of(cls, values: Runs) -> Repeats:
        """From runs x workloads, NaN where a run lacks a workload."""
        return cls(np.sort(values, axis=0), np.isfinite(values).sum(axis=0))

    @classmethod
    def one(cls, values: Sequence[float]) -> Repeats:
        """The runs of a single workload."""
        return cls.of(np.array(values, dtype=float).reshape(-1, 1))

    def __len__(self) -> int:
        return len(self.count)

    def part(self, which: Indices) -> Repeats:
        """Repeats of some workloads."""
        return Repeats(self.ordered[:, which], self.count[which])

    def where(self, which: Masks, other: Repeats) -> Repeats:
        """These, but for some workloads the runs of another figure of the same captures."""
        return Repeats(np.where(which, other.ordered, self.ordered), np.where(which, other.count, self.count))

    def added(self, groups: Sequence[Sequence[int]]) -> Repeats:
        """With the sum of each group's runs, by rank, as those of its first workload."""
        ordered, count = self.ordered.copy(), self.count.copy()
        for group in groups:
            ordered[:, group[0]], count[group[0]] = self.ordered[:, group].sum(axis=1), self.count[group].min()
        return Repeats(ordered, count)

    def at(self, i: int) -> list[float]:
        """The runs of one workload, rising."""
        out: list[float] = self.ordered[: self.count[i], i].tolist()
        return out

    @property
    def middle(self) -> Floats:
        """Median per workload, NaN where it has no run."""
        if not len(self.ordered):
            return np.full(len(self), np.nan)
        every, last = np.arange(len(self)), np.maximum(self.count - 1, 0)
        middle: Floats = (self.ordered[last // 2, every] + self.ordered[(last + 1) // 2, every]) / 2
        return middle


class Difference(Struct, frozen=True):
    """Difference of two sets of times. Shares are of the time before (0.05: 5 % longer); times without a measurement are None.

    low, high: interval of the change, at a confidence that holds for all `tests` together. visible: the smallest change
    that would have been called one. needs: further runs a side that would tell, None where the verdict stands (or no
    number of runs would). measured: the interval comes from repeats, not from an assumption.
    """

    verdict: str
    change: float
    low: float
    high: float
    visible: float
    needs: int | None
    measured: bool


class Differences(Struct, frozen=True):
    """A Difference per workload, as columns; NaN where a side has no run. verdict: positions in VERDICTS. needs: 0 for None."""

    verdict: Codes
    change: Floats
    low: Floats
    high: Floats
    visible: Floats
    needs: Indices
    measured: Masks

    @classmethod
    def none(cls, size: int, floor: float) -> Differences:
        """Where nothing was measured nothing can be decided."""
        verdict, (change, low, high) = np.full(size, VERDICTS.index(UNKNOWN), dtype=np.int8), np.full((3, size), np.nan)
        needs, measured = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
        return cls(verdict, change, low, high, np.full(size, floor), needs, measured)

    def put(self, where: Indices, found: Differences) -> None:
        """Enter those of some workloads."""
        for name in self.__struct_fields__:
            getattr(self, name)[where] = getattr(found, name)

    def at(self, i: int) -> Difference:
        """That of one workload."""
        change, low, high, visible = (float(x[i]) for x in (self.change, self.low, self.high, self.visible))
        needs, measured = int(self.needs[i]) or None, bool(self.measured[i])
        return Difference(VERDICTS[self.verdict[i]], change, low, high, visible, needs, measured)


def verdict_word(verdict: str) -> str:
    """A verdict as reports word it."""
    return _SHOWN.get(verdict, verdict)


def unmeasured(floor: float) -> str:
    """How changes between single runs are judged."""
    return f"noise not measured, changes under {UNREPEATED * floor * 100:g} % between single runs count as noise"


def inconclusive(needs: int | None, each: str = "", many: bool = False) -> str:
    """`inconclusive (3 more runs per side should decide it)`.

    needs: further runs, None where no number would do. each: ` per side`. many: of several workloads.
    """
    what = "half of them" if many else "it"
    if needs is None:
        return f"inconclusive (more runs would not decide {what})"
    runs = f"over {MAX_EXTRA_RUNS} more runs" if needs > MAX_EXTRA_RUNS else plural(needs, "more run")
    return f"inconclusive ({runs}{each} should decide {what})"


def differences(
    before: Repeats,
    after: Repeats,
    *,
    tests: int = 1,
    floor: float = FLOOR,
    margin: float = MARGIN,
    within: Floats | float = 0.0,
) -> Differences:
    """Compare positive times of many workloads.

    tests: how many such comparisons are made together. floor: least share that counts. margin: what "same" excludes.
    within: half-width known from inside single runs, a share; used where nothing was repeated.
    """
    out, within = Differences.none(len(before), floor), np.broadcast_to(within, len(before))
    limits = (CHANCE / max(1, tests), floor, margin)
    for n, m in sorted(set(zip(before.count.tolist(), after.count.tolist(), strict=True))):
        if n and m:
            some = np.flatnonzero((before.count == n) & (after.count == m))
            x, y = np.log(before.ordered[:n, some]), np.log(after.ordered[:m, some])
            out.put(some, _of_as_many(x, y, within[some], *limits))
    return out


def _of_as_many(x: Runs, y: Runs, within: Floats, chance: float, floor: float, margin: float) -> Differences:
    """For workloads measured equally often; logarithms of their times, each column rising."""
    n, m = len(x), len(y)
    if _kept(n) + _kept(m) - 2 < 1:
        gap, share = y[0] - x[0], np.maximum(UNREPEATED * floor, within)
        # a share of the time before, either way
        half = np.where(gap < 0, -np.log1p(-np.minimum(share, MAX_SHORTENING)), np.log1p(share))
        verdict = _verdicts(gap, half, floor, margin)
        # what is assumed to be noise counts as none, unless "same" must exclude less
        verdict[(np.abs(gap) <= half) & (share <= margin)] = VERDICTS.index(SAME)
        # two runs more a side give four degrees of freedom: the least from which noise can be measured
        return _differences(gap, half, share, verdict, np.where(verdict == _INCONCLUSIVE, 2, 0), measured=False)
    gap, scale = _trimmed_means(y) - _trimmed_means(x), _scales(x, y)
    half = _half(n, m, scale, chance)
    verdict = _verdicts(gap, half, floor, margin)
    needs = np.zeros(len(gap), dtype=np.int64)
    left = np.flatnonzero(verdict == _INCONCLUSIVE)
    needs[left] = _needs(n, m, gap[left], scale[left], chance, floor, margin)
    visible = np.maximum(floor, np.expm1(np.minimum(half, 700.0)))
    return _differences(gap, half, visible, verdict, needs, measured=True)


def _differences(
    gap: Floats, half: Floats, visible: Floats, verdict: Codes, needs: Indices, *, measured: bool
) -> Differences:
    low, high = np.expm1(gap - half), np.expm1(np.minimum(gap + half, 700.0))
    change = np.expm1(np.minimum(gap, 700.0))
    return Differences(verdict, change, low, high, visible, needs, np.full(len(gap), measured))


def _verdicts(gap: Floats, half: Floats | float, floor: float, margin: float) -> Codes:
    beyond = np.abs(gap) > np.maximum(half, math.log1p(floor))
    inside = np.abs(gap) + half <= math.log1p(max(margin, floor))
    return np.select([beyond & (gap < 0), beyond, inside], [0, 1, 2], _INCONCLUSIVE).astype(np.int8)


def _needs(n: int, m: int, gap: Floats, scale: Floats, chance: float, floor: float, margin: float) -> Indices:
    """Least number of further runs a side after which differences like these, with such noise, give a verdict."""
    needs, left = np.zeros(len(gap), dtype=np.int64), np.arange(len(gap))
    for more in range(1, MAX_EXTRA_RUNS + 1):
        if not len(left):
            return needs
        decided = _verdicts(gap[left], _half(n + more, m + more, scale[left], chance), floor, margin) != _INCONCLUSIVE
        needs[left[decided]] = more
        left = left[~decided]
    # at last: the noise of the mean goes to nothing, and so every gap is beyond the floor or inside the margin
    needs[left] = np.where(_verdicts(gap[left], 0.0, floor, margin) != _INCONCLUSIVE, MAX_EXTRA_RUNS + 1, 0)
    return needs


def _kept(n: int) -> int:
    """Runs that are left after trimming."""
    return n - 2 * int(TRIM * n)


def _half(n: int, m: int, scale: Floats, chance: float) -> Floats:
    free = _kept(n) + _kept(m) - 2
    return student(1 - chance / 2, free) * scale * math.sqrt(1 / _kept(n) + 1 / _kept(m))


def _trimmed_means(ordered: Runs) -> Floats:
    """Means without the lowest and the highest fifth."""
    cut = int(TRIM * len(ordered))
    means: Floats = ordered[cut : len(ordered) - cut].mean(axis=0)
    return means


def _squares(ordered: Runs) -> Floats:
    """Winsorised sums of squares: what is trimmed counts as its neighbour that is left."""
    cut = int(TRIM * len(ordered))
    kept = ordered.clip(ordered[cut], ordered[-1 - cut])
    sums: Floats = np.square(kept - kept.mean(axis=0)).sum(axis=0)
    return sums


def _scales(x: Runs, y: Runs) -> Floats:
    """Standard deviation of one run, from both sides; of sides that differ in noise, never less than fits both."""
    h, k = _kept(len(x)), _kept(len(y))
    pooled = (_squares(x) + _squares(y)) / (h + k - 2)
    if h < 2 or k < 2:
        return np.sqrt(pooled)
    apart = (_squares(x) / (h * (h - 1)) + _squares(y) / (k * (k - 1))) / (1 / h + 1 / k)
    return np.sqrt(np.maximum(pooled, apart))


@lru_cache(maxsize=4096)
def student(p: float, free: float) -> float:
    """Quantile of Student's t distribution, p from 0.5 to 1.

    With t = sqrt(free) tan(a) its density is cos(a) ** (free - 1), which is summed over a fine grid; a test holds it
    against SciPy, which would take longer to load than everything else here together.
    """
    free = min(free, 1_000.0)
    # finer towards the end, where the tail of few degrees of freedom lies
    angle = (1 - np.linspace(1, 0, 20_001) ** 2) * (math.pi / 2)
    density = np.cos(angle) ** (free - 1) if free != 1 else np.ones_like(angle)
    area = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(angle))))
    found = float(np.interp((p - 0.5) * 2 * area[-1], area, angle))
    return math.sqrt(free) * math.tan(found)


def remarks(times: Sequence[float]) -> tuple[list[float], list[tuple[float, int]]]:
    """(outliers, modes as (median, runs)) of the runs of one side; both empty where there is nothing odd to say."""
    values = np.log(np.sort(np.asarray(times, dtype=float)))
    if len(values) < 4:
        return [], []
    if modes := _modes(values):
        return [], [(float(np.exp(np.median(m))), len(m)) for m in modes]
    middle = float(np.median(values))
    scale = 1.4826 * float(np.median(np.abs(values - middle)))
    # the deviation of few runs is itself uncertain: with four the limit is twice that of many
    far = max(_OUTLYING * scale * (1 + 4 / len(values)), math.log1p(_MIN_OUTLIER_GAP))
    return [float(np.exp(v)) for v in values if abs(v - middle) > far], []


def _modes(values: Floats) -> list[Floats]:
    """Two groups of at least two runs each, with a gap between them that their own spread does not explain."""
    gaps = np.diff(values)[1:-1]
    cut = int(np.argmax(gaps)) + 2
    low, high = values[:cut], values[cut:]
    inside = math.sqrt(
        (float(np.square(low - low.mean()).sum()) + float(np.square(high - high.mean()).sum())) / (len(values) - 2)
    )
    least = _MIN_OUTLIER_GAP if len(values) >= MIN_RUNS_OF_MODES else UNREPEATED * FLOOR
    if gaps[cut - 2] <= max(_GAP * inside * (1 + 4 / len(values)), math.log1p(least)):
        return []
    return [low, high]
