"""Kernels and copies whose time a finding of the whole capture rests on, so that it is not called undiagnosed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from triage.capture.arrays import Codes, Masks
from triage.capture.capture import Capture
from triage.capture.trace_nouns import COPY, FROM_DEVICE, TO_DEVICE, Operator, Trace
from triage.devices import Peaks
from triage.diagnosis import frame_copies, kernel_facts, operator_facts
from triage.diagnosis.operator_roofs import PRODUCTS, is_slow, roof_share
from triage.diagnosis.root_causes import CauseIndex, CauseTable, Leaders
from triage.diagnosis.stated_work import slow_kernels
from triage.diagnosis.verdicts import AT_LIMIT, FIX, NOT_DIAGNOSED, SUSPECT
from triage.ground.kernel_names import is_collective
from triage.ground.method import HIGH
from triage.rulebook.packs import Rulebook


def settle(
    verdict: Codes, capture: Capture, whole: CauseTable, index: CauseIndex, book: Rulebook, leaders: Leaders
) -> dict[int, Masks]:
    """Turn undiagnosed kernels and copies of roots among what fired on the whole capture into what is to fix, or suspected.

    A fix that takes most of the time of its kernels leaves no suspect on them. Returns the kernels and copies that each of these causes is about.
    """
    claims: dict[int, Masks] = {}
    trace, peaks = capture.table.trace, capture.device.peaks if capture.device else None
    kernels = capture.names.astype(str)
    if fed := _at_roof(trace, peaks, lambda o, share: share >= HIGH):
        verdict[np.isin(kernels, sorted(fed)) & (verdict == NOT_DIAGNOSED)] = AT_LIMIT
    roots = {cause: row.rule[0] for cause, row in whole.rows.items() if row.root()[0] and row.likely[0] > 0}
    names = _by_name(capture) if roots else {}
    for metric, found in (_names(trace, peaks) if roots and trace else {}).items():
        names[metric] = found or names.get(metric, frozenset())
    about = {rule: -float(whole.rows[c].likely[0]) for c, rule in roots.items() if not index.verdict[c]}
    for rule in sorted(about, key=lambda rule: (bool(index.is_suspect[rule]), about[rule])):
        mine = frozenset[str]().union(*(names.get(m, ()) for m in book.rules[rule].needs))
        if mine:
            claimed = np.isin(kernels, sorted(mine))
            claims[int(index.of_rule[rule])] = claimed
            verdict[claimed & (verdict == NOT_DIAGNOSED)] = SUSPECT if index.is_suspect[rule] else FIX
            row = whole.rows[int(index.of_rule[rule])]
            taken = float(row.likely[0]) * capture.frame_ns
            if not index.is_suspect[rule] and 2 * taken > np.nan_to_num(capture.self_ns)[claimed].sum():
                moot = claimed & (verdict == SUSPECT)
                leaders.put_where(moot, Leaders.none(len(verdict)))
                verdict[moot] = FIX
    return claims


def unclaimed(verdict: Codes, capture: Capture, leaders: Leaders, claims: Mapping[int, Masks]) -> frozenset[str]:
    """Names of kernels of whose time at least half is explained by nothing, or stays when their own item is fixed.

    Products not far below the rate of good libraries are none: counters of a library's kernels change nothing.
    """
    names, place = np.unique(capture.names.astype(str), return_inverse=True)
    own = np.nan_to_num(capture.self_ns)
    stays = np.where(leaders.cause >= 0, 1 - np.nan_to_num(leaders.likely), verdict == NOT_DIAGNOSED)
    for claimed in claims.values():
        stays = np.where(claimed, 0, stays)
    dark = np.bincount(place, own * stays, len(names))
    found = frozenset(names[2 * dark >= np.bincount(place, own, len(names))].tolist())
    peaks = capture.device.peaks if capture.device else None
    if peaks is None:
        return found
    return found - _at_roof(capture.table.trace, peaks, lambda o, share: not is_slow(o, peaks, share))


def _at_roof(trace: Trace | None, peaks: Peaks | None, enough: Callable[[Operator, float], bool]) -> frozenset[str]:
    """Kernels of products whose rates are known, and of whose time most goes at a share of the roof that is enough."""
    if trace is None or peaks is None:
        return frozenset()
    used, good = Counter[str](), Counter[str]()
    for o in trace.operators:
        share = roof_share(o, peaks) or 0.0 if o.kind in PRODUCTS else 0.0
        used.update(dict.fromkeys(o.kernels[:1], o.all_ns))
        good.update(dict.fromkeys(o.kernels[:1], o.all_ns if share and enough(o, share) else 0))
    return frozenset(name for name, ns in used.items() if ns and 2 * good[name] > ns)


def _names(trace: Trace, peaks: Peaks | None) -> dict[str, frozenset[str]]:
    """Metric -> names of the kernels and copies whose time it is a share of."""
    out = {m: _mostly(mine, trace.operators) for m, mine in operator_facts.about(trace, peaks).items()}
    ops = trace.operations
    bus = (ops.kind == COPY) & ((ops.way == TO_DEVICE) | (ops.way == FROM_DEVICE))
    copies, paged = (
        frozenset(trace.names[i] for i in np.unique(ops.name[m]).tolist()) for m in (bus, bus & ops.pageable)
    )
    talking = frozenset(n for n in trace.names if is_collective(n))
    return out | {
        **dict.fromkeys(
            ("timeline.exposed_comm", "timeline.late_comm", "timeline.collective_wait", "timeline.rank_wait"), talking
        ),
        "operators.fp32": out["operators.fp32"] | operator_facts.fp32_kernels(trace, peaks),
        "operators.layout": operator_facts.layout_kernels(trace),
        "timeline.pageable_alone": paged,
        "timeline.bus_alone": copies,
        "timeline.hideable": copies,
        "collectives.excess": talking,
    }


def _by_name(capture: Capture) -> dict[str, frozenset[str]]:
    """The same of captures without operators, which only names of kernels tell."""
    every = sorted(set(map(str, capture.names)))
    out = {m: frozenset(n for n in every if test(n)) for m, test in kernel_facts.tests(capture, every).items()}
    return out | {
        "frame.communication": frozenset(n for n in every if is_collective(n)),
        "operators.product_excess": slow_kernels(
            capture.table.operators, capture.device.peaks if capture.device else None
        ),
        "frame.bus_copies": frozenset(str(capture.names[i]) for i in frame_copies.bus_rows(capture)),
    }


def _mostly(mine: Iterable[Operator], every: Iterable[Operator]) -> frozenset[str]:
    """Kernels of some operators that no others use as much."""
    used, all_used = Counter[str](), Counter[str]()
    for o in every:
        all_used.update(dict.fromkeys(o.kernels, o.all_ns))
    for o in mine:
        used.update(dict.fromkeys(o.kernels, o.all_ns))
    return frozenset(name for name, ns in used.items() if 2 * ns >= all_used[name])
