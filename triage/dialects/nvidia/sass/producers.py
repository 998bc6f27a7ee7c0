"""Which instructions one instruction waits for: a slice backwards along the scoreboards that the code itself names."""

from __future__ import annotations

from triage.dialects.nvidia.sass.body import Body

# NVIDIA, Nsight Compute documentation, warp stall reasons: what each scoreboard stands for
AWAITED = {
    "long_scoreboard": (
        "global load", "local load", "generic load", "texture load", "surface load", "global atomic", "generic atomic",
        "asynchronous copy", "bulk tensor load", "bulk copy",
    ),
    "short_scoreboard": (
        "shared load", "shared store", "shared atomic", "shared barrier operation", "special-function operation", "conversion",
        "bit operation", "shuffle", "special-register read", "uniform-register move", "warp match", "warp reduction",
        "constant load", "division check", "matrix move", "convergence-barrier move", "barrier",
    ),
}  # fmt: skip
# what fills the queue that a warp waits for (throttles), or that must empty before it ends (drain)
QUEUES = {
    "lg_throttle": ("global load", "global store", "local load", "local store", "generic load", "generic store",
                    "global atomic", "global reduction", "generic atomic", "asynchronous copy"),
    "mio_throttle": ("shared load", "shared store", "shared atomic", "special-function operation", "conversion", "shuffle",
                     "bit operation", "special-register read", "uniform-register move"),
    "tex_throttle": ("texture load", "surface load", "surface store"),
    "drain": ("global store", "local store", "generic store", "global reduction", "shared store"),
}  # fmt: skip
_NO_MEMORY = frozenset({"double-precision operation", "conversion", "special-function operation", "bit operation"})


def producers(body: Body, at: int, reason: str) -> tuple[list[int], bool]:
    """(instructions that the one at an index awaits for a scoreboard reason, in order; False if it may be one of them only).

    Those whose kind fits the reason, and of them those whose registers it uses, where there are such. Several instructions
    that set one scoreboard and whose registers are not used, or one register written on several ways, are alternatives.
    """
    awaited = body.awaited(at)
    found = {i for barrier in range(6) if awaited >> barrier & 1 for i in body.setters(at, barrier)}
    fitting = [i for i in found if body.word(i).name.kind in AWAITED[reason]] or list(found)
    needed = [i for i in fitting if used(body, i, at)]
    written = [r for i in needed for r in body.word(i).written]
    sure = len(fitting) < 2 or (bool(needed) and len(written) == len(set(written)))
    return sorted(needed or fitting), sure


def used(body: Body, producer: int, waiter: int) -> bool:
    """True if the waiter needs a register that the producer writes, or overwrites one that it still reads."""
    first, second = body.word(producer), body.word(waiter)
    awaited = body.awaited(waiter)
    if awaited >> (first.high >> 46 & 7) & 1:
        if first.uniform and first.destination in second.read_uniform:
            return True
        if _meet([first.written], [*second.read, second.written]):
            return True
    return bool(awaited >> (first.high >> 49 & 7) & 1) and _meet(first.read, [second.written])


def _meet(some: list[range], others: list[range]) -> bool:
    return any(a.start < b.stop and b.start < a.stop for a in some for b in others)


def fillers(body: Body, reason: str) -> list[int]:
    """Instructions that fill the queue of a throttle reason, or what a warp's end drains."""
    visited = range(min(len(body), max(body.budget.left, 0)))
    body.budget.left -= len(visited)
    return [i for i in visited if body.word(i).name.kind in QUEUES[reason]]


def meaning(body: Body, producer: int, waiter: int, reason: str) -> str:
    """What the wait of one instruction for another shows beyond the wait; "" where it shows nothing."""
    first, second = body.word(producer), body.word(waiter)
    kind, waiting = first.name.kind, second.name.kind
    if kind == "local load":
        return "register spills or an indexed local array"
    if reason != "long_scoreboard":
        return ""
    if kind in _NO_MEMORY:
        return "no memory latency"
    if kind == "global load" and waiting == "shared store" and used(body, producer, waiter):
        return "staging without cp.async"
    if kind == "global load" and waiting in ("global load", "generic load") and _meet([first.written], second.read[:1]):
        return "a pointer chase"
    return ""
