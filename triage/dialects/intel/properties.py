"""The table of compiled kernels that unitrace writes after the times: SIMD width, SLM, private and spill memory, registers."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.capture import Column, Table
from triage.capture.source import Source
from triage.dialects.intel import pti

_PRIVATE = "Private Memory Per Thread"
# metric -> its column; sizes in bytes
_COLUMNS = {
    "launch.wave_size": "SIMD",
    "launch.shared": "SLM Per Work Group",
    "launch.scratch": pti.SPILLS,
    "launch.registers": "Register File Size Per Thread",
}
NAMES = {
    "launch.shared": ["SLM Per Work Group"],
    "launch.private": [_PRIVATE],
    "launch.scratch": [f"{_PRIVATE} + {pti.SPILLS}"],
    "launch.registers": ["Register File Size Per Thread"],
}


def join(table: Table, source: Source, blocks: list[pti.Block], keys: list[str]) -> None:
    """Properties of each row's kernel, by its key as printed; a kernel that is compiled twice has those of the first."""
    groups: dict[tuple[str, ...], list[pti.Block]] = {}
    for b in blocks:
        groups.setdefault(tuple(b.headers), []).append(b)
    for alike in groups.values():
        headers = alike[0].headers
        at = {metric: i for metric, name in _COLUMNS.items() if (i := pti.at(headers, name)) >= 0}
        private = pti.at(headers, _PRIVATE)
        data = pti.load(source, alike, pti.at(headers, "Kernel"), sorted({*at.values(), private} - {-1}))
        table.quality += data.quality
        place: dict[str, int] = {}
        for i, name in enumerate(data.names):
            place.setdefault(name, i)
        rows = np.array([place.get(k, -1) for k in keys])

        for metric, i in at.items():
            if metric in table.columns:
                continue
            if metric == "launch.scratch" and private >= 0:
                spilled, kept = _column(data, headers[i], i, rows), _column(data, headers[private], private, rows)
                table.raw |= {pti.SPILLS: spilled, _PRIVATE: kept}
                formula = f"{_PRIVATE} + {pti.SPILLS}"
                table.columns["launch.private"] = kept
                table.columns[metric] = Column.computed(kept.values + spilled.values, formula, (_PRIVATE, pti.SPILLS))
            else:
                table.columns[metric] = _column(data, headers[i], i, rows)


def _column(data: pti.Data, header: str, i: int, rows: Indices) -> Column:
    """A column of the properties, spread over the rows of the times; -1 in rows: a kernel without properties."""
    values = np.where(rows >= 0, data.numbers[i][rows], np.nan)
    return Column(values, header.strip(), i + 1, lines=np.where(rows >= 0, data.lines[rows], 0))
