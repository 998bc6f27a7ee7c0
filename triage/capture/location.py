"""Where inside a workload something happens: an instruction, or the source line that it was compiled from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct


class Late(Struct, frozen=True):
    """Where the warps that a barrier waits for mostly are, of those that have not reached it.

    share: of their samples, 0-1. reason: what they mostly wait for there, "" for nothing. kind, mnemonic, argument: of the
    instruction that such a wait is for, as in Producer.
    """

    share: float
    function: str
    offset: int
    pc: int
    file: str = ""
    line: int = 0
    reason: str = ""
    kind: str = ""
    mnemonic: str = ""
    argument: int = 0


class Producer(Struct, frozen=True):
    """Instructions of one line, or of one argument where no line is known, that the warps at a place wait for.

    share: of the waiting at the place, 0-1. reason: of that wait, `long scoreboard`. waiter: kind of the waiting
    instruction, `shared store`, or its mnemonic. kind, mnemonic, file, line, function, offset (bytes), pc, per_request: of
    the awaited one that explains most; instructions: how many there are. candidates: how many instructions one wait is
    for, the last of which ends it. argument: number from 1 of the kernel argument that its address comes from, 0 where that
    is not known; type: of the argument. per_request: sectors or wavefronts (`unit`) of one execution, 0 where not
    counted; figures: of all instructions, each figure once. operations: lanes per execution of an atomic. operands: the wait
    ends when its registers are read. queue: it fills the queue, or the arithmetic `pipe`, that the place waits for. number:
    of a thread-group barrier; late: warps that have not reached it. meaning: what such a wait shows.
    """

    share: float
    reason: str
    waiter: str
    kind: str
    mnemonic: str
    function: str
    offset: int
    pc: int
    file: str = ""
    line: int = 0
    instructions: int = 1
    candidates: int = 1
    argument: int = 0
    type: str = ""
    per_request: float = 0.0
    figures: tuple[float, ...] = ()
    unit: str = ""
    operations: float = 0.0
    operands: bool = False
    queue: bool = False
    pipe: str = ""
    number: int | None = None
    late: Late | None = None
    meaning: str = ""


class Location(Struct, frozen=True):
    """One line, or one instruction where no line is known, and its share of a counter.

    what: the counter in words (`stalls`). metric: the counter or counters as exported. value: of it here; share: of
    its sum over the workload, 0-1. function, offset (bytes) and pc: of the instruction with most of it; instructions: how
    many the line has. file, line: "" and 0 where the code carries no line information. source: the line's text where the
    export embeds it. access: `global load` where it is one. reason, reason_share: what warps mostly wait for here.
    excess: accesses made over accesses needed, 0 where that is not known. record: number of the launch in its file.
    mnemonic: of the instruction. waits_for: what the warps here wait for, most first. waits_unknown: why none is named.
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
    mnemonic: str = ""
    waits_for: tuple[Producer, ...] = ()
    waits_unknown: str = ""


# (table row, metrics by interest) -> where the first of them that is counted per instruction comes from, most first
Locate: TypeAlias = Callable[[int, Sequence[str]], Sequence[Location]]
