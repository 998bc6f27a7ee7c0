"""A table of any report: heads and cells as plain text, escaped by each format."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class TextTable(Struct, frozen=True):
    """headers: (text, right-aligned). rows: cells as text. more: rows not listed. limiters: class per row, or none.

    times: of passes, (ns, ns that its root causes save) per row.
    """

    headers: list[tuple[str, bool]]
    rows: list[list[str]]
    more: int
    limiters: Sequence[str] = ()
    times: Sequence[tuple[float, float]] = ()
