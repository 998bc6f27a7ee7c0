"""Compare the best finding's prediction with the measured change; only a range that could be missed is called met."""

from __future__ import annotations

from collections.abc import Sequence

from triage.diagnosis.gain import speedup
from triage.document.numbers import number
from triage.products.compare.compare_result import Judged, Predicted
from triage.products.compare.item import Item
from triage.products.noise import FASTER, UNKNOWN

HALF_A_POINT = 0.005  # of a speed-up, either way: neither the promise nor the clock is more exact
# A result of which nothing is known, any share of the time from none to all, falls into an interval this wide more
# often than not: then it is chance that speaks, not the prediction.
MAX_PREDICTION_WIDTH = 0.5
EASED = 0.5  # heuristic: part of a saving that may stay where its fix was tried

TOO_WIDE, UNSURE, UNTRIED = "too wide", "the runs cannot tell", "still there"


def eased(b: Item, a: Item) -> list[str]:
    """Rules that fired on both sides, with at most half of the saving left afterwards: tried, if not cured."""
    return [
        r for r, (_, likely, _) in b.gains.items() if likely > 0 and r in a.gains and a.gains[r][1] <= EASED * likely
    ]


def promised(b: Item, fixed: Sequence[str], fired: Sequence[str], judged: Judged) -> Predicted | None:
    """The promise of the best finding that was fixed (else of the best one), and whether it came true."""
    best = max((r for r in fixed or fired if r in b.gains), key=lambda r: (b.gains[r][1], r), default=None)
    if best is None:
        return None
    low, likely, bound = b.gains[best]
    achieved = judged["speedup"]
    came, doubt = None, ""
    if achieved is not None:
        came = _came(achieved, speedup(low), speedup(bound))
        doubt = _doubt(came, (low, bound), best in fixed, judged)
    return {
        "low": speedup(low),
        "likely": speedup(likely),
        "bound": speedup(bound),
        "rule": best,
        "change": number(-likely),
        "interval": [number(-bound), number(-low)],
        "achieved": achieved,
        "came_true": None if doubt else came,
        "doubt": doubt,
    }


def _came(achieved: float, low: float, bound: float) -> str:
    if achieved < low - HALF_A_POINT:
        return "below"
    return "above" if achieved > bound + HALF_A_POINT else "within"


def _doubt(came: str, fractions: tuple[float, float], fixed: bool, judged: Judged) -> str:
    """Why nothing follows from a result; "" where it tells. fractions: low and bound of the gain, of the time before."""
    low, bound = fractions
    if not fixed and judged["verdict"] != FASTER:
        return UNTRIED
    if judged["verdict"] == UNKNOWN and not _apart(fractions, judged["interval"]):
        return UNSURE
    # outside an interval is outside it, however wide it is; within noise of none, no effect would be inside it, too
    wide = low <= (judged["noise"] or 0.0) or bound - low > MAX_PREDICTION_WIDTH
    return TOO_WIDE if wide and came == "within" else ""


def _apart(fractions: tuple[float, float], interval: Sequence[float | None] | None) -> bool:
    """True if the predicted and the measured interval of the change do not overlap."""
    if interval is None or interval[0] is None or interval[1] is None:
        return False
    return interval[1] < -fractions[1] or interval[0] > -fractions[0]
