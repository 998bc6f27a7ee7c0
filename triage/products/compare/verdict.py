"""Two sets of durations -> the verdict of a comparison, and its wording."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Masks
from triage.document.numbers import number
from triage.ground.method import CLOCK_NS
from triage.ground.phrasing import plural
from triage.products.compare.compare_result import Judged
from triage.products.noise import (
    FLOOR,
    MARGIN,
    SAME,
    SLOWER,
    UNKNOWN,
    VERDICTS,
    Repeats,
    differences,
    inconclusive,
    remarks,
)
from triage.rendering.phrases import time

UNEQUAL = 0.01  # part by which counts of equal work may differ


class Limits(Struct, frozen=True):
    """What a comparison is held against: shares. tests: workloads compared together; margin: what `same` excludes."""

    floor: float = FLOOR
    margin: float = MARGIN
    tests: int = 1


def judge(before: Sequence[float], after: Sequence[float], limits: Limits) -> Judged:
    """Durations in ns of the runs of both sides of one piece of work."""
    return Verdicts(Repeats.one(before), Repeats.one(after), limits).at(0)


class Verdicts:
    """Verdicts on many pairs of workloads: durations in ns of the runs of both sides. within: noise inside single runs, shares.

    tick: of the clock that measured, as a share of each time: what differs by no more is the same. per_call: pairs whose durations are of one call.
    """

    def __init__(
        self,
        before: Repeats,
        after: Repeats,
        limits: Limits,
        within: Floats | float = 0.0,
        per_call: Masks | None = None,
        tick: Floats | float = 0.0,
    ) -> None:
        self.per_call = np.zeros(len(before), dtype=bool) if per_call is None else per_call
        self.before, self.after, self.limits = before, after, limits
        self.before_ns, self.after_ns = before.middle, after.middle
        self.found = differences(
            before, after, tests=limits.tests, floor=limits.floor, margin=limits.margin, within=within
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            unseen = np.abs(self.after_ns / self.before_ns - 1) <= tick
        self.found.verdict[unseen], self.found.needs[unseen] = VERDICTS.index(SAME), 0
        np.maximum(self.found.visible, tick, out=self.found.visible, where=unseen)

    def __len__(self) -> int:
        return len(self.before)

    def are(self, verdict: str) -> Masks:
        """Which pairs have this verdict."""
        which: Masks = self.found.verdict == VERDICTS.index(verdict)
        return which

    def above(self, share: float) -> Masks:
        """Which pairs take longer by more than a share."""
        with np.errstate(divide="ignore", invalid="ignore"):
            speedup = np.round(self.before_ns / self.after_ns, 6)
            # as `longer` has it of what is shown
            times = np.where(speedup > 0, 1 / speedup, self.after_ns / self.before_ns)
        above: Masks = times - 1 > share
        return above

    def at(self, i: int) -> Judged:
        """Verdict on one pair."""
        before, after = self.before.at(i), self.after.at(i)
        sides = (("before", before), ("after", after))
        remarks = [f"{side}: {text}" for side, times in sides for text in oddities(times)]
        b, a, d = float(self.before_ns[i]), float(self.after_ns[i]), self.found.at(i)
        known = bool(before and after)
        return {
            "before_ns": number(b, 3),
            "after_ns": number(a, 3),
            "speedup": number(b / a) if known else None,
            "gain": number(b / a - 1) if known else None,
            "change": number(a / b - 1) if known else None,
            "noise": number(d.visible) if known else d.visible,
            "interval": [number(d.low), number(d.high)] if known else None,
            "measured": d.measured,
            "needs": d.needs,
            "remarks": remarks,
            "verdict": d.verdict,
        }


def oddities(times: Sequence[float]) -> list[str]:
    """Outliers and modes of the runs of one side, in words."""
    outliers, modes = remarks(times)
    out = []
    if modes:
        (fast, some), (slow, others) = modes
        apart = f"two modes: {plural(some, 'run')} near {time(fast)} and {others} near {time(slow)}"
        out.append(f"{apart}; find the difference (clocks, caches, code path) before trusting either")
    if outliers:
        listed = ", ".join(time(t) for t in outliers[:3]) + (", ..." if len(outliers) > 3 else "")
        out.append(f"{plural(len(outliers), 'outlier')} among {len(times)} runs ({listed})")
    return out


def middle(values: Sequence[float]) -> float | int | None:
    """Median, None of nothing."""
    return number(median(values), 3) if values else None


def change(judged: Judged) -> str:
    """`time −15.8 % (−17.4 to −14.1 %)`, `time +621.4 % (7.2x)`: relative to the time before."""
    if judged["verdict"] == SAME:
        return f"within noise of {(judged['noise'] or 0) * 100:.1f} %"
    share = longer(judged) - 1
    text = f"{signed(share)} the time" if _is_multiple(share) else f"time {signed(share)}"
    low, high = (end or 0.0 for end in judged["interval"] or (0.0, 0.0))
    if judged["verdict"] == UNKNOWN:
        return f"{text} so far ({spread(low, high)}): {inconclusive(judged['needs'], ' per side')}"
    more = [f"{1 + share:,.1f}x"] if share >= 1 and not _is_multiple(share) else []
    if judged["measured"]:
        more.append(spread(low, high))
    return f"{text} ({'; '.join(more)})" if more else text


def signed(share: float) -> str:
    """A relative change: `−15.8 %`, `+6.0 %`; from ten times on `12.4x`."""
    return f"{1 + share:,.{0 if share >= 99 else 1}f}x" if _is_multiple(share) else f"{_points(share)} %"


def _is_multiple(share: float) -> bool:
    """True of a change that is written as `12.4x`, not in percent."""
    return share * 100 >= 999.5


def spread(low: float, high: float) -> str:
    """From one change to another: `−17.4 to −14.1 %`."""
    if _is_multiple(high):
        return f"{signed(low)} to {'over 1,000x' if high >= 999 else signed(high)}"
    return f"{_points(low)} to {_points(high)} %"


def _points(share: float) -> str:
    points = share * 100
    # a change without a size has no direction
    text = f"{points:+.1f}" if abs(points) >= 0.05 else "0.0"
    if text == "-100.0" and share > -1:  # what ran took some time: the digits that tell how much
        text = f"{points:.{-math.floor(math.log10(max(100 + points, 1e-6)) + 1e-6)}f}"
    return text.replace("-", "\u2212") if points < 0 else text


def longer(judged: Judged) -> float:
    """Time after over time before; a lower limit where the time before rounds to 0."""
    if judged["speedup"]:
        return 1 / judged["speedup"]
    # rounded to nothing: a millionth of the time after
    return (judged["after_ns"] or 0) / max(judged["before_ns"] or 0, CLOCK_NS)


def steady(share: float) -> bool:
    """True if two counts of the same work differ by no more than a window that cuts an iteration makes them differ."""
    return abs(share) <= UNEQUAL


def regressed(judged: Judged, threshold: float) -> bool:
    """True if it is slower by more than a share, beyond noise."""
    return judged["verdict"] == SLOWER and longer(judged) - 1 > threshold
