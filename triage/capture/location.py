"""Where inside a workload something happens: an instruction, or the source line that it was compiled from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Location:
    """One line, or one instruction where no line is known, and its share of a counter.

    what: the counter in words (`stalls`). metric: the counter or counters as exported. value: of it here; share: of
    its sum over the workload, 0-1. function, offset (bytes) and pc: of the instruction with most of it; instructions: how
    many the line has. file, line: "" and 0 where the code carries no line information. source: the line's text where the
    export embeds it. access: `global load` where it is one. reason, reason_share: what warps mostly wait for here.
    excess: accesses made over accesses needed, 0 where that is not known. record: number of the launch in its file.
    """

    what: str
    metric: str
    value: float
    share: float
    function: str
    offset: int
    pc: int
    instructions: int = 1
    file: str = ""
    line: int = 0
    source: str = ""
    access: str = ""
    reason: str = ""
    reason_share: float = 0.0
    excess: float = 0.0
    record: int = 0


# (table row, metrics by interest) -> where the first of them that is counted per instruction comes from, most first
Locate: TypeAlias = Callable[[int, Sequence[str]], Sequence[Location]]
