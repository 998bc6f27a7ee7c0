"""Counters that mean something in one vendor's tools, and perhaps something else in a table of anybody's (tool_names.csv).

Sources: AMD, GPU Performance API counter tables (FetchSize is in bytes here, in kilobytes where rocprof says it); Imagination,
PVRTune counter list, and Android GPU Inspector's of IMG GPUs; Arm, libGPUCounters; Qualcomm, Snapdragon Profiler's metrics.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from triage import schema
from triage.ground import csv_rows

MIN_MARKS = 2


class Named(NamedTuple):
    """A counter. metric: "" where nothing is read of it. unit: what its tool prints without saying so. lacks: it holds 1 - metric."""

    counter: str
    metric: str
    unit: str
    lacks: bool
    mark: bool


@cache
def of(vendor: str) -> dict[str, Named]:
    """Counter, as `schema.normal` has it -> what it is."""
    rows = csv_rows.rows(__file__, "tool_names.csv")
    return {schema.normal(counter): _named(counter, *rest) for owner, counter, *rest in rows if owner == vendor}


def _named(counter: str, metric: str, mark: str) -> Named:
    target, unit = schema.target(metric.removeprefix("-"))
    return Named(counter, target, unit, metric[:1] == "-", bool(mark))


def by_metric(vendor: str) -> dict[str, list[str]]:
    """Metric -> counters that hold it."""
    out: dict[str, list[str]] = {}
    for named in of(vendor).values():
        if named.metric:
            out.setdefault(named.metric, []).append(named.counter)
    return out


@cache
def _marks(vendor: str) -> frozenset[str]:
    return frozenset(key for key, named in of(vendor).items() if named.mark)


def tell(names: Iterable[str]) -> str:
    """The vendor whose counters are among column names without units, "" for none."""
    present = frozenset(map(schema.normal, names))
    most, vendor = max((len(_marks(v) & present), v) for v in ("amd", "arm", "imagination", "qualcomm"))
    return vendor if most >= MIN_MARKS else ""
