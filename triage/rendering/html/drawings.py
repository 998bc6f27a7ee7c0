"""Drawings of a report as inline SVG: limiter strip, icicle, speed-of-light bars, range of the recoverable time.

Only presentation attributes and classes are used, no style attributes: the page's content security policy forbids them.
Text and patterns say everything that colour says.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape

from triage.document.bundle import Entry
from triage.ground.limiters import BY_ID
from triage.ground.method import HIGH, LOW
from triage.ground.units import show
from triage.rendering import phrases
from triage.rendering.escape import short
from triage.rendering.html.packed import leaders

WIDTH, ROW = 1160, 24
PLOT = 420  # width of a speed-of-light plot: 100 %
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
    """The hatches, defined once per page."""
    made = "".join(
        f'<pattern id="h-{c}" width="8" height="8" patternUnits="userSpaceOnUse"><g class="hatch">{d}</g></pattern>'
        for c, d in HATCHES.items()
    )
    return Markup(
        f'<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false"><defs>{made}</defs></svg>'
    )


def box(x: float, y: float, w: float, h: float, limiter: str, radius: int = 0) -> str:
    """A rectangle in a limiter's colour and hatch."""
    at = f'x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}"' + (f' rx="{radius}"' if radius else "")
    hatch = f'<rect {at} fill="url(#h-{limiter})"/>' if HATCHES.get(limiter) else ""
    return f'<rect class="c-{limiter}" {at}/>{hatch}'


def strip(limiters: list[Entry]) -> Markup:
    """Shares of the frame by limiter as one bar."""
    # a class without time would be a line of its own between two others
    known = [x for x in limiters if x["share"]]
    if not known:
        return Markup("")
    told = ", ".join(f"{BY_ID[x['limiter_class']].name} {phrases.percent(x['share'])}" for x in known)
    out, x = [], 0.0
    for part in known:
        w = part["share"] * WIDTH
        # two pixels apart, since neighbours may look alike in print; but never so narrow that it is gone
        out.append(box(x, 0, max(w - 2, 0.5), 28, part["limiter_class"]))
        x += w
    return Markup(
        f'<svg class="strip" viewBox="0 0 {WIDTH} 28" preserveAspectRatio="none" role="img" aria-label="{escape(f"Time by limiter: {told}")}">{"".join(out)}</svg>'
    )


def swatch(limiter: str) -> Markup:
    """A small sample of a limiter's look, for legends."""
    return Markup(
        f'<svg class="swatch" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" focusable="false">{box(0, 0, 14, 14, limiter, 3)}</svg>'
    )


def spread(s: Entry) -> Markup:
    """Recoverable time within the frame: sure, likely, bound."""
    total = s["duration_ns"]
    if not total:
        return Markup("")
    at = [min(1.0, (s["recoverable"][k]["ns"] or 0) / total) * 300 for k in ("low", "likely", "bound")]
    return Markup(
        f'<svg class="spread" viewBox="0 0 300 10" preserveAspectRatio="none" role="img" aria-label="{escape(f"Recoverable: {phrases.recoverable(s)}")}">'
        # widest first: each bar is drawn over the one before it
        f'<rect class="track" width="300" height="10"/><rect class="bound" width="{_n(at[2])}" height="10"/>'
        f'<rect class="likely" width="{_n(at[1])}" height="10"/><rect class="low" width="{_n(max(at[0], 1))}" height="10"/></svg>'
    )


def sol_bars(w: Entry, most: int = 8) -> Markup:
    """Speed of light per unit over the bands of the method; the clusters are named in the text beside each bar."""
    shown = w["sol"][:most]
    if not shown:
        return Markup("")
    # the plot starts at x=0 = 0 % and ends at PLOT = 100 %; names stand on the left, numbers on the right
    low, upper = LOW * PLOT, HIGH * PLOT
    out = [
        f'<rect class="band-high" x="{_n(upper)}" y="0" width="{_n(PLOT - upper)}" height="100%"/>'
        f'<rect class="band-gray" x="{_n(low)}" y="0" width="{_n(upper - low)}" height="100%"/>'
    ]
    for k, s in enumerate(shown):
        # counters of different replays can give more than 100 %: the bar stays in its plot, not its number
        y, pct = 4 + k * 22, max(0.0, min(100.0, s["pct"] or 0))
        role = "first" if s["unit"] in w["primary"] else "second" if s["unit"] in w["secondary"] else "rest"
        note = {"first": "top cluster", "second": "second cluster", "rest": ""}[role]
        out.append(
            f'<text x="-8" y="{y + 13}" text-anchor="end">{escape(s["unit"])}</text>'
            f'<rect class="sol-{role}" x="0" y="{y + 2}" width="{_n(pct * PLOT / 100)}" height="14" rx="2"/>'
            f'<text x="{PLOT + 8}" y="{y + 13}" class="num">{s["pct"]:.1f} % {note}</text>'
        )
    high = 8 + len(shown) * 22
    ticks = "".join(
        f'<text class="tick" x="{_n(x)}" y="{high + 13}" text-anchor="middle">{mark * 100:.0f}</text>'
        for x, mark in ((low, LOW), (upper, HIGH))
    )
    out.append(f'<path class="rule" d="M{_n(low)} 0V{high}M{_n(upper)} 0V{high}"/>{ticks}')
    told = ", ".join(f"{s['unit']} {s['pct']:.0f} %" for s in shown)
    return Markup(
        f'<svg class="sol" viewBox="-64 0 {PLOT + 220} {high + 18}" role="img"'
        f' aria-label="{escape(f"Speed of light per unit: {told}")}">{"".join(out)}</svg>'
    )


def icicle(doc: Entry, nodes: list[list[Any]], most: int = 400) -> Markup:
    """The marker tree over time, as readers without a script see it."""
    total = nodes[0][3]
    if not total:
        return Markup("")
    children: list[list[int]] = [[] for _ in nodes]
    for k, n in enumerate(nodes):
        if n[0] >= 0:
            children[n[0]].append(k)
    out: list[str] = []
    looks = leaders(doc, nodes)
    depth = 0
    todo = [(0, 0.0, float(WIDTH), 0)]
    # level by level: where the drawing becomes too large, the deepest markers are left out, never a whole side
    while todo and len(out) < most:
        k, x, w, row = todo.pop(0)
        depth = max(depth, row)
        out.append(_bar(nodes[k], looks[k], x, w, row))
        # rounded, the children may add up to a little more than what holds them
        inside = sum(nodes[c][3] for c in children[k])
        scale = w / max(nodes[k][3], inside) if max(nodes[k][3], inside) else 0
        at = x
        for c in children[k]:
            size = nodes[c][3] * scale
            # narrower than a pixel and its gap nothing can be told; the place is kept
            if size >= 1.5:
                todo.append((c, at, size, row + 1))
            at += size
    high = (depth + 1) * ROW
    return Markup(
        f'<svg class="icicle" viewBox="0 0 {WIDTH} {high}" role="img" aria-label="Marker tree: width is time, look is the limiter">{"".join(out)}</svg>'
    )


def _bar(node: list[Any], limiter: str, x: float, w: float, row: int) -> str:
    told = f"{node[1]}: {show(node[3], 'ns')}, {'' if node[2] >= 0 else 'mostly '}{BY_ID[limiter].name}"
    text = ""
    if w > 44:
        # 6.6: about how wide a character of this size is; SVG neither wraps nor cuts a text
        text = f'<text class="t-{limiter}" x="{_n(x + 5)}" y="{row * ROW + 16}">{escape(short(node[1], max(3, int((w - 8) / 6.6))))}</text>'
    # a group was not measured itself: its look, that of most of its time, is drawn fainter
    kind = "" if node[2] >= 0 else ' class="group"'
    return f"<g{kind}><title>{escape(short(told, 200))}</title>{box(x, row * ROW, max(w - 1, 0.6), ROW - 1, limiter, 2)}{text}</g>"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
