"""Chrome traces with GPU work: what the profilers of PyTorch (Kineto) and XLA (JAX, TensorFlow) write, for NVIDIA and AMD."""

from __future__ import annotations

import re

import numpy as np

from triage.capture.capture import Column, Quality, Table
from triage.capture.source import Source
from triage.capture.trace_nouns import COPY, KERNEL, SET, Trace
from triage.dialects import Match, Options
from triage.dialects.traces import chrome_refusals, kineto, kineto_operators, next_command
from triage.dialects.traces.json_rows import JsonRows
from triage.dialects.traces.kineto import Columns
from triage.ground.phrasing import plural

NAME = "pytorch-trace"
SIGN = ("traceevents", '"ph"', "rocprofiler-sdk-tool", '"deviceproperties"')
TELLS = {"work": "compute"}
TITLE = "PyTorch profiler or JAX (XLA), Chrome trace (timeline of devices, host and operators)"
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

JAX: `with jax.profiler.trace("log"): ...` writes `log/plugins/profile/TIME/HOST.trace.json.gz`."""
# kernels of libraries that exist for AMD's GPUs alone: Tensile, MIOpen, AITER, Composable Kernel, the runtime's blits
_AMD_RE = re.compile(r"^Cijk_|_gtcx|^miopen|^MIOpen|aiter|\bck(?:_tile)?::|\.kd\b|^__amd_rocclr")
_HEAD_RE = re.compile(r'"traceEvents"\s*:|"schemaVersion"\s*:.*"deviceProperties"\s*:', re.DOTALL)
MAX_FIRST = 8192  # characters in which an array of events shows its first one
APP = "python train.py"
# a launch call that returned so long before its kernel began had done its part
GRACE_NS = 100_000
_PRODUCTS = {
    "launch.grid_size": ("grid x", "grid y", "grid z"),
    "launch.block_size": ("block x", "block y", "block z"),
}
_SECTIONS = (
    "SpeedOfLight",
    "ComputeWorkloadAnalysis",
    "MemoryWorkloadAnalysis",
    "WarpStateStats",
    "Occupancy",
    "LaunchStats",
)


def names() -> dict[str, list[str]]:
    """canonical id -> key of a row or of its args."""
    return {
        "gpu.time": ["dur"],
        "launch.grid_size": ["grid"],
        "launch.block_size": ["block"],
        "launch.registers": ["registers per thread"],
        "device.sm_count": ["numSms"],
        "frame.calls": ["(rows)"],
    }


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
    rows, columns = JsonRows(source), Columns()
    for batch in rows:
        columns.add(batch)
    if not columns.work:
        raise chrome_refusals.without_work(source.path, rows, columns)
    calls, found = kineto.calls(columns)
    device, devices, sms, arch = _devices(rows.head, columns)
    operations = kineto.operations(columns, calls, found, device)
    words = list(columns.names)
    amd = _is_amd(rows.head, words)
    functions = [_function(w) for w in words]
    table = Table(NAME, [source], np.array(words, dtype=object)[operations.name], {})
    table.tells = {"vendor": "amd", "api": "hip"} if amd else {"vendor": "nvidia", "api": "cuda"}
    table.trace = Trace(operations, calls, devices, words, functions, profile_amd if amd else profile, GRACE_NS)
    table.trace.rank, table.trace.groups = _rank(rows.head), columns.groups
    table.trace.operators = kineto_operators.operators(columns, calls, operations)
    kineto.enter_ranges(columns, table.trace)
    _columns(table, columns, sms, device)
    table.kinds = np.where((operations.kind == COPY) | (operations.kind == SET), "copy", "compute").astype(object)
    named = [name for _, name in devices if name]
    table.device, table.arch = (named[0] if named else ""), arch
    _say(table, rows, columns, devices)
    return table


def profile(function: str, skip: int) -> str:
    """The command that profiles one launch of a function with Nsight Compute."""
    return next_command.ncu(function, skip, _SECTIONS, APP)


def profile_amd(function: str, _skip: int) -> str:
    """The command that profiles the launches of a function with rocprof-compute."""
    return next_command.rocprof_compute(function, APP)


def _function(name: str) -> str:
    """What profilers of single kernels ask for: the function's name without namespaces, arguments and parameters."""
    text = name.replace("(anonymous namespace)", "").removeprefix("void ")
    return re.split(r"[<(]", text, maxsplit=1)[0].rpartition("::")[2].strip()


def _is_amd(head: kineto.Row, words: list[str]) -> bool:
    if any(k in head for k in ("roctracer_version", "rocprofiler-sdk_version", "hip_runtime_version")):
        return True
    return any(w.startswith("hip") or _AMD_RE.search(w) for w in words)


def _rank(head: kineto.Row) -> int | None:
    """The process's rank in its job, where the head says it."""
    told = head.get("distributedInfo")
    rank = told.get("rank") if type(told) is dict else None
    return rank if type(rank) is int and 0 <= rank < 1 << 24 else None


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
    ranked = len({w[3] for w in columns.work}) > 1
    pairs = [(w[3], w[4]) if ranked else (0, w[4]) for w in columns.work]
    order = {pair: i for i, pair in enumerate(sorted(set(pairs)))}
    made: list[tuple[str, str | None]] = []
    sms: list[int | None] = []
    for rank, number in order:
        mine = known.get(number, only)
        made.append((str(rank if ranked else number), str(mine.get("name") or "")[:100] or None))
        count = mine.get("numSms")
        sms.append(count if type(count) is int and 0 < count < 10_000 else None)
    versions = {(d.get("computeMajor"), d.get("computeMinor")) for d in known.values()}
    major, minor = next(iter(versions)) if len(versions) == 1 else (None, None)
    arch = f"sm_{major}{minor}" if type(major) is int and type(minor) is int and not _is_amd(head, []) else ""
    return np.array([order[p] for p in pairs], dtype=np.int64), made, sms, arch


def _columns(
    table: Table, columns: Columns, sms: list[int | None], device: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> None:
    """The table's cells; they are found again by the number of their row among the file's events."""
    shapes = kineto.shapes(columns)
    cells = ["dur", *shapes]
    lasted = np.array([w[1] for w in columns.work], dtype=np.float64)
    table.lines = np.array([w[12] for w in columns.work], dtype=np.int64)
    source, at = table.files[0], {int(n): i for i, n in enumerate(table.lines)}
    source.record = "event"

    def find(wanted: list[int]) -> dict[int, list[str]]:
        return {
            n: [f"{lasted[at[n]]:.15g}", *(f"{v[at[n]]:.15g}" if v[at[n]] == v[at[n]] else "" for v in shapes.values())]
            for n in wanted
            if n in at
        }

    source.find = find
    table.columns["gpu.time"] = Column(lasted * 1000, "dur", 1, "us", 1000.0)
    for metric, parts in _PRODUCTS.items():
        if all(p in shapes for p in parts):
            table.raw.update({p: Column(shapes[p], p, cells.index(p) + 1) for p in parts})
            product = shapes[parts[0]] * shapes[parts[1]] * shapes[parts[2]]
            table.columns[metric] = Column(
                np.where(product > 0, product, np.nan), "", formula=" * ".join(parts), inputs=parts
            )
    if (registers := "registers per thread") in shapes:
        values = np.where(shapes[registers] > 0, shapes[registers], np.nan)
        table.columns["launch.registers"] = Column(values, registers, cells.index(registers) + 1)
    kernels = table.trace is not None and table.trace.operations.kind == KERNEL
    if any(sms):
        each = np.array([np.nan if s is None else float(s) for s in sms])
        table.columns["device.sm_count"] = Column(
            np.where(kernels, each[device], np.nan), "", formula="numSms of the device"
        )


def _say(table: Table, rows: JsonRows, columns: Columns, devices: list[tuple[str, str | None]]) -> None:
    """Notes on the trace, and remarks on what may be wrong with it."""
    table.notes.append(
        "Chrome trace of XLA's profiler (JAX, TensorFlow): times, launch shapes and host calls without counters"
        if columns.gpus
        else "Chrome trace of PyTorch's profiler: times, launch shapes, host calls and operators without counters"
    )
    if len(devices) > 1:
        listed = ", ".join(f"{key} ({name})" if name else key for key, name in devices[:8])
        table.notes.append(f"work on {len(devices)} devices: {listed}; the first one's limits are used")
    if not any(name for _, name in devices):
        table.notes.append("the trace names no GPU; with --device NAME its limits are known")
    if columns.categories["python_function"]:
        table.notes.append(
            "recorded with Python stacks, which slows the host down: check host findings once with with_stack=False"
        )
    if rows.cut:
        table.quality.append(
            Quality("cut-trace", f"trace is cut ({rows.cut}): read to the last whole row; its last step is incomplete")
        )
    if left := rows.unreadable + columns.odd:
        table.quality.append(Quality("rows-left-out", f"{plural(left, 'row')} without readable times or values"))
    trace = table.trace
    assert trace is not None
    ops = trace.operations
    graphs = [i for i, w in enumerate(trace.calls.names) if "GraphLaunch" in w]
    called = np.where(ops.call >= 0, trace.calls.name[ops.call], -1) if len(trace.calls) else np.full(len(ops), -1)
    if count := int((np.isin(called, graphs) & (ops.kind == KERNEL)).sum()):
        table.notes.append(
            f"{plural(count, 'kernel')} of graph launches: the trace holds no operators and shapes for them"
        )
