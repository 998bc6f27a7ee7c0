"""Unity: frame times that the Profile Analyzer exports, and its tables of CPU markers, which are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.capture.capture import Table
from triage.capture.redundancy import Ordered
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs, pacing
from triage.dialects.tables import wide_table
from triage.ground.errors import NotTriageable

NAME = "unity-frames"
SIGN = ("frame time", "frame_time", "median time", "median_time", "frametime")
REDUNDANT = tuple(
    Ordered(((part,), ("cpuframetime",))) for part in ("cpumainthreadframetime", "cpurenderthreadframetime")
)
TELLS = {"work": "graphics"}
ROW = "application"
TITLE = "Unity frame times (Profile Analyzer, FrameTimingManager)"
CAPTURE = """\
Profile Analyzer: Export > *Single Frame Times* (`frameTime.csv`). Its marker tables hold CPU markers, which are no GPU work. For GPU
time per frame log `FrameTimingManager.GetLatestTimings` as CSV with its field names (`cpuFrameTime,gpuFrameTime`, ms).
"""
# plain header -> metric; all are ms. FrameTiming: Unity's scripting reference, UnityEngine.FrameTiming
_COLUMNS = {
    "frametime": "present.interval",
    "cpuframetime": "present.interval",
    "cpumainthreadframetime": "cpu.busy",
    "cpurenderthreadframetime": "cpu.render_thread",
    "gpuframetime": "gpu.busy_time",
}
_TIMING = {"cpuframetime", "gpuframetime"}
_MARKERS = "CPU markers of Unity's profiler, no GPU work"
_HINT = "export frame times instead (Profile Analyzer > Export > Single Frame Times), or capture the frame with RenderDoc, PIX or Xcode"


def _plain(header: str) -> str:
    bare = header.lower().replace(" ", "").replace("_", "").replace(".", "")
    return bare.removesuffix("(ms)").removesuffix("[ms]").removesuffix("ms")


def recognise(source: Source) -> Match | None:
    """Frame times by frame, or a table of markers."""
    _, headers = wide_table.header(source)
    plain = {_plain(h) for h in headers}
    if {"frameindex", "frametime"} <= plain or {"leftframetime", "rightframetime"} <= plain:
        return Match(0.93, "Unity Profile Analyzer: frame index and frame time")
    if _is_markers(plain):
        return Match(0.92, _MARKERS)
    return Match(0.91, "Unity FrameTimingManager: CPU and GPU frame time") if plain >= _TIMING else None


def _is_markers(plain: set[str]) -> bool:
    median = bool({"mediantime", "medianframeindex", "leftmedian"} & plain)
    return median and bool({"name", "markername"} & plain)


def read(source: Source, options: Options) -> Table:
    """One row per frame; raises NotTriageable for markers and for two captures side by side."""
    start, headers = wide_table.header(source)
    plain = [_plain(h) for h in headers]
    if _is_markers(set(plain)):
        raise NotTriageable(f"{source.path}: {_MARKERS}", _HINT)
    if "leftframetime" in plain:
        raise NotTriageable(
            f"{source.path}: frame times of two Unity captures side by side", "export each one's Single Frame Times"
        )
    rows, lines, remarks = frame_logs.rows_of(source, start, headers)
    spec = []
    taken: set[str] = set()
    for place, (header, word) in enumerate(zip(headers, plain, strict=True)):
        metric = _COLUMNS.get(word, "")
        seconds = "ms" not in header.lower() and _in_seconds([row[place] for row in rows[:1000]])
        spec.append((metric if metric not in taken else "", header, "s" if seconds else "ms"))
        taken.add(metric)
    table = frame_logs.table(NAME, source, "frame", spec, rows, lines)
    table.quality += remarks
    table.unmapped = [h for (metric, h, _) in spec if not metric and "frame" not in h.lower()]
    return table


def _in_seconds(cells: Sequence[str]) -> bool:
    """True for Time.deltaTime and the like: most frames would take less than half a millisecond."""
    known = [c for c in cells if c.strip()]
    return 2 * sum(bool(re.fullmatch(r"\s*0\.[0-4]\d*\s*", c)) for c in known) > len(known)


def names() -> dict[str, list[str]]:
    """Columns that are used."""
    return {
        "present.interval": ["Frame Time (ms)", "cpuFrameTime"],
        "gpu.time": ["gpuFrameTime"],
        "gpu.busy_time": ["gpuFrameTime"],
        "cpu.busy": ["cpuMainThreadFrameTime"],
        "cpu.render_thread": ["cpuRenderThreadFrameTime"],
        **pacing.NAMES,
    }


collect = frame_logs.collect
