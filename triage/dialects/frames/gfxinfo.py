"""Android: `dumpsys gfxinfo PACKAGE framestats`, stages of the frames of an app's windows in nanoseconds."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs, pacing
from triage.ground.errors import NotTriageable
from triage.ground.phrasing import plural

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
_FRAMESTATS = "add framestats: adb shell dumpsys gfxinfo PACKAGE framestats"
_HISTOGRAM_RE = re.compile(r"(GPU )?HISTOGRAM:(?: \d{1,6}ms=\d{1,9}){2}")
_BIN_RE = re.compile(r"(\d{1,6})ms=(\d{1,9})")
_JANK_RE = re.compile(r"Janky frames: (\d+) \(([\d.]+)%\)")
MAX_FRAMES = 200_000  # of a histogram: an app that ran for an hour
_TOTAL_RE = re.compile(r"Total frames rendered: (\d{1,9})")
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
    """One row per frame; raises NotTriageable without frames. Of the summary alone, those of its histogram."""
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
    if not cells and (summary := _summary(source)):
        return _of_summary(source, label, *summary)
    if not cells:
        raise NotTriageable(f"{source.path}: Android gfxinfo summary without frames", _FRAMESTATS)
    table = frame_logs.table(NAME, source, label, _SPEC, cells, lines)
    table.notes.append("a frame's time runs from its vsync to its completion: frames overlap, the rate may be higher")
    return table


def _bins(line: str) -> list[tuple[int, int]]:
    """(ms, frames) of a histogram's line."""
    return [(int(ms), int(count)) for ms, count in _BIN_RE.findall(line)]


def _summary(source: Source) -> tuple[int, list[tuple[int, int]], list[tuple[int, int]]] | None:
    """(line, bins of the frames, bins of the GPU) of the histograms, None without frames or with too many."""
    bins: dict[str, list[tuple[int, int]]] = {}
    at = 0
    for number, line in source.numbered(1):
        if m := _HISTOGRAM_RE.match(line):
            if not m[1] and bins.get(""):  # of a single window, below those of the whole application
                break
            bins[m[1] or ""] = _bins(line)
            at = at or number
    frames = bins.get("", [])
    return (at, frames, bins.get("GPU ", [])) if 0 < sum(n for _, n in frames) <= MAX_FRAMES else None


def _of_summary(
    source: Source, label: str, line: int, frames: list[tuple[int, int]], gpu: list[tuple[int, int]]
) -> Table:
    """A row per frame of the histogram, its time rounded down to a bin's."""
    source.delimiter = "\x1f"  # a quoted origin is then the whole line
    times = [ms for ms, count in frames for _ in range(count)]
    table = Table(NAME, [source], np.full(len(times), label, dtype=object), {})
    table.lines = np.full(len(times), line, dtype=np.int64)
    table.kinds = np.full(len(times), "frame", dtype=object)
    table.collectable = frozenset()
    values = np.array(times, dtype=float) * 1e6
    table.columns["present.interval"] = Column(values, "HISTOGRAM", formula="bins of HISTOGRAM, ms")
    pacing.judge(table, np.ones(len(times), dtype=bool))
    if count := sum(n for _, n in gpu):
        mean, longest = sum(ms * n for ms, n in gpu) / count, max(ms for ms, n in gpu if n)
        slow = sum(ms > 2 * longest for ms in times)
        verdict = f": not what makes {plural(slow, 'frame')} take more than {2 * longest} ms" if slow else ""
        text = f"the GPU takes {mean:.1f} ms per frame on average, {longest} ms at most{verdict} (GPU HISTOGRAM)"
        table.remark("gpu-histogram", text)
    total = int(m[1]) if (m := _TOTAL_RE.search(source.head_text)) else len(times)
    if m := _JANK_RE.search(source.head_text):
        table.remark("janky-frames", f"Android counts {plural(int(m[1]), 'janky frame')} of {total:,} ({m[2]} %)")
    counted = f" of {len(times):,} of the {total:,} frames" if total != len(times) else ""
    table.remark("no-times", f"a histogram in ms{counted}, not frame by frame; {_FRAMESTATS}")
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
