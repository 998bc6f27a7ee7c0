"""Logs of other tools that hold no GPU work by pass or frame: recognised to be named, with what to record instead."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.ground.errors import NotTriageable

NAME = "named-only"
SIGN = ("drawid", "elapsed_s", "gpu clock", "gpu util", "time stamp", "gpu load", "hardware monitoring log", "<trace-query-result", "instruments", "gpu temperature", "fps average", "metal-", "average fps", "avg fps", "utilization.gpu", "memory.used", "# gpu ", "nvidia-smi", "gpuid", "#entity", "# entity", "// ::.", "grd_freq", "rocm system management", "sensor edge", "deviceid gpu utilization", "freq mhz", "vtx idx", "/rules/", "bandwidth info", "build_commit", "backend ", "runs - ", "vulkan timings", "gpu time", "profiling report", "(gb/s)", "(tflops)", "profiler ran for", "command line profiler metrics", "period", "time in kernels", "host time", "#call", "clock timer")  # fmt: skip
TELLS = {"work": "graphics"}
TITLE = "Sensor logs, Instruments exports and summaries (GPU-Z, HWiNFO, Adrenalin, Afterburner, nvidia-smi, dcgmi): named, not read"
CAPTURE = """\
Not inputs for triage: clocks, loads and averages over time. Record frames with PresentMon, one frame with a GPU profiler, or kernels
with Nsight Systems or rocprofv3."""


class _Kind(NamedTuple):
    pattern: re.Pattern[str]  # searched in the first lines
    what: str
    hint: str
    score: float


HEAD_LINES = 12
_FILE = Path(__file__).resolve().parent / "named_only.toml"


@cache
def _kinds() -> tuple[_Kind, ...]:
    data = tomllib.loads(_FILE.read_text("utf-8"))
    hints = data["hints"]
    return tuple(
        _Kind(re.compile(k["pattern"]), k["what"], hints.get(k["hint"], k["hint"]), k.get("score", 0.86))
        for k in data["kinds"]
    )


def _kind(source: Source) -> _Kind | None:
    head = "\n".join(line[:2000] for line in source.head_lines[:HEAD_LINES])
    return next((k for k in _kinds() if any(k.pattern.search(line) for line in head.split("\n"))), None)


def recognise(source: Source) -> Match | None:
    """The header of one of these logs."""
    kind = _kind(source)
    return Match(kind.score, kind.what) if kind else None


def read(source: Source, options: Options) -> Table:
    """Always NotTriageable: what the file is, and what to record instead."""
    kind = _kind(source)
    raise NotTriageable(
        f"{source.path}: {kind.what if kind else 'a sensor log'}", kind.hint if kind else _kinds()[0].hint
    )


def names() -> dict[str, list[str]]:
    """Nothing: such files are not read."""
    return {}
