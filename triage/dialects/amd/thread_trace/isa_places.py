"""Where the waves of a traced kernel stall, and what they wait for there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from triage.capture.location import Location, Producer
from triage.dialects.amd.thread_trace.isa_listing import MEMORY, Instruction, Listing

_T = TypeVar("_T")
SCRATCH = "scratch load"
_LISTED = 3  # places of a kernel, and producers of a place
_MIN_SHARE = 0.05  # of the cycles that are asked for, below which a place is not worth naming
_MIN_AWAITED = 0.1  # of the stall at a place, below which an awaited group is not


def stalled(row: Instruction) -> float:
    """All cycles of stall."""
    return row.stall


def waiting(row: Instruction) -> float:
    """Cycles in waits for anything: memory of any kind, or other waves."""
    return row.stall if row.waits or row.mnemonic.startswith("s_barrier") else 0.0


def waiting_for_memory(row: Instruction) -> float:
    """Cycles in waits for vector memory."""
    return row.stall if MEMORY & row.waits.keys() else 0.0


def waiting_for_scratch(kernel: Listing) -> float:
    """Cycles in waits for loads from scratch; a wait for several loads is shared by their executions."""
    if not any(row.kind == SCRATCH for row in kernel.rows):
        return 0.0
    return sum(
        wait.stall * _part(kernel, {p for counter in wait.waits for p in kernel.awaited(i, counter)})
        for i, wait in enumerate(kernel.rows)
        if waiting_for_memory(wait)
    )


def _part(kernel: Listing, awaited: set[int]) -> float:
    hits = sum(kernel.rows[p].hits for p in awaited)
    return sum(kernel.rows[p].hits for p in awaited if kernel.rows[p].kind == SCRATCH) / hits if hits else 0.0


_WEIGHTS: dict[str, tuple[str, Callable[[Instruction], float]]] = {
    "waves.memory_wait": ("vector-memory waits", waiting_for_memory),
    "waves.scratch_wait": ("vector-memory waits", waiting_for_memory),
    "waves.dependency_wait": ("waits", waiting),
    "stall.top_share": ("stall cycles", stalled),
}


class Places(Struct):
    """Locates metrics in the kernels of a trace."""

    kernels: Sequence[Listing]

    def __call__(self, row: int, metrics: Sequence[str]) -> Sequence[Location]:
        """Lines, or instructions without a line, that the first known metric comes from, most first."""
        for metric in metrics:
            if metric in _WEIGHTS:
                what, weight = _WEIGHTS[metric]
                return _located(self.kernels[row], row, what, weight)
        return []


def _located(kernel: Listing, number: int, what: str, weight: Callable[[Instruction], float]) -> list[Location]:
    rows = [(i, row) for i, row in enumerate(kernel.rows) if weight(row) > 0]
    out = []
    for members, value, share in heaviest((row.source or f"{row.address:#x}", i, weight(row)) for i, row in rows):
        top = kernel.rows[max(members, key=lambda i: weight(kernel.rows[i]))]
        file, line = source_line(top.source)
        out.append(
            Location(
                what=what,
                metric="Stall",
                value=value,
                share=share,
                function=kernel.name,
                offset=top.address - kernel.rows[0].address,
                pc=top.address,
                instructions=len(members),
                file=file,
                line=line,
                access=top.kind,
                record=number + 1,
                mnemonic=top.text[:60] if top.waits else top.mnemonic,
                waits_for=tuple(_awaited(kernel, members)),
            )
        )
    return out


def heaviest(entries: Iterable[tuple[object, _T, float]]) -> Iterator[tuple[list[_T], float, float]]:
    """(members, weight, share of all) of the first places of a kernel. entries: (place, member, weight)."""
    groups: defaultdict[object, list[_T]] = defaultdict(list)
    weights: dict[object, float] = {}
    for place, member, weight in entries:
        groups[place].append(member)
        weights[place] = weights.get(place, 0) + weight
    total = sum(weights.values())
    for place in sorted(weights, key=lambda p: -weights[p])[:_LISTED]:
        if weights[place] < _MIN_SHARE * total:
            break
        yield groups[place], weights[place], weights[place] / total


def source_line(text: str) -> tuple[str, int]:
    """`/home/me/k.hip:41` -> path and line; ("", 0) where there is none."""
    file, _, line = text.rpartition(":")
    number = int(line) if line.isascii() and line.isdigit() and len(line) < 10 else 0
    return (file, number) if file and number else ("", 0)


def _awaited(kernel: Listing, members: Sequence[int]) -> list[Producer]:
    """What the waits among some instructions are for: groups of one kind in one line, the largest first."""
    total = sum(kernel.rows[i].stall for i in members)
    groups: defaultdict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    for i in members:
        wait = kernel.rows[i]
        found = {p: counter for counter in wait.waits for p in kernel.awaited(i, counter)}
        hits = sum(kernel.rows[p].hits for p in found)
        for p, counter in found.items():
            row = kernel.rows[p]
            group = groups[f"{counter}cnt", row.kind or row.mnemonic, row.source]
            group[p] = group.get(p, 0.0) + wait.stall * row.hits / hits
    out = []
    for (counter, kind, source), parts in groups.items():
        top = kernel.rows[max(parts, key=lambda p: parts[p])]
        file, line = source_line(source)
        out.append(
            Producer(
                share=sum(parts.values()) / total,
                reason=counter,
                waiter="s_waitcnt",
                kind=kind,
                mnemonic=top.mnemonic,
                function=kernel.name,
                offset=top.address - kernel.rows[0].address,
                pc=top.address,
                file=file,
                line=line,
                instructions=len(parts),
                meaning="register spills" if kind == SCRATCH else "",
            )
        )
    return sorted((p for p in out if p.share >= _MIN_AWAITED), key=lambda p: -p.share)[:_LISTED]
