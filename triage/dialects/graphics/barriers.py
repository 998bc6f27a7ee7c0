"""Barriers of an event list: how many stand between one piece of GPU work and the next."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Column, Table

# calls that make later work wait for earlier work; a marker called "UAV Barrier" is none
_CALL = re.compile(r"(?:ID3D12\w+::)?(?:ResourceBarrier|Barrier)\s*\(|(?:ID3D12\w+::)?ResourceBarrier\s*$|vkCmdPipelineBarrier2?(?:KHR)?\b|vkCmdWaitEvents2?(?:KHR)?\b|glMemoryBarrier\w*")  # fmt: skip
FORMULA = "barrier calls between this work and the work before it"


def is_barrier(name: str) -> bool:
    """True if this event is a barrier call of D3D12, Vulkan or OpenGL."""
    return bool(_CALL.match(name.strip()))


def before(names: Iterable[str], work: Masks) -> Floats | None:
    """Per event, the barrier calls since the last work before it, for those that are work; None where there is no barrier.

    A call that names several resources is one barrier: the GPU waits once.
    """
    out = np.full(len(work), np.nan)
    pending = seen = 0
    for i, name in enumerate(names):
        if is_barrier(str(name)):
            pending, seen = pending + 1, seen + 1
        elif work[i]:
            out[i], pending = pending, 0
    return out if seen else None


def enter(table: Table, counts: Floats | None, header: str) -> None:
    """Add barriers to a table; rows without GPU work have none."""
    if counts is not None and "barrier.count" not in table.columns:
        table.columns["barrier.count"] = Column(counts, header, formula=FORMULA, inputs=())
