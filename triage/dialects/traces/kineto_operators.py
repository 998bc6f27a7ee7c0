"""Operators behind the kernels: the innermost one around the call that launched each, with its shapes.

The operator that a row names itself (`External id`) is another one in traces of 2021; nesting never is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from triage.capture.arrays import Floats, Indices
from triage.capture.timeline.spans import union
from triage.capture.trace_nouns import LAUNCH, PASSES, Calls, Operations, Operator, Trace
from triage.dialects.traces import kineto, operator_work
from triage.dialects.traces.kineto import Columns
from triage.dialects.traces.operator_work import Work

# heuristic, ns: as the rule of a late host has it, an operator of the device takes 5 to 50 µs of the host, one of the host its work
MAX_EAGER_NS = 50_000
_LOOKS = (8, 9, 10, 13)  # columns of work: name, bytes, way and launch shape


def enter_spans(columns: Columns, calls: Calls, ops: Operations, trace: Trace) -> None:
    """Fill in the time in operators on threads that start work, and those that start none and take long: they compute on the host.

    The first of all counts in any case: it tells when the host began.
    """
    start, end = kineto.nanoseconds(columns.operators.column(0), columns.operators.column(1))
    thread = kineto.threads(columns, columns.operators)
    rows = np.flatnonzero(np.isin(thread, calls.thread[ops.call[ops.call >= 0]]))
    rows = rows[np.argsort(start[rows], kind="stable")]
    inside = union(start[rows], end[rows])  # of operators within operators little is left: each device asks again
    if not len(rows):
        return
    begun = np.sort(calls.start[ops.call[ops.call >= 0]])
    starting = np.searchsorted(begun, inside.end) > np.searchsorted(begun, inside.start)
    kept = starting | (inside.end - inside.start <= MAX_EAGER_NS) | (inside.start == inside.start[0])
    trace.framework = inside.start[kept], inside.end[kept]
    own = rows[inside.first[~kept]]
    names, of = np.unique([columns.signatures[i][0] for i in columns.operators.column(4)[own]], return_inverse=True)
    trace.host_work = Calls(
        inside.start[~kept], inside.end[~kept], thread[own], (0 * of).astype(np.int8), of, names.tolist()
    )


def enter_operators(columns: Columns, calls: Calls, ops: Operations, trace: Trace) -> None:
    """Fill in the operators that started work, one per name, dims and types, longest first."""
    if not columns.operators or not len(calls):
        return
    start, end = kineto.nanoseconds(columns.operators.column(0), columns.operators.column(1))
    thread = kineto.threads(columns, columns.operators)
    call = np.where(ops.call >= 0, ops.call, _named(columns, calls))
    early = np.flatnonzero(call < 0)
    rows = np.flatnonzero(call >= 0)
    mine = call[rows]
    # what PyTorch notes of a collective inside its operator starts no work of its own
    noted = np.array([name == "record_param_comms" for name, _ in columns.signatures], dtype=bool)
    own = np.flatnonzero(~noted[columns.operators.column(4)])
    inside = innermost(start[own], end[own], thread[own], calls.thread[mine], calls.start[mine], calls.end[mine])
    rows, inside = rows[inside >= 0], own[inside[inside >= 0]]
    made = [operator_work.work(*s) for s in columns.signatures]
    # signatures that differ in what does not matter here are one operator
    groups: dict[tuple[str, Work], int] = {}
    group = np.array(
        [groups.setdefault((s[0], w), len(groups)) for s, w in zip(columns.signatures, made, strict=True)],
        dtype=np.int64,
    )
    signature = columns.operators.column(4)
    mine_of = group[signature[inside]] if len(inside) else inside
    trace.operator = np.full(len(ops), -1, dtype=np.int64)
    trace.operator[rows] = mine_of
    order = np.argsort(mine_of, kind="stable")
    bounds = np.searchsorted(mine_of[order], np.arange(len(groups) + 1))
    lasted = ops.end - ops.start
    queued = _queued(columns, early, rows, mine_of, len(groups), lasted)
    spare, most = _spare(columns, inside, mine_of, [w for _, w in groups], lasted[rows])
    out = []
    for (name, w), number in groups.items():
        part = order[bounds[number] : bounds[number + 1]]
        if not len(part):
            continue
        mine = rows[part]
        times = np.bincount(ops.name[mine], lasted[mine])
        out.append(
            Operator(
                name=name, kind=w.kind, type=w.type, dims=w.dims, calls=len(np.unique(inside[part])),
                ns=int(lasted[mine].sum()), kernels=_names(columns, ops.name[mine], times),
                flops=w.flops, bytes=w.bytes, batch=w.batch, m=w.m, n=w.n, k=w.k, lead=w.lead,
                queued_ns=int(queued[number]), spare_ns=int(spare[part].sum()),
                most_spare_ns=int(most[part].sum()),
            )
        )  # fmt: skip
    trace.operators = sorted(out, key=lambda o: (-o.ns, o.name, o.dims))


def _queued(columns: Columns, early: Indices, rows: Indices, group: Indices, many: int, lasted: Indices) -> Indices:
    """Per group the time of work that was launched before the trace began, and that no other group's work looks like.

    early: that work; rows, group: work whose operator is known. Alike are those of one name, launch shape, size and way.
    """
    out = np.zeros(many, dtype=np.int64)
    cell = columns.work.column
    rows, group = (side[np.isin(cell(8)[rows], cell(8)[early])] for side in (rows, group))
    if not len(early) or not len(rows):
        return out
    both = np.concatenate([rows, early])
    looks = np.stack([cell(i)[both] for i in _LOOKS], axis=1)
    look = np.unique(looks, axis=0, return_inverse=True)[1].reshape(-1)
    least = np.full(look.max() + 1, many, dtype=np.int64)
    most = np.full(look.max() + 1, -1, dtype=np.int64)
    np.minimum.at(least, look[: len(rows)], group)
    np.maximum.at(most, look[: len(rows)], group)
    owner = np.where(least == most, most, -1)[look[len(rows) :]]
    np.add.at(out, owner[owner >= 0], lasted[early[owner >= 0]])
    return out


def _spare(
    columns: Columns, inside: Indices, group: Indices, works: list[Work], lasted: Indices
) -> tuple[Floats, Floats]:
    """Of each row of work the ns that one pass would save, were the passes in a row over tensors of one size one: (likely, most).

    Likely reads the first argument of the row once, writes its last result, and reads each call's further arguments from
    memory; at most those are made by the row as well.
    """
    size = np.array([w.elements if w.kind in PASSES else 0 for w in works])
    loads = np.array([_load(w) for w in works])
    calls, first = np.unique(inside, return_index=True)
    thread, start = columns.operators.column(3)[calls], columns.operators.column(0)[calls]
    order = np.lexsort((start, thread))
    mine, whose = size[group[first[order]]], thread[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (mine[1:] != mine[:-1]) | (whose[1:] != whose[:-1]) | (mine[1:] == 0)
    run = np.cumsum(fresh) - 1
    load = loads[group[first[order]]]
    length, moved = np.bincount(run, minlength=1), np.bincount(run, load, minlength=1)
    kept = np.zeros((2, len(calls)))
    if len(run):
        kept[0, order] = ((moved - 2 * length + 2) / moved)[run]
        kept[1, order] = 1 / length[run]
    at = np.searchsorted(calls, inside)
    likely: Floats = lasted * (1 - kept[0, at])
    most: Floats = lasted * (1 - kept[1, at])
    return likely, most


def _load(w: Work) -> float:
    """Tensors of its largest argument's size that a pass reads and writes, at least one of each."""
    one = w.elements * operator_work.size_of(w.type)
    return max(2.0, w.bytes / one) if w.bytes and one else 2.0


def _names(columns: Columns, used: Indices, times: np.ndarray[Any, Any]) -> tuple[str, ...]:
    words = list(columns.names)
    return tuple(words[i] for i in sorted(set(used.tolist()), key=lambda i: (-times[i], i)))


def _named(columns: Columns, calls: Calls) -> Indices:
    """Calls that name the same operator as a row of work without a correlation, -1 elsewhere."""
    cell = columns.work.column
    process, correlation, named = (cell(i) for i in (3, 6, 7))
    out = np.full(len(correlation), -1, dtype=np.int64)
    rows = np.flatnonzero(correlation <= 0)
    if not len(rows):
        return out
    known: dict[tuple[int, int], int] = {}
    its, external = columns.calls.column(2).tolist(), columns.calls.column(5).tolist()
    for i, (p, e) in enumerate(zip(its, external, strict=True)):
        if e > 0 and calls.kind[i] <= LAUNCH:
            known.setdefault((p, e), i)
    out[rows] = [known.get((int(process[i]), int(named[i])), -1) for i in rows]
    return out


def innermost(start: Indices, end: Indices, thread: Indices, whose: Indices, when: Indices, until: Indices) -> Indices:
    """The shortest-lived interval of a thread around each start of a call, -1 outside of all; until: where the calls end.

    In whole microseconds an operator often ends as the next call begins: that call, which goes on behind it, is not its own.
    """
    order = np.lexsort((-end, start, thread)).tolist()
    out = np.full(len(when), -1, dtype=np.int64)
    at, last, open_ = 0, None, list[int]()
    for q in np.lexsort((until, when, whose)).tolist():
        mine, now = int(whose[q]), int(when[q])
        if mine != last:
            open_, last = [], mine
            while at < len(order) and thread[order[at]] < mine:
                at += 1
        while at < len(order) and thread[order[at]] == mine and start[order[at]] <= now:
            while open_ and end[open_[-1]] < start[order[at]]:
                open_.pop()
            open_.append(order[at])
            at += 1
        while open_ and (end[open_[-1]] < now or end[open_[-1]] == now < until[q]):
            open_.pop()
        if open_:
            out[q] = open_[-1]
    return out
