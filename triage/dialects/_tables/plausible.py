"""What people's own tables leave unsaid about units, read by the evidence of the values - and said - or asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from triage import schema
from triage.capture.arrays import Floats
from triage.capture.capture import Quality
from triage.ground.errors import BadCapture

SHORTEST_NS = 1_000.0  # no capture's longest range is shorter than a microsecond
LONGEST_MS = 2_000.0  # milliseconds that a capture of fractional times may add up to
SMALL = 0.5  # of a share that stands beside percentages: so little is no percentage of these
# shares that are a good part of one in any work that runs: all of them below 1 % would be absurd
_NEVER_TINY = ("l1tex.hit_rate", "l2.hit_rate", "l3.hit_rate", "llc.hit_rate", "sm.active", "gpu.active", "sm.occupancy", "occupancy.theoretical",
               "sol.top", "sm.throughput_active", "eu.occupancy", "valu.utilization", "branch.efficiency")  # fmt: skip


def time_unit(where: str, header: str, values: Floats) -> tuple[str, Quality | None]:
    """(unit, remark) of a time column without a unit: canonical ns where that can be, ms where only that can be.

    where: file and line. Raises BadCapture where the values leave it open.
    """
    known = values[np.isfinite(values) & (values > 0)]
    if not len(known) or known.max() >= SHORTEST_NS:
        return "", None
    fractional = bool((known != np.floor(known)).any())
    if fractional and known.sum() <= LONGEST_MS and (known.min() < 1 or known.max() < 100):
        said = (
            f"{header[:60]} states no unit; its values ({known.min():g} to {known.max():g}) are too short for ns and were read as "
            f"ms: write “{header[:60]} [ms]” to be sure"
        )
        return "ms", Quality("time-unit", said)
    raise BadCapture(
        f"{where}: column {header!r} states no unit, and {known.min():g} to {known.max():g} may be ms or us",
        f'write the unit into the header, such as "{header} [ms]"',
    )


def fractions(columns: Mapping[str, Floats], headers: Mapping[str, str]) -> tuple[Sequence[str], list[Quality]]:
    """Of shares without a unit in a table of percentages, those that are fractions of one; and what to say of them.

    columns: metric -> values of the columns without a unit.
    """
    found, said = [], []
    for metric, values in columns.items():
        known = values[np.isfinite(values) & (values != 0)]
        if not len(known) or not schema.get(metric).bounded:
            continue
        name, small = headers[metric][:60], known <= 1
        if small.all() and (
            metric in _NEVER_TINY or (metric.endswith(".throughput") and len(known) > 1 and known.max() > SMALL)
        ):
            if metric in _NEVER_TINY:
                found.append(metric)
                said.append(
                    Quality(
                        "mixed-shares",
                        f"{name} was read as fractions of 1 although other shares of the file are percentages: none exceeds 1",
                    )
                )
            else:
                said.append(
                    Quality(
                        "mixed-shares",
                        f"{name} was read as percentages, although none exceeds 1: if they are fractions, write “{name} [ratio]”",
                    )
                )
        elif small.any() and not small.all() and metric in _NEVER_TINY:
            row = int(np.flatnonzero(np.isfinite(values) & (values != 0) & (values <= 1))[0])
            said.append(
                Quality(
                    "mixed-shares",
                    f"{name} holds {int(small.sum())} values of 1 and less among percentages: read as percentages, but they may be fractions",
                    row,
                )
            )
    return found, said
