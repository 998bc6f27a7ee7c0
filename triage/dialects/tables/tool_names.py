"""Counters that mean something in one tool, and perhaps something else in a table of anybody's (tool_names.csv).

Sources: AMD, GPU Performance API counter tables (FetchSize is in bytes here, in kilobytes where rocprof says it); Imagination,
PVRTune counter list, and Android GPU Inspector's of IMG GPUs; Arm, libGPUCounters; Qualcomm, Snapdragon Profiler's metrics.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from triage import schema
from triage.capture.capture import Column, Table
from triage.ground import csv_rows

TOOLS = ("adreno", "agi-img", "gpa", "intel", "mali", "pvrtune")
MIN_MARKS = 2


class Named(NamedTuple):
    """A counter. metric: "" where nothing is read of it. unit: what its tool prints without saying so. lacks: it holds 1 - metric."""

    counter: str
    metric: str
    unit: str
    lacks: bool
    mark: bool


@cache
def of(tool: str) -> dict[str, Named]:
    """Counter, as `schema.normal` has it -> what it is."""
    rows = csv_rows.rows(__file__, "tool_names.csv")
    return {schema.normal(counter): _named(counter, *rest) for owner, counter, *rest in rows if owner == tool}


def _named(counter: str, metric: str, mark: str) -> Named:
    target, unit = schema.target(metric.removeprefix("-"))
    return Named(counter, target, unit, metric[:1] == "-", bool(mark))


def by_metric(tool: str) -> dict[str, list[str]]:
    """Metric -> counters that hold it."""
    out: dict[str, list[str]] = {}
    for named in of(tool).values():
        if named.metric:
            out.setdefault(named.metric, []).append(named.counter)
    return out


@cache
def _marks(tool: str) -> frozenset[str]:
    return frozenset(key for key, named in of(tool).items() if named.mark)


def tools(counter: str) -> list[str]:
    """The tools that have a counter of this name."""
    key = schema.normal(counter)
    return [tool for tool in TOOLS if key in of(tool)]


def lacks(counter: str, metric: str) -> bool:
    """True for a counter that holds what a metric lacks to one."""
    return any((named := of(tool)[schema.normal(counter)]).lacks and named.metric == metric for tool in tools(counter))


def enter_opposite(table: Table, metric: str) -> None:
    """Turn a share into the metric that it lacks to one: a miss rate into the hit rate."""
    raw = table.raw[table.columns[metric].header] = table.columns[metric]
    formula = f"1 - {raw.header}"
    table.columns[metric] = Column(1 - raw.values, raw.header, unit=raw.unit, formula=formula, inputs=(raw.header,))


def tell(names: Iterable[str]) -> str:
    """The tool whose counters are among column names without units, "" for none."""
    present = frozenset(map(schema.normal, names))
    most, tool = max((len(_marks(tool) & present), tool) for tool in TOOLS)
    return tool if most >= MIN_MARKS else ""
