"""The marker tree as inline SVG, for readers without a script.

Only presentation attributes and classes are used, no style attributes: the page's content security policy forbids them.
Text and patterns say everything that colour says.
"""

from __future__ import annotations

import numpy as np
from markupsafe import Markup, escape

from triage.document.bundle import Bundle
from triage.ground.limiters import limiter_words
from triage.ground.phrasing import percent
from triage.ground.terminology import voice
from triage.ground.units import show
from triage.rendering.escape import short
from triage.rendering.html.bars import box, number
from triage.rendering.html.tree_data import Nodes, leaders

WIDTH, ROW = 1160, 24
MAX_BARS = 120  # of a tree
MIN_WIDTH = 0.01  # share of the whole from which on a bar is seen as one


def icicle(b: Bundle, nodes: Nodes) -> Markup:
    """The marker tree over time, as readers without a script see it."""
    total = nodes.ns[0]
    if not total:
        return Markup("")
    parents = np.array(nodes.parent)
    order = np.argsort(parents, kind="stable")
    first = np.searchsorted(parents[order], np.arange(len(nodes) + 1))
    out: list[str] = []
    looks = leaders(b, nodes)
    depth = 0
    todo = [(0, 0.0, float(WIDTH), 0)]
    # level by level: where the drawing becomes too large, the deepest markers are left out, never a whole side
    while todo and len(out) < MAX_BARS:
        k, x, w, row = todo.pop(0)
        depth = max(depth, row)
        out.append(_bar(nodes.name[k], nodes.ns[k], nodes.work[k] < 0, *looks[k], x, w, row))
        # rounded, the children may add up to a little more than what holds them
        children = order[first[k] : first[k + 1]].tolist()
        inside = sum(nodes.ns[c] for c in children)
        scale = w / max(nodes.ns[k], inside) if max(nodes.ns[k], inside) else 0
        at = x
        for c in children:
            size = nodes.ns[c] * scale
            # narrower than a pixel and its gap: not drawn, but its place is kept
            if size >= 1.5:
                todo.append((c, at, size, row + 1))
            at += size
    high = (depth + 1) * ROW
    return Markup(
        f'<svg class="icicle" viewBox="0 0 {WIDTH} {high}" role="img" aria-label="{voice().item.capitalize()} tree. Width: time. Colour and hatch: limiter">{"".join(out)}</svg>'
    )


def too_narrow(nodes: Nodes) -> float | None:
    """Share of the whole in markers, where none of them is wide enough to see: a trace that is idle nearly all its time."""
    top = [ns for ns, parent in zip(nodes.ns, nodes.parent, strict=True) if parent == 0]
    total = nodes.ns[0]
    return sum(top) / total if total and max(top, default=0.0) < MIN_WIDTH * total else None


def _bar(name: str, ns: float, group: bool, limiter: str, part: float, x: float, w: float, row: int) -> str:
    label = f"{name}: {show(ns, 'ns')}, {limiter_words(limiter).name}{f' {percent(part)}' if part < 1 else ''}"
    text = ""
    if w > 44:
        # 6.6: about how wide a character of this size is; SVG neither wraps nor cuts a text
        text = f'<text class="t-{limiter}" x="{number(x + 5)}" y="{row * ROW + 16}">{escape(short(name, max(3, int((w - 8) / 6.6))))}</text>'
    # a group was not measured itself: its look, that of the largest part of its time, is drawn fainter
    kind = ' class="group"' if group else ""
    return f"<g{kind}><title>{escape(short(label, 200))}</title>{box(x, row * ROW, max(w - 1, 0.6), ROW - 1, limiter, 2)}{text}</g>"
