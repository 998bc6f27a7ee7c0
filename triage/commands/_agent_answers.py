"""Answers of the MCP tools as types: clients get their JSON schemas. Fields as in triage/document/result.schema.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypedDict
else:
    try:  # what makes schemas of types needs this one before Python 3.12; it comes with the MCP SDK
        from typing_extensions import TypedDict
    except ImportError:
        from typing import TypedDict


class Share(TypedDict):
    """A time in ns, and as a share of all."""

    ns: float | None
    share: float | None


class Recoverable(TypedDict):
    """What all items save together."""

    low: Share
    likely: Share
    bound: Share


Limiter = TypedDict("Limiter", {"class": str, "share": float | None})


class Item(TypedDict):
    """One item of the to-do list. where: longest workloads; workloads: how many; do: advice; at: places in the code."""

    rank: int
    cause: str
    title: str
    level: str
    confidence: str
    saved_ns: float | None
    share: float | None
    low_ns: float | None
    bound_ns: float | None
    rule: str
    fingerprint: str
    where: list[str]
    workloads: int
    message: str
    do: list[str]
    verify: str | None
    at: list[str]


class DiagnoseAnswer(TypedDict):
    """Totals and items; more: how many items follow."""

    headline: str
    duration_ns: float | None
    recoverable_ns: Recoverable
    limiters: list[Limiter]
    notes: list[str]
    remarks_on_the_data: list[str]
    root_causes: int
    todo: list[Item]
    more: int


class Compared(TypedDict):
    """The whole before and after. interval: of the change (-0.2: a fifth less time). needs: further runs that would tell."""

    before_ns: float | None
    after_ns: float | None
    verdict: str
    interval: list[float | None]
    needs: int | None
    remarks: list[str]


class Pair(TypedDict):
    """One workload before and after; fixed, new: causes that went and came."""

    workload: str
    before_ns: float | None
    after_ns: float | None
    verdict: str
    interval: list[float | None]
    needs: int | None
    reading: str
    fixed: list[Any]
    new: list[Any]


class CompareAnswer(TypedDict):
    """A change; more: how many pairs follow."""

    headline: str
    kinds: list[str]
    warnings: list[str]
    frame: Compared
    unmatched: int
    pairs: list[Pair]
    more: int


class Fact(TypedDict):
    """One value in its canonical unit."""

    workload: str
    metric: str
    value: float
    unit: str


class FactsAnswer(TypedDict):
    """Values as read; more: how many follow. not_understood: columns without a metric."""

    dialect: str
    device: str | None
    workloads: int
    metrics: int
    not_understood: list[str]
    facts: list[Fact]
    more: int


class OccupancyAnswer(TypedDict):
    """Theoretical occupancy of one launch. limits: groups per unit that each resource allows; steps: nearest changes."""

    arch: str
    unit: str
    wave_size: int
    launch: dict[str, int | None]
    groups: int
    waves: int
    waves_per_group: int
    max_waves: int
    occupancy: float
    limiters: list[str]
    limits: dict[str, int | None]
    wasted: dict[str, Any]
    steps: list[dict[str, Any]]
    notes: list[Any]
    why: str


class Collect(TypedDict):
    """One capture to make: the command, the metrics it brings, the rules and workloads that wait for them."""

    collect: str
    missing: list[str]
    rules: list[str]
    workloads: int


class NextCaptureAnswer(TypedDict):
    """What was not measured; more: how many captures follow."""

    unjudged_ns: float | None
    unjudged_collect: str | None
    captures: list[Collect]
    more: int
