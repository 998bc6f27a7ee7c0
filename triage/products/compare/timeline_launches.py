"""Launches of a timeline as workloads of a comparison: by name, launch shape, and the ranges around them where both sides agree.

The same kernel on another grid is other work, even where both grids hold as many blocks. A range that a record cut off, or
that numbers its layers, is no other work: such kernels are one, whatever is around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Indices, numbered
from triage.capture.capture import Capture
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.products.compare.item import SHAPE, Who

Key: TypeAlias = tuple[str, str, str]  # name, kind and launch shape


class Launches(Struct, frozen=True):
    """Rows of a timeline by who launched them. codes: of each row, its place in `who`; row: a workload of the capture for each."""

    who: list[Who]
    codes: Indices
    row: Indices


def launches(sides: tuple[Diagnosis, Diagnosis]) -> dict[int, Launches]:
    """Of each capture, by its id, the launches; empty unless all captures are timelines whose launches are grouped."""
    captures = [p.capture for d in sides for p in d.parts]
    if not all(c.timeline is not None and c.table.group and not c.selection for c in captures):
        return {}
    exact = all(len(_axes(c)) for c in captures)
    found = {id(c): _launches(c, exact) for c in captures}
    around: list[dict[Key, set[str]]] = [{}, {}]
    for paths, d in zip(around, sides, strict=True):
        for who in (w for p in d.parts for w in found[id(p.capture)].who):
            paths.setdefault(who[1:4], set()).add(who.path)
    loose = {key for key, paths in around[0].items() if paths != around[1].get(key, paths)}
    return {c: _merged(of, loose) for c, of in found.items()}


def _launches(c: Capture, exact: bool) -> Launches:
    owner = c.owners(np.arange(len(c.table)))
    axes = _axes(c) if exact else [c.facts[m][owner] for m in SHAPE if m in c.facts]
    codes, _ = numbered(owner)
    for values in axes:
        extra, of = numbered(values)
        codes, _ = numbered(codes.astype(np.int64) * (len(of) + 1) + extra + 1)
    first = np.unique(codes, return_index=True)[1]
    shapes = map(_shape, zip(*(a[first].tolist() for a in axes), strict=True)) if axes else iter([""] * len(first))
    row = owner[first]
    named = zip(c.paths[row].tolist(), c.names[row].tolist(), c.kinds[row].tolist(), shapes, strict=True)
    return Launches([Who(*of, 0) for of in named], codes, row)


def _axes(c: Capture) -> list[Floats]:
    """The axes of grid and block, where the export has them."""
    inputs = [a for m in SHAPE if m in c.table.columns for a in c.table.columns[m].inputs]
    return [c.table.raw[a].values for a in inputs if a in c.table.raw]


def _shape(axes: Sequence[float]) -> str:
    """`244x1x6, 128x1x1`; "" of a copy."""
    known = [f"{v:g}" for v in axes if v == v and v > 0]
    middle = len(known) // 2
    return ", ".join("x".join(part) for part in (known[:middle], known[middle:]) if part)


def _merged(of: Launches, loose: Set[Key]) -> Launches:
    """Launches without the ranges around those in `loose`."""
    who = [w._replace(path="") if w[1:4] in loose else w for w in of.who]
    place: dict[Who, int] = {}
    to = np.array([place.setdefault(w, len(place)) for w in who], dtype=np.int64)
    # of several workloads that are one, the one that ran most speaks
    most = np.argsort(np.bincount(of.codes, minlength=len(who)), kind="stable")
    row = np.zeros(len(place), dtype=np.int64)
    row[to[most]] = of.row[most]
    return Launches(list(place), to[of.codes], row)


def each(c: Capture, of: Launches) -> Iterator[tuple[str, Floats]]:
    """The times of the launches, under the names of the facts that they are."""
    import pandas as pd

    time = c.table.columns["gpu.time"].values
    by = pd.Series(time).groupby(of.codes)
    several = by.count().to_numpy() > 1
    yield "gpu.time", np.asarray(by.sum().to_numpy(), dtype=np.float64)
    found = {"gpu.time_min": by.min(), "gpu.time_median": by.median(), "gpu.time_max": by.max()}
    if c.table.trace is not None:
        order = np.argsort(c.table.trace.operations.start[: len(time)], kind="stable")
        found["gpu.time_first"] = pd.Series(time[order[np.unique(of.codes[order], return_index=True)[1]]])
    for metric, values in found.items():
        yield metric, np.where(several, values.to_numpy(), np.nan).astype(np.float64)
