"""Counters of Apple GPUs as Xcode exports them, by metric. Names changed with Xcode 15 and 16 and with each GPU family.

Meanings: Apple, "Optimize Metal apps and games with GPU counters" (WWDC20) and "Discover new Metal profiling tools for M3 and A17 Pro"
(2023). The file states no units: rates are percent, the rest are counts and bytes.
"""

from __future__ import annotations

from triage.ground import csv_rows

_ROWS = tuple(csv_rows.rows(__file__, "xcode_names.csv"))


def _one(holds: str) -> dict[str, str]:
    """Counter -> metric."""
    return {counter: metric for kind, counter, metric in _ROWS if kind == holds}


def _several(holds: str) -> dict[str, list[str]]:
    """Metric -> the counters that hold it together."""
    out: dict[str, list[str]] = {}
    for counter, metric in _one(holds).items():
        out.setdefault(metric, []).append(counter)
    return out


PERCENT, INVERTED, PLAIN = map(_one, ("percent", "inverted", "plain"))
# the highest of several: the parts of one unit, or one unit for several stages
HIGHEST, SUMS = map(_several, ("highest", "sums"))


def by_metric() -> dict[str, list[str]]:
    """metric -> counters that hold it, older names first."""
    out: dict[str, list[str]] = {}
    for _, counter, metric in _ROWS:
        out.setdefault(metric, []).append(counter)
    return out


def wanted() -> list[str]:
    """All counters that are read."""
    return [counter for _, counter, _ in _ROWS]
