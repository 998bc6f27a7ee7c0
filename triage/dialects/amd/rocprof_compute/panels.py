"""Panels of ROCm Compute Profiler without percent of peak, as `rocprof-compute analyze --save-dfs` writes them.

A panel does not say its number: a row that only it has tells it. All figures are averages over the analysed dispatches.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from msgspec import Struct, field

from triage.ground import csv_rows


class Panel(Struct, frozen=True):
    """One panel: its title, a row that no other has, and what its rows mean.

    rows: name as printed -> (canonical id, factor to its unit from what is printed). inverse: rows of hits whose metric
    counts the misses. parts: rows whose metric is their share of another row, by its name.
    """

    title: str
    only: str
    rows: dict[str, tuple[str, float]] = field(default_factory=dict)
    inverse: frozenset[str] = frozenset()
    parts: dict[str, str] = field(default_factory=dict)


def _panels() -> Iterator[Panel]:
    for (title, only), rows in groupby(csv_rows.rows(__file__, "panels.csv"), key=itemgetter(0, 1)):
        listed = list(rows)
        named = {row[2]: (row[3], float(row[4])) for row in listed}
        inverse = frozenset(row[2] for row in listed if row[5])
        yield Panel(title, only, named, inverse, {row[2]: row[6] for row in listed if row[6]})


PERCENT = 0.01
PANELS = tuple(_panels())
# rows of 17.1 in GB/s: their share of the row that states the memory's peak, else the rate itself
FABRIC = {
    "L2-Fabric Read BW": "fabric.read_throughput",
    "L2-Fabric Write and Atomic BW": "fabric.write_throughput",
    "L2-Fabric Write BW": "fabric.write_throughput",
}
PEAK = "HBM Bandwidth"
RATE, GIGA = "gb/s", 1e9  # bytes per second, although older versions print Gb/s
SPREAD = "Req"  # row of 18.1 whose average and maximum tell how evenly the channels are loaded
