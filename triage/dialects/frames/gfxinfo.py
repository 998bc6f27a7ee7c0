"""Android: `dumpsys gfxinfo PACKAGE framestats`, stages of the frames of an app's windows in nanoseconds."""

from __future__ import annotations

import re

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs, pacing
from triage.ground.errors import NotTriageable

NAME = "gfxinfo"
SIGN = ("total frames rendered", "profiledata")
TELLS = {"work": "graphics"}
ROW = "application"
TITLE = "Android frame statistics (dumpsys gfxinfo framestats)"
CAPTURE = """\
    adb shell dumpsys gfxinfo PACKAGE reset; sleep 10
    adb shell dumpsys gfxinfo PACKAGE framestats > frames.txt

holds the last 120 frames of each window of the app's own renderer (HWUI); games that draw with Vulkan or GLES are not in it.
"""
_MARK = "---PROFILEDATA---"
_NEVER = 1 << 62  # stands for a time that was not reached
_PACKAGE_RE = re.compile(r"Graphics info for pid \d+ \[([^\]]{1,200})\]")
# stages in ns as Android documents framestats: the frame, and what the GPU did of it
_SPEC = (
    ("present.interval", "FrameCompleted - IntendedVsync", "ns"),
    ("gpu.busy_time", "GpuCompleted - SwapBuffers", "ns"),
)


def recognise(source: Source) -> Match | None:
    """The summary of janky frames, or the table of stages."""
    text = source.head_text
    if _MARK in text or ("Total frames rendered:" in text and "Janky frames:" in text):
        return Match(0.93, "Android gfxinfo frame statistics")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per frame; raises NotTriageable where only the summary was printed."""
    cells, lines = [], []
    inside, header, label = False, list[str](), "frame"
    for number, line in source.numbered(1):
        row = [c.strip() for c in line.split(",")]
        if line.strip() == _MARK:
            inside, header = not inside, []
        elif m := _PACKAGE_RE.search(line):
            label = m[1]
        elif inside and row[0] == "Flags":
            header = row
        elif inside and header and (stages := _stages(dict(zip(header, row, strict=False)))):
            cells.append(stages)
            lines.append(number)
    if not cells:
        raise NotTriageable(
            f"{source.path}: Android gfxinfo summary without frames",
            "add framestats: adb shell dumpsys gfxinfo PACKAGE framestats",
        )
    table = frame_logs.table(NAME, source, label, _SPEC, cells, lines)
    table.notes.append("a frame's time runs from its vsync to its completion: frames overlap, the rate may be higher")
    return table


def _stages(row: dict[str, str]) -> list[str]:
    """Differences of a frame's stages; [] for a frame that counts for none (a flag other than 0) or was not completed."""

    def between(first: str, last: str) -> str:
        a, b = row.get(first, ""), row.get(last, "")
        good = a.isdigit() and b.isdigit() and len(a) < 20 and len(b) < 20
        return str(int(b) - int(a)) if good and 0 < int(a) <= int(b) < _NEVER else ""

    whole = between("IntendedVsync", "FrameCompleted")
    if row.get("Flags") != "0" or not whole:
        return []
    return [whole, between("SwapBuffers", "GpuCompleted")]


def names() -> dict[str, list[str]]:
    """Differences of the stages."""
    return {metric: [header] for metric, header, _ in _SPEC} | {"gpu.time": [_SPEC[1][1]]} | pacing.NAMES


collect = frame_logs.collect
