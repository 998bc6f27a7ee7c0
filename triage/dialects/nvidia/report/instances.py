"""Counters per instruction of one launch: instances of its metrics, keyed by program counter."""

from __future__ import annotations

import itertools

import numpy as np

from triage.capture.arrays import Floats, Indices
from triage.dialects.nvidia.report.container import Contents, text
from triage.dialects.nvidia.report.wire import BYTES, FieldValues, fields, gather

_METRIC, _CODE, _MANGLED, _FUNCTION, _SIGNATURE = 13, 15, 5, 6, 7
_MAX_INSTANCES = 1 << 21  # instances of one metric; kernels have some thousand instructions
_BEYOND = 1 << 52  # addresses of a GPU end at 2**49


class Instances:
    """The instances of one launch, read metric by metric when asked for; raises Damaged.

    reasons: metrics by stall reason, kept by stall_samples. code: id of its source entry. mangled, function, signature: its names, the last with its arguments' types.
    """

    def __init__(self, contents: Contents, row: int) -> None:
        self._contents = contents
        self.code = 0
        self.reasons: dict[str, str] | None = None
        self.mangled = self.function = self.signature = ""
        self._spans: dict[str, tuple[int, int]] = {}
        self._known: dict[str, tuple[Indices, Floats]] = {}
        begin, end = (int(x[row]) for x in contents.results)
        for number, kind, value, stop in fields(contents.data, begin, end):
            if kind != BYTES:
                continue
            if number == _METRIC:
                self._metric(value, stop)
            elif number == _CODE:
                self.code = next((v for n, _, v, _ in fields(contents.data, value, stop) if n == 1), 0)
            elif number == _MANGLED:
                self.mangled = text(contents.data, value, stop)
            elif number == _FUNCTION:
                self.function = text(contents.data, value, stop)
            elif number == _SIGNATURE:
                self.signature = text(contents.data, value, stop, 1 << 16)

    def _metric(self, at: int, stop: int) -> None:
        index = 0
        for number, _, value, _ in fields(self._contents.data, at, stop):
            if number == 1:
                index = value
            elif number > 2:
                if index < len(self._contents.names):
                    self._spans[self._contents.names[index]] = at, stop
                break

    def values(self, name: str) -> tuple[Indices, Floats]:
        """(program counters, values) of a metric; empty where it has no instances."""
        if name not in self._known:
            self._known[name] = self._read(*self._spans.get(name, (0, 0)))
        return self._known[name]

    def put(self, name: str, pcs: Indices, values: Floats) -> None:
        """Replace the instances of a metric."""
        self._known[name] = pcs, values

    def total(self, name: str) -> float:
        """The value of a metric over the launch, 0 where it has none."""
        at, stop = self._spans.get(name, (0, 0))
        first = itertools.islice(fields(self._contents.data, at, stop), 2)
        spans = [(v, s) for n, k, v, s in first if n == 2 and k == BYTES]
        both = np.array(spans, dtype=np.int64).reshape(-1, 2)
        parts = gather(self._contents.data, both[:, 0], both[:, 1], (2, 3, 4, 5))
        return float(np.nan_to_num(np.concatenate([p.floats() for p in parts.values()])).sum())

    def names(self) -> list[str]:
        """Metrics that have instances."""
        return list(self._spans)

    def _read(self, at: int, stop: int) -> tuple[Indices, Floats]:
        spans: list[tuple[int, int]] = []
        for number, kind, value, behind in fields(self._contents.data, at, stop):
            if number > 3 or len(spans) == _MAX_INSTANCES:
                break
            if number == 3 and kind == BYTES:
                spans.append((value, behind))
        both = np.array(spans, dtype=np.int64).reshape(-1, 2)
        parts = gather(self._contents.data, both[:, 0], both[:, 1], (1, 2))
        ids, values = (self._figures(parts[n].bytes(), len(both)) for n in (1, 2))
        good = (ids >= 0) & (ids < _BEYOND) & np.isfinite(values)
        return ids[good].astype(np.int64), values[good]

    def _figures(self, found: FieldValues, size: int) -> Floats:
        """One number per message, NaN where there is none."""
        out = np.full(size, np.nan)
        have, last = found.last(size)
        for part in gather(self._contents.data, found.start[last], found.stop[last], (2, 3, 4, 5)).values():
            out[have[part.which]] = part.floats()
        return out
