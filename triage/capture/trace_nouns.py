"""The nouns of a timeline: what ran on the devices, what the host's threads did meanwhile, and what came of both.

A reader that knows starts and ends hands over a Trace beside its Table; triage/capture/timeline makes a Timeline of it. Times are
whole nanoseconds on one clock with an arbitrary zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from triage.capture.arrays import Codes, Floats, Indices, Masks

# what ran on a device
KERNEL, COPY, SET, GRAPH, WORK = range(5)
# which way a copy went; OTHER_WAY: peer, array, unified memory
TO_DEVICE, FROM_DEVICE, ON_DEVICE, OTHER_WAY = range(4)

FEW, SHORT = 20, 1_000_000  # heuristic: operations, ns; one step of the smallest models seen has more
PASSES = ("elementwise", "norm", "copy")  # kinds of operators that read and write whole tensors and do little else
LANES = ("kernels", "to-device", "from-device", "copies")  # what a strip shows beside the gaps

# Classes of a gap, in the order in which they claim an instant. A call of the runtime is one of CALLS.
GAPS = ("profiler", "load", "sync", "memcpy", "alloc", "launch", "api", "host", "queued", "unknown")
PROFILER, LOAD, SYNC, MEMCPY, ALLOC, LAUNCH, API, HOST, QUEUED, UNKNOWN = range(len(GAPS))
# [CUDA memcpy HtoD], [CUDA memcpy Host-to-Device], zeCommandListAppendMemoryCopy(M2D), Copy to System Memory
_WAY_RE = re.compile(
    r"(HtoD|\(M2D\)|(?i:(?<![a-z])h2d|host[-_ ]?to[-_ ]?d|\bupload))|(DtoH|\(D2M\)|(?i:(?<![a-z])d2h|device[-_ ]?to[-_ ]?h|\bread ?back|to system memory))"
    r"|(DtoD|(?i:(?<![a-z])d2d|device[-_ ]?to[-_ ]?device))"
)


def way_of(name: str) -> int:
    """Which way a copy goes by its name."""
    found = _WAY_RE.search(name)
    return OTHER_WAY if found is None else (TO_DEVICE, FROM_DEVICE, ON_DEVICE)[(found.lastindex or 1) - 1]


class Operations(Struct):
    """What ran on the devices: one entry per row of the table, in its order, then what stands in no row of it.

    start, end: ns. kind: KERNEL, COPY, ... device: position in Trace.devices; stream, process: any number that tells streams of one
    device apart, and processes. call: position of the call that started it in Calls, -1 where it is not in the file. name: position in
    Trace.names. bytes, way, pageable: of copies, 0 elsewhere.
    """

    start: Indices
    end: Indices
    kind: Codes
    device: Indices
    stream: Indices
    process: Indices
    call: Indices
    name: Indices
    bytes: Indices
    way: Codes
    pageable: Masks

    def __len__(self) -> int:
        return len(self.start)


class Calls(Struct):
    """What threads of the host did: calls of the runtime and driver, and the profiler's own work inside them.

    kind: a class of GAPS up to API. thread: any number that tells threads of all processes apart. name: position in names,
    -1 for what is no call but overhead (loading, the profiler's own work) that fell into one.
    """

    start: Indices
    end: Indices
    thread: Indices
    kind: Codes
    name: Indices
    names: list[str]

    def __len__(self) -> int:
        return len(self.start)


class Operator(Struct, frozen=True):
    """An operator of a framework that started work, over all its calls with these dims and this type.

    ns: time of its work on the devices; queued_ns: of equal work that was launched before the trace began, so that its
    calls are not known. spare_ns, most_spare_ns: of ns, what would go if
    neighbouring passes over tensors of one size were one, likely and at most. kernels: their names, longest first. flops, bytes: of one call, the least it can do, None where
    shapes do not tell; batch, m, n, k: of a product, lead: the elements from row to row of its operands as they lie in
    memory, 0 elsewhere.
    """

    name: str
    kind: str
    type: str
    dims: str
    calls: int
    ns: int
    kernels: tuple[str, ...]
    flops: float | None
    bytes: float | None
    batch: int
    m: int
    n: int
    k: int
    lead: tuple[int, int] = (0, 0)
    queued_ns: int = 0
    spare_ns: int = 0
    most_spare_ns: int = 0

    @property
    def all_ns(self) -> int:
        """Time of its work, whenever that was launched: shares of a span are of this."""
        return self.ns + self.queued_ns


class Step(Struct, frozen=True):
    """A range of a framework on the host: a step, or the optimizer's part of one; start, end in ns.

    batch: what an inference server's step works on, prefill, decode or mixed; "" where that is not known.
    """

    name: str
    start: int
    end: int
    batch: str = ""

    @property
    def ns(self) -> int:
        """How long it took."""
        return self.end - self.start


class Message(Struct, frozen=True):
    """What one collective moves. collective: its name as the library writes it; bytes: of the larger of its two buffers; ranks: that take part."""

    collective: str
    bytes: int
    ranks: int


class Trace(Struct):
    """Everything a reader knows of the time between the work.

    devices: (key, name or None) in the order that Operations.device counts in. names: of operations; functions: what a
    profiler of single kernels calls each, "" where that is not known. command: (function, launches to skip before it) ->
    how to profile one launch. grace: ns after a call's return in which its work is still being launched, after which it
    is queued; None where the rest of a gap is the launch's whatever it lasts. operators: longest first; operator: a number that tells those of the operations apart, -1 where unknown. steps: of the
    framework's profiler, in order; optimizer: the optimizer's part of them. framework: starts and ends of operators on threads that start work; loading: of the host's waits for a data loader; loads_itself: True
    where the loader has no workers, so that the waiting thread does the work; loading_in: the function that takes most of them, and its share. ranges: that the program marked on its threads, in the form of calls; host_work: its operators that compute on the host; system: calls of the operating system outside the runtime's.
    rank: of the process in its job, of world ranks, 0 where that is unknown. groups: row of a collective -> the ranks that take part. messages: row of a collective -> what it moves.
    """

    operations: Operations
    calls: Calls
    devices: list[tuple[str, str | None]]
    names: list[str]
    functions: list[str]
    command: Callable[[str, int], str] | None = None
    grace: int | None = None
    operators: list[Operator] = field(default_factory=list)
    operator: Indices | None = None
    steps: list[Step] = field(default_factory=list)
    optimizer: list[Step] = field(default_factory=list)
    loading: tuple[Indices, Indices] | None = None
    framework: tuple[Indices, Indices] | None = None
    loads_itself: bool = False
    loading_in: tuple[str, float] | None = None
    ranges: Calls | None = None
    host_work: Calls | None = None
    system: Calls | None = None
    rank: int | None = None
    world: int = 0
    groups: dict[int, str] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)


class GapClass(Struct, frozen=True):
    """Gaps of one class on one device: the time in it, the gaps that began with it, their length, and what it is blamed for.

    blamed_ns: what would go if the class went: the whole rest of the gaps it led, without what is loading, allocation or
    the profiler in any case. Over the classes it adds up to the idle time, as total_ns does.
    """

    cause: str
    total_ns: int
    count: int
    led_ns: int
    blamed_ns: int


class Gap(Struct, frozen=True):
    """One hole in a device's work. before, after: table rows of the operations around it. call: what led it, in words.

    cause: the class that holds most of it, which is cause_ns.
    """

    start: int
    end: int
    cause: str
    cause_ns: int
    led_by: str
    call: str
    before: int
    after: int


class DeviceTimeline(Struct):
    """One device from its first start to its last end.

    first: ns of its first start on the trace's clock. longest: the longest gaps, longest first. copies_alone_ns: copying
    with no kernel beside it; exposed_ns: the same to and from the host; loaded_ns: of it, before the work begins. cold_ns: idle time blamed on loading, or on
    allocations in the first tenth. transition_ns: queued gaps as short as a device's own latency. earlier_ns: gaps that work from before the record may have filled. elsewhere_ns: queued gaps while another device worked. compute_ns: union of kernels and sets without
    comm_ns, that of NCCL's and RCCL's kernels; exposed_comm_ns: communication outside of compute; exposed_copy_ns: copies
    outside of both. graph_nodes: kernels that a graph launch started; called: those whose call is known. pageable_alone_ns, pageable_ns, pageable_bytes: of copies with pageable
    memory that are not small. loading_ns: idle time of host code in a data loader, loading_own_ns: in one without workers; batches: its waits; framework_ns: idle time of host code inside a framework's operators, host_work_ns: inside those that compute on the host; system_ns: inside calls of the operating system; loading_worked_ns, loading_used_ns: the device's work, and the time, that as many batches take between two of them. optimizer_launch_ns, optimizer_host_ns: idle time of launch
    calls, and of host code, before kernels of an optimizer that updates its parameters one by one. slow_launch_ns: idle time of launch calls so long
    that they load code; once_ns: of the host's code that passes once, stalled_ns: in operators that stall. ahead_ns: work before gaps that the host leads without waiting for it.
    comm_in_line_ns: time of NCCL's and RCCL's kernels on streams that run others as well. wait_ns: time in collectives
    beyond that of the device that came to them last; late_ns: beyond the median of their like. doing: (range of the program, ns of idle time of host code in it), longest first. lanes: word of LANES or class of GAPS -> share of each of equal parts
    of the whole trace.
    """

    key: str
    name: str | None
    first: int
    span_ns: int
    busy_ns: int
    gap_count: int
    largest_gap_ns: int
    gaps: list[GapClass]
    longest: list[Gap]
    kernels: int
    kernel_ns: int
    median_kernel_ns: float | None
    short_kernels: int
    copies: int
    small_copies: int
    median_copy_ns: float | None
    copy_busy_ns: int
    copy_hidden_ns: int
    copies_alone_ns: int
    exposed_ns: int
    loaded_ns: int
    h2d_bytes: int
    d2h_bytes: int
    d2d_bytes: int
    pageable_copies: int
    memsets: int
    graph_launches: int
    overlap_ns: int
    streams: int
    cold_ns: int
    transition_ns: int
    earlier_ns: int
    elsewhere_ns: int = 0
    compute_ns: int = 0
    comm_ns: int = 0
    exposed_comm_ns: int = 0
    exposed_copy_ns: int = 0
    graph_nodes: int = 0
    called: int = 0
    pageable_alone_ns: int = 0
    pageable_ns: int = 0
    pageable_bytes: int = 0
    loading_ns: int = 0
    loading_own_ns: int = 0
    framework_ns: int = 0
    host_work_ns: int = 0
    system_ns: int = 0
    batches: int = 0
    loading_worked_ns: int = 0
    loading_used_ns: int = 0
    optimizer_launch_ns: int = 0
    optimizer_host_ns: int = 0
    slow_launch_ns: int = 0
    once_ns: int = 0
    stalled_ns: int = 0
    collective_ns: int = 0
    comm_in_line_ns: int = 0
    ahead_ns: int = 0
    wait_ns: int = 0
    late_ns: int = 0
    doing: list[tuple[str, int]] = field(default_factory=list)
    lanes: dict[str, list[float]] = field(default_factory=dict)

    @property
    def idle_ns(self) -> int:
        """Time in which nothing ran."""
        return self.span_ns - self.busy_ns

    def gap(self, cause: str) -> GapClass:
        """Gaps of one class; zeros where there are none."""
        return next((g for g in self.gaps if g.cause == cause), GapClass(cause, 0, 0, 0, 0))


class HostCalls(Struct, frozen=True):
    """Outermost calls of the host in numbers. median_launch_ns, median_copy_ns: time of one call that started a kernel, or
    a copy. threads: how many started work.
    """

    calls: int
    threads: int
    launches: int
    syncs: int
    copies: int
    median_launch_ns: float | None
    median_copy_ns: float | None


class RankShare(Struct, frozen=True):
    """One rank of a job. comm_ns: time in collectives; wait_ns: of it, beyond the rank that came last, without the first; last: how often it was that, of the ranks read."""

    rank: str
    comm_ns: int
    wait_ns: int
    last: int


class Timeline(Struct):
    """What a trace says of the time between the work.

    start, end: of all devices together, ns. own_ns: time of every operation, shared out where several ran at once; their
    sum is the busy time. host: None where no call was recorded. sliced: cut from a longer run, so its beginning is no start. loading_in: as in Trace.
    job: ranks of `world` that were read together, of which this one stands at `mine`. judged: the devices without a long start with little work, which ends at `steady`: what findings and shares are of; starting: the host's call that takes most of the start.
    """

    start: int
    end: int
    devices: list[DeviceTimeline]
    own_ns: Floats
    host: HostCalls | None
    sliced: bool
    job: list[RankShare] = field(default_factory=list)
    mine: int = 0
    world: int = 0
    loading_in: tuple[str, float] | None = None
    judged: list[DeviceTimeline] = field(default_factory=list)
    steady: int = 0
    starting: str = ""

    @property
    def is_short(self) -> bool:
        """True where a timeline says little of the program."""
        return len(self.own_ns) < FEW or max(d.span_ns for d in self.devices) < SHORT

    @property
    def has_judged_gaps(self) -> bool:
        """True where idle time has causes worth a word: few operations say something only around long gaps."""
        return not self.is_short or max(d.largest_gap_ns for d in self.devices) >= SHORT
