"""Changes of a gate in words."""

from __future__ import annotations

import math

from triage.capture.capture import SEP
from triage.ground.phrasing import lower_first
from triage.products.history.history_result import Gate, Moved, Part, Unsure
from triage.products.history.record import shown
from triage.products.history.trend import FRAME, MIN_PART
from triage.products.noise import inconclusive
from triage.rendering.escape import short
from triage.rendering.phrases import MINUS, added, time

DIGITS = 4  # of times: three cannot tell builds apart that differ by one in a hundred


def is_own(m: Moved, doc: Gate) -> bool:
    """True where the judged build brought a change, or may have."""
    parts = [p for p in doc["parts"] if p["adds_ns"] * m["change"] > 0] if m["marker"] == [FRAME] else []
    return doc["build"]["revision"] in (m["by"]["revision"], *m["between"], *(p["by"] for p in parts))


def doubt(u: Unsure) -> str:
    """`Frame / Lighting 4.1 % slower so far, inconclusive (3 more runs should decide it)`."""
    what = f"{shown(SEP.join(u['marker']))} {slower_by(u['change'])}"
    return f"{what} so far, {inconclusive(u['needs'])}" if u["measured"] else f"{what} if it repeats"


def slower_by(change: float) -> str:
    """`6.1 % slower`, `7.2x the time`: a share as text, never above 99 %."""
    if change >= 1:
        return f"{times(1 + change)} the time"
    return f"{abs(change) * 100:.1f} % {'slower' if change > 0 else 'faster'}"


def times(ratio: float) -> str:
    """`7.2x`, `over 1,000x`."""
    return "over 1,000x" if ratio > 1_000 else f"{ratio:.3g}x"


def signed(change: float) -> str:
    """`+3.4 %`; from twice the time on, `2.1x`."""
    if change >= 1:
        return times(1 + change)
    return f"{change * 100:+.1f} %".replace("-", MINUS) if abs(change) >= 0.0005 else "0.0 %"


def now(m: Moved) -> float:
    """The change from the level before a step to that of the judged build: other steps may have come since."""
    return (m["now_ns"] or 0.0) / (m["before_ns"] or math.nan) - 1


def line(m: Moved, doc: Gate) -> str:
    """`Frame / Lighting 6.1 % slower since 3f2a91c (5.2 to 7.0 %), 3.1 ms -> 3.29 ms. New top cause: register spilling`."""
    if m["marker"] == [FRAME]:
        return frame(m, doc)
    others = [r[:12] for r in m["between"] if r != m["by"]["revision"]]
    others_named = f" (or {', '.join(others[:3])})" if others else ""
    why = f". New top cause: {lower_first(m['title'])}" if m["title"] and m["was"] != m["cause"] else ""
    became = f", {slower_by(now(m))} now" if m["now_ns"] != m["after_ns"] else ""
    levels = f"{time(m['before_ns'], DIGITS)} -> {time(m['after_ns'], DIGITS)}"
    since = f"since {m['by']['revision'][:12]}{others_named}"
    return f"{shown(SEP.join(m['marker']))} {slower_by(m['change'])} {since} ({_span(m)}), {levels}{became}{why}"


def _span(m: Moved) -> str:
    low, high = (abs(x) * 100 for x in sorted(m["interval"], key=abs))
    return f"{low:.1f} to {high:.1f} %" if high < 100 else f"{times(1 + low / 100)} to {times(1 + high / 100)}"


def part(p: Part) -> str:
    """`Frame / Lens flare +501 µs`: what a marker adds to a change."""
    return f"{short(shown(SEP.join(p['marker'])), 60)} {added(p['adds_ns'])}"


def frame(m: Moved, doc: Gate) -> str:
    """`the whole frame 14.41 ms, 6.7 % slower than b2 (5.7 to 7.6 %): Lens flare +501 µs, new (b6)`: of all its steps, how it is now."""
    by = [f"{part(p)}{', ' * bool(p['came'])}{p['came']} ({p['by'][:12]})" for p in doc["parts"]]
    whole = (m["after_ns"] or 0.0) - (m["before_ns"] or 0.0)
    rest = whole - sum(p["adds_ns"] for p in doc["parts"])
    by += [f"all others {added(rest)}"] if by and abs(rest) > MIN_PART * abs(whole) else []
    named = f": {', '.join(by)}" if by else ""
    return f"{FRAME} {time(m['after_ns'], DIGITS)}, {slower_by(m['change'])} {'of' if m['change'] >= 1 else 'than'} {doc['since'][:12]} ({_span(m)}){named}"
