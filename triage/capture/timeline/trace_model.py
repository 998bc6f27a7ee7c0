"""Trace -> Timeline: every device measured by itself, then all of them together."""

from __future__ import annotations

import itertools

import numpy as np

from triage.capture.arrays import Floats, Indices, Masks
from triage.capture.timeline import collectives, first_calls, host_ranges, optimizers
from triage.capture.timeline.gaps import Gaps, HostThreads, find, unseen
from triage.capture.timeline.spans import Union, shared_out, spread, union
from triage.capture.trace_nouns import (
    ALLOC,
    API,
    COPY,
    FEW,
    FROM_DEVICE,
    GAPS,
    GRAPH,
    HOST,
    KERNEL,
    LANES,
    LAUNCH,
    LOAD,
    MEMCPY,
    ON_DEVICE,
    QUEUED,
    SET,
    SYNC,
    TO_DEVICE,
    WORK,
    Calls,
    DeviceTimeline,
    Gap,
    GapClass,
    HostCalls,
    Operations,
    Timeline,
    Trace,
)
from triage.ground.method import TINY_NS

MAX_DEVICES = 512
LONGEST = 10  # gaps named one by one
PARTS = 240  # equal parts of the trace that a strip shows
SMALL = 64 << 10  # bytes; Nsight Systems' guide: setting up so small a copy takes longer than moving it
# ns; heuristic: a device takes one to a few microseconds from one queued kernel to the next, and what is ten times
# longer waits for something
TRANSITION = 20_000
LOADING = 1_000_000  # ns of a launch call; a device that waits for so long a call waits for code that is loaded
EARLY = 0.1  # heuristic: allocations in the first tenth belong to the start
LOADED = 0.01  # heuristic: what is copied to a device before this part of its work is done is loaded once
# heuristics: at least half of the span with no more than a tenth of the operations is no steady work
START_SPAN, START_WORK = 0.5, 0.1
STEADY_BUSY = 0.5  # heuristic: a device that idles most of the rest is no further there
# heuristic: with more than this share of the operations without their call, a capture was cut from a longer run
CUT = 0.05


def build(trace: Trace) -> Timeline:
    """Measure a trace; its operations may stand in any order, and none may end before it starts."""
    ops = trace.operations
    first = int(ops.start.min())
    threads = HostThreads(trace.calls)
    devices, own = _measured(trace, threads, first)
    judged, steady = devices, _steady(ops)
    if steady - first > 2 * sum(d.cold_ns + d.slow_launch_ns for d in devices):  # else the start has a cause of its own
        later, own_later = _measured(trace, threads, steady)
        if sum(d.busy_ns for d in later) >= STEADY_BUSY * sum(d.span_ns for d in later):
            judged, own = later, own_later
    calls = len(trace.calls) > 0
    orphans = int((ops.call < 0).sum())
    return Timeline(
        first,
        int(ops.end.max()),
        devices,
        own,
        _host(trace.calls, ops) if calls else None,
        calls and orphans > CUT * len(ops),
        loading_in=trace.loading_in,
        judged=judged,
        steady=steady if judged is not devices else first,
        starting=_longest_call(trace.calls, first, steady),
    )


def _measured(trace: Trace, threads: HostThreads, since: int) -> tuple[list[DeviceTimeline], Floats]:
    """(each device by what starts from an instant on, own times); only the whole has lanes and longest gaps."""
    ops = trace.operations
    own, first = np.zeros(len(ops)), ops.start.min()
    lanes = np.linspace(first, ops.end.max(), PARTS + 1).astype(np.int64) if since <= first else None
    of_each = [np.flatnonzero((ops.device == n) & (ops.start >= since)) for n in range(len(trace.devices))]
    found = [_device(trace, threads, n, rows, own, lanes) for n, rows in enumerate(of_each) if len(rows)]
    _elsewhere(found)
    devices = [d for d, _, _ in found]
    collectives.enter(trace, devices, since)
    return devices, own


def _longest_call(calls: Calls, begun: int, ended: int) -> str:
    """The call in which a thread of the host is for most of a time; "" where there is none."""
    inside = np.where(calls.name >= 0, np.minimum(calls.end, ended) - np.maximum(calls.start, begun), 0)
    if not len(calls) or 2 * inside.max() <= ended - begun:
        return ""
    return calls.names[int(calls.name[inside.argmax()])]


def _steady(ops: Operations) -> int:
    """When steady work begins: with the first operation, or after a start that is long and holds few; one gap may be all of it."""
    tenth = int(START_WORK * len(ops))
    begun, first = int(np.partition(ops.start, tenth)[tenth]), int(ops.start.min())
    long = START_SPAN * (int(ops.end.max()) - first)
    if len(ops) < FEW or begun - first < long:
        return first
    early = np.flatnonzero(ops.start <= begun)
    early = early[np.argsort(ops.start[early], kind="stable")]
    gaps = ops.start[early[1:]] - np.maximum.accumulate(ops.end[early])[:-1]
    return int(ops.start[early[1 + gaps.argmax()]]) if gaps.max() >= long else begun


def _device(
    trace: Trace, threads: HostThreads, number: int, rows: Indices, own: Floats, edges: Indices | None
) -> tuple[DeviceTimeline, Union, Gaps]:
    import pandas as pd

    ops = trace.operations
    start = ops.start[rows]
    if (start[1:] < start[:-1]).any() or (start[1:] == start[:-1]).any():
        rows = rows[np.lexsort((ops.end[rows], start))]  # of those that start together, the one that ends first
    start, end, kind = ops.start[rows], ops.end[rows], ops.kind[rows]
    busy = union(start, end)
    own[rows], overlap = shared_out(start, end, busy)
    gaps = find(trace, threads, busy.end[:-1], busy.start[1:], rows[busy.first[1:]], (busy.end - busy.start)[:-1])
    last = busy.first[1:] - 1  # of each block of work
    gaps.uploaded = (kind[last] == COPY) & (ops.way[rows[last]] == TO_DEVICE)
    gaps.unseen = unseen(trace, gaps, rows) & (gaps.length >= TRANSITION)
    loading = gaps.inside(*trace.loading) if trace.loading is not None else gaps.own
    system = gaps.inside(trace.system.start, trace.system.end) if trace.system is not None else gaps.own
    gaps.own = loading + system
    copies, kernels = kind == COPY, kind == KERNEL
    computing = kernels | (kind == GRAPH) | (kind == WORK)
    way, size = ops.way[rows], ops.bytes[rows]
    to_host = copies & ((way == TO_DEVICE) | (way == FROM_DEVICE))
    unions = {name: union(start[mask], end[mask]) for name, mask in (
        ("copies", copies), ("kernels", kernels), ("computing", computing), ("bus", to_host))}  # fmt: skip
    copy_union = unions["copies"]
    duration = end - start
    done = np.cumsum(np.where(computing, duration, 0))
    loaded = to_host & (way == TO_DEVICE) & (done <= LOADED * done[-1])
    of_loaded = union(start[loaded], end[loaded])
    blamed = gaps.blamed()
    early = gaps.start < start[0] + EARLY * (busy.end[-1] - start[0])
    cold = int(blamed[LOAD].sum() + blamed[ALLOC][early].sum())
    key, name = trace.devices[number]
    made = DeviceTimeline(
        key=key,
        name=name,
        first=int(start[0]),
        span_ns=int(busy.end[-1] - busy.start[0]),
        busy_ns=busy.length,
        gap_count=len(gaps.start),
        largest_gap_ns=int(gaps.length.max(initial=0)),
        gaps=_classes(gaps, blamed),
        longest=[] if edges is None else _longest(trace, gaps, blamed, rows, busy),
        kernels=int(kernels.sum()),
        kernel_ns=int(duration[kernels].sum()),
        median_kernel_ns=float(np.median(duration[kernels])) if kernels.any() else None,
        short_kernels=int((duration[kernels] < TINY_NS).sum()),
        copies=int(copies.sum()),
        small_copies=int((to_host & (size < SMALL)).sum()),
        median_copy_ns=float(np.median(duration[copies])) if copies.any() else None,
        copy_busy_ns=copy_union.length,
        copy_hidden_ns=copy_union.shared(unions["kernels"]),
        copies_alone_ns=copy_union.length - copy_union.shared(unions["computing"]),
        exposed_ns=unions["bus"].length - unions["bus"].shared(unions["computing"]),
        loaded_ns=of_loaded.length - of_loaded.shared(unions["computing"]),
        h2d_bytes=int(size[copies & (way == TO_DEVICE)].sum()),
        d2h_bytes=int(size[copies & (way == FROM_DEVICE)].sum()),
        d2d_bytes=int(size[copies & (way == ON_DEVICE)].sum()),
        pageable_copies=int((ops.pageable[rows] & copies).sum()),
        memsets=int((kind == SET).sum()),
        graph_launches=int((kind == GRAPH).sum()),
        overlap_ns=overlap,
        streams=len(pd.unique(ops.stream[rows])),
        cold_ns=cold,
        transition_ns=int(gaps.length[(gaps.led == QUEUED) & (gaps.length < TRANSITION)].sum()),
        earlier_ns=int(gaps.length[gaps.unseen].sum()),
        ahead_ns=gaps.ahead_ns(),
    )
    _communication(made, trace, rows, copy_union)
    call = ops.call[rows[kernels]]
    made.called = int((call >= 0).sum())
    made.graph_nodes = int(_graphs(trace.calls)[call[call >= 0]].sum())
    paged = to_host & ops.pageable[rows] & (size >= SMALL)
    of_paged = union(start[paged], end[paged])
    made.pageable_ns, made.pageable_bytes = of_paged.length, int(size[paged].sum())
    made.pageable_alone_ns = of_paged.length - of_paged.shared(unions["computing"])
    waited = np.minimum(blamed[HOST], loading)
    if trace.loading is not None:
        rows_of = np.flatnonzero(waited >= TRANSITION)
        made.loading_ns, made.batches = int(waited.sum()), len(rows_of)
        worked = np.diff(np.cumsum(gaps.worked)[rows_of], prepend=0)
        used = np.diff(gaps.end[rows_of]) - waited[rows_of[1:]]
        if len(used):  # what comes before the first wait is cut
            made.loading_worked_ns, made.loading_used_ns = (int(x.mean() * made.batches) for x in (worked[1:], used))
        else:
            made.loading_worked_ns, made.loading_used_ns = int(worked.sum()), made.span_ns - made.loading_ns
        made.loading_own_ns = made.loading_ns if trace.loads_itself else 0
    if trace.framework is not None:
        made.framework_ns = int(np.minimum(blamed[HOST], gaps.inside(*trace.framework)).sum())
    made.system_ns = int(np.minimum(blamed[HOST], system).sum())
    host = blamed[HOST] + blamed[API] - waited
    made.once_ns, made.stalled_ns = first_calls.beyond_usual(trace, gaps, host, rows)
    made.host_work_ns, made.doing = host_ranges.during(trace, gaps, host)
    optimizers.enter(made, trace, gaps, blamed)
    if trace.grace is not None:  # elsewhere loading is reported beside the calls
        known = np.flatnonzero(ops.call[gaps.ended_by] >= 0)
        call = ops.call[gaps.ended_by[known]]
        slow = known[trace.calls.end[call] - trace.calls.start[call] >= LOADING]
        made.slow_launch_ns = int(blamed[LAUNCH][slow].sum())
    if edges is not None:
        others = (copies & (way == TO_DEVICE), copies & (way == FROM_DEVICE), copies & ~to_host | (kind == SET))
        works = [unions["computing"], *(union(start[mask], end[mask]) for mask in others)]
        made.lanes = {
            name: _lane(edges, u.start, u.end, u.end - u.start)
            for name, u in zip(LANES, works, strict=True)
            if len(u.start)
        }
        made.lanes |= {GAPS[k]: _lane(edges, gaps.start, gaps.end, ns) for k, ns in enumerate(blamed) if ns.any()}
    return made, busy, gaps


def _communication(made: DeviceTimeline, trace: Trace, rows: Indices, copies: Union) -> None:
    """Enter computing, communication and what of it nothing hides."""
    ops = trace.operations
    start, end, kind, named = ops.start[rows], ops.end[rows], ops.kind[rows], ops.name[rows]
    # custom all-reduces wait for other devices as well, but NCCL's and RCCL's time is what other tools call communication
    talking = np.array(["nccl" in n.lower() or "rccl" in n.lower() for n in trace.names], dtype=bool)
    comm_rows = (kind == KERNEL) & talking[named]
    compute, comm = (union(start[m], end[m]) for m in ((kind != COPY) & ~comm_rows, comm_rows))
    both = union(start[kind != COPY], end[kind != COPY]) if comm.length else compute
    made.compute_ns, made.comm_ns = compute.length, comm.length
    made.exposed_comm_ns = comm.length - comm.shared(compute)
    stream = ops.stream[rows]
    in_line = comm_rows & np.isin(stream, stream[(kind == KERNEL) & ~comm_rows])
    made.comm_in_line_ns = int((end - start)[in_line].sum())
    made.exposed_copy_ns = copies.length - copies.shared(both)


def _graphs(calls: Calls) -> Masks:
    """True for calls that launch a graph."""
    named = np.array(["GraphLaunch" in n for n in calls.names] + [False], dtype=bool)  # the last is no call
    found: Masks = named[calls.name]
    return found


def _lane(edges: Indices, start: Indices, end: Indices, ns: Indices) -> list[float]:
    """The share of each part of a strip that some intervals take, each with its time in ns."""
    shares = spread(edges, start, end, ns) / np.diff(edges).clip(1)
    return [float(v) for v in np.round(np.clip(shares, 0.0, 1.0), 4)]


def _classes(gaps: Gaps, blamed: Indices) -> list[GapClass]:
    """Every class that has time or leads a gap, in the order of GAPS."""
    counts = np.bincount(gaps.led, minlength=len(GAPS))
    length = gaps.length
    out = []
    for k, word in enumerate(GAPS):
        total, blame = int(gaps.pieces[k].sum()), int(blamed[k].sum())
        if total or counts[k] or blame:
            out.append(GapClass(word, total, int(counts[k]), int(length[gaps.led == k].sum()), blame))
    return out


def _longest(trace: Trace, gaps: Gaps, blamed: Indices, rows: Indices, busy: Union) -> list[Gap]:
    """The LONGEST gaps, longest first, with what ran around them and what the host was in."""
    length = gaps.length
    few = np.argpartition(-length, LONGEST)[:LONGEST] if len(length) > LONGEST else np.arange(len(length))
    out = []
    ends = np.append(busy.first[1:], len(rows))
    for i in sorted(few.tolist(), key=lambda i: (-int(length[i]), i)):
        spent = blamed[:, i]  # as in the sums by reason
        block = rows[busy.first[i] : ends[i]]
        before = int(block[int(np.argmax(trace.operations.end[block]))])
        most = int(spent.argmax())
        out.append(
            Gap(
                start=int(gaps.start[i]),
                end=int(gaps.end[i]),
                cause=GAPS[most],
                cause_ns=int(spent[most]),
                led_by=GAPS[int(gaps.led[i])],
                call=_call_at(trace, int(gaps.ended_by[i]), int(gaps.start[i])),
                before=before,
                after=int(gaps.ended_by[i]),
            )
        )
    return out


def _call_at(trace: Trace, ended_by: int, instant: int) -> str:
    """The name of the call that the launching thread was in; "" outside of any, or where nothing is known."""
    calls, call = trace.calls, int(trace.operations.call[ended_by])
    if call < 0 or calls.end[call] <= instant:
        return ""
    around = np.flatnonzero(
        (calls.thread == calls.thread[call]) & (calls.start <= instant) & (calls.end > instant) & (calls.name >= 0)
    )
    if not len(around):
        return ""
    best = around[np.lexsort((calls.start[around], calls.kind[around]))[0]]
    return calls.names[int(calls.name[best])]


def _elsewhere(found: list[tuple[DeviceTimeline, Union, Gaps]]) -> None:
    """Queued gaps of a device in which another one worked: it may have waited for that one."""
    for me, (made, _, gaps) in enumerate(found):
        waiting = np.flatnonzero(gaps.led == QUEUED)
        others = [busy for i, (_, busy, _) in enumerate(found) if i != me]
        if not others or not len(waiting):
            continue
        start, end = (np.concatenate([getattr(u, side) for u in others]) for side in ("start", "end"))
        working = union(start, end)
        made.elsewhere_ns = int((working.until(gaps.end[waiting]) - working.until(gaps.start[waiting])).sum())


def outermost(calls: Calls) -> Masks:
    """Calls that lie in no other call of their thread; a runtime call holds the driver's."""
    order = np.lexsort((-calls.end, calls.start, calls.thread))
    out = np.zeros(len(calls), dtype=bool)
    thread, start, end = calls.thread[order], calls.start[order], calls.end[order]
    cuts = np.append(np.flatnonzero(np.diff(thread, prepend=thread[:1] - 1)), len(order))
    for a, b in itertools.pairwise(cuts.tolist()):
        reach = np.maximum.accumulate(end[a:b])
        free = np.ones(b - a, dtype=bool)
        free[1:] = (start[a + 1 : b] >= reach[:-1]) | (end[a + 1 : b] > reach[:-1])
        out[order[a:b]] = free
    return out


def _host(calls: Calls, ops: Operations) -> HostCalls:
    import pandas as pd

    mine = outermost(calls) & (calls.name >= 0)
    length = calls.end - calls.start

    def of(kind: int) -> Masks:
        same: Masks = mine & (calls.kind == kind)
        return same

    def median_of(kinds: tuple[int, ...]) -> float | None:
        started = np.zeros(len(calls), dtype=bool)
        started[ops.call[(ops.call >= 0) & np.isin(ops.kind, kinds)]] = True
        return float(np.median(length[started])) if started.any() else None

    starters = pd.unique(calls.thread[ops.call[ops.call >= 0]])
    return HostCalls(
        calls=int(mine.sum()),
        threads=len(starters),
        launches=int(of(LAUNCH).sum()),
        syncs=int(of(SYNC).sum()),
        copies=int(of(MEMCPY).sum()),
        median_launch_ns=median_of((KERNEL, GRAPH, WORK)),
        median_copy_ns=median_of((COPY,)),
    )
