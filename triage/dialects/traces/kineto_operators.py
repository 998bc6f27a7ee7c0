"""Operators behind the kernels: the innermost one around the call that launched each, with its shapes.

The operator that a row names itself (`External id`) is another one in traces of 2021; nesting never is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.trace_nouns import LAUNCH, Calls, Operations, Operator
from triage.dialects.traces import kineto, operator_work
from triage.dialects.traces.kineto import Columns


def operators(columns: Columns, calls: Calls, ops: Operations) -> list[Operator]:
    """Operators that started work, one per name, dims and types, longest first."""
    if not columns.operators or not len(calls):
        return []
    start, end = kineto.nanoseconds(columns.operators.column(0), columns.operators.column(1))
    thread = kineto.threads(columns, columns.operators)
    call = np.where(ops.call >= 0, ops.call, _named(columns, calls))
    rows = np.flatnonzero(call >= 0)
    inside = innermost(start, end, thread, calls.thread[call[rows]], calls.start[call[rows]])
    rows, inside = rows[inside >= 0], inside[inside >= 0]
    made = [operator_work.work(*s) for s in columns.signatures]
    # signatures that differ in what does not matter here are one operator
    groups: dict[tuple[str, operator_work.Work], int] = {}
    group = np.array(
        [groups.setdefault((s[0], w), len(groups)) for s, w in zip(columns.signatures, made, strict=True)],
        dtype=np.int64,
    )
    signature = columns.operators.column(4)
    mine_of = group[signature[inside]] if len(inside) else inside
    order = np.argsort(mine_of, kind="stable")
    bounds = np.searchsorted(mine_of[order], np.arange(len(groups) + 1))
    lasted = ops.end - ops.start
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
                flops=w.flops, bytes=w.bytes, batch=w.batch, m=w.m, n=w.n, k=w.k,
            )
        )  # fmt: skip
    return sorted(out, key=lambda o: (-o.ns, o.name, o.dims))


def _names(columns: Columns, used: Indices, times: np.ndarray[Any, Any]) -> tuple[str, ...]:
    words = list(columns.names)
    return tuple(words[i] for i in sorted(set(used.tolist()), key=lambda i: -times[i]))


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


def innermost(start: Indices, end: Indices, thread: Indices, whose: Indices, when: Indices) -> Indices:
    """The shortest-lived interval of a thread around each instant, -1 outside of all."""
    order = np.lexsort((-end, start, thread)).tolist()
    out = np.full(len(when), -1, dtype=np.int64)
    at, last, open_ = 0, None, list[int]()
    for q in np.lexsort((when, whose)).tolist():
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
        while open_ and end[open_[-1]] < now:
            open_.pop()
        if open_:
            out[q] = open_[-1]
    return out
