"""The to-do list: one item per root cause, over all workloads it leads, in the order of what it still saves.

Every workload has one root cause, so items of workloads never overlap and their sum is the recoverable time. An item about
the whole frame (merging passes, launch overhead) shares time with them: it counts with what it saves of the
time that is left after the items above it, of its own kernels, passes or marker where it is about certain ones: what lies
beside them takes nothing from it. What these save by themselves counts with the part of their time that it leaves. Idle time between the work belongs to no workload and to one cause each: those
items stand apart, and are neither cut by others nor cut them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from triage.capture.arrays import Floats, Indices, Masks, distinct
from triage.diagnosis.diagnosis_result import Item, Part
from triage.diagnosis.root_causes import CauseIndex, CauseTable
from triage.ground.kernel_owners import owner_of

MAX_LISTED_WORKLOADS = 50  # workloads named per item; beyond that only the count is given


def todo(parts: Sequence[Part], cause_index: CauseIndex) -> list[Item]:
    """Items of some captures together, largest first."""
    total = float(sum(p.capture.frame_ns for p in parts))
    local = _of_workloads(parts)
    wide = _of_frames(parts, cause_index)
    for item in [i for i in wide if i.cause in local]:  # one cause is one item: the larger statement counts
        if item.saved_ns > local[item.cause].saved_ns:
            del local[item.cause]
        else:
            wide.remove(item)
    once = [i for i in (*local.values(), *wide) if cause_index.once[i.cause]]
    local = {cause: i for cause, i in local.items() if i not in once}
    wide = [i for i in wide if i not in once]
    aside = {i.cause for i in local.values() if _is_aside(i, parts)}

    def ordered(items: Iterable[Item]) -> list[Item]:
        return sorted(items, key=lambda i: (i.cause in aside, -_worth(i, total), i.cause))

    rest = ordered(local.values())
    out: list[Item] = []
    left = _Left(parts, total)
    while rest or wide:
        best = max(wide, key=lambda i: (_worth(i, total) * left.share(i), -i.cause), default=None)
        if best is not None and (not rest or _worth(best, total) * left.share(best) > _worth(rest[0], total)):
            wide.remove(best)
            item = _scaled(best, left.share(best))
            left.take(item)
            rest = ordered(left.of_workloads(i, item) for i in rest)
        else:
            item = rest.pop(0)
            left.take(item)
        out.append(item)
    # time that passes once per run saves nothing from run to run; where it is most of what is listed, the capture shows little else
    recurring = sum(i.saved_ns for i in out if i.saved_ns == i.saved_ns)
    first = [i for i in once if i.alone_ns > recurring]
    return [_scaled(i, 0.0) for i in first] + out + [_scaled(i, 0.0) for i in once if i not in first]


class _Left:
    """Time that the items so far leave: of all captures, and of each workload."""

    def __init__(self, parts: Sequence[Part], total: float) -> None:
        self.parts, self.total, self.taken = parts, total, 0.0
        self.own = [np.nan_to_num(p.capture.self_ns) for p in parts]
        self.now = [own.copy() for own in self.own]

    def share(self, i: Item) -> float:
        """Part of the time that an item is about which is left."""
        if i.apart or not self.total > 0:
            return 1.0
        before, now = (self._time(times, i) for times in (self.own, self.now))
        return now / before if before else max(0.0, 1.0 - self.taken / self.total)

    def take(self, i: Item) -> None:
        """Take what an item saves of the time that it is about; of that of all workloads where it is about no certain ones."""
        if i.apart or not i.saved_ns > 0 or not self.total > 0:
            return
        self.taken += i.saved_ns
        some = self._time(self.now, i)
        for part, now in zip(self.parts, self.now, strict=True):
            where = _about(i, part) if some else np.ones(len(now), dtype=bool)
            now[where] *= max(0.0, 1.0 - i.saved_ns / (some or self.total))

    def of_workloads(self, i: Item, done: Item) -> Item:
        """What an item of workloads still saves after one of the whole frame."""
        if done.apart or not i.saved_ns > 0:
            return i
        likely = [np.where(_about(i, p), p.leaders.likely, 0.0) for p in self.parts]
        before, now = (
            sum(float(part @ t) for part, t in zip(likely, times, strict=True)) for times in (self.own, self.now)
        )
        left = _scaled(i, now / before * i.alone_ns / i.saved_ns)
        return replace(left, after=done.cause) if 2 * left.saved_ns < i.saved_ns else left

    def _time(self, times: Sequence[Floats], i: Item) -> float:
        return float(sum(t[_about(i, p)].sum() for p, t in zip(self.parts, times, strict=True)))


def _about(i: Item, part: Part) -> Masks:
    """Mask of the workloads whose time an item is about; of none where it is about no certain ones."""
    if not i.whole:
        return np.asarray(part.leaders.cause == i.cause)
    known = (part.claims | part.spans).get(i.cause)
    mine = np.zeros(len(part.capture.self_ns), dtype=bool) if known is None else known.copy()
    if some := [w for p, w in i.workloads if p == part.number and w >= 0]:
        mine[some], parent = True, part.capture.parent
        for _ in range(int(part.capture.depth.max(initial=0))):
            mine |= (parent >= 0) & mine[parent]
    return mine


def _scaled(i: Item, part: float) -> Item:
    """An item that saves a part of what it did."""
    return replace(i, saved_ns=i.saved_ns * part, low_ns=i.low_ns * part, bound_ns=i.bound_ns * part)


def _is_aside(item: Item, parts: Sequence[Part]) -> bool:
    """True if all workloads named are initialisation, fills, copies or checks of results: no work to begin with."""
    of = {part.number: part for part in parts}
    owners = (owner_of(str(of[p].capture.names[w])) for p, w in item.workloads)
    return all(owner is not None and owner.is_aside for owner in owners)


def _worth(i: Item, total: float) -> float:
    """Sort key of items: time saved in ns, or fractions without times."""
    return i.saved_ns if total > 0 and i.saved_ns == i.saved_ns else i.fraction * i.count


def _of_workloads(parts: Sequence[Part]) -> dict[int, Item]:
    found: dict[int, Item] = {}
    for part in parts:
        p, leaders = part.number, part.leaders
        timed = part.capture.frame_ns > 0
        time: Floats = np.nan_to_num(part.capture.self_ns) if timed else np.ones(len(part.capture))
        saved = leaders.likely * time
        for cause in distinct(leaders.cause[leaders.cause >= 0]):
            where = np.flatnonzero(leaders.cause == cause)
            first = _worst(where, saved)
            nan = float("nan")
            item = Item(
                cause=cause,
                rule=int(leaders.rule[first[0]]),
                count=len(where),
                saved_ns=float(saved[where].sum()) if timed else nan,
                low_ns=float((leaders.low[where] * time[where]).sum()) if timed else nan,
                bound_ns=float((leaders.bound[where] * time[where]).sum()) if timed else nan,
                alone_ns=float(saved[where].sum()) if timed else nan,
                fraction=float(leaders.likely[first[0]]),
                workloads=tuple((p, int(w)) for w in first),
                rules=frozenset(distinct(leaders.rule[where])),
            )
            found[cause] = _join(found[cause], item, parts) if cause in found else item
    return found


def _worst(where: Indices, saved: Floats) -> Indices:
    """The MAX_LISTED_WORKLOADS of these workloads that save most, in that order; of equal ones the earlier."""
    if len(where) > MAX_LISTED_WORKLOADS:  # a whole sort of a million workloads would take longer than judging them
        least = np.partition(saved[where], len(where) - MAX_LISTED_WORKLOADS)[len(where) - MAX_LISTED_WORKLOADS]
        where = where[saved[where] >= least]
    return where[np.argsort(-saved[where], kind="stable")[:MAX_LISTED_WORKLOADS]]


def _join(a: Item, b: Item, parts: Sequence[Part]) -> Item:
    """One cause in several captures."""

    of = {part.number: part for part in parts}

    def saved(at: tuple[int, int]) -> float:
        part = of[at[0]]
        time = part.capture.self_ns[at[1]] if part.capture.frame_ns > 0 else 1.0
        return float(np.nan_to_num(time) * part.leaders.likely[at[1]])

    named = sorted((*a.workloads, *b.workloads), key=lambda at: (-saved(at), at))[:MAX_LISTED_WORKLOADS]
    lead = a if saved(a.workloads[0]) >= saved(b.workloads[0]) else b
    return replace(
        lead,
        count=a.count + b.count,
        saved_ns=float(np.nansum([a.saved_ns, b.saved_ns])),
        low_ns=float(np.nansum([a.low_ns, b.low_ns])),
        bound_ns=float(np.nansum([a.bound_ns, b.bound_ns])),
        alone_ns=float(np.nansum([a.alone_ns, b.alone_ns])),
        workloads=tuple(named),
        rules=a.rules | b.rules,
    )


def _of_frames(parts: Sequence[Part], cause_index: CauseIndex) -> list[Item]:
    """Roots among what fired on the captures as wholes, and on their markers."""
    found: dict[int, list[Item]] = {}
    for part in parts:
        for w, whole in part.wholes.items():
            for item in _of_whole(part, w, whole.causes, cause_index):
                found.setdefault(item.cause, []).append(item)
    return [_together(items) for items in found.values()]


def _of_whole(part: Part, w: int, causes: CauseTable, cause_index: CauseIndex) -> Iterator[Item]:
    for cause, row in causes.rows.items():
        if cause_index.verdict[cause] or not row.root()[0] or row.likely[0] <= 0:
            continue
        time = part.capture.frame_ns if part.capture.frame_ns > 0 else float("nan")
        apart = bool(cause_index.of_idle[row.rule[0]])
        yield Item(
            cause=cause,
            rule=int(row.rule[0]),
            count=1,
            saved_ns=float(row.likely[0]) * time,
            # a suspect that shares time with others may save nothing
            low_ns=0.0 if cause_index.is_suspect[row.rule[0]] and not apart else float(row.low[0]) * time,
            bound_ns=float(row.bound[0]) * time,
            alone_ns=float(row.likely[0]) * time,
            fraction=float(row.likely[0]),
            workloads=((part.number, w),),
            rules=frozenset([int(row.rule[0])]),
            whole=True,
            apart=apart,
        )


def _together(items: list[Item]) -> Item:
    """One cause of several captures as wholes; the one that saves most stands for it."""
    items = sorted(items, key=lambda i: -i.alone_ns)
    return replace(
        items[0],
        count=len(items),
        saved_ns=sum(i.saved_ns for i in items),
        low_ns=sum(i.low_ns for i in items),
        bound_ns=sum(i.bound_ns for i in items),
        alone_ns=sum(i.alone_ns for i in items),
        apart=all(i.apart for i in items),
        workloads=tuple(w for i in items for w in i.workloads),
    )
