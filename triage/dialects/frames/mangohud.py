"""MangoHud logs: a block on the system, then one row per sample with the frame time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.capture import Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs, pacing
from triage.dialects.tables import number_cells

NAME = "mangohud"
SIGN = ("frametime",)
TELLS = {"work": "graphics"}
MAY_LACK = ("gpu", "driver")
ROW = "application"
TITLE = "MangoHud log"
CAPTURE = """\
    MANGOHUD_CONFIG="output_folder=/tmp/logs,autostart_log=1,log_interval=0" mangohud ./game

`log_interval=0` writes every frame, otherwise a sample per interval. The GPU's load is sampled by the driver; it has no time per frame.
"""
# header -> metric, unit; frame times are ms, `elapsed` ns (MangoHud, src/logging.cpp); a sensor that is missing is 0
_COLUMNS = {
    "frametime": ("present.interval", "ms"),
    "gpu_load": ("present.gpu_share", "%"),
    "gpu_core_clock": ("sm.frequency", "MHz"),
    "gpu_mem_clock": ("vram.frequency", "MHz"),
    "gpu_temp": ("gpu.temperature", "°C"),
}
MAX_NUMBER = 1e15  # nanoseconds of a log that runs for days
_SYSTEM = ("os", "cpu", "gpu")


def _layout(source: Source) -> tuple[int, list[str], str]:
    """(line of the frames' header, its cells, GPU by the block above); (0, [], "") for another file."""
    gpu, system = "", list[str]()
    for number, line in enumerate(source.head_lines[:8], 1):
        row = [c.strip().strip("'") for c in cells(line, ",")]
        plain = [c.lower() for c in row]
        if plain[:2] == ["fps", "frametime"] or {"fps", "frametime", "cpu_load", "gpu_load"} <= {*plain}:
            return number, plain, gpu
        if system and len(row) >= len(_SYSTEM):
            gpu, system = (row[system.index("gpu")] if len(row) > system.index("gpu") else ""), []
        elif tuple(plain[:3]) == _SYSTEM:
            system = plain
    return 0, [], ""


def recognise(source: Source) -> Match | None:
    """The header fps, frametime."""
    if not _layout(source)[0]:
        return None
    return Match(0.94, "MangoHud columns: fps, frametime")


def read(source: Source, options: Options) -> Table:
    """One row per sample; raises BadCapture without samples, NotTriageable without frame times."""
    start, headers, gpu = _layout(source)
    source.delimiter = ","
    rows, lines, remarks = frame_logs.rows_of(source, start, headers)
    columns = _COLUMNS | {"frametime": ("present.interval", _unit(rows, headers))}
    spec = [(columns[h][0], h, columns[h][1]) if h in columns else ("", h, "") for h in headers]
    elapsed = [row[headers.index("elapsed")] for row in rows] if "elapsed" in headers else []
    moments = np.array(list(map(_number, elapsed))) if elapsed else None
    table = frame_logs.table(NAME, source, "frame", spec, rows, lines, moments)
    table.quality += remarks
    if odd := [i for i, cell in enumerate(elapsed) if not _number(cell) and cell.strip("0. ")]:
        table.remark("not-a-number", f"line {lines[odd[0]]}: 'elapsed' is {elapsed[odd[0]][:40]!r}, no number", odd[0])
    table.device = gpu
    table.unmapped = [h for h in headers if h not in _COLUMNS and h != "fps"]
    return table


def _unit(rows: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
    """Unit of the frame times: their product with the frame rate is a second. Older versions wrote microseconds."""
    fps, time = headers.index("fps"), headers.index("frametime")
    products = sorted(p for row in rows[:1000] if (p := _number(row[fps]) * _number(row[time])) > 0)
    middle = products[len(products) // 2] if products else 1e3
    return "ms" if middle < 3e4 else "us" if middle < 3e7 else "ns"


def _number(text: str) -> float:
    value = number_cells.lone(text)
    return value if 0 < value < MAX_NUMBER else 0.0


def names() -> dict[str, list[str]]:
    """Columns that are used."""
    return {metric: [header] for header, (metric, _) in _COLUMNS.items()} | pacing.NAMES


collect = frame_logs.collect
