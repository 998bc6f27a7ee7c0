"""Traces of several ranks as one job: who came last to each collective, and how long the others waited there.

Clocks of processes differ, durations do not: all ranks leave a collective together, so the rank that came last runs it
shortest, and what the others take longer they waited (Meta, Holistic Trace Analysis, does the same). The n-th collective
of a name and group on one rank is the n-th on the others. Profilers do not start together: the first collective of a
recording holds their difference, and counts for no rank. Where ranks of the job are missing, the last is that of those given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.capture import Capture, Quality
from triage.capture.timeline import collectives
from triage.capture.trace_nouns import RankShare, Trace
from triage.ground.phrasing import plural
from triage.ground.units import show


def enter(captures: Sequence[Capture]) -> None:
    """Fill in `job` of the timelines of captures that are ranks of one job; other captures stay as they are."""
    traced = [c for c in captures if c.timeline is not None]
    found = [c for c in traced if c.table.trace is not None and len(c.table.trace.devices) == 1]
    known = [c.table.trace.rank for c in found if c.table.trace is not None and c.table.trace.rank is not None]
    if not found or len(set(known)) < len(known):  # two traces of one rank are two runs
        return
    times = [_collectives(c.table.trace) for c in found if c.table.trace is not None]
    world = max(c.table.trace.world for c in found if c.table.trace is not None)
    whole = not len(known) < world
    comm, wait, last = ([0] * len(found) for _ in range(3))
    opening, apart = {next(iter(mine)) for mine in times if mine}, 0
    if opening and not whole:
        unknown = "who comes last to a collective is unknown" if len(found) < 2 else "waits are at least those shown"
        text = f"{len(known):,} of {plural(world, 'rank')} given: {unknown}"
        found[0].quality.append(Quality("missing-ranks", text))
    for key in sorted({k for mine in times for k in mine}):
        members = [i for i, mine in enumerate(times) if key in mine]
        if len(members) < 2 or len({len(times[i][key]) for i in members}) > 1:
            continue  # unknown which belong together
        lasted = np.stack([times[i][key] for i in members])
        beyond = lasted - lasted.min(axis=0)
        if key in opening:
            apart, beyond = max(apart, int(beyond[:, 0].max())), beyond[:, 1:]
        for n in beyond.argmin(axis=0).tolist():
            last[members[n]] += 1
        for i, own, waited in zip(members, lasted, beyond, strict=True):
            comm[i] += int(own.sum())
            wait[i] += int(waited.sum())
    if not any(comm):
        return
    job = [RankShare(_label(c, number), comm[number], wait[number], last[number]) for number, c in enumerate(found)]
    for number, c in enumerate(found):
        assert c.timeline is not None
        c.timeline.job, c.timeline.mine, c.timeline.world = job, number, max(world, len(found))
    if apart > max(wait):
        text = f"ranks come to the first collective of their recordings up to {show(float(apart), 'ns')} apart, probably as profilers start: not counted as waits"
        found[0].quality.append(Quality("first-collective", text))


def _label(capture: Capture, number: int) -> str:
    trace = capture.table.trace
    return str(number if trace is None or trace.rank is None else trace.rank)


def _collectives(trace: Trace) -> dict[tuple[str, str], Indices]:
    """(kernel, group of ranks) -> ns of each launch, in order."""
    ops = trace.operations
    out: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in collectives.kernels(trace).tolist():
        out[trace.names[int(ops.name[row])], trace.groups.get(row, "")].append(int(ops.end[row] - ops.start[row]))
    return {key: np.array(ns, dtype=np.int64) for key, ns in out.items()}
