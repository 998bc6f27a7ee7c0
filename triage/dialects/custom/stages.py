"""Counters that a tool keeps per shader stage: `CSVALUBusy` and `PSVALUBusy` are one, of which a dispatch has the first and a draw the second."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table

# with a word in front of the last one: how long a stage itself was busy, `CSBusy`, is no counter of a unit
_STAGE = re.compile(
    r"(?:CS|PS|VS|GS|HS|DS|VsGs|PreTessellation|PostTessellation)[ _]?((?:[A-Z][a-z0-9]*){2,}(?: %)?)\Z"
)


def counter(header: str) -> str:
    """The counter of a header that begins with a stage, `VALUBusy` of `CSVALUBusy`; "" where it names none."""
    m = _STAGE.match(header.strip())
    return m[1] if m else ""


def highest(table: Table, metric: str, others: Sequence[tuple[str, int, Floats]]) -> None:
    """A metric becomes the highest of its column and of those of other stages: (header, place, figures as written) of each."""
    first = table.columns[metric]
    found = [
        first,
        *(Column(values * first.factor, h, place + 1, first.unit, first.factor) for h, place, values in others),
    ]
    table.raw |= {column.header: column for column in found}
    headers = tuple(column.header for column in found)
    table.columns[metric] = Column(
        np.fmax.reduce([column.values for column in found]),
        first.header,
        unit=first.unit,
        formula=f"the highest of {' and '.join(headers)}",
        inputs=headers,
    )
