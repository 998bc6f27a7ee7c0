"""The noun of the schema, and a short form for entries that are 1, 0 or missing."""

from __future__ import annotations

from msgspec import Struct


class Metric(Struct, frozen=True):
    """One canonical metric.

    unit: ratio | ns | byte | byte/s | flop/s | hz | cycle | count. better: "high", "low" or "" (neither by itself).
    aliases: names that mean exactly this in any tool; names that mean it in one tool only belong to its dialect.
    bounded: a ratio that cannot honestly exceed 1. additive: repeats of a workload add up instead of averaging.
    is_flag: it is 1, 0 or missing, and says what something is, not how much of it there is.
    """

    id: str
    unit: str
    label: str
    better: str
    meaning: str
    aliases: tuple[str, ...] = ()
    bounded: bool = True
    additive: bool = False
    is_flag: bool = False


def flag(metric: str, label: str, meaning: str) -> Metric:
    """A fact that is 1, 0 or missing."""
    return Metric(metric, "count", label, "", meaning, bounded=False, is_flag=True)
