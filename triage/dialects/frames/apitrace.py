"""apitrace: the output of `apitrace replay --pgpu`, one line per draw with its GPU time."""

from __future__ import annotations

import numpy as np

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options, always
from triage.dialects.tables import text_rows
from triage.ground.errors import NotTriageable

NAME = "apitrace"
SIGN = ("# call no gpu_start",)
TELLS = {"work": "graphics"}
TITLE = "apitrace replay profile (--pgpu)"
CAPTURE = """\
    apitrace replay --pgpu game.trace > profile.txt

replays a trace and prints the GPU time of each call, in nanoseconds (`--ppd` adds drawn pixels, in a replay of its own).
"""
_HEAD = "# call no gpu_start"
_KINDS = {
    "Draw": "draw",
    "Dispatch": "compute",
    "Clear": "fullscreen",
    "Blit": "copy",
    "Copy": "copy",
    "Tex": "copy",
    "Buffer": "copy",
}
MAX_CALLS = 1_000_000


def recognise(source: Source) -> Match | None:
    """The line that names the columns."""
    good = _HEAD in source.head_text
    return Match(0.95, "apitrace profile: call no, gpu_start, gpu_dura") if good else None


def read(source: Source, options: Options) -> Table:
    """One row per call with GPU time, grouped by function and program; raises NotTriageable where no call has any."""
    header: list[str] = []
    cells, lines = list[list[str]](), list[int]()
    names_, paths = list[str](), list[str]()
    frame = 1
    for number, line in source.numbered(1):
        words = line.split()
        if line.startswith(_HEAD):
            header = words[1:]
        elif words[:1] == ["frame_end"]:
            frame += 1
        elif words[:1] == ["call"] and len(words) >= len(header) > 3 and len(cells) < MAX_CALLS:
            row = dict(zip(header, words, strict=False))
            if not row.get("gpu_dura", "0").isdigit() or row["gpu_dura"] == "0":
                continue
            pixels, program = row.get("pixels", "-1"), row.get("program", "0")
            function = " ".join(words[header.index("name") :] if "name" in header else words[-1:])
            cells.append([function, row["gpu_dura"], pixels if pixels != "-1" else ""])
            names_.append(f"{function[:200]} (program {program})" if program not in ("0", "") else function[:200])
            paths.append(f"Frame {frame}")
            lines.append(number)
    if not cells:
        raise NotTriageable(
            f"{source.path}: apitrace profile without GPU times",
            "replay with GPU times: apitrace replay --pgpu game.trace",
        )
    table = Table(NAME, [source], np.array(names_, dtype=object), {})
    table.lines = np.array(lines, dtype=np.int64)
    if frame > 1 and len(set(paths)) > 1:
        table.paths = np.array(paths, dtype=object)
    table.kinds = np.array([next((k for w, k in _KINDS.items() if w in n), "") for n in names_], dtype=object)
    table.leaf_time = table.isolated = True
    table.collectable = frozenset()
    text_rows.enter(table, (("", "name", ""), ("gpu.time", "gpu_dura", "ns"), ("pixels.passed", "pixels", "")), cells)
    table.notes.append("times of single replayed calls: their sum is longer than the frame where work overlaps")
    return table


def names() -> dict[str, list[str]]:
    """Columns that are used."""
    return {"gpu.time": ["gpu_dura"], "pixels.passed": ["pixels"]}


collect = always("apitrace prints times only: record the frame with RenderDoc and capture its performance counters")
