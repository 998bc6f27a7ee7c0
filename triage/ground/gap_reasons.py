"""Reasons for gaps between the work of a device: name, meaning, and the limiter class whose look they share."""

from __future__ import annotations

from msgspec import Struct


class GapWords(Struct, frozen=True):
    """id as in JSON; name: in legends and tables; meaning: one clause; limiter: class whose colour and hatch it has, `dark`
    for undiagnosed time."""

    id: str
    name: str
    meaning: str
    limiter: str


GAP_WORDS = {
    g.id: g
    for g in (
        GapWords("profiler", "profiler overhead", "the profiler was active on the launching thread", "unknown"),
        GapWords("load", "module loading", "code loading or compilation", "small-grid"),
        GapWords("sync", "host sync", "the host waited for the device before launching again", "rop"),
        GapWords("memcpy", "copy calls", "the host was in a copy call", "memory"),
        GapWords("alloc", "allocation", "memory was allocated or freed", "latency"),
        GapWords("launch", "launch latency", "a launch call was in progress", "front-end"),
        GapWords("api", "other API calls", "the host was in a call that submits no work", "compute"),
        GapWords("host", "host code", "the launching thread was outside the API", "cpu"),
        GapWords(
            "queued", "queued work", "next work already submitted, waiting on another stream or device", "balanced"
        ),
        GapWords("unknown", "unknown", "launch call of the next work, or the work before it, not recorded", "dark"),
    )
}
