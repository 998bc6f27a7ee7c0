"""Repeats of a time -> what they can tell: difference, interval, smallest visible change, verdict, oddities.

Times are compared as logarithms, because the noise of a time is a share of it; then "twice as long" is as far from "the
same" as "half as long". The difference is that of 20 % trimmed means with Winsorised variances (K. K. Yuen, "The
two-sample trimmed t for unequal population variances", Biometrika 61, 1974), so that from five runs on one outlier does
not decide; below that it is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from triage.ground.wording import plural

FASTER, SLOWER, SAME, UNKNOWN = "faster", "slower", "same", "cannot tell"
FLOOR = 0.01  # two captures of one build differ by about this much at fixed clocks; below it nothing is said
MARGIN = 0.05  # house judgement: a change that somebody would act on; "same" means that none of this size is hidden
UNREPEATED = 3  # of one run a side the noise is not known: three times the floor must do
CHANCE = 0.05  # how often a whole comparison may call one workload changed that is not
MOST = 99  # more runs than these nobody will make
TRIM = 0.2
_OUTLYING = 6.0  # robust standard deviations; calibrated, like the next, to 1 % false remarks on normal noise
_GAP = 7.0  # widths of a gap between two groups of runs, in standard deviations inside them
_SMALL = 0.01  # nor is anything an outlier or a mode of its own that lies closer than this share of the time


@dataclass(frozen=True, slots=True)
class Difference:
    """What two sets of times tell. Shares are of the time before (0.05: 5 % longer), times nobody measured are None.

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

    @property
    def words(self) -> str:
        """`slower`, or `cannot tell (needs 3 more runs)`."""
        return unknown(self.needs) if self.verdict == UNKNOWN else self.verdict


def unknown(needs: int | None) -> str:
    """`cannot tell (needs 3 more runs)`."""
    if needs is None:
        return f"{UNKNOWN} (no number of runs would)"
    return (
        f"{UNKNOWN} (needs more than {MOST} more runs)"
        if needs > MOST
        else f"{UNKNOWN} (needs {plural(needs, 'more run')})"
    )


def difference(
    before: Sequence[float],
    after: Sequence[float],
    *,
    tests: int = 1,
    floor: float = FLOOR,
    margin: float = MARGIN,
    within: float = 0.0,
) -> Difference:
    """Compare positive times, at least one a side.

    tests: how many such comparisons are made together. floor: least share that counts. margin: what "same" excludes.
    within: half-width known from inside single runs, a share; used where nothing was repeated.
    """
    x, y = np.log(np.asarray(before, dtype=float)), np.log(np.asarray(after, dtype=float))
    free = _kept(len(x)) + _kept(len(y)) - 2
    chance = CHANCE / max(1, tests)
    if free < 1:
        gap = float(y[0] - x[0])
        half = math.log1p(max(UNREPEATED * floor, within))
        verdict = _verdict(gap, half, floor, margin)
        # two runs more a side give four degrees of freedom: the least from which noise can be told at all
        return _difference(gap, half, floor, verdict, 2 if verdict == UNKNOWN else None, measured=False)
    gap, scale = trimmed_mean(y) - trimmed_mean(x), _scale(x, y)
    half = _half(len(x), len(y), scale, chance)
    verdict = _verdict(gap, half, floor, margin)
    needs = _needs(len(x), len(y), gap, scale, chance, floor, margin) if verdict == UNKNOWN else None
    return _difference(gap, half, floor, verdict, needs, measured=True)


def _difference(
    gap: float, half: float, floor: float, verdict: str, needs: int | None, *, measured: bool
) -> Difference:
    low, high = math.expm1(gap - half), math.expm1(min(gap + half, 700.0))
    visible = max(floor, math.expm1(min(half, 700.0)))
    return Difference(verdict, math.expm1(min(gap, 700.0)), low, high, visible, needs, measured)


def _verdict(gap: float, half: float, floor: float, margin: float) -> str:
    if abs(gap) > max(half, math.log1p(floor)):
        return FASTER if gap < 0 else SLOWER
    return SAME if abs(gap) + half <= math.log1p(max(margin, floor)) else UNKNOWN


def _needs(n: int, m: int, gap: float, scale: float, chance: float, floor: float, margin: float) -> int | None:
    """Least number of further runs a side after which a difference like this one, with such noise, gives a verdict."""
    for more in range(1, MOST + 1):
        if _verdict(gap, _half(n + more, m + more, scale, chance), floor, margin) != UNKNOWN:
            return more
    # at last: the noise of the mean goes to nothing, and so every gap is beyond the floor or inside the margin
    return MOST + 1 if _verdict(gap, 0.0, floor, margin) != UNKNOWN else None


def _kept(n: int) -> int:
    """Runs that are left after trimming."""
    return n - 2 * int(TRIM * n)


def _half(n: int, m: int, scale: float, chance: float) -> float:
    free = _kept(n) + _kept(m) - 2
    return student(1 - chance / 2, free) * scale * math.sqrt(1 / _kept(n) + 1 / _kept(m))


def trimmed_mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Mean without the lowest and the highest fifth."""
    cut = int(TRIM * len(values))
    return float(np.sort(values)[cut : len(values) - cut].mean())


def _squares(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Winsorised sum of squares: what is trimmed counts as its neighbour that is left."""
    cut = int(TRIM * len(values))
    ordered = np.sort(values)
    return float(np.square((w := ordered.clip(ordered[cut], ordered[-1 - cut])) - w.mean()).sum())


def _scale(x: np.ndarray[tuple[int], np.dtype[np.float64]], y: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Standard deviation of one run, from both sides; of sides that differ in noise, never less than fits both."""
    h, k = _kept(len(x)), _kept(len(y))
    pooled = (_squares(x) + _squares(y)) / (h + k - 2)
    if h < 2 or k < 2:
        return math.sqrt(pooled)
    apart = (_squares(x) / (h * (h - 1)) + _squares(y) / (k * (k - 1))) / (1 / h + 1 / k)
    return math.sqrt(max(pooled, apart))


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
    far = max(_OUTLYING * scale * (1 + 4 / len(values)), math.log1p(_SMALL))
    return [float(np.exp(v)) for v in values if abs(v - middle) > far], []


def _modes(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Two groups of at least two runs each, with a gap between them that their own spread does not explain."""
    gaps = np.diff(values)[1:-1]
    cut = int(np.argmax(gaps)) + 2
    low, high = values[:cut], values[cut:]
    inside = math.sqrt(
        (float(np.square(low - low.mean()).sum()) + float(np.square(high - high.mean()).sum())) / (len(values) - 2)
    )
    if gaps[cut - 2] <= max(_GAP * inside * (1 + 4 / len(values)), math.log1p(_SMALL)):
        return []
    return [low, high]
