"""Two sets of durations -> the verdict of a comparison, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from triage.document.numbers import number
from triage.ground.wording import plural
from triage.products.compare.result import Judged
from triage.products.noise import FASTER, FLOOR, MARGIN, SAME, SLOWER, UNKNOWN, difference, remarks, unknown
from triage.rendering.phrases import time


@dataclass(frozen=True, slots=True)
class Limits:
    """What a comparison is held against: shares. tests: workloads compared together; margin: what `same` excludes."""

    floor: float = FLOOR
    margin: float = MARGIN
    tests: int = 1


def judge(before: Sequence[float], after: Sequence[float], limits: Limits, within: float = 0.0) -> Judged:
    """Durations in ns of the runs of both sides. within: noise inside single runs, a share."""
    said = [f"{side}: {text}" for side, times in (("before", before), ("after", after)) for text in oddities(times)]
    if not before or not after:
        return {
            "before_ns": middle(before),
            "after_ns": middle(after),
            "speedup": None,
            "gain": None,
            "noise": limits.floor,
            "interval": None,
            "measured": False,
            "needs": None,
            "remarks": said,
            "verdict": SAME,
        }
    b, a = median(before), median(after)
    d = difference(before, after, tests=limits.tests, floor=limits.floor, margin=limits.margin, within=within)
    return {
        "before_ns": number(b, 3),
        "after_ns": number(a, 3),
        "speedup": number(b / a),
        "gain": number(b / a - 1),
        "noise": number(d.visible),
        "interval": [number(d.low), number(d.high)],
        "measured": d.measured,
        "needs": d.needs,
        "remarks": said,
        "verdict": d.verdict,
    }


def oddities(times: Sequence[float]) -> list[str]:
    """What is odd about the runs of one side: outliers, two modes."""
    outliers, modes = remarks(times)
    out = []
    if modes:
        (fast, some), (slow, others) = modes
        out.append(
            f"two kinds of runs, {plural(some, 'run')} near {time(fast)} and {others} near {time(slow)}: "
            "find what differs between them (clocks, a cache, another path) before trusting either"
        )
    if outliers:
        listed = ", ".join(time(t) for t in outliers[:3]) + (", ..." if len(outliers) > 3 else "")
        out.append(f"{plural(len(outliers), 'outlier')} among {len(times)} runs ({listed})")
    return out


def middle(values: Sequence[float]) -> float | int | None:
    """Median, None of nothing."""
    return number(median(values), 3) if values else None


def change(judged: Judged) -> str:
    """`18.8 % gain (16.1 to 21.0 %)`, `6.0 % longer`, `7.21x as long`: the article's way of saying it."""
    if judged["verdict"] == SAME:
        return f"no difference beyond the noise of {judged['noise'] or 0:.1%}"
    low, high = (end or 0.0 for end in judged["interval"] or (0.0, 0.0))
    if judged["verdict"] == UNKNOWN:
        now = abs(longer(judged) - 1)
        so_far = f"{now * 100:.1f} % {'longer' if longer(judged) > 1 else 'shorter'} so far"
        return f"{so_far}, with its noise {_signed(low)} to {_signed(high)}: {unknown(judged['needs'])}"
    if judged["verdict"] == FASTER:
        text, spread = f"{(judged['gain'] or 0) * 100:.1f} % gain", (_gain(high), _gain(low))
    else:
        times = longer(judged)
        if times >= 2:
            # in the same words as the middle: how many times as long
            spread_text = f" ({1 + low:.3g}x to {1 + high:.3g}x)" if judged["measured"] else ""
            return f"{times:.3g}x as long{spread_text}"
        text, spread = f"{(times - 1) * 100:.1f} % longer", (low, high)
    return f"{text} ({spread[0] * 100:.1f} to {spread[1] * 100:.1f} %)" if judged["measured"] else text


def _gain(change: float) -> float:
    """A change of the time as the gain it is; of a time that went to nothing a million is enough to say."""
    return 1 / max(1 + change, 1e-6) - 1


def _signed(share: float) -> str:
    return f"{share * 100:+.1f} %"


def longer(judged: Judged) -> float:
    """How many times as long it takes as before; infinitely, where there was hardly any time before."""
    if judged["speedup"]:
        return 1 / judged["speedup"]
    # rounded to nothing: a millionth of the time after
    return (judged["after_ns"] or 0) / judged["before_ns"] if judged["before_ns"] else float("inf")


def regressed(judged: Judged, threshold: float) -> bool:
    """Is it slower by more than a share, and is that more than noise?"""
    return judged["verdict"] == SLOWER and longer(judged) - 1 > threshold
