"""Budgets as entries of the result."""

from __future__ import annotations

from typing import TypedDict


class BudgetEntry(TypedDict):
    """A budget of the frame (`frame`) or of the markers that a glob names, per frame.

    items: ranks of the to-do items that together save the excess, or all that save something there. saves_ns: what they
    save there. matched: workloads that the glob names.
    """

    marker: str
    ns: float
    allowed_ns: float
    over_ns: float
    items: list[int]
    saves_ns: float
    owner: str | None
    matched: int
