"""Places in code as plain data: source lines or instructions, and what the warps there wait for."""

from __future__ import annotations

from typing import TypedDict


class LateEntry(TypedDict):
    """Where most of the warps are that have not reached a barrier."""

    share: float | None
    function: str
    offset: int
    pc: int
    file: str | None
    line: int | None
    reason: str | None
    kind: str | None
    mnemonic: str | None
    argument: int | None


class ProducerEntry(TypedDict):
    """Instructions of one line or argument that a place waits for."""

    share: float | None
    reason: str
    waiter: str
    kind: str
    mnemonic: str
    file: str | None
    line: int | None
    function: str
    offset: int
    pc: int
    instructions: int
    candidates: int
    argument: int | None
    type: str | None
    per_request: float | None
    figures: list[float | None]
    unit: str | None
    operations: float | None
    operands: bool
    queue: bool
    pipe: str | None
    number: int | None
    late: LateEntry | None
    meaning: str | None


class LocationEntry(TypedDict):
    """A source line, or an instruction without one."""

    file: str | None
    line: int | None
    function: str
    offset: int | None
    pc: int
    instructions: int
    share: float | None
    what: str
    metric: str
    value: float | None
    access: str | None
    reason: str | None
    reason_share: float | None
    excess: float | None
    source: str | None
    result: int
    mnemonic: str | None
    waits_for: list[ProducerEntry]
    waits_unknown: str | None
