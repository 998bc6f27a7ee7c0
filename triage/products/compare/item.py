"""One workload on one side of a comparison: who it is, and what is known of it once it is looked at."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field

from triage.capture.capture import SEP

SHAPE = ("launch.grid_size", "launch.block_size")
UNTOLD, ABSENT, FIRED = range(3)  # what a rule says of a workload: nothing (it is blind there), no, or yes


class Who(NamedTuple):
    """Identity of a workload within its capture. nth: counts those that share all the rest."""

    path: str
    name: str
    kind: str
    shape: str
    nth: int

    @property
    def full(self) -> str:
        """Path and name joined."""
        return f"{self.path}{SEP}{self.name}" if self.path else self.name

    @property
    def depth(self) -> int:
        """How many markers are around it."""
        return self.path.count(SEP) + 1 if self.path else 0


class Item(Struct):
    """A workload that is looked at; lists have one entry per repeat. order: its place in the capture, 0 to 1.

    rules: rule id -> UNTOLD, ABSENT or FIRED. gains: rule id -> (low, likely, bound) fractions of its time.
    hidden: rules that another finding covers. silent: rule id -> the comparison that does not hold, of rules that fired on the other side.
    """

    who: Who
    order: float
    times: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)
    rules: dict[str, int] = field(default_factory=dict)
    gains: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    factors: dict[str, list[float]] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
