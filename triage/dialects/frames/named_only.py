"""Logs of other tools that hold no GPU work by pass or frame: recognised to be named, with what to record instead."""

from __future__ import annotations

import re
from typing import NamedTuple

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.ground.errors import NotTriageable

NAME = "named-only"
SIGN = ("gpu clock", "gpu util", "time stamp", "gpu load", "hardware monitoring log", "<trace-query-result", "instruments", "gpu temperature", "fps average", "metal-", "average fps", "avg fps")  # fmt: skip
TELLS = {"work": "graphics"}
TITLE = "Sensor logs, Instruments exports and summaries (GPU-Z, HWiNFO, Adrenalin, Afterburner): named, not read"
CAPTURE = "Not inputs for triage: clocks, loads and averages over time. Record frames with PresentMon, or one frame with a GPU profiler."


class _Kind(NamedTuple):
    pattern: re.Pattern[str]  # searched in the first lines
    what: str
    hint: str


_FRAMES = "for frame times record PresentMon or CapFrameX, for passes GPU Trace, PIX or RenderDoc"
_KINDS = (
    _Kind(
        re.compile(r"^\s*Date\s*,\s*GPU (?:Core )?Clock", re.IGNORECASE),
        "GPU-Z sensor log: clock, load and temperature over time, no GPU work",
        _FRAMES,
    ),
    _Kind(
        re.compile(r"\bGPU UTIL\b.*\bGPU (?:SCLK|MCLK|PWR|TEMP|BRD PWR)\b|\bFPS\b\s*,.*\bGPU UTIL\b|^TIME STAMP\s*,"),
        "AMD Adrenalin performance log: sensors over time, no GPU work",
        _FRAMES,
    ),
    _Kind(
        re.compile(r"Hardware monitoring log v", re.IGNORECASE),
        "MSI Afterburner (RivaTuner) hardware monitoring log: sensors over time, no GPU work",
        _FRAMES,
    ),
    _Kind(
        re.compile(r"^\"?Date\"?,\"?Time\"?,.*(?:GPU Clock|GPU D3D Usage|GPU Core Load|GPU Temperature)", re.IGNORECASE),
        "HWiNFO sensor log: clock, load and temperature over time, no GPU work",
        _FRAMES,
    ),
    _Kind(
        re.compile(r"<trace-query-result|<trace-toc|schema name=\"metal-"),
        "Instruments export (xctrace): intervals of Metal System Trace, not read",
        "in Xcode capture the frame, then Performance, Counters, Editor > Export GPU Counters",
    ),
    _Kind(
        re.compile(r"(?:Avg|Average) ?FPS.*(?:1% ?Low|99th|Percentile|P99)|FPS Average,", re.IGNORECASE),
        "summary of frame rates (FrameView, CapFrameX or a benchmark): averages, no frames",
        "name the log of single frames beside it",
    ),
)  # fmt: skip
HEAD_LINES = 6


def _kind(source: Source) -> _Kind | None:
    head = "\n".join(line[:2000] for line in source.head_lines[:HEAD_LINES])
    return next((k for k in _KINDS if any(k.pattern.search(line) for line in head.split("\n"))), None)


def recognise(source: Source) -> Match | None:
    """The header of one of these logs."""
    kind = _kind(source)
    return Match(0.86, kind.what) if kind else None


def read(source: Source, options: Options) -> Table:
    """Always NotTriageable: what the file is, and what to record instead."""
    kind = _kind(source)
    raise NotTriageable(f"{source.path}: {kind.what if kind else 'a sensor log'}", kind.hint if kind else _FRAMES)


def names() -> dict[str, list[str]]:
    """Nothing: such files are not read."""
    return {}
