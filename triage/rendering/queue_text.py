"""What the queues of a GPU did over a frame, in a line per queue."""

from __future__ import annotations

from collections.abc import Sequence

from triage.document.entries import CaptureEntry
from triage.ground.phrasing import percent
from triage.rendering import phrases
from triage.rendering.escape import short


def queue_lines(captures: Sequence[CaptureEntry]) -> list[str]:
    """`GPU Compute: busy 2.1 ms (26 % of 8 ms), 1.9 ms beside another queue; idle 5.9 ms`; [] where work has no queues."""
    out = []
    for c in captures:
        span = c.get("queue_span_ns") or 0
        for q in c.get("queues") or []:
            busy = q["busy_ns"] or 0
            share = percent(busy / span) if span else ""
            text = f"{short(q['name'], 40)}: busy {phrases.time(busy)} ({share} of {phrases.time(span)})"
            text += f", {phrases.time(q['beside_ns'])} beside another queue" if q["beside_ns"] else ", alone"
            out.append(text + (f"; idle {phrases.time(q['waits_ns'])}" if q["waits_ns"] else ""))
    return out
