"""Unreal Engine CSV profiler: frame, thread and GPU pass times per frame."""

from __future__ import annotations

import csv
import re

import numpy as np

from triage.capture import shape
from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs, pacing
from triage.ground import units
from triage.ground.errors import BadCapture, NotTriageable

NAME = "unreal-csv"
SIGN = ("frametime",)
TELLS = {"work": "graphics"}
TITLE = "Unreal Engine CSV profiler"
CAPTURE = """\
Run with `-csvGpuStats` (or `r.GPUCsvStatsEnabled 1`), then on the console `csvprofile frames=600` (or
`csvprofile start`, `csvprofile stop`). The file is in `Saved/Profiling/CSV`. Compressed `.csv.bin` files:
convert with `CSVConvert.exe`. Without GPU stats the file still says whether the game thread, the render
thread or the GPU sets the frame rate.
"""
_FRAME = {
    "frametime": "present.interval",
    "gamethreadtime": "cpu.game_thread",
    "renderthreadtime": "cpu.render_thread",
    "rhithreadtime": "cpu.rhi_thread",
    "gputime": "gpu.time",
}
_WHO = {
    "cpu.game_thread": "the game thread",
    "cpu.render_thread": "the render thread",
    "cpu.rhi_thread": "the RHI thread",
}
_PASS = re.compile(r"GPU\d*/(?:Queue\d*/)?(?P<name>.+)", re.IGNORECASE)
_TOTALS = ("total", "total/gpu", "frame", "gpu")
_MAX_FRAME_MS = 3.2e10  # ms, a year: no frame
_FIRST_LINE = 2  # line of the first frame, below the header of the capture's start
# metadata: [HasHeaderRowAtEnd],1,[Platform],...; recognised by its beginning, because the command line in it holds commas
_END = re.compile(r"\s*\"?\[\w+\]")


def recognise(source: Source) -> Match | None:
    """FrameTime with thread times or GPU/ columns, or the profiler's metadata."""
    if not source.head_lines:
        return None
    headers = [h.strip().lower() for h in cells(source.head_lines[0], ",")]
    threads = {"gamethreadtime", "renderthreadtime", "gputime", "rhithreadtime"} & set(headers)
    passes = sum(bool(_PASS.fullmatch(h)) for h in headers)
    if "frametime" in headers and "application" not in headers and (threads or passes):
        return Match(0.94, f"Unreal CSV profiler: FrameTime, {len(threads)} thread times, {passes} GPU passes")
    return None


def _layout(source: Source) -> tuple[list[str], int, bool]:
    """(headers, last line of frames, complete). The header at the end is the whole one: columns appear mid-capture."""
    headers = [h.strip() for h in cells(source.head_lines[0], ",")]
    tail: list[tuple[int, str]] = []
    number = 0
    for number, line in enumerate(source.lines(), 1):
        if line.strip():
            tail.append((number, line))
            del tail[:-4]  # the second header and the metadata are the last lines
    last = number
    complete = False
    for place, line in reversed(tail):
        if place > 1 and (_END.match(line) or _is_header(line)):
            last = min(last, place - 1)
            if _is_header(line):
                headers = [h.strip() for h in cells(line, ",")]
            else:
                complete = True
    return headers, last, complete


def _is_header(line: str) -> bool:
    return any(c.strip().lower() == "frametime" for c in line.split(","))


def read(source: Source, options: Options) -> Table:
    """One workload per GPU pass and one for the frame, times as means over the frames.

    Raises NotTriageable when no GPU time was recorded at all, BadCapture without frames.
    """
    headers, last, complete = _layout(source)
    source.delimiter = ","
    passes: list[tuple[int, str]] = []
    frame: dict[str, int] = {}
    total = -1
    # totals are the frame, and `Unaccounted` is what no pass claimed: neither is a pass
    for i, h in enumerate(headers):
        if h.lower() in _FRAME:
            frame.setdefault(_FRAME[h.lower()], i)
        elif m := _PASS.fullmatch(h):
            if m["name"].lower() in _TOTALS:
                total = i
            elif not m["name"].lower().startswith("unaccounted"):
                passes.append((i, m["name"]))
    if last < _FIRST_LINE:
        raise BadCapture(f"{source.path}: header without frames", "record for longer")
    wanted = sorted({*frame.values(), *(i for i, _ in passes), *([total] if total >= 0 else [])})
    odd = Odd()
    numbers, count = _numbers(source, headers, wanted, last, odd)
    gpu = frame.get("gpu.time", total)
    if not passes and (gpu < 0 or not (numbers[gpu] > 0).any()):
        raise NotTriageable(
            f"{source.path}: Unreal CSV profile without GPU times",
            "record with -csvGpuStats, or r.GPUCsvStatsEnabled 1",
        )
    mean = {i: _mean(numbers[i]) for i in wanted}
    labels = ["Frame", *(n.strip().strip("/") for _, n in passes)]
    paths = ["", *("Frame" for _ in passes)]
    # a mean over all frames has no cell: it cites the header line
    table = Table(NAME, [source], np.array(labels, dtype=object), {}, np.array(paths, dtype=object))
    table.lines = np.ones(len(labels), dtype=np.int64)
    table.quality += odd.remarks()
    table.group = False
    table.collectable = frozenset()  # the profiler has nothing more to give
    table.kinds = np.array(["frame", *[""] * len(passes)], dtype=object)
    time = np.array([mean[gpu] if gpu >= 0 else np.nan, *(mean[i] for i, _ in passes)]) * 1e6
    below = np.nansum(time[1:])
    if not np.isfinite(time[0]) or time[0] < below:  # GPUTime may lag behind the passes by a frame
        if np.isfinite(time[0]) and below > 1.05 * time[0]:
            table.remark(
                "times-disagree",
                f"the GPU passes add up to {units.show(below, 'ns')}, more than the frame's "
                f"GPU time of {units.show(time[0], 'ns')}: passes overlap or are nested",
                0,
            )
        time[0] = max(below, time[0]) if np.isfinite(time[0]) else below
    timed = [*([gpu] if gpu >= 0 else []), *(i for i, _ in passes)]
    formula = f"mean over {count} frames (those that have it) of the column named like the workload"
    inputs = tuple(headers[i] for i in timed)
    table.columns["gpu.time"] = Column(time, "GPUTime, GPU/<pass>", 0, "ms", 1e6, formula=formula, inputs=inputs)
    formula = f"mean over {count} frames"
    for i in timed:
        table.raw[headers[i]] = Column(
            np.full(len(labels), mean[i] * 1e6), headers[i], i + 1, "ms", 1e6, formula=formula
        )
    for metric, i in frame.items():
        if metric != "gpu.time":
            values = np.full(len(labels), np.nan)
            values[0] = mean[i] * 1e6
            table.columns[metric] = Column(values, headers[i], i + 1, "ms", 1e6, formula=formula)
    _bound(table, frame, numbers, _pace(table, frame, numbers))
    table.frame_ns = float(time[0]) if time[0] > 0 else None
    taken = set(wanted)
    table.unmapped = [h for i, h in enumerate(headers) if i not in taken and h]
    table.notes.append(
        f"{count} frames; every time is a mean over them" + ("" if complete else "; the end of the file is missing")
    )
    return table


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _fit(source: Source, rows: list[list[str]], lines: list[int], least: int, most: int) -> None:
    """Raise Misfit for rows out of line with their neighbours: columns appear during a capture, for good.

    least, most: cells of the header at the start and of the whole one.
    """
    counts = [len(row) for row in rows]
    bad = {}
    for r, count in enumerate(counts):
        before = counts[r - 1] if r else least
        after = counts[r + 1] if r + 1 < len(rows) else max(before, count)
        if (
            not least <= count <= most
            or before == after != count
            or (r == 0 and count > after)
            or count < before <= after
        ):
            bad[lines[r]] = f"{count} cells, unlike its neighbours"
    if 2 * len(bad) > len(rows):
        raise BadCapture(f"{source.path}:{min(bad)}: {bad[min(bad)]}; most rows are like this", "record again")
    if bad:
        raise shape.Misfit(source.path, bad, len(rows))


def _numbers(
    source: Source, headers: list[str], wanted: list[int], last: int, odd: Odd
) -> tuple[dict[int, Floats], int]:
    """Columns of the frames in ms, NaN where there is none, and how many frames; BadCapture when no cell is a number.

    Rows written before a column appeared are short.
    """
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(source.lines(), 1):
        if number > last:
            break
        if number >= _FIRST_LINE and line.strip():
            rows.append(line.split(",") if '"' not in line else next(csv.reader([line])))
            lines.append(number)
    if not rows:
        raise BadCapture(f"{source.path}: header without frames", "record for longer")
    _fit(source, rows, lines, len(cells(source.head_lines[0], ",")), len(headers))
    out = {}
    for i in wanted:
        values = np.full(len(rows), np.nan)
        for r, row in enumerate(rows):
            if i < len(row):
                values[r] = odd.number(row[i], "us", headers[i], lines[r])
                if not -1e-6 <= values[r] < _MAX_FRAME_MS and values[r] == values[r]:
                    odd.add("not-a-number", row[i], headers[i], lines[r])
                    values[r] = np.nan
        out[i] = values
    if not any(np.isfinite(v).any() for v in out.values()):
        raise BadCapture(f"{source.path}: no numeric cells in {len(rows)} frames", "record again")
    return out, len(rows)


def _bound(table: Table, frame: dict[str, int], numbers: dict[int, Floats], found: dict[str, float]) -> None:
    """Shares of the frame time, and the side that sets it. found: the frames' pacing."""
    whole = frame.get("present.interval", -1)
    if whole < 0 or not (base := _mean(numbers[whole])) > 0:
        return
    count = int(np.isfinite(numbers[whole]).sum())
    shares = {m: _mean(numbers[i]) / base for m, i in frame.items() if m != "present.interval"}
    threads = {m: s for m, s in shares.items() if m.startswith("cpu.") and s == s}
    rows = len(table)
    for metric, source in (
        ("present.gpu_share", "gpu.time"),
        ("present.cpu_share", max(threads, key=lambda m: threads[m], default="")),
    ):
        if source in shares and shares[source] == shares[source]:
            values = np.full(rows, np.nan)
            values[0] = shares[source]
            table.columns[metric] = Column(
                values, metric, formula=f"{source} / present.interval", inputs=(source, "present.interval")
            )
    gpu = shares.get("gpu.time", np.nan)
    thread = max(threads, key=lambda m: threads[m], default="")
    cpu = threads.get(thread, np.nan)
    who = {"cpu": _WHO[thread]} if thread else {}
    if text := pacing.sentence(gpu, cpu, found, who):
        table.remark("frame-bound", text + pacing.describe(found, count), 0)


def _pace(table: Table, frame: dict[str, int], numbers: dict[int, Floats]) -> dict[str, float]:
    """How even the frames are and how many of them which side bounds, as facts of the frame too."""
    whole = frame.get("present.interval", -1)
    if whole < 0:
        return {}
    threads = [numbers[i] for m, i in frame.items() if m.startswith("cpu.")]
    cpu = np.fmax.reduce(threads) if threads else None
    gpu = numbers[frame["gpu.time"]] if "gpu.time" in frame else None
    # the profiler writes ms
    found = pacing.pacing(numbers[whole] * 1e6, None if gpu is None else gpu * 1e6, None if cpu is None else cpu * 1e6)
    facts = {}
    for metric, value in found.items():
        facts[metric] = np.full(len(table), np.nan)
        facts[metric][0] = value
    pacing.enter(table, facts, pacing.FORMULAS)
    return found


def names() -> dict[str, list[str]]:
    """Columns of the profiler."""
    return {
        "gpu.time": ["GPUTime", "GPU/<pass>"],
        "present.interval": ["FrameTime"],
        "cpu.game_thread": ["GameThreadTime"],
        "cpu.render_thread": ["RenderThreadTime"],
        "cpu.rhi_thread": ["RHIThreadTime"],
        **pacing.NAMES,
        "present.gpu_share": ["GPUTime / FrameTime"],
        "present.cpu_share": ["longest thread time / FrameTime"],
    }


collect = frame_logs.no_counters("the CSV profiler")
