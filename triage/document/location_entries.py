"""Places in code as plain data: source lines or instructions, and what the warps there wait for."""

from __future__ import annotations

from typing import TypedDict


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
    unit: str | None
    queue: bool
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
