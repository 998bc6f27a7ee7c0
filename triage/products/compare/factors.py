"""Why a kernel's time changed: time = instructions x time per issued instruction x share of the time SMs are busy x clock.

Of a kernel, the cycles an SM works are its instructions over the rate at which they issue; divided by the share of the time
SMs are active they are the kernel's cycles, and divided by the clock its time. So the ratio of two times is the product
of four ratios, and the one that moved most says where to look.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np

from triage import schema
from triage.derive import View
from triage.derive.sm_activity import losses
from triage.ground.columns import is_column
from triage.ground.phrasing import lower_first
from triage.ground.terminology import localize
from triage.ground.units import show
from triage.products.compare.item import Item

# metric -> (what it is called, does more of it make the time longer)
FACTORS = {
    "inst.executed": ("instructions", True),
    "sm.issue_per_active": ("time per issued instruction", False),
    "sm.active": ("idle SMs", False),
    "sm.frequency": ("clock", False),
}
MIN_RATIO_CHANGE = 0.02  # a ratio nearer to 1 is the noise of two captures
STALL = 0.05  # points by which a wait must move to be named


def enter(items: Sequence[Item], view: View) -> None:
    """Put the factors and the waits of the workloads of a view into their items."""
    found = {m: view[m] for m in FACTORS}
    reasons, shares = losses(view)
    found |= {f"stall.{r}": np.where(row < 0, np.nan, row) for r, row in zip(reasons, shares, strict=True)}
    for metric, values in found.items():
        if is_column(values):
            for item, value in zip(items, values.tolist(), strict=True):
                if value == value:
                    item.factors.setdefault(metric, []).append(value)


def remarks(b: Item, a: Item) -> list[str]:
    """What the time is made of, and what makes two launches hard to compare; nothing where the factors are not known."""
    out = []
    if b.who.shape and a.who.shape and b.who.shape != a.who.shape:
        out.append(f"launch shape (groups, threads): {b.who.shape} before, {a.who.shape} after")
    if text := _product(b, a):
        out.append(text)
    return out


def _product(b: Item, a: Item) -> str:
    if not b.times or not a.times:
        return ""
    ratios: dict[str, float] = {}
    for metric, (_, longer) in FACTORS.items():
        if metric in b.factors and metric in a.factors:
            first, second = median(b.factors[metric]), median(a.factors[metric])
            if first > 0 and second > 0:
                ratios[metric] = second / first if longer else first / second
    if not {"inst.executed", "sm.issue_per_active"} <= ratios.keys():
        return ""
    calls = median(a.calls) / median(b.calls) if median(b.calls) else 1.0
    # counters are sums over all calls, times too: only the factors differ
    whole = median(a.times) / median(b.times)
    known = math.prod(ratios.values())
    parts = [
        f"{FACTORS[m][0]} {_times(r)}"
        for m, r in ratios.items()
        if m in ("inst.executed", "sm.issue_per_active") or abs(r - 1) > MIN_RATIO_CHANGE
    ]
    rest = whole / known
    if abs(rest - 1) > 5 * MIN_RATIO_CHANGE:
        parts.append(f"unexplained {_times(rest)}")
    text = f"time {_times(whole)} = {' · '.join(parts)}"
    if abs(calls - 1) > MIN_RATIO_CHANGE:
        text += f" ({calls:.2f}x the calls)"
    most = max(ratios, key=lambda m: abs(math.log(ratios[m])))
    if abs(ratios[most] - 1) > MIN_RATIO_CHANGE:
        text += f"; {_lead(most, ratios[most], b, a)}"
    return localize(text)


def _lead(metric: str, ratio: float, b: Item, a: Item) -> str:
    """The factor that moved most in words, with the counter behind it."""
    name, _ = FACTORS[metric]
    first, second = median(b.factors[metric]), median(a.factors[metric])
    unit = schema.get(metric).unit
    moved = f"{lower_first(localize(schema.get(metric).label))} {_shown(first, unit)} -> {_shown(second, unit)}"
    if metric != "sm.issue_per_active":
        return f"mostly {name}: {moved}"
    waits = {
        m: median(a.factors[m]) - median(b.factors[m])
        for m in b.factors.keys() & a.factors.keys()
        if m.startswith("stall.")
    }
    stall = (min if ratio < 1 else max)(waits, key=lambda m: waits[m], default="")
    if not stall or abs(waits[stall]) < STALL or (waits[stall] < 0) != (ratio < 1):
        return f"mostly {name}: {moved}"
    words = stall.removeprefix("stall.").replace("_", " ")
    shares = f"{_shown(median(b.factors[stall]), 'ratio')} -> {_shown(median(a.factors[stall]), 'ratio')}"
    return f"mostly {name}: {moved}; the stall that changed most: {words} stalls {shares}"


def _times(ratio: float) -> str:
    """`1.02x`, `0.0051x`: two digits, and hundredths."""
    return f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.2g}x"


def _shown(value: float, unit: str) -> str:
    return f"{value:.3g}" if unit == "count" else show(value, unit)
