"""Rows of PaddlePaddle's profiler as rows of Kineto: its names end with the row's time, its categories are its own.

What it writes: PaddlePaddle, chrometracing_logger.cc.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.dialects.traces.event import Event

HEAD_RE = re.compile(r'\A\s*\{\s*"schemaVersion"\s*:\s*"[\d.]+"\s*,\s*"displayTimeUnit"\s*:\s*"\w+"\s*,\s*"span_indx"')
_TIME_RE = re.compile(r"\[\d{1,12}\.\d{3} ms\]\Z")
_RANGES = ("profilestep", "dataloader", "forward", "backward", "optimization", "userdefined", "pythonuserdefined")
_CATEGORIES = {
    "kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset", "cudaruntime": "cuda_runtime",
    "operator": "cpu_op", **dict.fromkeys(_RANGES, "user_annotation"),
}  # fmt: skip


def rows(batch: Sequence[Event]) -> list[Event]:
    """The rows of a batch, those of known categories as Kineto would write them."""
    for event in batch:
        category = _CATEGORIES.get(str(event.cat).replace("_", "").casefold())
        if category:
            event.cat, event.name = category, _TIME_RE.sub("", str(event.name))
    return list(batch)
