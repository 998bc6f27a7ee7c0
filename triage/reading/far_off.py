"""Figures far from those of rows that are alike in all their texts (launches of one kernel), or from all others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from triage.capture.arrays import Floats, Indices
from triage.reading.text_blocks import Block, Column

PEERS = 3  # other figures of a column that one can be far from
FAR = 10.0  # times as large as the next one of its name, and the square of what lies between the others
FARTHEST = 100.0  # the same among figures of other names, which differ by their work
ALIKE = 2.0  # times, within which figures are so alike that a single 0 is none of them
_LONG = re.compile("metric name|counter_?name|^metric$", re.IGNORECASE)  # of a column above figures of several units


def find(
    block: Block, figures: Mapping[int, Sequence[float] | Floats], texts: Sequence[Column]
) -> Iterator[tuple[int, str]]:
    """(row, what) of rows with one such figure. figures: columns of the block that hold nothing else; texts: the others."""
    if len(block.rows) <= PEERS or not figures:
        return
    alike: dict[Column, list[int]] = {}
    for i, key in enumerate(zip(*texts, strict=True) if texts else ((),) * len(block.rows)):
        alike.setdefault(tuple(map(_bare, key)), []).append(i)
    groups = [(np.array(rows), FAR) for rows in alike.values() if len(rows) > PEERS]
    if len(alike) > 1 and not any(map(_LONG.search, block.head)):
        groups.append((np.arange(len(block.rows)), FARTHEST))
    if not groups:
        return
    columns, values = list(figures), np.array(list(figures.values())).T
    found: dict[int, dict[int, Indices]] = {}  # row -> column -> the rows that it was held against
    for rows, least in groups:
        place = far(values if len(rows) == len(values) else values[rows], least)
        for k in np.flatnonzero(place >= 0).tolist():
            found.setdefault(int(rows[place[k]]), {}).setdefault(k, rows)
    for i, departs in found.items():
        (k, rows), *more = departs.items()
        if len(more) == 1 and _exchanged(values, i, (k, rows), more[0]):
            one, other = block.title(columns[k]), block.title(columns[more[0][0]])
            yield (
                i,
                f": {one[:60]!r} and {other[:60]!r} may have changed places: each is among the figures of the other",
            )
        elif not more and block.title(columns[k]):
            yield (
                i,
                _said(block, columns[k], i, sorted((values[r, k], block.rows[r][columns[k]]) for r in rows if r != i)),
            )


def _bare(text: str) -> str:
    """A name without the number that nvprof gives to each launch."""
    return text.rpartition(" [")[0] if text.endswith("]") and text.rpartition(" [")[2][:-1].isdigit() else text


def far(figures: Floats, least: float) -> Indices:
    """For each column the row that is much farther from all others than they are from each other, -1 for none.

    least: how many times as large, or as small, as the next one; among figures of one name a single 0 is far as well.
    """
    out = np.full(figures.shape[1], -1)
    low, high = figures.min(axis=0), figures.max(axis=0)
    with np.errstate(over="ignore"):
        apart = np.flatnonzero((low >= 0) & (high > 0) & (high >= least * low))
    if not len(apart):
        return out
    few = figures[:, apart]
    ordered = np.sort(few, axis=0)
    low, second, last, high = ordered[0], ordered[1], ordered[-2], ordered[-1]
    with np.errstate(all="ignore"):
        alone = (high <= ALIKE * second) & (least < FARTHEST)
        under = (second > 0) & np.where(low == 0, alone, second >= low * np.maximum(least, (high / second) ** 2))
        bottom = np.where(few > 0, few, np.inf).min(axis=0)
        over = (ordered[-3] > 0) & (high >= last * np.maximum(least, (last / bottom) ** 2))
    out[apart] = np.where(under, few.argmin(axis=0), np.where(over, few.argmax(axis=0), -1))
    return out


def _exchanged(values: Floats, i: int, one: tuple[int, Indices], other: tuple[int, Indices]) -> bool:
    """Does each of two figures of a row lie between those of the other's column?"""

    def among(figure: float, column: tuple[int, Indices]) -> bool:
        rest = values[column[1][column[1] != i], column[0]]
        return bool(rest.min() / 2 <= figure <= 2 * rest.max())

    return among(values[i, one[0]], other) and among(values[i, other[0]], one)


def _said(block: Block, at: int, i: int, near: Sequence[tuple[float, str]]) -> str:
    span = f"from {near[0][1]} to {near[-1][1]}" if near[0] != near[-1] else near[0][1]
    who = "all others" if len(near) == len(block.rows) - 1 else "others of its name"
    return f": {block.title(at)[:60]!r} is {block.rows[i][at][:40]}, {who} {span}"
