"""What logs of frame times share: one workload, a row per frame, judged by its pacing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from triage.capture.arrays import Floats
from triage.capture.capture import Column, Quality, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import always
from triage.dialects.frames import pacing
from triage.dialects.tables import text_rows
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.phrasing import plural

_INSTEAD = "capture the frame with Nsight Graphics GPU Trace, PIX or RenderDoc"
SAMPLED = 1.5  # times the frame time from row to row: frames between them were not recorded
MIN_SAMPLES = 3
_CAPTURE_IT = f"{_INSTEAD} to see its passes"


def rows_of(source: Source, start: int, headers: Sequence[str]) -> tuple[list[list[str]], list[int], list[Quality]]:
    """(cells, line numbers, remarks) of the rows below a header, each as long as it; rows of another length are remarked on."""
    found: list[list[str]] = []
    lines: list[int] = []
    uneven: list[int] = []
    for number, line in source.numbered(1):
        row = [c.strip() for c in cells(line, source.delimiter)] if number > start and line.strip() else []
        if not row or row[: len(headers)] == list(headers):
            continue
        while len(row) > len(headers) and not row[-1]:  # a delimiter at the end
            row.pop()
        if len(row) != len(headers):
            uneven.append(number)
        found.append((row + [""] * len(headers))[: len(headers)])
        lines.append(number)
    if not uneven:
        return found, lines, []
    text = f"{plural(len(uneven), 'row')} with more or fewer cells than the header's {len(headers)}, first in line {uneven[0]}"
    return found, lines, [Quality("rows-set-aside", text)]


def table(
    name: str,
    source: Source,
    label: str,
    spec: text_rows.Spec,
    rows: Sequence[Sequence[str]],
    lines: Sequence[int],
    moments: Floats | None = None,
) -> Table:
    """Frames as a table named by `label`; raises BadCapture without frames, NotTriageable without any frame time.

    spec, rows, lines: as `text_rows.enter` takes them. moments: when each row was written, in ns. Without GPU times only the frame time is reported, and nothing is ranked.
    """
    if not rows:
        raise BadCapture(f"{source.path}: header without frames", "record for longer")
    made = Table(name, [source], np.full(len(rows), label or "frame", dtype=object), {})
    made.lines = np.asarray(lines, dtype=np.int64)
    made.kinds = np.full(len(made), "frame", dtype=object)
    made.collectable = frozenset()
    text_rows.enter(made, spec, rows)
    if "present.interval" not in made.columns:
        raise NotTriageable(f"{source.path}: no frame time is a number", "record again")
    busy = made.columns.get("gpu.busy_time")
    if busy is not None and "gpu.time" not in made.columns:
        made.columns["gpu.time"] = Column(busy.values, busy.header, busy.column, busy.unit, busy.factor)
    if step := _sampling(made, moments):
        made.sampled = True
        made.remark(
            "sampled-frames",
            f"only one frame every {step / 1e6:.3g} ms was recorded: the longest frames and stutter are unknown; record every frame"
            " (MangoHud: log_interval=0)",
        )
    if "gpu.time" not in made.columns:
        even = "" if step else "how even the frames are is known, not "
        what = f"frame times without GPU times: {even}what the GPU does in them{' is unknown' if step else ''}"
        made.remark("no-times", f"{what}; {_CAPTURE_IT}")
    pacing.judge(made, np.ones(len(made), dtype=bool))
    what = "sample" if step else "frame"
    made.notes.append(f"{plural(len(made), what)}; GPU time is their sum, other times are means")
    return made


def _sampling(table: Table, moments: Floats | None) -> float:
    """Time between two rows in ns where it is that of several frames, 0 where every frame was recorded."""
    if moments is None or len(table) < MIN_SAMPLES:
        return 0.0
    steps, frame = np.diff(moments), float(np.nanmedian(table.columns["present.interval"].values))
    step = float(np.median(steps[np.isfinite(steps)])) if np.isfinite(steps).any() else 0.0
    return step if step > SAMPLED * frame else 0.0


collect = always(f"frame times have no counters of GPU units: {_CAPTURE_IT}")


def no_counters(tool: str) -> Callable[[list[str]], str]:
    """`collect` of a tool that times the GPU and counts nothing on it: the tools that do."""
    return always(f"{tool} has no counters of GPU units: {_INSTEAD}")
