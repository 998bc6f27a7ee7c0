"""Classes of idle time between the work of a device: the words every report says of them, and whose look they borrow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GapWords:
    """id as in JSON; name: in legends and tables; meaning: one sentence; limiter: the class whose colour and hatch it has,
    `dark` for that of time nobody can judge."""

    id: str
    name: str
    meaning: str
    limiter: str


GAP_WORDS = {
    g.id: g
    for g in (
        GapWords("profiler", "profiler", "the profiler itself was at work on the launching thread", "unknown"),
        GapWords("load", "loading", "code was loaded or compiled", "small-grid"),
        GapWords(
            "sync", "waiting for the device", "the host waited for the device, and launched anew only then", "rop"
        ),
        GapWords("memcpy", "copy calls", "the host was in a copy call", "memory"),
        GapWords("alloc", "allocating", "memory was allocated or freed", "latency"),
        GapWords("launch", "launching", "the launch was under way", "front-end"),
        GapWords("api", "other calls", "the host was in a call that starts nothing", "compute"),
        GapWords("host", "host", "the launching thread was outside the runtime", "cpu"),
        GapWords("queued", "work queued", "the next work was submitted already and waited for a device", "balanced"),
        GapWords("unknown", "unknown", "the call that started the next work is not in the file", "dark"),
    )
}
