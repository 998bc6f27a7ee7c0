"""Dive (Google): GPU times of frames, command buffers and render passes, means over the replays of a capture."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.capture import SEP, Quality, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs
from triage.dialects.tables import text_rows
from triage.ground.errors import BadCapture
from triage.ground.phrasing import plural

NAME = "dive-times"
SIGN = ("commandbuffer",)
TELLS = {"work": "graphics", "api": "vulkan"}
TITLE = "Dive GPU times (gpu_time.csv)"
CAPTURE = "`dive_client_cli` with GPU time writes `gpu_time.csv`: mean and median time of each command buffer and render pass."
_HEADER_RE = re.compile(r"Type,Id,Mean \[ms\]")
_LEVELS = ("Frame", "CommandBuffer", "RenderPass")
collect = frame_logs.no_counters("Dive")


def recognise(source: Source) -> Match | None:
    """Type, Id and mean of rows that are frames, command buffers or render passes."""
    lines = source.head_lines
    known = bool(lines) and bool(_HEADER_RE.match(lines[0])) and any(x.startswith(_LEVELS) for x in lines[1:3])
    return Match(0.93, "Dive columns: Type, Id, Mean [ms]") if known else None


def read(source: Source, options: Options) -> Table:
    """One row per frame, command buffer and render pass; a pass lies in the command buffer above it."""
    headers = cells(source.head_lines[0])
    found, numbers, remarks = frame_logs.rows_of(source, 1, headers)
    rows: list[list[str]] = []
    lines: list[int] = []
    foreign: list[int] = []
    paths, above = [], list[str]()
    for number, row in zip(numbers, found, strict=True):
        if row[0] not in _LEVELS or not row[1].isdigit():
            foreign.append(number)
            continue
        level = _LEVELS.index(row[0])
        above = above[:level]
        paths.append(SEP.join(above))
        above = [*above, f"{row[0]} {row[1]}"]
        rows.append(row)
        lines.append(number)
    if not rows:
        raise BadCapture(f"{source.path}: header without rows", "export again")
    table = Table(NAME, [source], np.array([f"{r[0]} {r[1]}" for r in rows], dtype=object), {})
    table.quality += remarks
    if foreign:
        text = f"{plural(len(foreign), 'row')} of no frame, command buffer or render pass, first in line {foreign[0]}: left out"
        table.quality.append(Quality("rows-left-out", text, doubt=True))
    table.lines, table.paths = np.array(lines, dtype=np.int64), np.array(paths, dtype=object)
    table.kinds = np.array(["frame" if r[0] == "Frame" else "marker" for r in rows], dtype=object)
    text_rows.enter(table, [("", "Type", ""), ("", "Id", ""), ("gpu.time", headers[2], "ms")], rows)
    table.unmapped, table.collectable = headers[3:], frozenset()
    table.notes.append("mean times over the replays; a render pass lies in the command buffer above it")
    return table


def names() -> dict[str, list[str]]:
    """Columns that are used."""
    return {"gpu.time": ["Mean [ms]"]}
