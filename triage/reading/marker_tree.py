"""From a reader's rows to workloads: repeats grouped, marker tree, inclusive and exclusive time.

Ranking works on exclusive time, so that nested markers are never counted twice; exclusive times and the time no
marker covers add up to the frame.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from triage import schema
from triage.capture.arrays import PANDAS_FREE_UP_TO, Floats, Indices, Masks, Names, numbered
from triage.capture.capture import DEEPEST, SEP, Table
from triage.ground.errors import BadCapture

if TYPE_CHECKING:
    from triage.capture.trace_nouns import Trace

Members: TypeAlias = tuple[Indices, Indices]  # table rows by workload, and where each workload's begin in them (CSR)

SAMPLE = 5_000  # names looked at before all are
OUTGROWN = 1.1  # heuristic: times as long as the marker around it, more than overlap and rounding make
COLD, FEWEST = 5.0, 3  # heuristic: five times the median of three calls or more is another kind of call
_IDENTITY = ("launch.grid_size", "launch.block_size")  # another launch shape is another workload


def group(table: Table) -> tuple[Indices, Members | None]:
    """Workload number of every row (by first appearance) and the CSR members, or (range, None) when all differ."""
    n = len(table)
    if not table.group or _all_differ(table.names):
        return np.arange(n), None
    # Column by column into one number: a tuple per row would cost more than reading the file.
    codes, words = numbered(table.names)
    count = len(words)
    for more in (table.paths, *(_values(table, m) for m in _IDENTITY), table.kinds):
        if more is not None:
            extra, extra_distinct = numbered(more)
            # renumbered each time, so that the product never outgrows 64 bits; a missing cell (-1) is a value too
            codes, numbers = numbered(codes.astype(np.int64) * (len(extra_distinct) + 1) + extra + 1)
            count = len(numbers)
    if count == n:
        return np.arange(n), None
    order = np.argsort(codes, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=count))])
    return codes, (order, offsets)


def _all_differ(names: Names) -> bool:
    """True if no name occurs twice. Sorting hashes takes a third of the time of numbering the names."""
    for some in (names[:SAMPLE], names):  # most captures with repeats repeat early
        hashes = np.fromiter(map(hash, some.tolist()), np.int64, len(some))
        hashes.sort()
        if (hashes[1:] == hashes[:-1]).any():
            return False
    return True


def _values(table: Table, metric: str) -> Floats | None:
    column = table.columns.get(metric)
    return None if column is None else column.values


def calls(table: Table, codes: Indices, members: Members | None) -> dict[str, Floats]:
    """First, shortest, median and longest call (ns) of kernels that ran several times, NaN for those that ran once."""
    time = _values(table, "gpu.time")
    if members is None or time is None or "launch.block_size" not in table.columns:
        return {}
    times, low, median, high = _spread(time, codes)
    several = times > 1
    found = {"gpu.time_min": low, "gpu.time_median": median, "gpu.time_max": high}
    # elsewhere the rows' order is no order in time; of some tools' CSV the rows are kernels, the operations copies too
    if table.trace is not None and len(table.trace.operations) == len(codes):
        found["gpu.time_first"] = time[_first(table.trace, codes)]
    return {m: np.where(several, v, np.nan) for m, v in found.items() if m not in table.columns}


def _spread(values: Floats, codes: Indices) -> tuple[Indices, Floats, Floats, Floats]:
    """Per code: how many values there are, the lowest, the median and the highest of them, NaN where there is none."""
    if len(values) > PANDAS_FREE_UP_TO:
        import pandas as pd

        by = pd.Series(values).groupby(codes)
        low, median, high = (np.asarray(found, np.float64) for found in (by.min(), by.median(), by.max()))
        return np.asarray(by.count(), np.int64), low, median, high
    have = ~np.isnan(values)
    count = int(codes.max()) + 1
    times = np.bincount(codes[have], minlength=count)
    ordered = np.append(values[have][np.lexsort((values[have], codes[have]))], np.nan)
    ends = np.cumsum(times)
    starts = np.where(times > 0, ends - times, -1)  # the NaN behind all
    middle = (ordered[starts + np.maximum(times - 1, 0) // 2] + ordered[starts + times // 2]) / 2
    return times, ordered[starts], middle, ordered[np.where(times > 0, ends - 1, -1)]


def _first(trace: Trace, codes: Indices) -> Indices:
    """Row of each workload's earliest operation."""
    order = np.argsort(trace.operations.start, kind="stable")
    found: Indices = order[np.unique(codes[order], return_index=True)[1]]
    return found


def _cold(table: Table, codes: Indices, time: Floats | None, count: int) -> Masks:
    """Calls of a kernel that took many times its median: they loaded code or pages, and speak for no other call."""
    if time is None or "launch.block_size" not in table.columns:
        return np.zeros(len(table), dtype=bool)
    usual = _spread(time, codes)[2]
    several = np.bincount(codes, minlength=count) >= FEWEST
    cold: Masks = several[codes] & (time > COLD * usual[codes])
    return cold


def fold(table: Table, codes: Indices, members: Members | None) -> dict[str, Floats]:
    """Metrics per workload: additive ones summed, the others averaged over their rows, weighted by GPU time.

    Rates over elapsed cycles come out exactly as those of all launches together (docs/decisions.md), of cold calls of a
    kernel apart.
    """
    if members is None:
        return {m: c.values for m, c in table.columns.items()}
    count = len(members[1]) - 1
    time = _values(table, "gpu.time")
    weight = np.ones(len(table)) if time is None else np.where(np.isfinite(time) & (time > 0), time, 0.0)
    weight[_cold(table, codes, time, count)] = 0.0
    out = {}
    for metric, column in table.columns.items():
        values = column.values
        have = np.isfinite(values)
        if schema.known(metric) and schema.get(metric).additive:
            total = np.bincount(codes, np.where(have, values, 0.0), count)
        else:
            plain = schema.known(metric) and schema.get(metric).unit == "ns"  # times of frames: plain means
            w = np.where(have, 1.0 if plain else weight, 0.0)
            bare = np.bincount(codes, w, count) <= 0  # no time known: plain mean
            w = np.where(bare[codes], have.astype(float), w)
            norm, weighted = np.bincount(codes, w, count), np.bincount(codes, np.where(have, values, 0.0) * w, count)
            total = np.divide(weighted, norm, where=norm > 0, out=np.full(count, np.nan))
        seen = np.bincount(codes, have, count) > 0
        out[metric] = np.where(seen, total, np.nan)
    return out


def tree(names: Names, paths: Names | None) -> tuple[Indices, Indices, Names | list[str]]:
    """(parent index or -1, depth, full paths) of workloads; levels that are no workload themselves are skipped.

    Raises BadCapture for paths of more than `DEEPEST` levels: walking up takes the square of them.
    """
    n = len(names)
    parent = np.full(n, -1, dtype=np.int64)
    if paths is None:
        return parent, np.zeros(n, dtype=np.int64), names
    depth = np.array([str(p).count(SEP) + 1 if p else 0 for p in paths], dtype=np.int64)
    if len(depth) and depth.max() > DEEPEST:
        name = str(names[int(np.argmax(depth))])[:80]
        raise BadCapture(f"{name}: nested within {int(depth.max()):,} markers", "reduce the nesting")
    full = [f"{p}{SEP}{name}" if p else str(name) for p, name in zip(paths, names, strict=True)]
    where: dict[str, list[int]] = {}
    for i, key in enumerate(full):
        where.setdefault(key, []).append(i)
    first_child: dict[str, int] = {}
    for i, path in enumerate(paths):
        first_child.setdefault(str(path), i)
    only = {"": -1}  # row above a path, where it is the same for all in it
    for i, path in enumerate(paths):
        key = text = str(path)
        if text in only:
            parent[i] = only[text]
            continue
        while key and key not in where:  # upwards, past levels that no row stands for
            key = key.rpartition(SEP)[0]
        rows = where.get(key, [-1]) if key else [-1]
        parent[i] = _instance(rows, i, first_child.get(key, n))
        if len(rows) == 1:
            only[text] = rows[0]
    return parent, depth, full


def _instance(rows: list[int], child: int, first_child: int) -> int:
    """Which of several markers of one name holds a child: the one begun before it; where ends come first, the next."""
    if len(rows) == 1:
        return rows[0]
    at = bisect.bisect_left(rows, child)
    if first_child < rows[0]:
        return rows[min(at, len(rows) - 1)]
    return rows[max(at - 1, 0)]


def spread(times: Floats) -> tuple[float, float, float] | None:
    """(shortest, median, longest) of a workload's repeats in ns; None where none has a time."""
    known = times[np.isfinite(times)]
    if not len(known):
        return None
    return float(known.min()), float(np.median(known)), float(known.max())


def exclusive(duration: Floats, parent: Indices, depth: Indices, leaf_time: bool) -> tuple[Floats, Floats]:
    """(inclusive, exclusive) time in ns. With leaf_time, parents are the sum of what lies below them.

    A child that sticks out of its parent (overlap, rounding) never makes exclusive time negative.
    """
    own = np.where(np.isfinite(duration) & (duration > 0), duration, 0.0)
    unknown = ~np.isfinite(duration)
    if not (parent >= 0).any():
        flat = np.where(unknown, np.nan, own)
        return flat, flat
    # Children before parents, so one pass adds everything up.
    order = np.argsort(-depth, kind="stable")
    below = np.zeros(len(own))
    inclusive = own.copy()
    for i in order:
        if leaf_time or (unknown[i] and below[i] > 0):
            inclusive[i] = own[i] + below[i]
        p = parent[i]
        if p >= 0:
            below[p] += inclusive[i]
    self_ns = np.maximum(inclusive - below, 0.0) if not leaf_time else own
    dead = unknown & (inclusive <= 0)
    return np.where(dead, np.nan, inclusive), np.where(dead, np.nan, self_ns)


def outgrown(inclusive: Floats, parent: Indices) -> int:
    """The first workload that takes longer than the one it is part of, by more than overlap explains; -1 for none."""
    inner = np.flatnonzero(parent >= 0)
    longer = inner[inclusive[inner] > OUTGROWN * inclusive[parent[inner]]]
    return int(longer[0]) if len(longer) else -1
