"""Kernels and copies whose time a finding of the whole capture rests on, so that it is not called undiagnosed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from triage.capture.arrays import Codes
from triage.capture.capture import Capture
from triage.capture.trace_nouns import COPY, FROM_DEVICE, TO_DEVICE, Operator, Trace
from triage.devices import Peaks
from triage.diagnosis.root_causes import CauseIndex, CauseTable, Leaders
from triage.diagnosis.verdicts import FIX, NOT_DIAGNOSED, SUSPECT
from triage.ground.kernel_names import is_collective
from triage.rulebook.packs import Rulebook


def settle(verdict: Codes, capture: Capture, whole: CauseTable, index: CauseIndex, book: Rulebook) -> None:
    """Turn undiagnosed kernels and copies of roots among what fired on the whole capture into what is to fix, or suspected."""
    roots = {cause: row.rule[0] for cause, row in whole.rows.items() if row.root[0] and row.likely[0] > 0}
    about = [rule for cause, rule in roots.items() if not index.verdict[cause]]
    if about and capture.timeline is not None and capture.table.trace is not None:
        names = _names(capture.table.trace, capture.device.peaks if capture.device else None)
        for rule in sorted(about, key=lambda rule: bool(index.is_suspect[rule])):
            mine = frozenset[str]().union(*(names.get(m, ()) for m in book.rules[rule].needs))
            if mine:
                here = np.isin(capture.names.astype(str), sorted(mine)) & (verdict == NOT_DIAGNOSED)
                verdict[here] = SUSPECT if index.is_suspect[rule] else FIX
    # copies have no counters of their own: those that an item is about are suspects like it
    if any(index.of_copies[rule] for rule in roots.values()):
        verdict[(capture.kinds == "copy") & (verdict == NOT_DIAGNOSED)] = SUSPECT


def unclaimed(verdict: Codes, capture: Capture, leaders: Leaders) -> frozenset[str]:
    """Names of kernels of whose time at least half is explained by nothing, or stays when their own item is fixed."""
    names, place = np.unique(capture.names.astype(str), return_inverse=True)
    own = np.nan_to_num(capture.self_ns)
    stays = np.where(leaders.cause >= 0, 1 - np.nan_to_num(leaders.likely), verdict == NOT_DIAGNOSED)
    dark = np.bincount(place, own * stays, len(names))
    return frozenset(names[2 * dark >= np.bincount(place, own, len(names))].tolist())


def _names(trace: Trace, peaks: Peaks | None) -> dict[str, frozenset[str]]:
    """Metric -> names of the kernels and copies whose time it is a share of."""
    from triage.diagnosis import operator_facts  # only traces need it

    out = {m: _mostly(mine, trace.operators) for m, mine in operator_facts.about(trace, peaks).items()}
    fp32, layout = (
        frozenset(n for n in trace.names if pattern.search(n))
        for pattern in (operator_facts.fp32_kernels(peaks), operator_facts.LAYOUT_RE)
    )
    ops = trace.operations
    bus = (ops.kind == COPY) & ((ops.way == TO_DEVICE) | (ops.way == FROM_DEVICE))
    copies, paged = (
        frozenset(trace.names[i] for i in np.unique(ops.name[m]).tolist()) for m in (bus, bus & ops.pageable)
    )
    talking = frozenset(n for n in trace.names if is_collective(n))
    return out | {
        **dict.fromkeys(("timeline.exposed_comm", "timeline.collective_wait", "timeline.rank_wait"), talking),
        "operators.fp32": out["operators.fp32"] | fp32,
        "operators.layout": layout,
        "timeline.pageable_alone": paged,
        "timeline.bus_alone": copies,
        "timeline.hideable": copies,
    }


def _mostly(mine: Iterable[Operator], every: Iterable[Operator]) -> frozenset[str]:
    """Kernels of some operators that no others use as much."""
    used, all_used = Counter[str](), Counter[str]()
    for o in every:
        all_used.update(dict.fromkeys(o.kernels, o.all_ns))
    for o in mine:
        used.update(dict.fromkeys(o.kernels, o.all_ns))
    return frozenset(name for name, ns in used.items() if 2 * ns >= all_used[name])
