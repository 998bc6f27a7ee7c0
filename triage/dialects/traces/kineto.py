"""What rows of PyTorch's profiler (Kineto) mean: work on the devices, host calls, operators, ranges.

Names of categories changed over the years; process and thread ids, times and correlations may be texts. A row belongs to
a category, never to a process: Python rows carry process 0 as device 0 does.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
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
    OTHER_WAY,
    PROFILER,
    SET,
    TO_DEVICE,
    Calls,
    Message,
    Operations,
    Step,
    Trace,
    way_of,
)
from triage.dialects.traces import loader_stacks, marked_steps, operator_work, xla_rows
from triage.dialects.traces.event import Details, Event, Operands, details
from triage.dialects.traces.typed_rows import TypedRows, entered, whole, wholes

Row = dict[str, Any]
Events = Sequence[Event]
Rows = list[tuple[int, Event]]  # with their numbers in the file
Take = Callable[["Columns", Rows], None]
MAX_US = float(1 << 52)
MAX_PROCESSES = 1_000  # names that rows without a category give their process
MAX_NAME = 16_384  # characters; the longest names of templates seen have 8,000
GPU_WORK = {
    "kernel": KERNEL, "gpu_memcpy": COPY, "gpu_memset": SET, "Kernel": KERNEL, "Memcpy": COPY, "Memset": SET,
    # of rocprofv3 and rocprof-sys, by way of Perfetto
    "kernel_dispatch": KERNEL, "memory_copy": COPY, "rocm_kernel_dispatch": KERNEL, "rocm_memory_copy": COPY,
}  # fmt: skip
XPU_CALLS = frozenset({"xpu_runtime", "xpu_driver"})
_CALLS = XPU_CALLS | set(
    "cuda_runtime cuda_driver hip_runtime Runtime privateuse1_runtime hip_api rocm_hip_api".split()
)
_OPERATORS = frozenset({"cpu_op", "Operator"})
_RANGES = frozenset({"user_annotation", "user_scope"})
_RANGE_NAMES = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)#")  # in 2021 among the operators
_LABEL_RE = re.compile(
    r"\[[A-Z]{2}\d{1,6}(?:-[A-Z]{2}\d{1,6}){0,7}\] "
)  # SGLang's merged ranks: process `[TP01-DP00] 4711`
_NO_AXES = (math.nan,) * 3
_OVERHEAD = {
    "Buffer Flush": PROFILER, "Activity Buffer Request": PROFILER, "Instrumentation": PROFILER, "Resource": PROFILER,
    "Lazy Function Loading": LOAD, "Runtime Triggered Module Loading": LOAD, "Driver Compiler": LOAD,
}  # fmt: skip
# ROCm before 6 writes its copies as kernels
_COPY_KERNEL_RE = re.compile(r"__amd_rocclr_copyBuffer|MEMORY_COPY_|__amd_rocclr_copyImage")
_SET_KERNEL_RE = re.compile(r"__amd_rocclr_fillBuffer")
# heuristic: taking a batch that workers have ready costs the loop 0.2 to 0.8 ms in measured traces; more is waiting
HANDOVER_NS = 1_000_000
# columns: start and length in us, then
# of work kind, process, device, stream, correlation, external id, name, bytes, way, pageable, number of the row, of its SHAPE;
# of calls process, thread, correlation, external id, name; of operators and ranges process, thread, signature or name
SHAPE = ("grid x", "grid y", "grid z", "block x", "block y", "block z", "registers per thread", "shared memory")


class Columns:
    """Columns of a trace, filled batch by batch; `rows` counts all rows of the file.

    gpus: process -> number of the GPU that XLA draws there. ranks: label of a merged process -> its number. threads: (process, thread) -> number; signatures: name and arguments of each, distinct by
    name, dims, types and the arguments that are no tensors.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.odd = 0
        self.messages: dict[int, Message] = {}
        self.categories: Counter[str] = Counter()
        self.processes: set[str] = set()
        self.gpus: dict[int | str, int] = {}
        self.work = TypedRows("dd" + 12 * "q")
        self.shapes: dict[tuple[Any, ...], int] = {}
        self.calls = TypedRows("ddqqqqq")
        self.overhead: list[tuple[float, float, int]] = []
        self.operators = TypedRows("ddqqq")
        self.ranges = TypedRows("ddqqq")
        self.functions = TypedRows("ddq")
        self.ranks: dict[str, int] = {}
        self.threads: dict[tuple[str, str], int] = {}
        self.signatures: list[tuple[str, Row]] = []
        self.names: dict[str, int] = {}
        self.groups: dict[int, str] = {}
        self._known: dict[tuple[str, bytes], int] = {}

    def add(self, events: list[Event], numbers: Sequence[int] = ()) -> None:
        """Enter a batch; rows of categories that are of no use are counted only. numbers: of the rows in their file, where they are not all of it."""
        categories = [e.cat if type(e.cat) is str else "" for e in events]
        self.categories.update(categories)
        numbers = numbers or range(self.rows + 1, self.rows + 1 + len(events))
        taken: dict[Take, Rows] = {}
        for number, event, category in zip(numbers, events, categories, strict=True):
            if not category:
                if (known := xla_rows.row(event.row(), self.gpus) if self.gpus else None) is None:
                    self._enter_process(event)
                    continue
                event, category = Event.of(known), known["cat"]
                self.categories[category] += 1
            if category in _TAKE and event.ph == "X":
                take = _TAKE[category]
                if take is Columns._enter_operators and str(event.name).startswith(_RANGE_NAMES):
                    take = Columns._enter_ranges
                taken.setdefault(take, []).append((number, event))
        self.rows = numbers[-1] if events else self.rows
        for take, rows in taken.items():
            self._enter(take, rows)

    def _enter(self, take: Take, rows: Rows) -> None:
        """Enter rows of one kind, all at once where all can be read."""
        try:
            take(self, rows)
        except (TypeError, ValueError, OverflowError):
            if not (half := len(rows) // 2):
                self.odd += 1
                return
            self._enter(take, rows[:half])
            self._enter(take, rows[half:])

    def _enter_process(self, event: Event) -> None:
        if event.name != "process_name" or type(args := event.row()["args"]) is not dict:
            if type(event.pid) is str and len(self.processes) < MAX_PROCESSES:
                self.processes.add(event.pid[:80])
            return
        name = str(args.get("name"))[:80]
        self.processes.add(name)
        if (found := xla_rows.GPU_RE.match(name)) is not None and type(event.pid) in (int, str):
            self.gpus[event.pid] = int(found[1])

    def _processes(self, events: Events, args: Sequence[Details | Operands]) -> list[int]:
        """The ranks of a merged file, 0 elsewhere: one file is one process."""
        return [
            0 if a.rank is None and type(e.pid) is not str else self._process(e, a)
            for e, a in zip(events, args, strict=True)
        ]

    def _process(self, event: Event, args: Details | Operands) -> int:
        if args.rank is None and (label := _LABEL_RE.match(event.pid)):
            return self.ranks.setdefault(label[0], len(self.ranks))
        return whole(args.rank)

    def _threads(self, events: Events) -> list[int]:
        return entered(self.threads, [(str(e.pid), str(e.tid)) for e in events])

    def _names(self, events: Events) -> list[int]:
        return entered(self.names, [str(e.name or "(no name)")[:MAX_NAME] for e in events])

    def _enter_work(self, rows: Rows) -> None:
        numbers, events = zip(*rows, strict=True)
        times, args = _times(events), details(events, Details)
        kinds, ways, pageable = zip(*[_nature(e.cat, str(e.name)) for e in events], strict=True)
        shape = [(*_axes(a.grid), *_axes(a.block), a.registers, a.shared) for a in args]
        device = wholes([_device(e, a, way) for e, a, way in zip(events, args, ways, strict=True)])
        stream = wholes([e.tid if a.stream is None else a.stream for e, a in zip(events, args, strict=True)])
        size = [
            n if kind == COPY else 0
            for n, kind in zip(wholes([a.bytes or a.copy_bytes for a in args]), kinds, strict=True)
        ]
        first = len(self.work)
        self.work.extend(
            *times, kinds, self._processes(events, args), [max(d, 0) for d in device], stream, _correlations(args), _externals(args),
            self._names(events), size, ways, pageable, numbers, entered(self.shapes, shape),
        )  # fmt: skip
        for row, a in enumerate(args, first):
            if type(a.peers) is str:
                self.groups[row] = a.peers[:200]
            if type(a.collective) is str and type(a.members) is int:
                sent = max(whole(a.sent), whole(a.received)) * operator_work.size_of(str(a.dtype))
                self.messages[row] = Message(a.collective[:40], sent, a.members)

    def _enter_calls(self, rows: Rows) -> None:
        events = [event for _, event in rows]
        times, args = _times(events), details(events, Details)
        self.calls.extend(
            *times, self._processes(events, args), self._threads(events), _correlations(args), _externals(args),
            self._names(events),
        )  # fmt: skip

    def _enter_operators(self, rows: Rows) -> None:
        events = [event for _, event in rows]
        times, args = _times(events), details(events, Operands)
        keys = [b",".join((a.dims, a.types, a.plain)) for a in args]
        names = [str(e.name) for e in events]
        numbers = entered(self._known, zip(names, keys, strict=True))
        for number, name, a in zip(numbers, names, args, strict=True):
            if number == len(self.signatures):
                self.signatures.append((name, a.arguments()))
        self.operators.extend(*times, self._processes(events, args), self._threads(events), numbers)

    def _enter_ranges(self, rows: Rows) -> None:
        events = [event for _, event in rows]
        times, args = _times(events), details(events, Operands)
        self.ranges.extend(*times, self._processes(events, args), self._threads(events), self._names(events))

    def _enter_functions(self, rows: Rows) -> None:
        events = [event for _, event in rows if event.dur >= loader_stacks.MIN_FUNCTION_US]
        self.functions.extend(*_times(events), self._names(events))

    def _enter_overhead(self, rows: Rows) -> None:
        events = [event for _, event in rows if str(event.name) in _OVERHEAD]
        self.overhead += zip(*_times(events), [_OVERHEAD[str(e.name)] for e in events], strict=True)


# functions, not bound methods: these would tie a trace's columns into a circle that outlives its reading
_TAKE: dict[str, Take] = {
    **dict.fromkeys(GPU_WORK, Columns._enter_work),
    **dict.fromkeys(_CALLS, Columns._enter_calls),
    **dict.fromkeys(_OPERATORS, Columns._enter_operators),
    **dict.fromkeys(_RANGES, Columns._enter_ranges),
    "overhead": Columns._enter_overhead,
    "python_function": Columns._enter_functions,
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
    name, thread = cell(6), np.array(entered({}, cell(3).tolist()), dtype=np.int64)
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
    """Fill in the steps, the optimizer's ranges, the waits for a data loader and what the program marked."""
    words = list(columns.names)
    start, end = nanoseconds(columns.ranges.column(0), columns.ranges.column(1))
    name = [words[i] for i in columns.ranges.column(4).tolist()]
    marks = np.flatnonzero([not marked_steps.is_mark(n) and "DataLoader" not in n for n in name])
    at = columns.ranges.column(4)[marks]
    trace.ranges = Calls(start[marks], end[marks], threads(columns, columns.ranges)[marks], 0 * at, at, words)
    order = np.argsort(start, kind="stable")
    found = [Step(name[i], int(start[i]), int(end[i])) for i in order.tolist()]
    trace.steps = device_steps(trace, marked_steps.marked(found, columns.ranges.column(3)[order]))
    trace.optimizer = [r for r in found if r.name.startswith("Optimizer.step#")]
    loads = [
        r for r in found
        if "DataLoader" in r.name and ("SingleProcess" in r.name or r.end - r.start >= HANDOVER_NS)
    ]  # fmt: skip
    if loads:
        trace.loading = np.array([r.start for r in loads]), np.array([r.end for r in loads])
        trace.loads_itself = all("SingleProcess" in r.name for r in loads)
        of = columns.functions
        trace.loading_in = loader_stacks.hottest(
            trace.loading, *nanoseconds(of.column(0), of.column(1)), of.column(2), words
        )


def first_mark(columns: Columns) -> int:
    """When the first step begins on the host, far in the future without one."""
    words, cell = list(columns.names), columns.ranges.column
    marks = [i for i, name in enumerate(cell(4).tolist()) if marked_steps.is_mark(words[name])]
    return int(nanoseconds(cell(0)[marks], cell(1)[marks])[0].min(initial=np.iinfo(np.int64).max))


def shapes(columns: Columns) -> dict[str, Floats]:
    """Launch shapes of the work, NaN where a row says none; only those that the file has."""
    table = np.array([[_number(value) for value in shape] for shape in columns.shapes]).reshape(-1, len(SHAPE))
    found = dict(zip(SHAPE, table.T[:, columns.work.column(13)], strict=True))
    return {name: values for name, values in found.items() if np.isfinite(values).any()}


def nanoseconds(start: Any, length: Any) -> tuple[Indices, Indices]:
    """(start, end) in whole ns of times in us."""
    begun, lasted = np.array(start, dtype=np.float64), np.array(length, dtype=np.float64)
    whole = np.floor(begun)  # us since 1970 in ns are more than a float holds
    first = whole.astype(np.int64) * 1000 + np.rint((begun - whole) * 1000).astype(np.int64)
    return first, first + np.rint(lasted * 1000).astype(np.int64)


def threads(columns: Columns, rows: TypedRows) -> Indices:
    """Threads of operators or ranges, numbered as those of the calls are; -1 for threads without a call."""
    known = np.full(len(columns.threads), -1, dtype=np.int64)
    for number, thread in enumerate(dict.fromkeys(columns.calls.column(3).tolist())):
        known[thread] = number
    found: Indices = known[rows.column(3)]
    return found


@lru_cache(maxsize=4096)
def _nature(category: str, name: str) -> tuple[int, int, bool]:
    """(kind, way, whether the host's memory is pageable) of work by its category and name."""
    kind = GPU_WORK[category]
    if (kind == KERNEL and "__amd_rocclr" in name) or "MEMORY_COPY_" in name:
        kind = COPY if _COPY_KERNEL_RE.search(name) else SET if _SET_KERNEL_RE.search(name) else kind
    if kind != COPY:
        return kind, OTHER_WAY, False
    way = way_of(name)
    return kind, way, "Pageable" in name and way in (TO_DEVICE, FROM_DEVICE)


def _device(event: Event, a: Details, way: int) -> Any:
    """Where work ran: the device that its row names, by PyTorch or by AMD's profiler, else its process."""
    if a.device is not None:
        return a.device
    agent = (a.target if way == TO_DEVICE else a.origin) if a.agent is None else a.agent
    return event.pid if agent is None else agent


def _times(events: Events) -> tuple[array[float], array[float]]:
    start, length = array("d", [float(e.ts) for e in events]), array("d", [float(e.dur) for e in events])
    lasted = np.asarray(length)
    if not ((np.abs(start) < MAX_US) & (lasted >= 0) & (lasted < MAX_US)).all():
        raise ValueError
    return start, length


def _correlations(args: list[Details]) -> array[int]:
    return wholes(
        [
            a.correlation or a.correlation_id or a.corr_id if a.correlation_raw is None else a.correlation_raw
            for a in args
        ]
    )


def _externals(args: list[Details]) -> array[int]:
    return wholes([a.external_2021 if a.external is None else a.external for a in args])


def _number(value: Any) -> float:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e15 else math.nan


def _axes(value: Any) -> Sequence[Any]:
    return value if type(value) is list and len(value) == 3 else _NO_AXES
