"""Roofline of operators: FLOP rate over FLOPs per least byte, each with a line up to what the device allows it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from triage.document.trace_entries import OperatorEntry
from triage.ground.phrasing import percent
from triage.ground.units import show
from triage.rendering.escape import short
from triage.rendering.operator_table import dims

WIDTH, HEIGHT = 440, 210
MAX_DRAWN = 40  # operators drawn, the longest
NAMED = 4  # of them with their names
MIN_SHARE = 0.05  # of the whole time: operators that take less of it are not what counts
LABEL = 13  # height of a name in the drawing
RADIUS = 9.0  # of the operator that takes the whole time


def roofline(operators: Sequence[OperatorEntry] | None, total_ns: float | None = None) -> Markup:
    """The drawing of the longest operators with a known roof; empty where fewer than two have one, or all of them are short.

    total_ns: time of the whole capture.
    """
    found = [
        (o, *_place(o))
        for o in operators or ()
        if o["roof_share"] and o["flops"] and o["bytes"] and o["kind"] != "elementwise"
    ][:MAX_DRAWN]
    if len(found) < 2 or sum(o["total_ns"] for o, *_ in found) < MIN_SHARE * (total_ns or 0.0):
        return Markup()
    across = _decades([x for _, x, _, _ in found])
    up = _decades([y for _, _, rate, roof in found for y in (rate, roof)])

    def at_x(value: float) -> float:
        return (math.log10(value) - across[0]) / (across[1] - across[0]) * WIDTH

    def at_y(value: float) -> float:
        return HEIGHT - (math.log10(value) - up[0]) / (up[1] - up[0]) * HEIGHT

    out, names = [], list[str]()
    for d in range(across[0], across[1] + 1):
        x = at_x(10.0**d)
        out.append(
            f'<path class="axis" d="M{x:.1f} 0V{HEIGHT}"/><text class="tick" x="{x:.1f}" y="{HEIGHT + 15}" text-anchor="middle">{10.0**d:,.10g}</text>'
        )
    for d in range(up[0], up[1] + 1):
        y = at_y(10.0**d)
        out.append(
            f'<path class="axis" d="M0 {y:.1f}H{WIDTH}"/><text class="tick" x="-6" y="{y + 4:.1f}" text-anchor="end">{show(10.0**d, "flop/s")}</text>'
        )
    out.append(
        f'<text class="tick" x="{WIDTH / 2:.0f}" y="{HEIGHT + 31}" text-anchor="middle">FLOP per least byte</text>'
    )
    longest = max(o["total_ns"] for o, *_ in found)
    # each operator's name once, at the longest of its kind
    named = {id(o) for o in list({o["op"]: o for o, *_ in reversed(found)}.values())[::-1][:NAMED]}
    taken: list[tuple[float, float]] = []  # where names are written: a name on another is neither
    for o, x, rate, roof in found:
        size = max(2.5, RADIUS * math.sqrt(o["total_ns"] / longest))
        phrase = f"{o['op']} {dims(o)}: {show(rate, 'flop/s')}, {percent(o['roof_share'])} of its roof"
        left, low, high = at_x(x), at_y(rate), at_y(roof)
        out.append(
            f'<path class="line" d="M{left:.1f} {low:.1f}V{high:.1f}M{left - 5:.1f} {high:.1f}h10"/>'
            f'<circle class="dot" cx="{left:.1f}" cy="{low:.1f}" r="{size:.1f}"><title>{escape(phrase)}</title></circle>'
        )
        if id(o) in named and all(abs(left - x) > WIDTH / 3 or abs(low - y) >= LABEL for x, y in taken):
            taken.append((left, low))
            side = ("end", -1) if left > WIDTH * 2 / 3 else ("start", 1)
            names.append(
                f'<text class="name" x="{left + side[1] * (size + 4):.1f}" y="{low + 4:.1f}" text-anchor="{side[0]}">{escape(short(o["op"], 28))}</text>'
            )
    phrase = f"Roofline of {len(found)} operators; the table below has their shares"
    return Markup(
        f'<svg class="roof" viewBox="-86 -12 {WIDTH + 116} {HEIGHT + 52}" role="img" aria-label="{phrase}">{"".join(out + names)}</svg>'
    )


def _place(o: OperatorEntry) -> tuple[float, float, float]:
    """(FLOPs per byte, FLOP/s, FLOP/s at its roof)."""
    rate = (o["flops"] or 0.0) * o["calls"] / (o["total_ns"] * 1e-9)
    return (o["flops"] or 0.0) / (o["bytes"] or 1.0), rate, rate / (o["roof_share"] or 1.0)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
