"""The rows of nsys stats' cuda_gpu_trace as a timeline: what ran on the devices, without the calls that started it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Floats, Names, numbered
from triage.capture.trace_nouns import (
    COPY,
    FROM_DEVICE,
    KERNEL,
    ON_DEVICE,
    OTHER_WAY,
    SET,
    TO_DEVICE,
    Calls,
    Operations,
    Trace,
)

_MEMORY = re.compile(r"\[CUDA (memcpy|memset)(?: (\S+))?")
_WAYS = {
    **dict.fromkeys(("host-to-device", "htod"), TO_DEVICE),
    **dict.fromkeys(("device-to-host", "dtoh"), FROM_DEVICE),
    **dict.fromkeys(("device-to-device", "dtod"), ON_DEVICE),
}
_FAR = float(1 << 53)  # ns that a float holds exactly; the clock of a capture starts with it


def trace(
    start: Floats, duration: Floats, names: Names, devices: Names | None, streams: Floats | None, size: Floats | None,
    memory: Sequence[Names],
) -> Trace | None:  # fmt: skip
    """Times in ns, size in bytes, memory: the kinds of memory that a copy went between. None where a time is missing."""
    if (
        not len(start)
        or not (np.isfinite(start) & np.isfinite(duration) & (duration >= 0) & (np.abs(start) < _FAR)).all()
    ):
        return None
    count = len(start)
    name, words = numbered(names)
    place, keys = numbered(devices) if devices is not None else (np.zeros(count, dtype=np.int64), np.array([""]))
    matches = [_MEMORY.match(str(w)) for w in words]
    kinds = np.array([KERNEL if m is None else SET if m[1] == "memset" else COPY for m in matches], dtype=np.int8)
    ways = np.array(
        [_WAYS.get((m[2] or "").rstrip("]").casefold(), OTHER_WAY) if m else OTHER_WAY for m in matches], dtype=np.int8
    )
    copied = kinds[name] == COPY
    pageable = copied & np.logical_or.reduce([np.zeros(count, dtype=bool), *(m == "Pageable" for m in memory)])
    began = start.astype(np.int64)
    none = np.zeros(0, dtype=np.int64)
    zero = np.zeros(count, dtype=np.int64)
    operations = Operations(
        start=began,
        end=began + duration.astype(np.int64),
        kind=kinds[name],
        device=place,
        process=zero,
        call=zero - 1,
        stream=zero if streams is None else np.nan_to_num(streams, nan=-1).astype(np.int64),
        name=name,
        bytes=zero if size is None else np.nan_to_num(size).astype(np.int64) * copied,
        way=ways[name],
        pageable=pageable,
    )
    known = [_device(str(k)) for k in keys]
    calls = Calls(none, none, none, none.astype(np.int8), none, [])
    return Trace(operations, calls, known, [str(w) for w in words], [""] * len(words))


def _device(text: str) -> tuple[str, str | None]:
    """`NVIDIA L40S (0)`: key and name."""
    m = re.fullmatch(r"(.*?)\s*\((\d+)\)", text)
    return (m[2], m[1] or None) if m else (text or "0", text or None)
