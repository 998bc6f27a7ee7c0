"""The waterfall of a comparison's page, and the scale of its changes, which the page draws itself (pairs.js)."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from triage.products.compare.compare_result import Judged
from triage.products.compare.waterfall import Step, labels
from triage.products.noise import FASTER, SAME, SLOWER
from triage.rendering.escape import short
from triage.rendering.html.bars import number
from triage.rendering.phrases import added, time

LOOKS = {FASTER: "faster", SLOWER: "slower", SAME: "same"}  # verdict -> CSS class; others are `unclear`


def look(verdict: str) -> str:
    """The class of a verdict."""
    return LOOKS.get(verdict, "unclear")


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
    """Half the width of the changes' common scale: holds 19 in 20 intervals, at least 10 %, at most doubling."""
    ends = sorted(
        max(abs(x) for x in p["interval"] if x is not None) for p in pairs if p["interval"] and any(p["interval"])
    )
    return min(1.0, max(0.1, ends[-1 - len(ends) // 20] if ends else 0.1))
