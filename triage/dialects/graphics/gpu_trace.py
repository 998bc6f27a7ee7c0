"""NVIDIA Nsight Graphics GPU Trace: the auto-export folder, or its GPUTRACE_REGIMES table alone."""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from triage import schema
from triage.capture import shape
from triage.capture.arrays import Indices
from triage.capture.capture import SEP, Column, Quality, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects import Match, Options
from triage.dialects.graphics import gpu_trace_columns, gpu_trace_folder, perfworks
from triage.dialects.graphics.gpu_trace_columns import HOW, direct_idle
from triage.dialects.graphics.gpu_trace_folder import Events, Export
from triage.dialects.tables import wide_table
from triage.ground.collect_command import Command
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.stalls import STALLS

NAME = "gpu-trace"
SIGN = ("\t", "gpu frame time", "event_text", "event text", "flattened_event_name")
FOLDERS = True
TELLS = {"work": "graphics", "vendor": "nvidia"}
TITLE = "Nsight Graphics GPU Trace auto-export"
CAPTURE = """\
Nsight Graphics 2024 or newer, from a command line (the folder `BASE` below the output folder is the
export):

    ngfx --activity="GPU Trace Profiler" --exe=GAME --dir=FOLDER --output-dir=OUT --start-after-frames=300 \\
         --limit-to-frames=1 --auto-export --set-gpu-clocks=base --architecture="Ampere GA10x" \\
         --metric-set-name="Throughput Metrics" --real-time-shader-profiler --no-timeout

Then `triage diagnose OUT`. `--set-gpu-clocks=base` makes two captures comparable;
`--real-time-shader-profiler` adds the stall reasons; `ngfx --help-all` lists the architectures and metric
sets of your version. Leave `--multi-pass-metrics` out: with it, several versions write no tables. In the
window: GPU Trace Profiler activity, Lock Clocks to Base, Metric Set *Throughput Metrics* (or *Top-Level
Triage*), Real-Time Shader Profiler on, Auto Export on. The application must emit markers (PIX events,
debug labels, NVTX).
"""
NO_MARKERS = "the application emitted no markers, or the export was cut"
# of tables joined with D3DPERF_EVENTS, whose own word is the first
OWN_TIMES = ("time ms", "gpu time ms", "duration ms")
_RAW_LIMIT = 8 << 20  # cells kept as inputs of averages over frames


def recognise(source: Source) -> Match | None:
    """A folder that holds the export's files, or one of these files by its content."""
    export = gpu_trace_folder.locate(source)
    if export is None:
        return None
    if source.is_folder:
        return Match(0.97, "folder with the tables of a GPU Trace auto-export")
    why = {
        "regimes": "tab-separated, flattened event names and PerfWorks counters per marker",
        "events": "header event_text and times in ms",
        "whole": "PerfWorks counters by row, no header: whole-capture averages of GPU Trace",
        "frame": "the GPU frame time file of a GPU Trace export",
        "repro": "the settings file of a GPU Trace export",
    }
    return Match(0.95, why[gpu_trace_folder.what(source)])


def read(source: Source, options: Options) -> Table:
    """One row per marker instance; counters from GPUTRACE_REGIMES, times from D3DPERF_EVENTS.

    Raises NotTriageable for the export's side files and for exports without tables, BadCapture for empty ones.
    """
    export = gpu_trace_folder.locate(source)
    if export is None:
        raise BadCapture(f"{source.path}: not a table of a GPU Trace export", HOW)
    kind = "folder" if source.is_folder else gpu_trace_folder.what(source)
    if kind in ("frame", "repro") or not (export.regimes or export.events or export.whole):
        which = {"frame": "only the frame time", "repro": "only the capture's settings"}.get(kind, "no tables")
        raise NotTriageable(f"{source.path}: GPU Trace export with {which}, without values per marker", HOW)
    if kind == "whole" or not (export.regimes or export.events):
        table = _whole(source, export)
    elif export.regimes is None or kind == "events":
        table = _times_only(source, export)
    else:
        table = _markers(source, export, options)
    _settings(table, export)
    perfworks.compute(table)
    gpu_trace_columns.queues(table)
    if table.kinds is None:
        table.kinds = perfworks.kinds(table)
    _remarks(table)
    return table


def _files(source: Source, *used: Source | None) -> list[Source]:
    """What the user typed first, for it is the capture's name, then the files that were read."""
    return [source, *(f for f in used if f is not None and f is not source)]


def _markers(source: Source, export: Export, options: Options) -> Table:
    """Counters per marker, each once per captured frame."""
    regimes = export.regimes
    assert regimes is not None
    line, text, sep = gpu_trace_folder.header(regimes)
    regimes.delimiter = sep
    # between tabs nothing is quoted, so a quote in a marker's name is part of it
    headers = [c.strip() for c in (text.split("\t") if sep == "\t" else cells(text, sep))]
    groups: dict[str, list[int]] = {}  # header -> its columns, one per frame
    name = gpu_trace_folder.name_at(headers)
    for i, h in enumerate(headers):
        if i == name:
            continue
        bare, _, number = h.rpartition(".")  # a data-frame library numbers repeated headers: x, x.1, x.2
        if h:
            groups.setdefault(bare if number.isdigit() and bare in groups else h, []).append(i)
    # stalls and warps are no metrics as they stand: shares of peak slots, from which perfworks computes them
    chosen: dict[str, str] = {}
    raws = [h for h in groups if perfworks.stall_of(h) or perfworks.warps_of(h)]
    for h in groups:
        metric = perfworks.metric_of(h)
        if metric and metric not in chosen.values() and h not in raws:
            chosen[h] = metric
    # what the user maps wins over what the names say
    mapping = {schema.normal(k): v for k, v in options.metrics.items()}
    own = next((h for h in groups if export.events is None and schema.normal(h) in OWN_TIMES), "")
    chosen |= {h: mapping[schema.normal(h)] for h in groups if schema.normal(h) in mapping}
    wanted = [c for h in (*chosen, *raws, *([own] if own else [])) for c in groups[h]]
    style = gpu_trace_columns.style(regimes, line, sep, wanted, options)
    wide = wide_table.read(regimes, line, headers, wanted, [name], style=style, empty=NO_MARKERS)
    numbers, paths = wide.numbers, wide.texts[name].tolist()
    repeats = max((len(groups[h]) for h in (*chosen, *raws)), default=1)
    events = gpu_trace_folder.read_events(export.events) if export.events is not None else None
    event = gpu_trace_folder.join(paths, events) if events is not None else np.full(len(paths), -1)
    if events is not None and not export.sure and (event < 0).any():  # a stranger's file in the same folder
        events, event = None, np.full(len(paths), -1)
    labels, parents = gpu_trace_folder.levels(paths, events, event)
    files = _files(source, regimes, export.events if events is not None else None)
    at = files.index(regimes)
    table = Table(NAME, files, labels, {}, paths=parents, first_line=line + 1, lines=wide.lines, quality=wide.quality)
    # the frames' cells are kept as inputs of their means, unless a large capture has too many of them
    many = len(paths) * repeats * len(chosen) > _RAW_LIMIT
    for h, metric in chosen.items():
        frames_of = [numbers.pop(c) for c in groups[h]]  # popped: a large export is not held twice
        table.columns[metric] = gpu_trace_columns.mean(table, h, frames_of, groups[h], at, many)
    if own and "gpu.time" not in table.columns:  # a table joined with the times of its markers
        column = gpu_trace_columns.mean(table, own, [numbers.pop(c) for c in groups[own]], groups[own], at, True)
        table.columns["gpu.time"] = replace(column, values=column.values * 1e6, unit="ms", factor=1e6)
    gpu_trace_columns.clocks(table)
    for h in raws:
        column = gpu_trace_columns.mean(table, h, [numbers.pop(c) for c in groups[h]], groups[h], at, True)
        table.raw[h] = column
    table.unmapped += [h for h in groups if h not in (*chosen, *raws, own)]
    if repeats > 1:
        table.notes.append(
            f"every counter appears {repeats} times, once per captured frame: values are means over the frames"
        )
    frames = gpu_trace_folder.frame_times(export.frame)
    if events is not None:
        _times(table, events, event, frames, repeats, files.index(export.events) if export.events else 0)
    elif "gpu.time" not in table.columns:
        text = "D3DPERF_EVENTS.xls is not beside this file: markers have no times, so findings cannot be ranked by the time they would save; give the whole export folder"
        table.remark("no-times", text)
    if frames:  # the frame as the tool timed it: markers may leave much of it uncovered
        table.frame_ns = sum(frames) / len(frames) * 1e6
    return table


def _times(table: Table, events: Events, event: Indices, frames: list[float], repeats: int, file: int) -> None:
    """gpu.time of every row from its event (-1: none), with the event's own file and line."""
    times, used = gpu_trace_folder.durations(events, frames, repeats, table.quality)
    found = event >= 0
    if not found.any():
        table.remark("no-times", "no marker of D3DPERF_EVENTS has the name of one in GPUTRACE_REGIMES")
        return
    values = np.where(found, times[np.where(found, event, 0)] * 1e6, np.nan)
    lines = np.where(found, np.array(events.lines, dtype=np.int64)[np.where(found, event, 0)], 0)
    most = int(used.max()) if len(used) else 1
    # one cell leads back to itself; of several only the line can be quoted
    formula = "" if most <= 1 else "mean over the frames of the time_ms cells on this line"
    table.columns["gpu.time"] = Column(values, "time_ms", 2, "ms", 1e6, file, lines, formula)
    if not found.all():
        text = f"{int((~found).sum())} of {len(found)} markers are not in D3DPERF_EVENTS: they have no time"
        table.remark("no-times", text, int(np.argmin(found)))
    extra = len(events.texts) - int(found.sum())
    if extra:
        table.notes.append(f"{extra} markers of D3DPERF_EVENTS have no counters in GPUTRACE_REGIMES and are left out")


def _times_only(source: Source, export: Export) -> Table:
    """D3DPERF_EVENTS without counters: marker tree and times."""
    assert export.events is not None
    events = gpu_trace_folder.read_events(export.events)
    if not events.texts:
        raise BadCapture(
            f"{export.events.path}: header without markers",
            "add markers to the application (PIX events, debug labels, NVTX)",
        )
    frames = gpu_trace_folder.frame_times(export.frame)
    files = _files(source, export.events)
    quality: list[Quality] = []
    most = max(len(c) for c in events.cells)
    times, _ = gpu_trace_folder.durations(events, frames, most, quality)
    if not np.isfinite(times).any():
        raise NotTriageable(f"{export.events.path}: GPU Trace markers without times", HOW)
    lines = np.array(events.lines)
    labels = np.array(events.texts, dtype=object)
    parents = np.array([SEP.join(p) for p in events.parents], dtype=object)
    formula = "mean over the frames" if most > 1 else ""
    time = Column(times * 1e6, "time_ms", 2, "ms", 1e6, len(files) - 1, formula=formula)
    table = Table(NAME, files, labels, {"gpu.time": time}, parents, lines=lines, quality=quality)
    table.kinds = np.full(len(labels), "", dtype=object)
    table.notes.append("only marker times: counters are in GPUTRACE_REGIMES.xls of the same export")
    if frames:
        table.frame_ns = sum(frames) / len(frames) * 1e6
    return table


def _whole(source: Source, export: Export) -> Table:
    """GPUTRACE_FRAME: averages over the whole capture; one workload, never a marker."""
    whole = export.whole
    assert whole is not None
    whole.delimiter = "\t"
    files = _files(source, whole)
    table = Table(NAME, files, np.array(["whole capture"], dtype=object), {}, lines=np.array([1]))
    odd = Odd()
    shape.regular(whole, {n: text.count("\t") + 1 for n, text in enumerate(whole.lines(), 1) if text.strip()})
    for number, text in enumerate(whole.lines(), 1):
        head, *rest = text.split("\t")
        metric, raw = perfworks.metric_of(head.strip()), bool(perfworks.stall_of(head) or perfworks.warps_of(head))
        wanted = metric or raw
        values = [v for c in rest if (v := odd.number(c, "us", head, number)) == v] if wanted else []
        if wanted and not values and not odd.seen:
            odd.add("not-a-number", "".join(rest), head, number)
        elif text.strip() and not re.search("[A-Za-z]{2}", head):
            table.remark(
                "no-name", f"line {number}: {head.strip()[:40]!r} is no counter's name: its figure was not used"
            )
        if not values or not wanted or metric in table.columns:
            if head.strip():
                table.unmapped.append(head.strip())
            continue
        unit = perfworks.unit_of(head.strip())
        factor = 0.01 if unit else 1.0
        formula = f"mean of {len(values)} frames" if len(values) > 1 else ""
        value, line = np.array([sum(values) / len(values) * factor]), np.array([number])
        column = Column(value, head.strip(), 2, unit, factor, len(files) - 1, line, formula)
        if raw:
            table.raw[head.strip()] = column
        else:
            table.columns[metric] = column
    gpu_trace_columns.clocks(table)
    frames = gpu_trace_folder.frame_times(export.frame)
    if frames:
        span = sum(frames) / len(frames) * 1e6
        files.append(export.frame or source)
        files[-1].delimiter = "\t"
        formula = f"mean of {len(frames)} frames" if len(frames) > 1 else ""
        table.columns["gpu.time"] = Column(
            np.array([span]), "GPU frame time", 2, "ms", 1e6, len(files) - 1, np.array([1]), formula
        )
        table.frame_ns = span
    table.kinds = np.array(["frame"], dtype=object)
    table.quality += odd.remarks()
    text = "these are averages over the whole capture, all passes mixed: they show what the frame is like, not which pass is slow; GPUTRACE_REGIMES.xls has the markers"
    table.remark("whole-capture", text)
    return table


def _settings(table: Table, export: Export) -> None:
    """Device, chip and notes from REPRO_INFO; whether the clocks were locked also from the folder's name."""
    info = gpu_trace_folder.repro(export.repro)
    table.device = info.get("device name", "")
    table.arch = info.get("chip name", "")
    table.versions = {
        label: info[key]
        for key, label in (("driver version", "driver"), ("product version", "Nsight Graphics"))
        if info.get(key)
    }
    shown = [
        f"{k}: {info[k]}"
        for k in ("product version", "driver version", "api", "metric set", "real-time shader profiler")
        if info.get(k)
    ]
    if shown:
        table.notes.append("; ".join(shown))
    if info.get("metric set", "").lower().startswith("throughput"):
        sampled = ["stall."] if info.get("real-time shader profiler", "").lower() == "enabled" else []
        table.made_with = frozenset((collect([]), collect(sampled)))
    clocks = info.get("gpu clocks", "")
    # the settings may be missing, the folder's name says it too
    path = f"{export.folder}/{export.typed.name}".upper()
    if "BASE_UNLOCKED" in path or (clocks and not clocks.lower().startswith("lock")):  # "Lock to Boost" is one
        text = f" ({clocks})" if clocks else ""
        warning = f"the GPU clocks were not locked{text}: times and SOL% of two captures are not comparable; capture with --set-gpu-clocks=base"
        table.remark("unlocked-clocks", warning)
    elif clocks:
        table.notes.append(f"GPU clocks: {clocks}")


def _remarks(table: Table) -> None:
    """A counter counts the whole GPU in the marker's time window, whoever caused the work."""
    busy = [m for m in ("compute.async_active", "copy.async_active") if m in table.columns]
    if busy:
        with np.errstate(invalid="ignore"):
            mixed = np.logical_or.reduce([table.columns[m].values > 0.05 for m in busy])
        mixed &= ~direct_idle(table)
        if mixed.any():
            table.remark(
                "async-active",
                f"an asynchronous queue or copy engine worked during {int(mixed.sum())} of {len(table)}"
                " ranges: GPU Trace counts the whole GPU, so their counters may mix concurrent work",
                int(np.argmax(mixed)),
            )


# metrics computed here
_EXPORTS = (
    "gpu.time gpu.idle sm.active sm.occupancy sm.active_warps sm.occupancy_elapsed sm.issue_per_elapsed"
    " sm.issue_per_active sm.throughput_active".split()
)
# parts of PerfWorks names that only kernel profilers have: no metric set of GPU Trace holds them
_NOT = (
    "smsp__warp smsp__average sm__average smsp__sass _per_warp_active _srcunit_tex_aperture derived__ memory_"
    " gpu__compute _op_ld _op_st device__ smsp__cycles smsp__branches sm__cycles _cycles_active.max sol_pct".split()
)
# stall reason -> its name in the shader profiler, which names the pipe that is waited for
_SAMPLED = {
    "long_scoreboard": "long_scoreboard_pipe_l1tex",
    "mio_throttle": "mio_throttle_pipe_mio",
    "rtcore": "long_scoreboard_pipe_rtcore",
    "rtcore_throttle": "mio_throttle_pipe_rtcore",
}


def names() -> dict[str, list[str]]:
    """Counters of its metric sets, and metrics computed from them."""
    out = {
        m: kept
        for m, found in perfworks.names().items()
        if (kept := [n for n in found if not any(x in n for x in _NOT)])
    }
    for reason in (*STALLS, "rtcore", "rtcore_throttle"):
        metric = f"stall.{reason}"
        if metric not in out or reason not in ("gmma", "allocation_stall", "tile_allocation_stall"):
            sampled = _SAMPLED.get(reason, reason)
            out[metric] = [f"GPUTrace.PCSampler.{perfworks.STALL}{sampled}{perfworks.PCT} / sum of reasons"]
    for metric in _EXPORTS:
        out.setdefault(metric, ["time_ms (D3DPERF_EVENTS)" if metric == "gpu.time" else "computed"])
    return out


def collect(metrics: list[str]) -> str:
    """The ngfx command line that adds the missing metrics."""
    sampled = any(m.startswith(("stall.", "launch_stall.", "warps_launched.")) for m in metrics)
    extra = " --real-time-shader-profiler" if sampled else ""
    return Command(
        'ngfx --activity="GPU Trace Profiler" --exe=GAME --output-dir=OUT --start-after-frames=300'
        ' --limit-to-frames=1 --auto-export --set-gpu-clocks=base --metric-set-name="Throughput'
        f' Metrics"{extra}',
        "ngfx",
    )
