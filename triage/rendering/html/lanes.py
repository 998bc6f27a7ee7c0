"""The strip of a device: what ran in each of equal parts of the trace, and idle time by cause on a scale of its own."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from triage.document.entries import CaptureEntry
from triage.document.timeline_summary import DeviceGap
from triage.document.trace_entries import DeviceEntry
from triage.ground.gap_reasons import GAP_WORDS
from triage.ground.phrasing import percent
from triage.rendering import phrases, timeline_phrases
from triage.rendering.escape import short
from triage.rendering.html.bars import hatched, number

WIDTH, ROW = 1060, 26
NEAR = 2.2  # percent of the width: numbers nearer than that would cover each other
MIN_HEIGHT = 0.05  # height of a bar that is drawn
SEEN = 0.02  # share of a part from which on a bar is seen; a lane without one is left out
# lane -> (label, class of its bars)
_LANES = {
    "kernels": ("kernels", "op-kernel"),
    "to-device": ("copies in", "op-in"),
    "from-device": ("copies out", "op-out"),
    "copies": ("copies on device", "op-on"),
}


def lanes(key: str, d: DeviceEntry, gaps: Sequence[DeviceGap] = (), length_ns: float | None = None) -> Markup:
    """One row per kind of work, one for idle time; as long as the whole trace, so that devices align.

    A drawing is stretched to the window and holds no text: labels stay readable on a phone. gaps: the longest of all devices,
    whose numbers stand where they begin; length_ns: of the whole trace.
    """
    found = d["lanes"]
    seen = {lane: shares for lane, shares in found.items() if lane == "kernels" or max(shares) >= SEEN}
    rows = [_row(label, [(seen[lane], look, "")], 1.0) for lane, (label, look) in _LANES.items() if lane in seen]
    idle = [(cause, found[cause]) for cause in GAP_WORDS if cause in found]
    if idle:
        # a part that is wholly idle fills its row; where none nearly is, the scale is stretched and says so
        top = max(map(sum, zip(*(shares for _, shares in idle), strict=True)))
        scale = max(top, 1e-4)
        bars = [(shares, f"c-{GAP_WORDS[cause].limiter}", GAP_WORDS[cause].limiter) for cause, shares in idle]
        rows.append(_row(f"idle, 0 to {percent(min(1.0, scale))}", bars, scale))
    rows += _numbers(key, gaps, length_ns)
    phrase = f"{key.capitalize()}: {timeline_phrases.device(d)}"
    return Markup(f'<div class="lanes" role="img" aria-label="{escape(phrase)}">{"".join(rows)}</div>')


def _numbers(key: str, gaps: Sequence[DeviceGap], length_ns: float | None) -> list[str]:
    """The row of the device's longest gaps: their numbers in the table, as long as they are; none where it has none."""
    out, taken = [], list[float]()
    for n, g in enumerate(gaps, 1):
        if not length_ns or str(g["device"]) != key:
            continue
        left, wide = (x / length_ns * 100 for x in (g["start_ns"], g["length_ns"]))
        middle = left + wide / 2
        out.append(f'<rect class="tickline" x="{number(left)}%" width="{number(max(0.1, wide))}%" height="2"/>')
        if all(abs(middle - x) >= NEAR for x in taken):
            taken.append(middle)
            anchor = "start" if middle < 1 else "end" if middle > 99 else "middle"
            out.append(f'<text x="{number(middle)}%" y="13" text-anchor="{anchor}">{n}</text>')
    drawn = "".join(out)
    return (
        [f'<span>longest gaps</span><svg class="marks" aria-hidden="true" focusable="false">{drawn}</svg>']
        if out
        else []
    )


def queues(captures: Sequence[CaptureEntry]) -> list[Markup]:
    """Per capture with queues its rows, one per queue, with their words below."""
    out = []
    for c in captures:
        if found := c.get("queues"):
            rows = "".join(_row(short(q["name"], 28), [(q["parts"], "op-kernel", "")], 1.0) for q in found)
            lines = phrases.queue_lines([c])
            listed = "".join(f'<p class="soft">{escape(line)}</p>' for line in lines)
            out.append(
                Markup(f'<div class="lanes" role="img" aria-label="{escape("; ".join(lines))}">{rows}</div>{listed}')
            )
    return out


def _row(label: str, bars: list[tuple[list[float], str, str]], scale: float) -> str:
    """Bars stacked on each other; (share per part, class, hatch)."""
    out = []
    count = len(bars[0][0])
    width = WIDTH / count
    under = [0.0] * count
    for shares, look, hatch in bars:
        path = []
        for i, share in enumerate(shares):
            height = share / scale * ROW
            if height >= MIN_HEIGHT:
                path.append(f"M{i * width:.1f} {ROW - under[i]:.1f}h{width:.2f}v-{height:.1f}h-{width:.2f}z")
                under[i] += height
        if path:
            drawn = "".join(path)
            out.append(f'<path class="{look}" d="{drawn}"/>')
            if hatched(hatch):
                out.append(f'<path fill="url(#h-{hatch})" d="{drawn}"/>')
    return f'<span>{escape(label)}</span><svg viewBox="0 0 {WIDTH} {ROW}" preserveAspectRatio="none" aria-hidden="true" focusable="false">{"".join(out)}</svg>'
