"""Times per kernel as tools without an export print them: each kind is a pattern of its rows (printed_kernels.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options, always
from triage.dialects.tables import kernel_sums
from triage.dialects.tables.kernel_sums import Kernel
from triage.ground.errors import NotTriageable

NAME = "printed-kernels"
SIGN = ("vulkan timings", "kernel statistics (gpu)", "time / call", "num computed", "device-side activity")
TELLS = {"work": "compute"}
TITLE = "Kernel times as printed by ggml (Vulkan), peak, QUDA, CubeCL and CUDA.jl"
CAPTURE = "`GGML_VK_PERF_LOGGER=1 llama-bench -m model.gguf 2> timings.txt`, or what peak, QUDA, CubeCL or `CUDA.@profile` prints at the end."
MAX_LINE = 4000
_FILE = Path(__file__).resolve().parent / "printed_kernels.toml"


@cache
def _kinds() -> tuple[Mapping[str, str], ...]:
    return tuple(tomllib.loads(_FILE.read_text("utf-8"))["kinds"])


def recognise(source: Source) -> Match | None:
    """A line above the rows of a kind, and a row below it."""
    kind = next((k for k in _kinds() if next(_rows(source, k), None)), None)
    return Match(0.88, kind["what"]) if kind else None


def read(source: Source, options: Options) -> Table:
    """One row per printed kernel; raises NotTriageable where no kind has rows."""
    kind, kernels = next(((k, rows) for k in _kinds() if (rows := list(_rows(source, k)))), ({}, []))
    if not kernels:
        raise NotTriageable(f"{source.path}: no times of kernels", "print them again, with their heading")
    table = kernel_sums.table(NAME, source, kernels, "time", "calls", kind["unit"])
    table.notes.append(f"{kind['what']}: times without counters")
    table.collectable = frozenset()
    table.collect = always("the text has no counters: profile its longest kernel with ncu, rocprof-compute or unitrace")
    return table


def _rows(source: Source, kind: Mapping[str, str]) -> Iterator[Kernel]:
    """The rows of a kind, wherever its heading stands."""
    begins, row = re.compile(kind["begins"]), re.compile(kind["row"])
    ends = re.compile(kind["ends"]) if "ends" in kind else None
    if not any(begins.search(line[:MAX_LINE]) for line in source.head_lines):
        return
    inside = False
    for number, line in enumerate(source.lines(), 1):
        line = line[:MAX_LINE]
        if begins.search(line):
            inside = True
        elif inside and (m := row.search(line)):
            yield Kernel(number, m["name"], m["time"].replace(" ", "").replace("µ", "u"), m["calls"])
        elif ends is not None and ends.search(line):
            inside = False


def names() -> dict[str, list[str]]:
    """Columns that are used."""
    return {"gpu.time": ["time"], "frame.calls": ["calls"]}
