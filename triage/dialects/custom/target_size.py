"""The pixels of a pass's target from its width and height, which tables often have in two columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from triage.capture.arrays import Floats
from triage.capture.capture import Column, Table
from triage.dialects.tables import extents

_SIDE_RE = re.compile(
    r"(rt|render ?target|target|viewport|surface|attachment|framebuffer|resolution|)[ ._]?(width|height)(?: ?[\[(]?px[\])]?)?"
)


def columns(headers: Sequence[str]) -> tuple[int, int] | None:
    """0-based columns of a width and a height of one thing, None without such a pair."""
    found: dict[str, dict[str, int]] = {}
    for i, header in enumerate(headers):
        if m := _SIDE_RE.fullmatch(header.strip().lower().replace("_", " ")[:60]):
            found.setdefault(m[1], {}).setdefault(m[2], i)
    return next(((s["width"], s["height"]) for s in found.values() if len(s) == 2), None)


def enter(table: Table, headers: Sequence[str], numbers: Mapping[int, Floats]) -> None:
    """Enter target.pixels where the table has both sides and no pixel count of its own."""
    pair = columns(headers)
    if pair is None or "target.pixels" in table.columns or not all(c in numbers for c in pair):
        return
    sides = {headers[c]: Column(numbers[c], headers[c], c + 1) for c in pair}
    pixels = extents.volume(tuple(sides.values()), " x ")
    if np.isfinite(pixels.values).any():
        table.raw |= sides
        table.columns["target.pixels"] = pixels
        table.unmapped = [h for h in table.unmapped if h not in sides]
