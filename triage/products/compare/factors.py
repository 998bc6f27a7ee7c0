"""Why a kernel's time changed: time = instructions x time per issued instruction x share of the time SMs are busy x clock.

Of a kernel, the cycles an SM works are its instructions over the rate at which they issue; divided by the share of the time
SMs are active they are the kernel's cycles, and divided by the clock its time. So the ratio of two times is the product
of four ratios, and the one that moved most says where to look. Of captures that did not count instructions the product gives
their ratio.
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

# metric -> (what it is called, what more of it is called and what less, does more of it make the time longer)
FACTORS = {
    "inst.executed": ("instructions", "more instructions", "fewer instructions", True),
    "sm.issue_per_active": ("time per issued instruction", "a higher issue rate", "a lower issue rate", False),
    "sm.active": ("idle SMs", "fewer idle SMs", "more idle SMs", False),
    "sm.frequency": ("clock", "a higher clock", "a lower clock", False),
}
COUNTED, ISSUED = "inst.executed", "sm.issue_per_active"
BYTES, WARPS = "vram.bytes", "sm.active_warps"
MIN_RATIO_CHANGE = 0.02  # a ratio nearer to 1 is the noise of two captures
MAX_UNEXPLAINED = 0.1  # heuristic: part of a time that its factors may miss
STALL = 0.05  # points by which a wait must move to be named
MIN_GROUPED = 1_000  # counts from here on are written whole
MIN_PART = 0.5  # heuristic: part of a change, as a logarithm, from which on bytes that moved with it are its reason


def enter(items: Sequence[Item], view: View) -> None:
    """Put the factors and the waits of the workloads of a view into their items."""
    found = {m: view[m] for m in (*FACTORS, BYTES, WARPS)}
    reasons, shares = losses(view)
    found |= {f"stall.{r}": np.where(row < 0, np.nan, row) for r, row in zip(reasons, shares, strict=True)}
    for metric, values in found.items():
        if is_column(values):
            for item, value in zip(items, values.tolist(), strict=True):
                if value == value:
                    item.factors.setdefault(metric, []).append(value)


def remarks(b: Item, a: Item, decided: bool) -> tuple[str, list[str]]:
    """What most of a change is, `mostly more instructions (8.6x)`, where its verdict is decided and counters tell it.

    Then that with its counters; what the time is made of; what makes two launches hard to compare.
    """
    out, chief = [], ""
    if b.who.shape and a.who.shape and b.who.shape != a.who.shape:
        out.append(f"launch shape (groups, threads): {b.who.shape} before, {a.who.shape} after")
    if b.times and a.times and median(b.times) > 0:
        whole = median(a.times) / median(b.times)
        ratios, computed = _ratios(b, a, whole)
        chief, counters = _chief(ratios, whole, b, a) if decided else ("", "")
        why = f"{chief}{counters}"
        counted = any(m.endswith(("throughput", "hit_rate")) for m in b.values.keys() & a.values.keys())
        if decided and not ratios and not why and counted:
            why = "the counters of both captures do not tell why: collect instructions, issue rate and DRAM bytes"
        texts = why, _product(ratios, whole, computed, b, a)
        out += [localize(text) for text in texts if text]
    return localize(chief), out


def _ratios(b: Item, a: Item, whole: float) -> tuple[dict[str, float], str]:
    """Factor -> how many times as long it makes the time; and, where the instructions were not counted, what gave them."""
    ratios: dict[str, float] = {}
    for metric, (*_, longer) in FACTORS.items():
        if both := _both(metric, b, a):
            ratios[metric] = both[1] / both[0] if longer else both[0] / both[1]
    if COUNTED in ratios or ISSUED not in ratios or median(a.calls) != median(b.calls):
        return ratios, ""
    equal = [word for m, word in (("sm.active", "SM activity"), ("sm.frequency", "clocks")) if m not in ratios]
    computed = "not counted: time x issue rate" + " x SM active" * ("sm.active" in ratios)
    computed += f", at equal {' and '.join(equal)}" if equal else " x clock"
    return {COUNTED: whole / math.prod(ratios.values()), **ratios}, computed


def _both(metric: str, b: Item, a: Item) -> tuple[float, float] | None:
    """A factor before and after; None where it is not known, or 0."""
    if metric not in b.factors or metric not in a.factors:
        return None
    first, second = median(b.factors[metric]), median(a.factors[metric])
    return (first, second) if first > 0 and second > 0 else None


def _product(ratios: dict[str, float], whole: float, computed: str, b: Item, a: Item) -> str:
    if not {COUNTED, ISSUED} <= ratios.keys():
        return ""
    calls = median(a.calls) / median(b.calls) if median(b.calls) else 1.0
    # counters are sums over all calls, times too: only the factors differ
    parts = [
        f"{FACTORS[m][0]} {_times(r)}{f' ({computed})' if m == COUNTED and computed else ''}"
        for m, r in ratios.items()
        if m in (COUNTED, ISSUED) or abs(r - 1) > MIN_RATIO_CHANGE
    ]
    text = " · ".join(parts) + (f" ({calls:.2f}x the calls)" if abs(calls - 1) > MIN_RATIO_CHANGE else "")
    product = math.prod(ratios.values())
    if abs(whole / product - 1) <= MAX_UNEXPLAINED:
        return f"time {_times(whole)} = {text}"
    clock = "the clock" if "sm.frequency" in ratios else "the clock, which was not counted"
    return f"time {_times(whole)}, by the counters {_times(product)} = {text}: check {clock}, and that times and counters are of one run"


def _chief(ratios: dict[str, float], whole: float, b: Item, a: Item) -> tuple[str, str]:
    """(the factor that moved most of those that moved with the time, the counter behind it), in words."""
    rest = whole / math.prod(ratios.values()) if {COUNTED, ISSUED} <= ratios.keys() else 1.0
    moved = {m: abs(math.log(r)) for m, r in ratios.items() if (r > 1) == (whole > 1)}
    most = max(moved, key=lambda m: moved[m], default="")
    if most and moved[most] > max(abs(math.log(rest)), math.log1p(MIN_RATIO_CHANGE)):
        by_bytes = most == ISSUED and _explain(BYTES, whole, b, a)
        return _bytes(whole, b, a, most) if by_bytes else _factor(most, ratios, b, a)
    return _bytes(whole, b, a) if not ratios and _explain(BYTES, whole, b, a) else ("", "")


def _explain(metric: str, whole: float, b: Item, a: Item) -> bool:
    """True if a counter rose or fell with the time, by most of its change."""
    both = _both(metric, b, a)
    return both is not None and abs(math.log(whole)) > 0 and math.log(both[1] / both[0]) / math.log(whole) >= MIN_PART


def _bytes(whole: float, b: Item, a: Item, most: str = "") -> tuple[str, str]:
    """`mostly fewer DRAM bytes (0.18x)`, `: 1.87 GB -> 332 MB, so the issue rate is 3.2x`."""
    first, second = _both(BYTES, b, a) or (1.0, 1.0)
    issued = _both(most, b, a) if most else None
    rate = f"; the issue rate is {_times(issued[1] / issued[0])}" if issued else ""
    chief = f"mostly {'more' if whole > 1 else 'fewer'} DRAM bytes ({_times(second / first)})"
    return chief, f": {show(first, 'byte')} -> {show(second, 'byte')}{rate}"


def _factor(metric: str, ratios: dict[str, float], b: Item, a: Item) -> tuple[str, str]:
    """The factor in words, and the counter behind it, and of an issue rate the stall or the warps that moved with it."""
    _, more, less, _ = FACTORS[metric]
    both = _both(metric, b, a)
    if both is None:  # computed
        return f"mostly {more if ratios[metric] > 1 else less} ({_times(ratios[metric])})", ""
    first, second = both
    unit, label = schema.get(metric).unit, lower_first(localize(schema.get(metric).label))
    stall = _stall(ratios[metric] < 1, b, a) if metric == ISSUED else ""
    chief = f"mostly {more if second > first else less} ({_times(second / first)})"
    return chief, f": {label} {_shown(first, unit)} -> {_shown(second, unit)}{stall}"


def _stall(faster: bool, b: Item, a: Item) -> str:
    """`; long scoreboard stalls 60.0 % -> 20.0 %`: the stall that changed most, else the warps; "" where neither went with the rate."""
    stalls = [m for m in b.factors.keys() & a.factors.keys() if m.startswith("stall.")]
    waits = {m: median(a.factors[m]) - median(b.factors[m]) for m in stalls}
    stall = (min if faster else max)(waits, key=lambda m: waits[m], default="")
    if stall and abs(waits[stall]) >= STALL and (waits[stall] < 0) == faster:
        shares = f"{_shown(median(b.factors[stall]), 'ratio')} -> {_shown(median(a.factors[stall]), 'ratio')}"
        return f"; the stall that changed most: {stall.removeprefix('stall.').replace('_', ' ')} {shares}"
    warps = _both(WARPS, b, a)
    if warps and abs(warps[1] / warps[0] - 1) > MIN_RATIO_CHANGE and (warps[1] > warps[0]) == faster:
        return f"; {lower_first(localize(schema.get(WARPS).label))} {_shown(warps[0], 'count')} -> {_shown(warps[1], 'count')}"
    return ""


def _times(ratio: float) -> str:
    """`270x`, `1.02x`, `0.0051x`: two digits, and hundredths."""
    if ratio < 0.001:
        return "below 0.001x"
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.2g}x"


def _shown(value: float, unit: str) -> str:
    return f"{value:.3g}" if unit == "count" and value < MIN_GROUPED else show(value, unit)
