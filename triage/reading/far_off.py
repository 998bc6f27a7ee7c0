"""Figures far from those of rows that are alike in all their texts (launches of one kernel), or from all others."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from triage.capture.cells import Block
from triage.reading.text_blocks import Column

PEERS = 3  # other figures of a column that one can be far from
FAR = 10.0  # times as large as the next one of its name, and the square of what lies between the others
FARTHEST = 100.0  # the same among figures of other names, which differ by their work
ALIKE = 2.0  # times, within which figures are so alike that a single 0 is none of them
_VALUE = re.compile("value|min|max|avg|average|sum|total|peak|pct", re.IGNORECASE)  # of these columns themselves
_LONG = re.compile("metric name|counter_?name|^metric$", re.IGNORECASE)  # of a column above figures of several units


def find(
    block: Block, figures: Mapping[int, Sequence[float]], sparse: Mapping[int, Sequence[float]], texts: Sequence[Column]
) -> Iterator[tuple[int, str]]:
    """(row, what) of rows with one such figure. figures: columns of the block that hold nothing else; texts: the others.

    sparse: columns that have a figure, else NaN, in each row of some names.
    """
    if len(block.rows) <= PEERS:
        return
    spread = {at: f for at, f in figures.items() if _spread(f)}
    spread |= {at: f for at, f in sparse.items() if _spread([x for x in f if x == x])}
    if not spread:
        return
    alike: dict[Column, list[int]] = {}
    for i, key in enumerate(zip(*texts, strict=True) if texts else ((),) * len(block.rows)):
        alike.setdefault(tuple(map(_bare, key)), []).append(i)
    groups = [(rows, FAR) for rows in alike.values() if len(rows) > PEERS]
    long = any(map(_LONG.search, block.head))
    if len(alike) > 1:
        groups.append((list(range(len(block.rows))), FARTHEST))
    found: dict[int, dict[int, list[int]]] = {}  # row -> column -> the rows that it was held against
    for rows, least in groups:
        for at, values in spread.items():
            if long and least == FARTHEST and _VALUE.search(block.title(at)):
                continue
            held = [r for r in rows if values[r] == values[r]] if at in sparse else rows
            if len(held) <= PEERS:
                continue
            place = far(values if len(held) == len(values) else [values[r] for r in held], least)
            root = place >= 0 and values[held[place]] == -1 and "parent" in block.title(at).lower()  # has no parent
            if place >= 0 and not root:
                found.setdefault(held[place], {}).setdefault(at, held)
    for i, departs in found.items():
        (at, rows), *more = departs.items()
        if len(more) == 1 and _exchanged(block, i, (at, rows), more[0]):
            one, other = block.title(at), block.title(more[0][0])
            places = f"{one[:60]!r} and {other[:60]!r} may have changed places"
            yield i, f": {places}: each is among the figures of the other"
        elif not more and block.title(at):
            yield i, _contrast(block, at, i, sorted((spread[at][r], block.rows[r][at]) for r in rows if r != i))


def _spread(figures: Sequence[float]) -> bool:
    """May one of these be far from others?"""
    low, high = min(figures), max(figures)
    return high > 0 and not 0 < FAR * low > high


def _bare(text: str) -> str:
    """A name without the number that nvprof gives to each launch."""
    return text.rpartition(" [")[0] if text.endswith("]") and text.rpartition(" [")[2][:-1].isdigit() else text


def far(figures: Sequence[float], least: float) -> int:
    """The one that is much farther from all others than they are from each other, -1 for none.

    least: how many times as large, or as small, as the next one; among figures of one name a single 0 is far as well.
    """
    low, high = min(figures), max(figures)
    if not -math.inf < low < math.inf or high <= 0 or high < least * low or math.isnan(sum(figures)):
        return -1
    ordered = sorted(figures)
    second, last = ordered[1], ordered[-2]
    if low < 0:
        return figures.index(low) if second >= 0 else -1
    if low == second == 0 and ordered[-PEERS - 1] > 0:
        least_two = next((a, b) for a, b in itertools.pairwise(ordered) if a > 0)
        if least_two[0] % 1:  # counts of work differ as much: 3 vertices of a full-screen pass
            low, second = least_two
    if second > 0:
        room = max(least, (high / second) * (high / second))
        if second >= low * room if low else high <= ALIKE * second and least < FARTHEST:
            return figures.index(low)
    if ordered[-3] > 0:
        ratio = last / next(f for f in ordered if f > 0)
        if high >= last * max(least, ratio * ratio):
            return figures.index(high)
    return -1


def _exchanged(block: Block, i: int, one: tuple[int, list[int]], other: tuple[int, list[int]]) -> bool:
    """Does each of two figures of a row lie between those of the other's column, as they are printed?"""

    def among(at: int, column: tuple[int, list[int]]) -> bool:
        figure, *rest = (
            float(block.rows[r][c].removesuffix("%"))
            for r, c in ((i, at), *((r, column[0]) for r in column[1] if r != i))
        )
        return min(rest) / 2 <= figure <= 2 * max(rest)

    return among(one[0], other) and among(other[0], one)


def _contrast(block: Block, at: int, i: int, near: Sequence[tuple[float, str]]) -> str:
    span = f"from {near[0][1]} to {near[-1][1]}" if near[0] != near[-1] else near[0][1]
    who = "all others" if len(near) == len(block.rows) - 1 else "others"
    return f": {block.title(at)[:60]!r} is {block.rows[i][at][:40]}, {who} {span}"
