"""Drawings of a comparison's page: both times of a pair on one scale, its change with the interval over the noise."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from triage.products.compare.compare_result import Judged
from triage.products.compare.verdict import signed, spread
from triage.products.compare.waterfall import Step, labels
from triage.products.noise import FASTER, SAME, SLOWER
from triage.rendering.escape import short
from triage.rendering.html.bars import number
from triage.rendering.phrases import added, time

LOOKS = {FASTER: "faster", SLOWER: "slower", SAME: "same"}  # verdict -> CSS class; others are `unclear`


def look(verdict: str) -> str:
    """The class of a verdict."""
    return LOOKS.get(verdict, "unclear")


def pair(p: Judged, most: float) -> Markup:
    """Before over after, both as lengths. most: the longest time of the column, in ns."""
    if not most or p["before_ns"] is None or p["after_ns"] is None:
        return Markup("")
    text = f"{time(p['before_ns'])} before, {time(p['after_ns'])} after"
    b, a = (max(0.3, ns / most * 100) for ns in (p["before_ns"], p["after_ns"]))
    name = look(p["verdict"])
    # slower is hatched as well: the two must differ without colour
    hatch = f'<rect x="0" y="10" width="{number(a)}%" height="8" fill="url(#h-memory)"/>' if name == "slower" else ""
    return Markup(
        f'<svg class="pairbar" width="100%" height="19" role="img" aria-label="{escape(text)}"><rect class="p-before" x="0" y="1" width="{number(b)}%" height="8"/>'
        f'<rect class="p-{name}" x="0" y="10" width="{number(a)}%" height="8"/>{hatch}</svg>'
    )


def waterfall(before: float, after: float, steps: Sequence[Step]) -> Markup:
    """The time before in ns, what each step adds, and the time after, on one scale; bars hang at the sum before them."""
    if not steps:
        return Markup("")
    rows = [("before", 0.0, before, ""), *_bars(before, steps), ("after", 0.0, after, "")]
    sums = [before, after, *(s["sum_ns"] for s in steps)]
    # a change of a part in a hundred would be a hair beside the whole: the scale begins where the bars do
    low = max(0.0, 1.5 * min(sums) - 0.5 * max(sums))
    low = low if 2 * low > max(sums) else 0.0  # less is not worth bars that begin elsewhere than at 0
    span = max(sums) - low or 1.0
    out = []
    names = ["before", *labels(steps, 34), "after"]
    for (name, start, end, look), label in zip(rows, names, strict=True):
        left, right = (max(0.0, (x - low) / span) * 100 for x in sorted((start, end)))
        at = f'x="{number(left)}%" y="2" width="{number(max(0.2, right - left))}%" height="14"'
        hatch = f'<rect {at} fill="url(#h-memory)"/>' if look == "slower" else ""
        text = added(end - start) if look else time(end)
        out.append(
            f'<span title="{escape(short(name, 300))}">{escape(label)}</span>'
            f'<svg width="100%" height="18" aria-hidden="true" focusable="false"><rect class="p-{look or "before"}" {at}/>{hatch}</svg><b>{text}</b>'
        )
    scale = f'<p class="soft">The bars begin at {time(low)}, not at 0.</p>' if low else ""
    return Markup(f'{scale}<div class="waterfall">{"".join(out)}</div>')


def _bars(before: float, steps: Sequence[Step]) -> list[tuple[str, float, float, str]]:
    """(name, sum before, sum after, look) of each step."""
    sums = [before, *(s["sum_ns"] for s in steps)]
    return [
        (s["name"], start, s["sum_ns"], "slower" if s["adds_ns"] > 0 else "faster")
        for s, start in zip(steps, sums[:-1], strict=True)
    ]


def reach(pairs: Sequence[Judged]) -> float:
    """Half the width of the changes' common scale: holds nine in ten intervals, at least 10 %, at most doubling."""
    intervals = (p["interval"] for p in pairs if p["interval"] and any(p["interval"]))
    ends = sorted(max(abs(x) for x in interval if x is not None) for interval in intervals)
    return min(1.0, max(0.1, ends[int(len(ends) * 0.9)] if ends else 0.1))


def change(p: Judged, reach: float, margin: float) -> Markup:
    """The change of the time as a dot with its interval; grey: too small to matter. Outside the scale: an arrowhead."""
    if not p["speedup"] or not p["interval"]:
        return Markup("")
    low, high = (x if x is not None else 0.0 for x in p["interval"])
    middle = 1 / p["speedup"] - 1
    phrase = f"time {signed(middle)}" + (f" ({spread(low, high)})" if p["measured"] else "")

    def at(x: float) -> float:
        return 50 + max(-1.0, min(1.0, x / reach)) * 47

    name, outside = look(p["verdict"]), abs(middle) > reach
    band = f'<rect class="d-band" x="{number(at(-margin))}%" y="1" width="{number(at(margin) - at(-margin))}%" height="18"/>'
    # between single runs nothing measured an interval
    drawn = f'<line class="d-line" x1="{number(at(low))}%" x2="{number(at(high))}%" y1="10" y2="10"/>'
    line = drawn if p["measured"] else ""
    zero = '<line class="d-zero" x1="50%" x2="50%" y1="1" y2="19"/>'
    if outside:
        side = "‹" if middle < 0 else "›"
        dot = f'<text class="d-far" x="{"1" if middle < 0 else "99"}%" y="15" text-anchor="{"start" if middle < 0 else "end"}">{side}</text>'
    else:
        dot = f'<circle class="p-{name}" cx="{number(at(middle))}%" cy="10" r="4.5"/>'
    return Markup(
        f'<svg class="delta" width="100%" height="20" role="img" aria-label="{escape(phrase)}">{band}{zero}{line}{dot}</svg>'
    )
