"""Rows of Intel's unitrace (--chrome-kernel-logging, --chrome-call-logging) as rows of Kineto.

intel/pti-gpu, tools/unitrace/src/chromelogger.h: work has the category gpu_op and an id; a host call is followed in its thread
by a flow `Flow_H2D_ID_RANK` for each piece of work that it submits. Sizes stand in the names. Times are whole microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from triage.dialects.traces.event import Event

Row = dict[str, Any]
HEAD_RE = re.compile(
    r'"cat"\s*:\s*"(?:gpu_op|(?:CL_)?Flow_[HD]2[HD]_\d)|\{"ph": "X", "tid": \d+, "pid": \d+, "name": "(?:ze|cl)[A-Z]'
)
_FLOW_RE = re.compile(r"(?:CL_)?Flow_H2D_(\d{1,18})_")
_SIZES_RE = re.compile(
    r"\[(?:SIMD(?:_ANY|\d{1,4}))?\s*\{(\d{1,9}); (\d{1,9}); (\d{1,9})\} \{(\d{1,9}); (\d{1,9}); (\d{1,9})\}\]\Z"
)
_COPY_RE = re.compile(r"(?:zeCommandListAppend(?:Memory|Image)Copy\w*|clEnqueue(?:Read|Write|Copy|SVMMemcpy)\w*)(?:\((\w)2(\w)\))?(?:\[(\d{1,15})[^\]]*\])?")  # fmt: skip
_FILL_RE = re.compile(r"zeCommandListAppendMemoryFill|clEnqueue(?:Fill|SVMMemFill)")
_TILE_RE = re.compile(r"Tile #\d+: ")


class Unitrace:
    """Translates batches; a call waits for the flow behind it, which says what it submitted."""

    def __init__(self) -> None:
        self._devices: dict[Any, int] = {}
        self._waiting: dict[tuple[str, str], Row] = {}
        self._count = 0

    def rows(self, batch: list[Event]) -> tuple[list[Event], list[int]]:
        """The rows of a batch as Kineto's - work, and calls as far as it is known what they submit - and the numbers of theirs in the file."""
        out: list[Event] = []
        numbers: list[int] = []
        for given in batch:
            self._count += 1
            out += [Event.of(row) for row in self._translated(given.row())]
            numbers += [self._count] * (len(out) - len(numbers))
        return out, numbers

    def rest(self) -> tuple[list[Event], list[int]]:
        """The last call of each thread."""
        out = [Event.of(self._waiting.pop(thread)) for thread in list(self._waiting)]
        return out, [self._count] * len(out)

    def _translated(self, given: Row) -> Iterator[Row]:
        category, phase = str(given.get("cat")), given.get("ph")
        thread = str(given.get("pid")), str(given.get("tid"))
        if phase == "X" and category == "gpu_op":
            yield self._work(given)
        elif phase == "X" and category == "cpu_op" and re.match(r"(?:ze|cl)[A-Z]", str(given.get("name"))):
            if (before := self._waiting.pop(thread, None)) is not None:
                yield before
            self._waiting[thread] = {**given, "cat": "privateuse1_runtime", "args": {}}
        elif phase == "s" and (flow := _FLOW_RE.match(category)):
            call = self._waiting.pop(thread, None)
            if call is not None and call.get("ts") == given.get("ts"):
                yield {**call, "args": {"correlation": int(flow[1])}}
                self._waiting[thread] = {**call, "dur": 0}  # it may have submitted more
            elif call is not None:
                yield call
        elif phase == "M":
            yield given

    def _work(self, given: Row) -> Row:
        name = _TILE_RE.sub("", str(given.get("name")))[:16_384]
        args = given.get("args")
        work = str(args.get("id")) if type(args) is dict else ""
        place: Row = {
            "device": self._devices.setdefault(given.get("pid"), len(self._devices)),
            "stream": given.get("tid"),
            "correlation": int(work) if re.fullmatch(r"\d{1,18}", work) else 0,
        }
        if copy := _COPY_RE.match(name):
            return {**given, "cat": "gpu_memcpy", "name": _copy(copy), "args": {**place, "bytes": int(copy[3] or 0)}}
        if _FILL_RE.match(name):
            return {**given, "cat": "gpu_memset", "name": "Memset", "args": place}
        if sizes := _SIZES_RE.search(name[-200:]):
            x, y, z, *block = (int(s) for s in sizes.groups())
            place |= {"grid": [x, y, z], "block": block}
            name = name.removesuffix(sizes[0])
        return {**given, "cat": "kernel", "name": name, "args": place}


def _copy(found: re.Match[str]) -> str:
    """In Kineto's words: M and H are the host's memory, S is shared, D the device's."""
    source, target = found[1], found[2]
    if not source:
        name = found[0]
        return "Memcpy DtoH" if "Read" in name else "Memcpy HtoD" if "Write" in name else "Memcpy"
    if (source == "D") == (target == "D"):
        return "Memcpy DtoD" if source == "D" else "Memcpy"
    return "Memcpy DtoH" if source == "D" else "Memcpy HtoD"
