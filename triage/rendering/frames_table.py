"""Several frames as plain text: what all take, and what each marker takes in the middle, the slow and the slowest frame."""

from __future__ import annotations

from collections.abc import Sequence

from triage.document.capture_entries import FramesEntry
from triage.document.entries import CaptureEntry
from triage.ground.phrasing import percent, plural
from triage.rendering import phrases
from triage.rendering.text_table import TextTable

DEFAULT_MARKERS = 8  # markers that a short report lists
MAX_MARKERS = 50


def frames_table(captures: Sequence[CaptureEntry], *, most: int = DEFAULT_MARKERS) -> TextTable | None:
    """The `most` markers that vary most, and the frame that each took longest in; None where no capture has markers by frame."""
    every = [m for c in captures for m in (c["frames"] or {"markers": []})["markers"]]
    if not every:
        return None
    every.sort(key=lambda m: (m["median_ns"] or 0) - (m["worst_ns"] or 0))
    shown, slow = every[:most], any(m["p99_ns"] is not None for m in every)
    headers = [("Marker", False), ("Median", True), *((("P99", True), ("1 % low average", True)) if slow else ()), ("Worst", True), ("Frame", True)]  # fmt: skip
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


def frames(f: FramesEntry) -> str:
    """`240 frames: median 16.5 ms (61 fps), P99 22 ms (1 % low 45 fps), longest 41 ms (24 fps), stutter 0.8 %`."""
    many = f["count"] >= 100  # a hundredth of fewer is none of them
    parts = [f"median {phrases.time(f['median_ns'])} ({_fps(f['median_ns'])})"]
    parts += [f"P99 {phrases.time(f['p99_ns'])} (1 % low {_fps(f['p99_ns'])})"] if many else []
    parts += [f"longest {phrases.time(f['longest_ns'])} ({_fps(f['longest_ns'])})", f"stutter {percent(f['stutter'])}"]
    return f"{plural(f['count'], 'frame')}: {', '.join(parts)}"


def _fps(ns: float | None) -> str:
    return f"{1e9 / ns:.0f} fps" if ns else "–"
