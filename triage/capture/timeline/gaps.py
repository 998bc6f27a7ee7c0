"""The gaps of one device: which piece of each goes to what, who led it, and what is to blame.

Every gap ends with an operation. What the thread that launched it did from the gap's beginning on says where the time
went; what it did at the beginning says what would have to go for the gap to go. After a synchronisation, for example, the
host still needs time to launch anew: the time is the host's, the blame the synchronisation's.
"""

from __future__ import annotations

import itertools

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Codes, Indices, Masks
from triage.capture.timeline.spans import Steps, union
from triage.capture.trace_nouns import (
    ALLOC,
    COPY,
    GAPS,
    HOST,
    LAUNCH,
    LOAD,
    MEMCPY,
    PROFILER,
    QUEUED,
    SET,
    SYNC,
    UNKNOWN,
    Calls,
    Trace,
)

# waiting that empties the queue: what the host does next to fill it again would have been done meanwhile
_EMPTYING = (SYNC, MEMCPY)
# all but what goes away by itself or not at all, whoever led the gap, and further waits
_MOVES = [k for k in range(len(GAPS)) if k not in (PROFILER, LOAD, ALLOC, *_EMPTYING)]
# ns; heuristic: after a copy the host needs up to a millisecond to launch anew, what takes longer is work of its own
RELAUNCH = 1_000_000


class Gaps(Struct):
    """Gaps in order. ended_by: row of the operation. led: class at the beginning. pieces: ns of each class (a row each) in each gap.

    worked: ns that the device was busy between the gap before and each gap. own: ns of each gap in waits for a data
    loader and calls of the operating system, which no other wait is to blame for; unseen: gaps that work from before the
    record may have filled. uploaded: gaps after a copy to the device, which a wait there is for.
    """

    start: Indices
    end: Indices
    ended_by: Indices
    led: Codes
    pieces: Indices
    worked: Indices
    own: Indices
    unseen: Masks
    uploaded: Masks

    @property
    def length(self) -> Indices:
        """ns of each gap."""
        return self.end - self.start

    @property
    def ahead(self) -> Indices:
        """ns of work between each gap and the last one before it that no queued work ended: what a wait there waited for."""
        done, place = np.cumsum(self.worked), np.arange(1, len(self.led) + 1)
        last = np.maximum.accumulate(np.where(self.led != QUEUED, place, 0))
        before: Indices = np.concatenate([[0], done])[np.concatenate([[0], last])[:-1]]
        return done - before

    def ahead_ns(self) -> int:
        """Work before gaps that the host leads without having waited for it."""
        return int(self.ahead[np.isin(self.led, (HOST, LAUNCH))].sum())

    def inside(self, start: Indices, end: Indices) -> Indices:
        """ns of each gap in some intervals."""
        spans = union(start, end)
        return spans.until(self.end) - spans.until(self.start)

    def blamed(self) -> Indices:
        """ns of each gap that would go if a class (a row each) went; over the classes the whole gap."""
        out, copied = self.pieces.copy(), self.uploaded & (self.led == SYNC)
        led = np.where(copied, np.int8(MEMCPY), self.led)
        for mine, taken, given in ((copied, SYNC, MEMCPY), (self.unseen, QUEUED, UNKNOWN)):
            out[given, mine] += out[taken, mine]
            out[taken, mine] = 0
        own, ahead = np.minimum(self.own, out[HOST]), self.ahead
        out[HOST] -= own
        for leader in _EMPTYING:
            rest = out[_MOVES].sum(axis=0)
            # without the wait the host would have worked beside the device, as long as that was busy; long work after a
            # copy mostly needs the copy
            moved = np.where((led == leader) & ((leader == SYNC) | (rest <= RELAUNCH)), np.minimum(rest, ahead), 0)
            parts = np.rint(out[_MOVES] * (moved / np.maximum(rest, 1))).astype(np.int64)
            out[_MOVES] -= parts
            out[leader] += parts.sum(axis=0)
        out[HOST] += own
        return out


class HostThreads:
    """Which calls each thread of the host was in, taken apart once for all devices and spans that ask."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._order = np.argsort(calls.thread, kind="stable")
        self._sorted = calls.thread[self._order]
        self._steps: dict[int, tuple[Steps, Steps]] = {}

    def steps(self, thread: int) -> tuple[Steps, Steps]:
        """(all calls of a thread, overhead among them that the profiler reports beside the calls)."""
        if thread not in self._steps:
            calls = self._calls
            a, b = np.searchsorted(self._sorted, [thread, thread + 1])
            rows = self._order[a:b]
            all_of, beside = (
                Steps(calls.start[r], calls.end[r], calls.kind[r], HOST) for r in (rows, rows[calls.name[rows] < 0])
            )
            self._steps[thread] = all_of, beside
        return self._steps[thread]


def find(trace: Trace, threads: HostThreads, start: Indices, end: Indices, ended_by: Indices, worked: Indices) -> Gaps:
    """The gaps of a device, taken apart: holes in order, the row of the operation that ends each, the work before each."""
    ops, calls = trace.operations, trace.calls
    length = end - start
    led = np.full(len(start), UNKNOWN, dtype=np.int8)
    pieces = np.zeros((len(GAPS), len(start)), dtype=np.int64)
    call = ops.call[ended_by]
    known = call >= 0
    queued = known.copy()
    queued[known] = calls.end[call[known]] <= start[known]
    led[queued] = QUEUED
    pieces[QUEUED, queued], pieces[UNKNOWN, ~known] = length[queued], length[~known]
    rest = np.flatnonzero(known & ~queued)
    thread = calls.thread[call[rest]]
    copying = np.isin(ops.kind[ended_by], (COPY, SET))
    order = np.argsort(thread, kind="stable")
    rest, thread = rest[order], thread[order]
    cuts = np.flatnonzero(np.diff(thread, prepend=thread[:1] - 1, append=thread[-1:] + 1)).tolist() if len(rest) else []
    for low, high in itertools.pairwise(cuts):
        mine = rest[low:high]
        steps = threads.steps(int(thread[low]))
        led[mine] = _take(pieces, mine, start[mine], end[mine], call[mine], copying[mine], trace, steps)
    none = np.zeros(len(start), dtype=np.int64)
    return Gaps(start, end, ended_by, led, pieces, worked, none, none > 0, none > 0)


def unseen(trace: Trace, gaps: Gaps, rows: Indices) -> Masks:
    """True for gaps that work from before the record may have filled; rows: of the device, in the order of their starts.

    Queued work waited, and nothing that was recorded says for what: it is the first of its stream, no other device works,
    and the host has not waited for the device yet.
    """
    ops, calls = trace.operations, trace.calls
    found: Masks = gaps.led == QUEUED
    _, first = np.unique(ops.stream[rows], return_index=True)
    found &= np.isin(gaps.ended_by, rows[first])
    waits = calls.end[calls.kind == SYNC]
    for i in np.flatnonzero(found).tolist():
        begun = calls.start[ops.call[gaps.ended_by[i]]]
        working = (ops.start < gaps.end[i]) & (ops.end > gaps.start[i])
        found[i] = not working.any() and not (waits <= begun).any()
    return found


def _take(
    pieces: Indices,
    mine: Indices,
    start: Indices,
    end: Indices,
    call: Indices,
    copying: Masks,
    trace: Trace,
    thread: tuple[Steps, Steps],
) -> Codes:
    """Enter the pieces of one thread's gaps; the classes that led them. call: the launching calls."""
    calls, (steps, beside) = trace.calls, thread
    begun = np.clip(calls.start[call], start, end)

    left = begun - start
    for k, ns in steps.spent(start, begun).items():
        pieces[k, mine] += ns
        left = left - ns
    pieces[HOST, mine] += left
    # submitted work starts at once, or waits for something else
    reached = end if trace.grace is None else np.clip(calls.end[call] + trace.grace, begun, end)
    waiting = end - reached
    left = reached - begun
    for k, ns in beside.spent(begun, reached).items():
        pieces[k, mine] += ns
        left = left - ns
    pieces[LAUNCH, mine] += np.where(copying, 0, left)
    pieces[MEMCPY, mine] += np.where(copying, left, 0)
    pieces[QUEUED, mine] += waiting
    running = begun <= start  # the launching call was under way already
    led = np.where(running, np.where(copying, MEMCPY, LAUNCH), steps.at(start))
    return np.where(2 * waiting > end - start, QUEUED, led).astype(np.int8)
