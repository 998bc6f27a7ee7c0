"""What columns of an export say twice: a dialect declares it as `REDUNDANT`, and the reader holds the cells to it.

Columns are named as their headers read without blanks and units, in lower case (`totaltime`, `time%`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Heads: TypeAlias = tuple[str, ...]  # spellings of one column's header


def each(names: str) -> tuple[Heads, ...]:
    """Columns with one spelling each."""
    return tuple((name,) for name in names.split())


@dataclass(frozen=True, slots=True)
class Product:
    """One column is the product of two others: a total, a count and a mean."""

    total: Heads
    count: Heads
    mean: Heads


@dataclass(frozen=True, slots=True)
class Shares:
    """A column of percentages of the sum of another one."""

    share: Heads
    of: Heads


@dataclass(frozen=True, slots=True)
class Ordered:
    """Columns whose values never fall from one to the next: shortest, mean, longest."""

    columns: tuple[Heads, ...]


@dataclass(frozen=True, slots=True)
class Extremes:
    """A total lies between its count times the shortest and the longest, of which one occurs each; so does a deviation."""

    total: Heads
    count: Heads
    low: Heads
    high: Heads
    deviation: Heads = ()


@dataclass(frozen=True, slots=True)
class References:
    """A column of numbers, each row its own, and one that points to them; `none` points to no row."""

    id: Heads
    parent: Heads
    none: str


@dataclass(frozen=True, slots=True)
class Record:
    """Rows with one key, as the metrics of a launch, agree in the columns that tell of the launch: every row says them again."""

    key: tuple[Heads, ...]
    same: tuple[Heads, ...]


Redundancy: TypeAlias = Product | Shares | Ordered | Extremes | References | Record
