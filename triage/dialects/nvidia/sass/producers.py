"""Which instructions one instruction waits for: a slice backwards along the scoreboards that the code itself names."""

from __future__ import annotations

from triage.dialects.nvidia.sass import arguments
from triage.dialects.nvidia.sass.body import BYTES, Body

_DOUBLE = ("double-precision operation", "double-precision conversion")
# NVIDIA, Nsight Compute documentation, warp stall reasons: what each scoreboard stands for. Double precision sets one where
# its pipe is shared by the whole SM (sm_75, sm_86, sm_89, sm_120); stores and reductions when they have read their registers
AWAITED = {
    "long_scoreboard": (
        "global load", "local load", "generic load", "texture load", "surface load", "global atomic", "generic atomic",
        "asynchronous copy", "bulk tensor load", "bulk copy", "global store", "local store", "generic store", "surface store",
        "global reduction", *_DOUBLE,
    ),
    "short_scoreboard": (
        "shared load", "shared store", "shared atomic", "shared barrier operation", "special-function operation", "conversion",
        "bit operation", "shuffle", "special-register read", "uniform-register move", "warp match", "warp reduction",
        "constant load", "division check", "matrix move", "convergence-barrier move", "barrier", "double-precision conversion",
    ),
}  # fmt: skip
# what fills the queue that a warp waits for (throttles), or that must empty before it ends (drain). Decoupled arithmetic
# shares the queue of textures
QUEUES = {
    "lg_throttle": ("global load", "global store", "local load", "local store", "generic load", "generic store",
                    "global atomic", "global reduction", "generic atomic", "asynchronous copy"),
    "mio_throttle": (*(k for k in AWAITED["short_scoreboard"] if k != "convergence-barrier move"),),
    "tex_throttle": ("texture load", "surface load", "surface store", *_DOUBLE),
    "math_pipe_throttle": (),
    "drain": ("global store", "local store", "generic store", "global reduction", "shared store"),
}  # fmt: skip
BARRIER = "barrier"
# NVIDIA, CUDA Programming Guide, arithmetic instructions: 32 or 64 results of double precision per clock and SM; others have 2
_FULL_DOUBLE = frozenset({60, 70, 80, 90, 100, 103})
_NO_MEMORY = frozenset({*_DOUBLE, "conversion", "special-function operation", "bit operation"})
_SPILLS = ("local load", "local store")
_LOADS = ("global load", "generic load")
_MAX_DISTANCE = 96  # instructions after a waiting one among which the load that needs its result is looked for


def producers(body: Body, at: int, reason: str) -> list[int]:
    """Instructions that the one at an index awaits for a scoreboard reason, in order.

    All that may have set the scoreboard since it was awaited before: it is clear when the last of them is done. Where some
    are of a kind that fits the reason, the others are left out.
    """
    awaited = body.awaited(at)
    found = {i for barrier in range(6) if awaited >> barrier & 1 for i in body.setters(at, barrier)}
    return sorted(fitting(body, found, reason) or found)


def fitting(body: Body, found: set[int], reason: str) -> set[int]:
    """Those of a kind that fits a reason. Double precision that sets no scoreboard runs on a pipe of its own."""
    return {i for i in found if body.word(i).name.kind in AWAITED[reason]}


def used(body: Body, producer: int, waiter: int) -> bool:
    """True if the waiter needs a register that the producer writes, or overwrites one that it still reads."""
    first, second = body.word(producer), body.word(waiter)
    if not for_operands(body, producer, waiter):
        if first.uniform and first.destination in second.read_uniform:
            return True
        if _meet([first.written], [*second.read, second.written]):
            return True
    return bool(body.awaited(waiter) >> (first.high >> 49 & 7) & 1) and _meet(first.read, [second.written])


def for_operands(body: Body, producer: int, waiter: int) -> bool:
    """True if the waiter waits only until the producer has read its registers, not for a result."""
    awaited, control = body.awaited(waiter), body.high[producer] >> 46
    return bool(awaited >> (control >> 3 & 7) & 1) and not awaited >> (control & 7) & 1


def _meet(some: list[range], others: list[range]) -> bool:
    return any(a.start < b.stop and b.start < a.stop for a in some for b in others)


def fillers(body: Body, reason: str, pipe: str = "") -> list[int]:
    """Instructions that fill the queue of a throttle reason or an arithmetic pipe, or what a warp's end drains."""
    visited = range(min(len(body), max(body.budget.left, 0)))
    body.budget.left -= len(visited)
    if reason == "math_pipe_throttle":
        return [i for i in visited if body.word(i).pipe == pipe] if pipe else []
    elsewhere = _DOUBLE if (body.sm in _FULL_DOUBLE) == (reason == "tex_throttle") else ()
    kinds = set(QUEUES[reason]).difference(elsewhere)
    return [i for i in visited if body.word(i).name.kind in kinds]


def meaning(body: Body, producer: int, waiter: int, reason: str) -> str:
    """What the wait of one instruction for another shows beyond the wait; "" where it shows nothing."""
    kind, waiting = body.word(producer).name.kind, body.word(waiter).name.kind
    if kind in _SPILLS and reason != "drain":
        return "register spills or an indexed local array"
    if reason != "long_scoreboard":
        return ""
    if kind in _NO_MEMORY:
        return "no memory latency"
    if kind == "global load" and waiting == "shared store" and used(body, producer, waiter):
        return "staging without cp.async"
    if kind in _LOADS and used(body, producer, waiter) and _chase(body, producer, waiter):
        return "a pointer chase"
    return ""


def _chase(body: Body, producer: int, waiter: int) -> bool:
    """True if the waiter is a load from the address that was awaited, or computes the address of a load behind it."""
    if body.word(waiter).name.kind in _LOADS:
        return _meet([body.word(producer).written], body.word(waiter).read[:1])
    carrying = set(body.word(waiter).written) if arguments.of_integers(body.word(waiter)) else set()
    at = waiter
    for _ in range(_MAX_DISTANCE):
        at = _next(body, at)
        if not carrying or at >= len(body) or body.budget.left <= 0:
            return False
        body.budget.left -= 1
        word = body.word(at)
        read = carrying.intersection(r for some in word.read for r in some)
        if word.name.kind in _LOADS and read:
            return True
        if read and arguments.of_integers(word):
            carrying.update(word.written)
        elif not word.guarded:
            carrying.difference_update(word.written)
    return False


def _next(body: Body, at: int) -> int:
    """The instruction after one, in a loop the one that it goes on with."""
    target = body.word(at).target
    back = target is not None and target < 0 and target % BYTES == 0
    return max(at + 1 + (target or 0) // BYTES, 0) if back else at + 1
