"""Markers over several frames: what they take in the middle, the slow and the slowest frame, as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from triage.document.entries import CaptureEntry
from triage.rendering import phrases
from triage.rendering.text_table import TextTable

DEFAULT_MARKERS = 8  # markers that a short report lists
MOST_MARKERS = 50


def frames_table(captures: Sequence[CaptureEntry], *, most: int = DEFAULT_MARKERS) -> TextTable | None:
    """The `most` markers that vary most, and the frame that each took longest in; None where no capture tells markers by frame."""
    every = [m for c in captures for m in (c["frames"] or {"markers": []})["markers"]]
    if not every:
        return None
    every.sort(key=lambda m: (m["median_ns"] or 0) - (m["worst_ns"] or 0))
    shown, slow = every[:most], any(m["p99_ns"] is not None for m in every)
    headers = [("Marker", False), ("Median", True), *((("P99", True), ("1 % low", True)) if slow else ()), ("Worst", True), ("Frame", True)]  # fmt: skip
    rows = [
        [
            m["name"],
            phrases.time(m["median_ns"]),
            *((phrases.time(m["p99_ns"]), phrases.time(m["low_1_ns"])) if slow else ()),
            phrases.time(m["worst_ns"]),
            str(m["worst_frame"]),
        ]
        for m in shown
    ]
    return TextTable(headers, rows, len(every) - len(shown))
