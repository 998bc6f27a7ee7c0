"""A kernel as a listing with cycles, and the memory instructions that each of its waits is for.

AMD, ISA guides of CDNA 3, RDNA 3 and RDNA 4, chapter on s_waitcnt: memory instructions raise the counter of their queue and
lower it when they are done; a wait names the counter and how many may stay outstanding. Loads of one queue are done in order.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, field

STEPS = 4_000  # instructions of one walk back
_COUNTER = re.compile(r"(vm|lgkm|vs)cnt\((\d+)\)")
_SINGLE = re.compile(r"s_wait_(load|store|ds|km|sample|bvh)cnt(?:_(ds)cnt)? +(0x[0-9a-f]+|\d+)")
_STORES = re.compile(r"s_waitcnt_vscnt +\w+, *(0x[0-9a-f]+|\d+)")
_BRANCH = re.compile(r"s_c?branch\w* +(\d+)")
_ENDS = ("s_endpgm", "s_branch", "s_setpc")
# counter -> beginnings of the instructions that it counts; vm counts stores where nothing else does (CDNA, GCN)
_VECTOR = tuple(
    "global_load buffer_load tbuffer_load flat_load scratch_load image_ global_atomic buffer_atomic flat_atomic".split()
)
_STORE = ("global_store", "buffer_store", "tbuffer_store", "flat_store", "scratch_store")
_SCALAR = ("s_load", "s_buffer_load", "s_memtime", "s_sendmsg")
QUEUES = {
    "vm": (*_VECTOR, *_STORE), "load": _VECTOR, "sample": ("image_",), "bvh": ("image_",), "vs": _STORE, "store": _STORE,
    "lgkm": ("ds_", *_SCALAR, "flat_"), "ds": ("ds_", "flat_"), "km": _SCALAR,
}  # fmt: skip
MEMORY = frozenset({"vm", "load", "sample", "bvh", "vs", "store"})  # counters of vector memory
_KINDS = (
    (r"scratch_load", "scratch load"), (r"scratch_store", "scratch store"), (r"image_", "image access"),
    (r"(global|buffer|flat)_atomic", "global atomic"), (r"t?buffer_load|(global|flat)_load", "global load"),
    (r"t?buffer_store|(global|flat)_store", "global store"), (r"ds_(read|load)", "LDS read"),
    (r"ds_(write|store)", "LDS write"), (r"ds_", "LDS access"), (r"s_(buffer_)?load", "scalar load"),
)  # fmt: skip


class Instruction(NamedTuple):
    """Address, text, executions, and cycles: of issue and stall, of the stall alone, and idle before it. source: file:line."""

    address: int
    text: str
    hits: float
    latency: float
    stall: float
    idle: float
    source: str

    @property
    def mnemonic(self) -> str:
        """Its first word."""
        return self.text.split(" ", 1)[0]

    @property
    def kind(self) -> str:
        """`global load` for an access, "" for others."""
        return next((kind for pattern, kind in _KINDS if re.match(pattern, self.text)), "")

    @property
    def waits(self) -> dict[str, int]:
        """Counter -> how many may stay outstanding, of a wait."""
        if not self.text.startswith("s_wait"):
            return {}
        out = {m[1]: int(m[2]) for m in _COUNTER.finditer(self.text)}
        if m := _SINGLE.match(self.text):
            number = int(m[3], 0)
            out |= {m[1]: number >> 8 & 63, "ds": number & 63} if m[2] else {m[1]: number}
        if m := _STORES.match(self.text):
            out["vs"] = int(m[1], 0)
        return out


class _Path(Struct):
    """Where a walk back stands: instructions of the queue to pass by, and how many may still be found."""

    at: int
    skip: int
    left: int


class Listing(Struct, dict=True):
    """The instructions of one kernel by address. line: of its first row in the file."""

    name: str
    line: int
    rows: list[Instruction] = field(default_factory=list)

    @cached_property
    def _before(self) -> list[list[int]]:
        """Instructions after which each may be executed."""
        place = {row.address: i for i, row in enumerate(self.rows)}
        out: list[list[int]] = [[] for _ in self.rows]
        for i, row in enumerate(self.rows):
            if i and not self.rows[i - 1].text.startswith(_ENDS):
                out[i].append(i - 1)
            if m := _BRANCH.match(row.text):
                words = int(m[1]) & 0xFFFF
                to = row.address + 4 + 4 * (words - 0x10000 if words & 0x8000 else words)
                if to in place:
                    out[place[to]].append(i)
        return out

    def awaited(self, wait: int, counter: str) -> list[int]:
        """Executed instructions of a queue that a wait is for, in order of the code."""
        begins = QUEUES[counter]
        found: set[int] = set()
        seen: set[tuple[int, int, int]] = set()
        todo = [_Path(i, self.rows[wait].waits[counter], STEPS) for i in self._before[wait]]
        while todo and len(seen) < STEPS:
            p = todo.pop()
            if (p.at, p.skip, p.left) in seen:
                continue
            seen.add((p.at, p.skip, p.left))
            row, skip, left = self.rows[p.at], p.skip, p.left
            if counter in row.waits:  # what it let stay outstanding may still be
                left = min(left, row.waits[counter] - skip)
            elif row.hits and row.text.startswith(begins):
                if skip:
                    skip -= 1
                else:
                    found.add(p.at)
                    left -= 1
            if left > 0:
                todo += [_Path(i, skip, left) for i in self._before[p.at]]
        return sorted(found)
