"""Bars over the total time as inline SVG: savings by item, limiters, the range of one item.

Places and widths are percentages, so that a bar follows the width of the window and its text is never scaled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from triage.document.budget_entries import BudgetEntry
from triage.document.entries import LimiterEntry
from triage.document.summary import Summary
from triage.document.time_shares import IDLE, IDLE_TO_FIX, VerdictEntry
from triage.document.todo_items import TodoItem
from triage.ground.limiters import limiter_words
from triage.ground.phrasing import percent, plural
from triage.ground.units import show
from triage.rendering import phrases, verdict_phrases
from triage.rendering.labels import HEADS

NUMBERED = 7  # items that get a number in the bar
VERDICT_HATCHES = {
    "fix": "",
    "suspect": "latency",
    "not-diagnosed": "dark",
    "at-limit": "",
    IDLE_TO_FIX: "memory",
    IDLE: "",
}
# One hatch per limiter class, drawn over its colour.
HATCHES = {
    "compute": "",
    "memory": '<path d="M-1 7L7 -1M3 11L11 3"/>',
    "balanced": '<path d="M0 4H8"/>',
    "latency": '<circle cx="2" cy="2" r=".9"/><circle cx="6" cy="6" r=".9"/>',
    "small-grid": '<path d="M4 0V8"/>',
    "front-end": '<path d="M-1 1L7 9M3 -3L11 5"/>',
    "rop": '<path d="M0 0L8 8M8 0L0 8"/>',
    "cpu": '<path d="M0 4H8M4 0V8"/>',
    "unknown": "",
}


def patterns() -> Markup:
    """The hatches, defined once per page; `h-dark` is that of undiagnosed time."""
    made = "".join(
        f'<pattern id="h-{c}" width="8" height="8" patternUnits="userSpaceOnUse"><g class="hatch">{d}</g></pattern>'
        for c, d in HATCHES.items()
    )
    dark = '<pattern id="h-dark" width="6" height="6" patternUnits="userSpaceOnUse"><path class="darkline" d="M-1 5L5 -1M2 8L8 2"/></pattern>'
    return Markup(
        f'<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false"><defs>{made}{dark}</defs></svg>'
    )


def hatched(name: str) -> bool:
    """True if a class has a hatch; `dark` is no limiter, but the look of undiagnosed time on every page."""
    return name == "dark" or bool(HATCHES.get(name))


def box(x: float, y: float, w: float, h: float, limiter: str, radius: int = 0) -> str:
    """A rectangle in a limiter's colour and hatch, in the units of its drawing."""
    at = f'x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}"' + (
        f' rx="{radius}"' if radius else ""
    )
    hatch = f'<rect {at} fill="url(#h-{limiter})"/>' if hatched(limiter) else ""
    return f'<rect class="c-{limiter}" {at}/>{hatch}'


def swatch(limiter: str) -> Markup:
    """A small sample of a limiter's look, for legends."""
    return Markup(
        f'<svg class="swatch" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" focusable="false">{box(0, 0, 14, 14, limiter, 3)}</svg>'
    )


def strip(limiters: Sequence[LimiterEntry], high: int = 20) -> Markup:
    """Shares of the time by limiter as one bar."""
    # a class without time would be a line of its own between two others
    known = [(x["limiter_class"], share) for x in limiters if (share := x["share"])]
    if not known:
        return Markup("")
    text = ", ".join(f"{limiter_words(name).name} {percent(share)}" for name, share in known)
    out, x = [], 0.0
    for name, share in known:
        at = f'x="{number(x * 100)}%" width="{number(share * 100)}%" height="{high}"'
        hatch = f'<rect {at} fill="url(#h-{name})"/>' if hatched(name) else ""
        out.append(f'<g class="seg"><rect class="c-{name}" {at}/>{hatch}</g>')
        x += share
    return Markup(
        f'<svg class="strip" width="100%" height="{high}" role="img" aria-label="{escape(f"{HEADS.limiter}: {text}")}">{"".join(out)}</svg>'
    )


def verdicts(known: Sequence[VerdictEntry], high: int = 20) -> Markup:
    """The whole time by verdict as one bar; "" where nothing has a time."""
    if not known:
        return Markup("")
    out, x = [], 0.0
    for v in known:
        at = f'x="{number(x * 100)}%" width="{number(v["share"] * 100)}%" height="{high}"'
        hatch = f'<rect {at} fill="url(#h-{hatches})"/>' if (hatches := VERDICT_HATCHES[v["verdict"]]) else ""
        out.append(f'<g class="seg"><rect class="v-{v["verdict"]}" {at}/>{hatch}</g>')
        x += v["share"]
    text = escape(f"{HEADS.verdict}: {verdict_phrases.verdicts(known)}")
    return Markup(
        f'<svg class="verdicts" width="100%" height="{high}" role="img" aria-label="{text}">{"".join(out)}</svg>'
    )


def budgeted(s: Summary) -> list[tuple[str, float, str]]:
    """Parts of the whole time: (item, rest, done, none or dark; ns; number of an item)."""
    saved = [(n, ns) for n, c in enumerate(s["causes"], 1) if (ns := c["saved_ns"])][:NUMBERED]
    parts = [("item", ns, str(n)) for n, ns in saved]
    parts += [
        ("rest", max(0.0, round((s["recoverable"]["likely"]["ns"] or 0.0) - sum(ns for _, ns in saved))), ""),
        ("done", s["finished"]["ns"], ""),
    ]
    dark = s["dark"]["ns"] if s["dark"] else 0.0
    return [
        *parts,
        ("none", max(0.0, (s["duration_ns"] or 0) - dark - sum(ns for _, ns, _ in parts)), ""),
        ("dark", dark, ""),
    ]


def sums(s: Summary) -> dict[str, float]:
    """Kind of part -> time, ns, for the legend of `budget`; of a kind that is nowhere, 0."""
    out = {"item": 0.0}  # the other kinds are always among the parts
    for kind, ns, _ in budgeted(s):
        out[kind] = out.get(kind, 0.0) + ns
    return out


def budget(s: Summary) -> Markup:
    """The total time as one bar: saving by item, time at a hardware limit, undiagnosed time."""
    total = s["duration_ns"]
    if not total:
        return Markup("")
    parts = budgeted(s)
    saved, dark = [c for c in s["causes"] if c["saved_ns"]], s["dark"]["ns"] if s["dark"] else 0.0
    out, x = [], 0.0
    for k, (kind, ns, text) in enumerate(parts):
        w = ns / total * 100
        if w <= 0:
            continue
        alt = " alt" if kind == "item" and k % 2 else ""
        out.append(f'<rect class="b-{kind}{alt}" x="{number(x)}%" width="{number(w)}%" height="26"/>')
        if text and w >= 1.6:
            narrow = " x2" if w < 6 else ""
            out.append(
                f'<text class="b-num{narrow}" x="{number(x + w / 2)}%" y="17" text-anchor="middle">{text}</text>'
            )
        x += w
    phrase = f"{show(total, 'ns')}: {phrases.time(s['recoverable']['likely']['ns'])} recoverable in {plural(len(saved), 'to-do item')}"
    for ns, label in ((s["finished"]["ns"], HEADS.at_limit), (dark, HEADS.not_diagnosed)):
        phrase += f", {phrases.time(ns)} {label.lower()}" if ns else ""
    return Markup(
        f'<svg class="bar-budget" width="100%" height="26" role="img" aria-label="{escape(phrase)}">{"".join(out)}</svg>'
    )


def ruler(total: float | None) -> Markup:
    """Ticks over the whole time, in round steps."""
    if not total:
        return Markup("")
    step = 10 ** math.floor(math.log10(total / 3))
    step *= next(f for f in (1, 2, 5, 10) if total / (step * f) <= 5.5)
    out = []
    for k in range(int(total / step) + 1):
        x = k * step / total * 100
        if x > 97:
            continue
        anchor = "start" if not k else "middle"
        text = "0" if not k else show(k * step, "ns")
        out.append(
            f'<rect class="tickline" x="{number(x)}%" width="1" height="4"/><text x="{number(x)}%" y="15" text-anchor="{anchor}">{text}</text>'
        )
    return Markup(
        f'<svg class="ruler" width="100%" height="18" aria-hidden="true" focusable="false">{"".join(out)}</svg>'
    )


def interval(c: TodoItem, most: float | None) -> Markup:
    """Low, likely and bound of one item, on the scale that all items share (most: its end, in ns)."""
    if not most or c["saved_ns"] is None:
        return Markup("")
    low, likely, bound = (min(1.0, (c[k] or 0) / most) * 96 + 2 for k in ("low_ns", "saved_ns", "bound_ns"))
    text = f"{phrases.time(c['saved_ns'])}, {phrases.range_(c['low_ns'], c['bound_ns'])}"
    return Markup(
        f'<svg class="iv" width="100%" height="14" role="img" aria-label="{escape(text)}">'
        f'<rect class="iv-track" x="2%" y="5" width="96%" height="4" rx="2"/><rect class="iv-mid" x="2%" y="5" width="{number(bound - 2)}%" height="4" rx="2"/>'
        f'<rect class="iv-low" x="2%" y="5" width="{number(max(0.0, low - 2))}%" height="4" rx="2"/><circle class="iv-dot" cx="{number(likely)}%" cy="7" r="5"/></svg>'
    )


def pass_bars(
    times: Sequence[tuple[float, float]], names: Sequence[str], budgets: Sequence[BudgetEntry]
) -> list[Markup]:
    """A bar per pass on one scale: its time, the part that its root causes save, and a tick at its budget.

    times: (ns, saved ns) per pass. budgets: those whose marker is the name of a pass.
    """
    allowed = {e["marker"].lower(): e["allowed_ns"] for e in budgets}
    limits = [allowed.get(name.lower()) for name in names]
    most = max((*(ns for ns, _ in times), *(a for a in limits if a)), default=0.0)
    if most <= 0:
        return [Markup("")] * len(times)
    out = []
    for (ns, saved), limit in zip(times, limits, strict=True):
        text = f"{phrases.time(ns)}, {phrases.time(saved) if saved else 'nothing'} recoverable"
        tick = ""
        if limit:
            text += f", budget {phrases.time(limit)}"
            tick = f'<rect class="p-limit" x="{number(min(99.0, limit / most * 100))}%" width="2" height="6"/>'
        out.append(
            Markup(
                f'<svg class="passbar" width="100%" height="6" role="img" aria-label="{escape(text)}"><rect class="p-time" width="{number(ns / most * 100)}%" height="6"/>'
                f'<rect class="p-saved" width="{number(min(saved, ns) / most * 100)}%" height="6"/>{tick}</svg>'
            )
        )
    return out


def number(value: float) -> str:
    """At most two decimals, no zeros at the end."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
