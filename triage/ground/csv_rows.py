"""Tables that lie beside a module, as CSV: a line of heads, then rows; lines that start with `#` are comments."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path


def rows(module: str, name: str) -> Iterator[list[str]]:
    """Cells of each row of a table beside a module, which is given as its `__file__`."""
    with Path(module).with_name(name).open(encoding="utf-8", newline="") as lines:
        table = csv.reader(line for line in lines if line[0] != "#")
        next(table)
        yield from table


def factors(module: str, name: str) -> dict[str, tuple[str, float]]:
    """Name in a tool -> (canonical id, factor to its unit), from a table of these three columns."""
    return {counter: (metric, float(factor)) for counter, metric, factor in rows(module, name)}
