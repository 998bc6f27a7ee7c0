"""Tracy: GPU zones as `tracy-csvexport -g` writes them; its tables of CPU zones are refused."""

from __future__ import annotations

import numpy as np

from triage.capture import queue_lanes
from triage.capture.capture import Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs
from triage.dialects.tables import wide_table, zones
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.phrasing import plural

NAME = "tracy-gpu"
SIGN = ("gpu execution time", "gpu_execution_time", "gpuexecutiontime", "total_ns", "total ns", "exec_time_ns", "exec time ns")  # fmt: skip
TELLS = {"work": "graphics"}
TITLE = "Tracy GPU zones (tracy-csvexport -g)"
CAPTURE = """\
    tracy-csvexport -g game.tracy > gpu-zones.csv

`-g` exports the GPU zones one by one (TracyVkZone, TracyD3D12Zone, TracyGpuZone). Without it the table holds CPU zones, which are no
GPU work.
"""
_TIME, _START = "GPU execution time", "Time from start of program"
_LIMITS = (3.6e12, 1e18)  # ns: an hour for a zone, thirty years for its place in time
_LANES = ("first queue", "second queue")
_CROSSED = "zones that overlap without nesting were taken for those of a second queue: the export names no queue"
_CPU = ("total_ns", "exec_time_ns")


def recognise(source: Source) -> Match | None:
    """The columns of GPU zones, of CPU zones or of messages."""
    _, headers = wide_table.header(source)
    if wide_table.find(headers, _TIME) >= 0 and wide_table.find(headers, "name") >= 0:
        return Match(0.95, f"Tracy GPU zones: {_TIME}")
    cpu = wide_table.find(headers, *_CPU) >= 0 and wide_table.find(headers, "src_file", "MessageName") >= 0
    return Match(0.92, "Tracy CPU zones") if cpu else None


def read(source: Source, options: Options) -> Table:
    """One row per GPU zone, nested by time; raises NotTriageable for CPU zones, BadCapture without a time."""
    line, headers = wide_table.header(source)
    name, time, start = (wide_table.find(headers, h) for h in ("name", _TIME, _START))
    if time < 0:
        instead = "export the GPU zones: tracy-csvexport -g game.tracy > zones.csv"
        raise NotTriageable(f"{source.path}: CPU zones of Tracy, no GPU work", instead)
    numeric = [c for c in (time, start) if c >= 0]
    wide = wide_table.read(source, line, headers, numeric, [name], decimal=options.decimal)
    length = wide.numbers[time]
    if not np.isfinite(length).any():
        raise BadCapture(f"{source.path}: no GPU zone with a time", "export again with tracy-csvexport -g")
    names = np.array([str(n) or "(unnamed zone)" for n in wide.texts[name]], dtype=object)
    table = wide.table(NAME, source, names)
    table.unmapped = []  # the rest says where in the code a zone is
    if start >= 0:
        begun, lasted = np.nan_to_num(wide.numbers[start], nan=-1.0), np.nan_to_num(length)
        lane = zones.crossing(names.tolist(), begun.tolist(), lasted.tolist())
        table.paths = np.array(zones.paths(names.tolist(), begun.tolist(), lasted.tolist(), lane), dtype=object)
        table.queues = queue_lanes.lanes(_LANES, np.array(lane, dtype=np.int64), begun, begun + lasted)
        if table.queues[1]:
            table.remark("several-queues", _CROSSED)
    figures = [length, *([wide.numbers[start]] if start >= 0 else [])]
    beyond = [(f < 0) | (f > limit) for f, limit in zip(figures, _LIMITS, strict=False)]
    wrong = np.flatnonzero(np.logical_or.reduce(beyond))
    if wrong.size:
        text = f"{plural(int(wrong.size), 'zone')} before the program's start, or longer than an hour"
        table.remark("impossible-value", text, int(wrong[0]))
    table.columns["gpu.time"] = wide.column(time, "ns")
    table.collectable = frozenset()
    table.notes.append(f"{plural(len(table), 'GPU zone')} of Tracy: times without counters")
    return table


def names() -> dict[str, list[str]]:
    """The one column that is used."""
    return {"gpu.time": [_TIME]}


collect = frame_logs.no_counters("Tracy")
