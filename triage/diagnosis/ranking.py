"""The one ranking: findings of the to-do list first, item by item, then all others by what they save."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from triage.capture.arrays import Floats, Indices
from triage.diagnosis.diagnosis_result import Item, Part
from triage.diagnosis.firings import Firings, timeless, untimed
from triage.diagnosis.root_causes import Leaders, Row

Places = list[tuple[int, int]]  # (part, position in its firings)


def significant(items: Sequence[Item], least: float, total: float) -> list[Item]:
    """Items that save at least this share of `total` ns; without times, of their worst workload."""
    if least <= 0:
        return list(items)

    def share(i: Item) -> float:
        return i.saved_ns / total if total > 0 and i.saved_ns == i.saved_ns else i.fraction

    return [i for i in items if share(i) >= least - 1e-12]  # rounding: exactly the minimum is kept


def untimed_share(parts: Iterable[Part], count: int = 1) -> float:
    """Share that `count` workloads have in captures without times, where each counts alike."""
    return min(count / max(sum(int(p.capture.leaf.sum()) for p in parts), 1), 1.0)


def firing(part: Part, item: Item, w: int) -> Firings:
    """The firing that an item rests on at one of its workloads, -1 for the whole capture."""
    row: Row | Leaders
    if item.whole:
        row, i, time = part.wholes[w].causes.rows[item.cause], 0, part.capture.frame_ns
    else:
        row, i, time = part.leaders, w, float(part.capture.self_ns[w])
    low, likely, bound = (float(x[i]) for x in (row.low, row.likely, row.bound))
    return Firings.one(int(row.rule[i]), w, low, likely, bound, likely * time)


def of_items(parts: Sequence[Part], items: Sequence[Item]) -> Places:
    """The findings of items on their named workloads, worst first; firings that a part did not keep are added to it."""
    places = [dict(zip(zip(*_keys(p.firings), strict=True), range(len(p.firings)), strict=True)) for p in parts]
    added: list[list[Firings]] = [[] for _ in parts]
    out: Places = []
    for item in items:
        for p, w in item.workloads:
            one = firing(parts[p], item, w)
            ((rule, _),) = zip(*_keys(one), strict=True)
            k = places[p].setdefault((rule, w), len(parts[p].firings) + len(added[p]))
            if k == len(parts[p].firings) + len(added[p]):
                added[p].append(one)
            out.append((p, k))
    for part, more in zip(parts, added, strict=True):
        if more:
            part.firings = Firings.join([part.firings, *more])
    return out


def _keys(f: Firings) -> tuple[list[int], list[int]]:
    return f.rule.tolist(), f.workload.tolist()


def by_saving(parts: Sequence[Part], confidence: Floats, id_order: Indices) -> Places:
    """All kept findings, best first; ties by confidence, rule id, part and workload, in that order."""
    if not parts:
        return []
    all_of = [p.firings for p in parts]
    f = Firings.join(all_of)
    part = np.repeat(np.arange(len(parts)), [len(x) for x in all_of])
    at = np.concatenate([np.arange(len(x)) for x in all_of])
    rank = np.concatenate([x.rank for x in all_of])  # of each capture by itself: one may have no times
    last = np.concatenate([timeless(p.firings.workload, untimed(p.capture)) for p in parts])
    best = np.lexsort((at, f.workload, part, id_order[f.rule], -confidence[f.rule], last, -rank))
    return list(zip(part[best].tolist(), at[best].tolist(), strict=True))
