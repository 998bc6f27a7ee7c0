"""What rows of PyTorch's profiler (Kineto) mean: work on the devices, host calls, operators, ranges.

Names of categories changed over the years; process and thread ids, times and correlations may be texts. A row belongs to
a category, never to a process: Python rows carry process 0 as device 0 does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from triage.capture.arrays import Floats, Indices
from triage.capture.timeline.call_classes import class_of
from triage.capture.timeline.device_steps import device_steps
from triage.capture.trace_nouns import (
    COPY,
    FROM_DEVICE,
    KERNEL,
    LOAD,
    ON_DEVICE,
    OTHER_WAY,
    PROFILER,
    SET,
    TO_DEVICE,
    Calls,
    Operations,
    Step,
    Trace,
)
from triage.dialects.traces import xla_rows
from triage.dialects.traces.typed_rows import TypedRows

Row = dict[str, Any]
MAX_US = float(1 << 52)
MAX_NAME = 16_384  # characters; the longest names of templates seen have 8,000
_WORK = {
    "kernel": KERNEL, "gpu_memcpy": COPY, "gpu_memset": SET, "Kernel": KERNEL, "Memcpy": COPY, "Memset": SET,
}  # fmt: skip
_CALLS = frozenset({"cuda_runtime", "cuda_driver", "hip_runtime", "Runtime", "privateuse1_runtime"})
_OPERATORS = frozenset({"cpu_op", "Operator"})
_RANGES = frozenset({"user_annotation", "user_scope"})
_OVERHEAD = {
    "Buffer Flush": PROFILER, "Activity Buffer Request": PROFILER, "Instrumentation": PROFILER, "Resource": PROFILER,
    "Lazy Function Loading": LOAD, "Runtime Triggered Module Loading": LOAD, "Driver Compiler": LOAD,
}  # fmt: skip
# ROCm before 6 writes its copies as kernels
_COPY_KERNEL_RE = re.compile(r"__amd_rocclr_copyBuffer|MEMORY_COPY_|__amd_rocclr_copyImage")
_SET_KERNEL_RE = re.compile(r"__amd_rocclr_fillBuffer")
_WAY_RE = re.compile(r"(HtoD|HostToDevice)|(DtoH|DeviceToHost)|(DtoD|DeviceToDevice)")
_STEP_RE = re.compile(r"(?!Optimizer)[\w ./-]{1,60}#\d{1,12}")  # `ProfilerStep#3`, `train#3`
# heuristic: taking a batch that workers have ready costs the loop 0.2 to 0.8 ms in measured traces; more is waiting
HANDOVER_NS = 1_000_000
# columns: start and length in us, then
# of work kind, process, device, stream, correlation, external id, name, bytes, way, pageable, number of the row, SHAPE;
# of calls process, thread, correlation, external id, name, bytes; of operators and ranges process, thread, signature or name
SHAPE = ("grid x", "grid y", "grid z", "block x", "block y", "block z", "registers per thread", "shared memory")


class Columns:
    """Columns of a trace, filled row by row; `rows` counts all rows of the file.

    gpus: process -> number of the GPU that XLA draws there. threads: (process, thread) -> number; signatures: name and arguments of each, told apart by
    name, dims, types and the arguments that are no tensors.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.odd = 0
        self.categories: Counter[str] = Counter()
        self.processes: set[str] = set()
        self.gpus: dict[int | str, int] = {}
        self.work = TypedRows("dd" + 11 * "q" + len(SHAPE) * "d")
        self.calls = TypedRows("ddqqqqqq")
        self.overhead: list[tuple[float, float, int]] = []
        self.operators = TypedRows("ddqqq")
        self.ranges = TypedRows("ddqqq")
        self.threads: dict[tuple[str, str], int] = {}
        self.signatures: list[tuple[str, Row]] = []
        self.names: dict[str, int] = {}
        self.groups: dict[int, str] = {}
        self._known: dict[tuple[str, ...], int] = {}

    def add(self, rows: list[Row], numbers: Sequence[int] = ()) -> None:
        """Enter a batch; rows of categories that are of no use are counted only. numbers: of the rows in their file, where they are not all of it."""
        seen: Counter[str] = Counter()
        for i, row in enumerate(rows):
            self.rows = numbers[i] if numbers else self.rows + 1
            category = row.get("cat") or ""
            if type(category) is not str:
                category = ""
            if not category and self.gpus and (known := xla_rows.row(row, self.gpus)) is not None:
                row, category = known, known["cat"]
            seen[category] += 1
            if (take := _TAKE.get(category)) is not None and row.get("ph") == "X":
                try:
                    take(self, row, category)
                except (TypeError, ValueError, OverflowError):
                    self.odd += 1
            elif not category and row.get("name") == "process_name" and type(row.get("args")) is dict:
                self._enter_process(row, str(row["args"].get("name"))[:80])
        self.categories.update(seen)

    def _enter_process(self, row: Row, name: str) -> None:
        self.processes.add(name)
        if (found := xla_rows.GPU_RE.match(name)) is not None and type(row.get("pid")) in (int, str):
            self.gpus[row["pid"]] = int(found[1])

    def _thread(self, row: Row) -> int:
        return self.threads.setdefault((str(row.get("pid")), str(row.get("tid"))), len(self.threads))

    def _name(self, row: Row) -> int:
        name = str(row.get("name") or "(no name)")[:MAX_NAME]
        return self.names.setdefault(name, len(self.names))

    def _enter_work(self, row: Row, category: str) -> None:
        start, length, args, process = *_times(row), _args(row), _process(row)
        number, kind = self._name(row), _WORK[category]
        name = str(row.get("name"))
        if (kind == KERNEL and "__amd_rocclr" in name) or "MEMORY_COPY_" in name:
            kind = COPY if _COPY_KERNEL_RE.search(name) else SET if _SET_KERNEL_RE.search(name) else kind
        way, pageable, size = OTHER_WAY, False, 0
        if kind == COPY:
            found = _WAY_RE.search(name)
            way = OTHER_WAY if found is None else (TO_DEVICE, FROM_DEVICE, ON_DEVICE)[(found.lastindex or 1) - 1]
            pageable = "Pageable" in name and way in (TO_DEVICE, FROM_DEVICE)
            size = _whole(args.get("bytes"), 0)
        device = _whole(args.get("device", row.get("pid")), 0)
        if type(peers := args.get("Process Group Ranks")) is str:
            self.groups[len(self.work)] = peers[:200]
        grid, block = _axes(args.get("grid")), _axes(args.get("block"))
        self.work.append(
            (
                start, length, kind, process, device, _whole(args.get("stream", row.get("tid")), 0), _correlation(args), _external(args),
                number, size, way, pageable, self.rows, *grid, *block,
                _number(args.get("registers per thread")), _number(args.get("shared memory")),
            )
        )  # fmt: skip

    def _enter_call(self, row: Row, _: str) -> None:
        start, length, args = *_times(row), _args(row)
        process = _process(row)
        size = _whole(args.get("size", args.get("bytes")), 0)
        self.calls.append(
            (start, length, process, self._thread(row), _correlation(args), _external(args), self._name(row), size)
        )

    def _enter_operator(self, row: Row, _: str) -> None:
        start, length, args = *_times(row), _args(row)
        name = str(row.get("name"))
        dims, types, plain = (args.get(k) for k in ("Input Dims", "Input type", "Concrete Inputs"))
        key = (name, str(dims), str(types), str(plain)) if dims else (name,)
        number = self._known.setdefault(key, len(self.signatures))
        if number == len(self.signatures):
            self.signatures.append(
                (name, {"dims": dims, "types": types, "plain": plain, "strides": args.get("Input Strides")})
            )
        self.operators.append((start, length, _process(row), self._thread(row), number))

    def _enter_range(self, row: Row, _: str) -> None:
        start, length = _times(row)
        self.ranges.append((start, length, _process(row), self._thread(row), self._name(row)))

    def _enter_overhead(self, row: Row, _: str) -> None:
        kind = _OVERHEAD.get(str(row.get("name")))
        if kind is not None:
            self.overhead.append((*_times(row), kind))


# functions, not bound methods: these would tie a trace's columns into a circle that outlives its reading
_TAKE: dict[str, Callable[[Columns, Row, str], None]] = {
    **dict.fromkeys(_WORK, Columns._enter_work),
    **dict.fromkeys(_CALLS, Columns._enter_call),
    **dict.fromkeys(_OPERATORS, Columns._enter_operator),
    **dict.fromkeys(_RANGES, Columns._enter_range),
    "overhead": Columns._enter_overhead,
}


def operations(columns: Columns, calls: Calls, found: Indices, devices: Indices) -> Operations:
    """All work in the order of the file; found: the call of each, devices: the position of each one's device."""
    cell = columns.work.column
    starts, ends = nanoseconds(cell(0), cell(1))
    return Operations(
        start=starts,
        end=ends,
        kind=cell(2).astype(np.int8),
        device=devices,
        stream=cell(5),
        process=cell(3),
        call=found,
        name=cell(8),
        bytes=np.maximum(cell(9), 0),
        way=cell(10).astype(np.int8),
        pageable=cell(11).astype(bool),
    )


def calls(columns: Columns) -> tuple[Calls, Indices]:
    """(calls and overhead, the call of each row of work or -1).

    A row of work finds its call by the correlation inside its process. Overhead has no thread: it counts for each that starts work.
    """
    words = list(columns.names)
    kinds = np.array([class_of(w) for w in words] or [0], dtype=np.int8)
    cell = columns.calls.column
    start, end = nanoseconds(cell(0), cell(1))
    name, thread = cell(6), _numbered(cell(3).tolist())
    found = _calls_of(columns, np.lexsort((-end, start)))
    starters = np.unique(thread[found[found >= 0]])
    extra, beyond = nanoseconds([o[0] for o in columns.overhead], [o[1] for o in columns.overhead])
    sort = np.array([o[2] for o in columns.overhead], dtype=np.int8)
    many = len(starters)
    made = Calls(
        np.concatenate([start, np.tile(extra, many)]),
        np.concatenate([end, np.tile(beyond, many)]),
        np.concatenate([thread, np.repeat(starters, len(extra))]),
        np.concatenate([kinds[name], np.tile(sort, many)]),
        np.concatenate([name, np.full(len(extra) * many, -1, dtype=np.int64)]),
        words,
    )
    return made, found


def _calls_of(columns: Columns, order: Indices) -> Indices:
    """The call of each row of work by correlation and process, -1 for none; of several the first in an order of the calls."""
    work, own = columns.work.column(3), columns.work.column(6)
    process, correlation = columns.calls.column(2)[order], columns.calls.column(4)[order]
    found = np.full(len(work), -1, dtype=np.int64)
    for p in np.unique(work):
        mine = np.flatnonzero((process == p) & (correlation > 0))
        ids, first = np.unique(correlation[mine], return_index=True)
        rows = np.flatnonzero((work == p) & (own > 0))
        if len(ids) and len(rows):
            at = np.minimum(np.searchsorted(ids, own[rows]), len(ids) - 1)
            known = ids[at] == own[rows]
            found[rows[known]] = order[mine[first[at[known]]]]
    return found


def enter_ranges(columns: Columns, trace: Trace) -> None:
    """Fill in the steps, the optimizer's ranges and the waits for a data loader."""
    words = list(columns.names)
    start, end = nanoseconds(columns.ranges.column(0), columns.ranges.column(1))
    name = [words[i] for i in columns.ranges.column(4).tolist()]
    found = [Step(n, int(s), int(e)) for n, s, e in zip(name, start, end, strict=True)]
    found.sort(key=lambda r: r.start)
    trace.steps = device_steps(trace, [r for r in found if _STEP_RE.fullmatch(r.name)])
    trace.optimizer = [r for r in found if r.name.startswith("Optimizer.step#")]
    loads = [
        r for r in found
        if "DataLoader" in r.name and ("SingleProcess" in r.name or r.end - r.start >= HANDOVER_NS)
    ]  # fmt: skip
    if loads:
        trace.loading = np.array([r.start for r in loads]), np.array([r.end for r in loads])
        trace.loads_itself = all("SingleProcess" in r.name for r in loads)


def shapes(columns: Columns) -> dict[str, Floats]:
    """Launch shapes of the work, NaN where a row says none; only those that the file has."""
    found = {name: columns.work.column(13 + i) for i, name in enumerate(SHAPE)}
    return {name: values for name, values in found.items() if np.isfinite(values).any()}


def nanoseconds(start: Any, length: Any) -> tuple[Indices, Indices]:
    """(start, end) in whole ns of times in us."""
    begun, lasted = np.array(start, dtype=np.float64), np.array(length, dtype=np.float64)
    whole = np.floor(begun)  # us since 1970 in ns are more than a float holds
    first = whole.astype(np.int64) * 1000 + np.rint((begun - whole) * 1000).astype(np.int64)
    return first, first + np.rint(lasted * 1000).astype(np.int64)


def _numbered(keys: Any) -> Indices:
    known: dict[Any, int] = {}
    return np.array([known.setdefault(k, len(known)) for k in keys], dtype=np.int64)


def threads(columns: Columns, rows: TypedRows) -> Indices:
    """Threads of operators or ranges, numbered as those of the calls are; -1 for threads without a call."""
    known = np.full(len(columns.threads), -1, dtype=np.int64)
    for number, thread in enumerate(dict.fromkeys(columns.calls.column(3).tolist())):
        known[thread] = number
    found: Indices = known[rows.column(3)]
    return found


def _times(row: Row) -> tuple[float, float]:
    start, length = float(row["ts"]), float(row.get("dur", 0.0))
    if not (abs(start) < MAX_US and 0 <= length < MAX_US):
        raise ValueError
    return start, length


def _args(row: Row) -> Row:
    args = row.get("args")
    return args if type(args) is dict else {}


def _process(row: Row) -> int:
    """The rank of a merged file, 0 elsewhere: one file is one process."""
    args = row.get("args")
    return _whole(args.get("rank"), 0) if type(args) is dict and "rank" in args else 0


def _correlation(args: Row) -> int:
    return _whole(args.get("correlation_raw", args.get("correlation")), 0)


def _external(args: Row) -> int:
    return _whole(args.get("External id", args.get("external id")), 0)


def _whole(value: Any, default: int) -> int:
    if type(value) is int:
        return value if abs(value) < 1 << 62 else default
    try:
        found = int(float(value))
    except (TypeError, ValueError, OverflowError):
        return default
    return found if abs(found) < 1 << 62 else default


def _number(value: Any) -> float:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e15 else float("nan")


def _axes(value: Any) -> tuple[float, float, float]:
    if type(value) is list and len(value) == 3:
        x, y, z = (_number(v) for v in value)
        return x, y, z
    return (float("nan"),) * 3
