"""Chrome traces with GPU work: what the profilers of PyTorch (Kineto) and XLA (JAX, TensorFlow) write, for NVIDIA and AMD."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.capture import Column, Quality, Table
from triage.capture.source import Source
from triage.capture.trace_nouns import COPY, KERNEL, SET, Operations, Trace
from triage.devices import of_size
from triage.dialects import Match, Options
from triage.dialects.tables import extents
from triage.dialects.traces import (
    chrome_refusals,
    kineto,
    kineto_operators,
    loader_stacks,
    marked_steps,
    next_command,
    paddle_rows,
    unitrace_rows,
)
from triage.dialects.traces.event import Event
from triage.dialects.traces.json_rows import JsonRows
from triage.dialects.traces.kineto import Columns
from triage.ground.collect_command import Command
from triage.ground.phrasing import percent, plural
from triage.ground.units import show

NAME = "pytorch-trace"
SIGN = ("traceevents", '"ph"', "rocprofiler-sdk-tool", '"deviceproperties"')
TELLS = {"work": "compute"}
TITLE = "PyTorch, JAX (XLA), PaddlePaddle or Intel unitrace, Chrome trace (timeline of devices, host and operators)"
CAPTURE = """\
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=1, warmup=3, active=3),
        record_shapes=True,
        on_trace_ready=torch.profiler.tensorboard_trace_handler("log"),
    ) as prof:
        for batch in loader:
            step(batch)
            prof.step()

writes `log/*.pt.trace.json`, one per process; packed (`.json.gz`) is fine. `prof.export_chrome_trace("trace.json.gz")` writes
the same. With `record_shapes=True` triage knows the operations behind the kernels; `with_stack=True` slows the host down.

JAX: `with jax.profiler.trace("log"): ...` writes `log/plugins/profile/TIME/HOST.trace.json.gz`.

Intel: `unitrace --chrome-kernel-logging --chrome-call-logging ./app` writes `app.PID.json`."""
# kernels of libraries that exist for AMD's GPUs alone: Tensile, MIOpen, AITER, Composable Kernel, the runtime's blits
_AMD_RE = re.compile(r"^Cijk_|_gtcx|^miopen|^MIOpen|aiter|\bck(?:_tile)?::|\.kd\b|^__amd_rocclr")
_HEAD_RE = re.compile(r'"traceEvents"\s*:|"schemaVersion"\s*:.*"deviceProperties"\s*:', re.DOTALL)
_PROTON_RE = re.compile(r'"args"\s*:\s*\{\s*"call_stack"\s*:')
MAX_FIRST = 8192  # characters in which an array of events shows its first one
APP = "./your-app"
# a launch call that returned so long before its kernel began had done its part
GRACE_NS = 100_000
MIN_LEAD_NS, MIN_LEAD = 1_000_000, 0.1  # heuristics: ns and part of the span before it that are worth a word
MAX_BUSY = 0.9  # heuristic: of the span
CLOSED_NS = 2  # ns: no GPU starts a kernel so soon after the last
SEVERAL = 2  # steps; one alone is no steady state
MAX_MEMORY = 1 << 44  # bytes
MIN_CLOSED = 0.5  # of a graph's operations: heuristic
_PRODUCTS = {
    "launch.grid_size": ("grid x", "grid y", "grid z"),
    "launch.block_size": ("block x", "block y", "block z"),
}
_SECTIONS = "SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis WarpStateStats Occupancy LaunchStats".split()


def names() -> dict[str, list[str]]:
    """canonical id -> key of a row or of its args."""
    return {
        "gpu.time": ["dur"], "launch.grid_size": ["grid"], "launch.block_size": ["block"],
        "launch.registers": ["registers per thread"], "device.sm_count": ["numSms"], "frame.calls": ["(rows)"],
    }  # fmt: skip


def recognise(source: Source) -> Match | None:
    """JSON with traceEvents, or an array of events."""
    head = source.head_text.lstrip()
    if head.startswith("{"):
        if _HEAD_RE.search(head):
            return Match(0.95, "JSON with traceEvents")
    elif head.startswith("[") and '"ph"' in head[:MAX_FIRST]:
        return Match(0.9, "a JSON array of trace events")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per kernel, copy and set; raises NotTriageable where the file holds no GPU work."""
    chrome_refusals.other_tool(source)
    rows, columns = JsonRows(source, Event), Columns()
    intel = unitrace_rows.Unitrace() if unitrace_rows.HEAD_RE.search(source.head_text) else None
    paddle = paddle_rows.HEAD_RE.match(source.head_text) is not None
    for batch in rows:
        columns.add(*(intel.rows(batch) if intel else (paddle_rows.rows(batch) if paddle else batch,)))
    if intel:
        columns.add(*intel.rest())
    if not len(columns.work):
        raise chrome_refusals.without_work(source.path, rows, columns)
    calls, found = kineto.calls(columns)
    device, devices, sms, arch = _devices(rows.head, columns)
    operations = kineto.operations(columns, calls, found, device)
    words = list(columns.names)
    amd = _is_amd(rows.head, words)
    functions = [_function(w) for w in words]
    table = Table(NAME, [source], np.array(words, dtype=object)[operations.name], {})
    xpu = not columns.categories.keys().isdisjoint(kineto.XPU_CALLS)
    vendor = "intel" if intel or xpu else "amd" if amd else "nvidia"
    table.tells = {"vendor": vendor, "api": _APIS[vendor], **({} if paddle else _framework(columns, words))}
    table.trace = Trace(operations, calls, devices, words, functions, _PROFILES[vendor], GRACE_NS)
    table.trace.rank, table.trace.world = _rank(rows.head)
    table.trace.groups, table.trace.messages = columns.groups, columns.messages
    kineto_operators.enter_operators(columns, calls, operations, table.trace)
    kineto_operators.enter_spans(columns, calls, operations, table.trace)
    kineto.enter_ranges(columns, table.trace)
    _columns(table, columns, sms, device)
    moved = (operations.kind == COPY) | (operations.kind == SET)
    table.kinds = np.array(["compute", "copy"], dtype=object)[moved.astype(np.int64)]  # each word once
    named = [name for _, name in devices if name]
    table.device, table.arch = (named[0] if named else _by_memory(rows.head, vendor)), arch
    named_by = "PaddlePaddle" if paddle else _writer(source, columns)
    writer = "Intel's unitrace (whole microseconds)" if intel else named_by
    _say(table, rows, columns, devices, writer, options.device)
    return table


def profile(function: str, skip: int) -> str:
    """The command that profiles one launch of a function with Nsight Compute."""
    return next_command.ncu(function, skip, _SECTIONS, APP)


def profile_amd(function: str, _skip: int) -> str:
    """The command that profiles the launches of a function with rocprof-compute."""
    return next_command.rocprof_compute(function, APP)


def profile_intel(function: str, _skip: int) -> str:
    """The command that measures the kernels of a program with unitrace, a function's among them."""
    return Command("unitrace -q -g ComputeBasic -o metrics.csv ./app", "unitrace")


_APIS = {"nvidia": "cuda", "amd": "hip", "intel": "sycl"}
_PROFILES = {"nvidia": profile, "amd": profile_amd, "intel": profile_intel}


def _function(name: str) -> str:
    """What profilers of single kernels ask for: the function's name without namespaces, arguments and parameters."""
    text = name.replace("(anonymous namespace)", "").removeprefix("void ")
    return re.split(r"[<(]", text, maxsplit=1)[0].rpartition("::")[2].strip()


def _is_amd(head: kineto.Row, words: list[str]) -> bool:
    if any(k in head for k in ("roctracer_version", "rocprofiler-sdk_version", "hip_runtime_version")):
        return True
    return any(w.startswith("hip") or _AMD_RE.search(w) for w in words)


def _framework(columns: Columns, words: list[str]) -> dict[str, str]:
    """The framework that ran the program, as far as its rows tell."""
    if columns.gpus:
        return {"framework": "xla"}
    if not columns.operators or "Session" in columns.categories:
        return {}
    return {"framework": marked_steps.server([*words, *(name for name, _ in columns.signatures)]) or "pytorch"}


def _rank(head: kineto.Row) -> tuple[int | None, int]:
    """The process's rank in its job and the number of its ranks, None and 0 where the head does not say it."""
    stated = head.get("distributedInfo")
    rank, world = (stated.get(key) if type(stated) is dict else None for key in ("rank", "world_size"))
    if type(rank) is not int or not 0 <= rank < 1 << 24:
        return None, 0
    return rank, world if type(world) is int and rank < world <= 1 << 24 else 0


def _devices(
    head: kineto.Row, columns: Columns
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[tuple[str, str | None]], list[int | None], str]:
    """(position of each row's device, (key, name) of the devices, SMs of each, `sm_90` where all say so).

    A device's number is the node's; where the head lists others, the only name there is counts.
    """
    given = head.get("deviceProperties")
    known = (
        {int(d["id"]): d for d in given if type(d) is dict and type(d.get("id")) is int} if type(given) is list else {}
    )
    models = {str(d.get("name") or ""): d for d in known.values()}
    only = next(iter(models.values())) if len(models) == 1 else {}
    (ranks, rank_of), (numbers, number_of) = (np.unique(columns.work.column(i), return_inverse=True) for i in (3, 4))
    ranked = len(ranks) > 1
    order, place = np.unique(rank_of * len(numbers) + number_of, return_inverse=True)
    made: list[tuple[str, str | None]] = []
    sms: list[int | None] = []
    for rank, number in zip(ranks[order // len(numbers)].tolist(), numbers[order % len(numbers)].tolist(), strict=True):
        mine = known.get(number, only)
        made.append((str(rank if ranked else number), str(mine.get("name") or "")[:100] or None))
        count = mine.get("numSms", mine.get("smCount"))  # PyTorch, PaddlePaddle
        sms.append(count if type(count) is int and 0 < count < 10_000 else None)
    versions = {(d.get("computeMajor"), d.get("computeMinor")) for d in known.values()}
    major, minor = next(iter(versions)) if len(versions) == 1 else (None, None)
    arch = f"sm_{major}{minor}" if type(major) is int and type(minor) is int and not _is_amd(head, []) else ""
    return place.astype(np.int64), made, sms, arch


def _columns(
    table: Table, columns: Columns, sms: list[int | None], device: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> None:
    """The table's cells; they are found again by the number of their row among the file's events."""
    shapes = kineto.shapes(columns)
    cells = ["dur", *shapes]
    lasted, lines = columns.work.column(1), columns.work.column(12)
    table.lines, source = lines, table.files[0]
    source.record = "event"

    def find(wanted: list[int]) -> dict[int, list[str]]:
        at = {n: i for n in wanted if (i := int(np.searchsorted(lines, n))) < len(lines) and lines[i] == n}
        return {
            n: [f"{lasted[i]:.15g}", *(f"{v[i]:.15g}" if v[i] == v[i] else "" for v in shapes.values())]
            for n, i in at.items()
        }

    source.find = find
    table.columns["gpu.time"] = Column(lasted * 1000, "dur", 1, "us", 1000.0)
    for metric, parts in _PRODUCTS.items():
        if all(p in shapes for p in parts):
            axes = [Column(shapes[p], p, cells.index(p) + 1) for p in parts]
            table.raw |= dict(zip(parts, axes, strict=True))
            table.columns[metric] = extents.volume(axes)
    if (registers := "registers per thread") in shapes:
        values = np.where(shapes[registers] > 0, shapes[registers], np.nan)
        table.columns["launch.registers"] = Column(values, registers, cells.index(registers) + 1)
    kernels = table.trace is not None and table.trace.operations.kind == KERNEL
    if any(sms):
        each = np.array([np.nan if s is None else float(s) for s in sms])
        table.columns["device.sm_count"] = Column(
            np.where(kernels, each[device], np.nan), "", formula="numSms of the device"
        )


def _writer(source: Source, columns: Columns) -> str:
    """The profiler that wrote a trace."""
    if columns.gpus:
        return "XLA's profiler (JAX, TensorFlow)"
    if not columns.categories.keys().isdisjoint(("kernel_dispatch", "rocm_kernel_dispatch")):
        return "AMD's profiler, by way of Perfetto"
    if _PROTON_RE.search(source.head_text):
        return "Triton's Proton"
    return "ONNX Runtime" if {"Node", "Session"} <= columns.categories.keys() else "PyTorch's profiler"


def _say(
    table: Table, rows: JsonRows[Event], columns: Columns, devices: list[tuple[str, str | None]], writer: str, device: str
) -> None:  # fmt: skip
    """Notes on the trace, and remarks on what may be wrong with it."""
    trace = table.trace
    assert trace is not None
    stated = (
        ("launch shapes", "launch.grid_size" in table.columns),
        ("host calls", columns.calls),
        ("operators", columns.operators),
    )
    held = ", ".join(["times", *(what for what, kept in stated if kept)])
    table.notes.append(f"Chrome trace of {writer}: {held}, no counters")
    if len(devices) > 1:
        listed = ", ".join(f"{key} ({name})" if name else key for key, name in devices[:8])
        table.notes.append(f"work on {len(devices)} devices: {listed}; the first one's limits are used")
    if not any(name for _, name in devices) and not device:
        known = f"by its cores and memory it is {table.device}; if not" if table.device else "so no roofs are known"
        table.quality.append(Quality("unnamed-gpu", f"trace names no GPU, {known}: name it with --device"))
    if columns.categories["python_function"]:
        text = "recorded with Python stacks, which slow the host down: check host findings once with with_stack=False"
        table.quality.append(Quality("python-stacks", text))
    if rows.cut:
        table.quality.append(
            Quality("cut-trace", f"trace is cut ({rows.cut}): read to the last whole row; its last step is incomplete")
        )
    if left := rows.unreadable + columns.odd:
        table.quality.append(Quality("rows-left-out", f"{plural(left, 'row')} without readable times or values"))
    if early := sum(o.queued_ns for o in trace.operators):
        text = f"{show(float(early), 'ns')} of kernels were launched before the trace: findings count them for the operator with equal kernel, grid and block, the table of operators does not"
        table.quality.append(Quality("early-kernels", text))
    ops = trace.operations
    first, end = int(ops.start.min()), int(ops.end.max())
    begun = min(kineto.first_mark(columns), int(trace.framework[0][0]) if trace.framework else first)
    # a device that never waits worked on what the host had submitted before, unless its first work did not wait for that
    idle = int((ops.end - ops.start).sum()) < MAX_BUSY * (end - first)
    call = int(ops.call[int(ops.start.argmin())])
    prompt = call >= 0 and first - int(trace.calls.end[call]) <= GRACE_NS
    if (idle or prompt) and len(trace.steps) < SEVERAL and first - begun >= max(MIN_LEAD_NS, MIN_LEAD * (end - first)):
        text = f"{show(float(first - begun), 'ns')} of host work come before the first operation and are not in the span of {show(float(end - first), 'ns')}: record several steps after a warm-up, to see whether each has them"
        of, lead = columns.functions, (np.array([begun]), np.array([first]))
        times = kineto.nanoseconds(of.column(0), of.column(1))
        if (most := loader_stacks.hottest(lead, *times, of.column(2), list(columns.names))) is not None:
            text += f"; {percent(most[1])} of it in {most[0]}"
        table.quality.append(Quality("lead-in", text))
    graphs = [i for i, w in enumerate(trace.calls.names) if "GraphLaunch" in w]
    called = np.where(ops.call >= 0, trace.calls.name[ops.call], -1) if len(trace.calls) else np.full(len(ops), -1)
    if count := int((np.isin(called, graphs) & (ops.kind == KERNEL)).sum()):
        table.notes.append(
            f"{plural(count, 'kernel')} of graph launches: the trace holds no operators and shapes for them"
        )
        inside = np.flatnonzero(np.isin(called, graphs))
        if (closed := closed_gaps(ops, inside)) > MIN_CLOSED * len(inside):
            text = f"{closed:,} of {plural(len(inside), 'operation')} of graph launches start within {CLOSED_NS} ns of the one before: the profiler closed the gaps, so the busy share is an upper bound and short kernels look longer"
            table.quality.append(Quality("closed-gaps", text))


def _by_memory(head: kineto.Row, vendor: str) -> str:
    """The one product with the cores and the memory that a trace states of its devices; "" without one."""
    given = head.get("deviceProperties")
    for device in given[:1] if type(given) is list else ():
        count, size = (device.get(k) if type(device) is dict else None for k in ("numSms", "totalGlobalMem"))
        if type(count) is int and type(size) is int and 0 < size < MAX_MEMORY:
            found = of_size(vendor, count, round(size / (1 << 30)))  # type: ignore[arg-type]
            return found[0].name if len(found) == 1 else ""
    return ""


def closed_gaps(ops: Operations, rows: Indices) -> int:
    """How many of some operations start as the one before on their stream ends, which no GPU does."""
    order = rows[np.lexsort((ops.start[rows], ops.stream[rows], ops.device[rows]))]
    same = (ops.stream[order[1:]] == ops.stream[order[:-1]]) & (ops.device[order[1:]] == ops.device[order[:-1]])
    return int((same & (np.abs(ops.start[order[1:]] - ops.end[order[:-1]]) <= CLOSED_NS)).sum())
