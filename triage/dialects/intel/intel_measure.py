"""Mesa on Intel GPUs: `INTEL_MEASURE`, one row per event (draw, render pass, batch or frame) with its time."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table
from triage.capture.redundancy import Ticks
from triage.capture.source import Source
from triage.dialects import Match, Options, always
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.phrasing import plural

NAME = "intel-measure"
SIGN = ("draw_start", "draw start", "drawstart")
DECIMALS = ("idle_us", "time_us")  # three of them (Mesa, src/intel/common/intel_measure.c)
FAR = ("idle_us",)  # of the first event: all time before it (the same file)
# of one event; a row of a batch or a frame adds up several (the same file)
REDUNDANT = (Ticks(("drawstart",), ("drawend",), ("timeus",)),)
TELLS = {"work": "graphics", "vendor": "intel"}
TITLE = "Mesa INTEL_MEASURE"
CAPTURE = """\
    INTEL_MEASURE=rt,file=measure.csv ./game

`rt` writes a row per render pass, `shader` per change of shaders, `draw` per draw, `frame` per frame; `start=N,count=M` picks frames.
`time_us` is the time, `idle_us` the idle time before it, which counts to the event that came too late; `ms` is the mesh shader.
"""
_KINDS = {"draw": "draw", "compute": "compute", "dispatch": "compute", "blit": "copy", "copy": "copy", "clear": "fullscreen", "resolve": "fullscreen"}  # fmt: skip
_HASH_RE = re.compile(r"(?:0x)?[0-9a-fA-F]*")
_SHADERS = ("vs", "tcs", "tes", "gs", "ms", "ts", "fs", "cs")  # hashes of the bound shaders, not times


def recognise(source: Source) -> Match | None:
    """draw_start, frame, batch, and a time or an event count."""
    _, headers = wide_table.header(source)
    good = all(wide_table.find(headers, h) >= 0 for h in ("draw_start", "frame", "batch", "type"))
    return Match(0.95, "INTEL_MEASURE columns: draw_start, frame, batch, type") if good else None


def read(source: Source, options: Options) -> Table:
    """One row per event; raises NotTriageable for a CPU measurement, BadCapture without times."""
    line, headers = wide_table.header(source)
    time, idle = wide_table.find(headers, "time_us"), wide_table.find(headers, "idle_us")
    if time < 0:
        raise NotTriageable(
            f"{source.path}: INTEL_MEASURE of the CPU, without GPU times", "record without the option cpu"
        )
    frame, kind, count, target = (wide_table.find(headers, h) for h in ("frame", "type", "count", "renderpass"))
    hashes = list(wide_table.positions(headers, _SHADERS).values())
    texts = [c for c in (frame, kind, target, *hashes) if c >= 0]
    numeric = [c for c in (time, idle, count) if c >= 0]
    wide = wide_table.read(source, line, headers, numeric, texts)
    if not (wide.numbers[time] > 0).any():
        raise BadCapture(f"{source.path}: time_us holds no time above 0", "record again, with INTEL_MEASURE=rt")
    shown = []
    for row in range(len(wide.numbers[time])):
        what = str(wide.texts[kind][row]).strip() or "event"
        shaders = ((headers[c], str(wide.texts[c][row]).strip()) for c in hashes)
        bound = [f"{header} {text[:12]}" for header, text in shaders if text.strip("0x ")]
        pass_ = str(wide.texts[target][row]).strip() if target >= 0 else ""
        place = f"renderpass {pass_}" if pass_.strip("0 ") else ""
        shown.append(" ".join(w for w in (what, place, ", ".join(bound[-2:])) if w))
    table = wide.table(NAME, source, np.array(shown, dtype=object))
    table.unmapped = []  # the rest numbers events and shaders
    numbered = [c for c in (frame, target, *hashes) if c >= 0]
    strange = [r for c in numbered for r, text in enumerate(wide.texts[c]) if not _HASH_RE.fullmatch(str(text).strip())]
    if strange:
        message = f"{plural(len(strange), 'frame, pass or shader')} without a number or hash"
        table.remark("not-a-number", message, strange[0])
    frames = [str(f).strip() for f in wide.texts[frame]]
    if len(set(frames)) > 1:
        table.paths = np.array([f"Frame {f}" if f.isdigit() else "" for f in frames], dtype=object)
    words = [next((kept for part, kept in _KINDS.items() if part in str(k).lower()), "") for k in wide.texts[kind]]
    table.kinds = np.array(words, dtype=object)
    table.columns["gpu.time"] = wide.column(time, "us", 1e3)
    if idle >= 0:
        _idle(table, wide.numbers[time], wide.numbers[idle])
    if count >= 0:
        table.columns["draw.count"] = wide.column(count)
    table.collectable = frozenset()
    table.notes.append(
        "times between GPU timestamps; shaders are named by their hashes (find them with INTEL_DEBUG=fs,vs,cs)"
    )
    return table


def _idle(table: Table, busy: Floats, before: Floats) -> None:
    """Count the idle time before an event as its own: what submits it comes too late. Before the first one no frame ran."""
    waited = np.clip(np.nan_to_num(before), 0, None)
    waited[0] = 0.0
    table.columns["gpu.time"] = Column((busy + waited) * 1e3, "", formula="time_us + idle_us before it")
    with np.errstate(invalid="ignore", divide="ignore"):
        table.columns["gpu.active"] = Column(busy / (busy + waited), "", formula="time_us / (time_us + idle_us)")


def names() -> dict[str, list[str]]:
    """Columns that are used."""
    return {"gpu.time": ["time_us"], "gpu.active": ["idle_us"], "draw.count": ["count"]}


collect = always(
    "INTEL_MEASURE has no counters: capture the frame with RenderDoc or PIX, whose Intel counters triage reads"
)
