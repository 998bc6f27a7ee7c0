"""What rows of PyTorch's profiler (Kineto) mean: work on the devices, host calls, operators, ranges.

Names of categories changed over the years; process and thread ids, times and correlations may be texts. A row belongs to
a category, never to a process: Python rows carry process 0 as device 0 does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from triage.capture.arrays import Floats, Indices
from triage.capture.timeline.call_classes import class_of
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
SHAPE = ("grid x", "grid y", "grid z", "block x", "block y", "block z", "registers per thread", "shared memory")


class Columns:
    """Columns of a trace, filled row by row; `rows` counts all rows of the file.

    gpus: process -> number of the GPU that XLA draws there. operators: (start us, length us, process, thread, signature); signatures: name and arguments of each, told apart by
    name, dims, types and the arguments that are no tensors.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.odd = 0
        self.categories: Counter[str] = Counter()
        self.processes: set[str] = set()
        self.gpus: dict[int | str, int] = {}
        self.work: list[tuple[Any, ...]] = []
        self.calls: list[tuple[Any, ...]] = []
        self.overhead: list[tuple[float, float, int]] = []
        self.operators: list[tuple[Any, ...]] = []
        self.ranges: list[tuple[Any, ...]] = []
        self.signatures: list[tuple[str, Row]] = []
        self.names: dict[str, int] = {}
        self.groups: dict[int, str] = {}
        self._known: dict[tuple[str, ...], int] = {}
        self._take: dict[str, Callable[[Row, str], None]] = {
            **dict.fromkeys(_WORK, self._enter_work),
            **dict.fromkeys(_CALLS, self._enter_call),
            **dict.fromkeys(_OPERATORS, self._enter_operator),
            **dict.fromkeys(_RANGES, self._enter_range),
            "overhead": self._enter_overhead,
        }

    def add(self, rows: list[Row]) -> None:
        """Enter a batch; rows of categories that are of no use are counted only."""
        seen: Counter[str] = Counter()
        for row in rows:
            self.rows += 1
            category = row.get("cat") or ""
            if type(category) is not str:
                category = ""
            if not category and self.gpus and (known := xla_rows.row(row, self.gpus)) is not None:
                row, category = known, known["cat"]
            seen[category] += 1
            if (take := self._take.get(category)) is not None and row.get("ph") == "X":
                try:
                    take(row, category)
                except (TypeError, ValueError, OverflowError):
                    self.odd += 1
            elif not category and row.get("name") == "process_name" and type(row.get("args")) is dict:
                self._enter_process(row, str(row["args"].get("name"))[:80])
        self.categories.update(seen)

    def _enter_process(self, row: Row, name: str) -> None:
        self.processes.add(name)
        if (found := xla_rows.GPU_RE.match(name)) is not None and type(row.get("pid")) in (int, str):
            self.gpus[row["pid"]] = int(found[1])

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
            (start, length, process, _thread(row), _correlation(args), _external(args), self._name(row), size)
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
        self.operators.append((start, length, _process(row), _thread(row), number))

    def _enter_range(self, row: Row, _: str) -> None:
        start, length = _times(row)
        self.ranges.append((start, length, _process(row), _thread(row), self._name(row)))

    def _enter_overhead(self, row: Row, _: str) -> None:
        kind = _OVERHEAD.get(str(row.get("name")))
        if kind is not None:
            self.overhead.append((*_times(row), kind))


def operations(columns: Columns, calls: Calls, found: Indices, devices: Indices) -> Operations:
    """All work in the order of the file; found: the call of each, devices: the position of each one's device."""
    side = list(zip(*columns.work, strict=True))
    size = np.array(side[9], dtype=np.int64)
    kind = np.array(side[2], dtype=np.int8)
    way = np.array(side[10], dtype=np.int8)
    starts, ends = nanoseconds(side[0], side[1])
    return Operations(
        start=starts,
        end=ends,
        kind=kind,
        device=devices,
        stream=np.array(side[5], dtype=np.int64),
        process=np.array(side[3], dtype=np.int64),
        call=found,
        name=np.array(side[8], dtype=np.int64),
        bytes=np.maximum(size, 0),
        way=way,
        pageable=np.array(side[11], dtype=bool),
    )


def calls(columns: Columns) -> tuple[Calls, Indices]:
    """(calls and overhead, the call of each row of work or -1).

    A row of work finds its call by the correlation inside its process. Overhead has no thread: it counts for each that starts work.
    """
    words = list(columns.names)
    kinds = np.array([class_of(w) for w in words] or [0], dtype=np.int8)
    side = list(zip(*columns.calls, strict=True)) or [()] * 8
    start, end = nanoseconds(side[0], side[1])
    name = np.array(side[6], dtype=np.int64)
    thread = _numbered(side[3])
    by_id: dict[tuple[int, int], int] = {}
    for i in sorted(range(len(start)), key=lambda i: (int(start[i]), -int(end[i]))):
        process, correlation = columns.calls[i][2], columns.calls[i][4]
        if correlation > 0:
            by_id.setdefault((process, correlation), i)
    found = np.array([by_id.get((w[3], w[6]), -1) if w[6] > 0 else -1 for w in columns.work], dtype=np.int64)
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


def enter_ranges(columns: Columns, trace: Trace) -> None:
    """Fill in the steps, the optimizer's ranges and the waits for a data loader."""
    words = list(columns.names)
    start, end = nanoseconds([r[0] for r in columns.ranges], [r[1] for r in columns.ranges])
    name = [words[r[4]] for r in columns.ranges]
    found = [Step(n, int(s), int(e)) for n, s, e in zip(name, start, end, strict=True)]
    found.sort(key=lambda r: r.start)
    trace.steps = [r for r in found if _STEP_RE.fullmatch(r.name)]
    trace.optimizer = [r for r in found if r.name.startswith("Optimizer.step#")]
    loads = [r for r in found if "DataLoader" in r.name]
    if loads:
        trace.loading = np.array([r.start for r in loads]), np.array([r.end for r in loads])
        trace.loads_itself = all("SingleProcess" in r.name for r in loads)


def shapes(columns: Columns) -> dict[str, Floats]:
    """Launch shapes of the work, NaN where a row says none; only those that the file has."""
    side = list(zip(*[w[13:] for w in columns.work], strict=True))
    found = {name: np.array(values, dtype=np.float64) for name, values in zip(SHAPE, side, strict=True)}
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


def threads(columns: Columns, rows: list[tuple[Any, ...]]) -> Indices:
    """Threads of operators or ranges, numbered as those of the calls are; -1 for threads without a call."""
    known: dict[Any, int] = {}
    for call in columns.calls:
        known.setdefault(call[3], len(known))
    return np.array([known.get(r[3], -1) for r in rows], dtype=np.int64)


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


def _thread(row: Row) -> tuple[str, str]:
    return str(row.get("pid")), str(row.get("tid"))


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
