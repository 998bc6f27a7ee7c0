"""Counters of AMD's GPU Performance API by metric, as RenderDoc, PIX and people's own tables hold them.

Percent and byte meanings from its counter tables: FetchSize is in bytes here, in kilobytes where rocprof says it.
"""

from __future__ import annotations

from collections.abc import Iterable

from triage import schema
from triage.ground import csv_rows

NAMES: dict[str, str] = dict(csv_rows.rows(__file__, "gpa_names.csv"))
METRICS = {counter: metric for counter, metric in NAMES.items() if metric}  # others are averages per thread, no sums
# any two of these tell AMD's plug-in; one alone might be anybody's
_MARKS = frozenset(("GPUTime", "ExecutionDuration", "GPUBusy", "PSBusy", "CSBusy", "VALUBusy", "TexUnitBusy"))


def tell(names: Iterable[str]) -> bool:
    """True for column names, without units, of a table with counters of this library."""
    return len(_MARKS.intersection(names)) >= 2


def unit_of(metric: str) -> str:
    """The unit in which the library prints a metric without saying so, "" for counts."""
    return {"ratio": "%", "byte": "B"}.get(schema.get(metric).unit, "")
