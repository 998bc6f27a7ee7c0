"""Blind spots: missing metrics, the rules that need them, and on how many workloads.

Entered block by block, so that a million workloads are never in memory together. Of each block a mask is kept as bits, the
same mask once: of 200,000 workloads without counters 79 blind spots are one mask, not sixteen million numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Indices, Masks

MAX_LISTED_WORKLOADS = 1_000  # workloads named per blind spot; beyond that only the count is given
Wait = tuple[str, tuple[str, ...], Masks]  # (rule id, metrics it waits for, on which workloads of the block)
_Bits = tuple[tuple[int, bytes], ...]  # per block with missing metrics: its number, the mask


class BlindSpot(Struct, frozen=True):
    """Missing metrics, the rules that need them, and the command that collects them.

    workloads: the first MAX_LISTED_WORKLOADS of them; count: how many there are.
    """

    missing: tuple[str, ...]
    rules: tuple[str, ...]
    workloads: tuple[int, ...]
    count: int
    collect: str


class Spots:
    """Missing metrics with the rules that need them and where, over the blocks entered so far."""

    def __init__(self) -> None:
        self._rules: dict[str, set[str]] = {}
        self._where: dict[str, list[tuple[int, bytes]]] = {}
        self._rows: list[Indices] = []
        self._same: dict[bytes, bytes] = {}

    def enter(self, rows: Indices, waits: Iterable[Wait]) -> None:
        """Add one block. rows: its workloads, ascending from block to block; waits: what each rule needs there."""
        seen: dict[str, Masks] = {}
        for rule, metrics, where in waits:
            for metric in metrics:
                self._rules.setdefault(metric, set()).add(rule)
                seen[metric] = seen[metric] | where if metric in seen else where
        for metric, where in seen.items():
            bits = np.packbits(where).tobytes()
            self._where.setdefault(metric, []).append((len(self._rows), self._same.setdefault(bits, bits)))
        self._rows.append(rows)

    def spots(self, command: Callable[[list[str]], str], collect: Callable[[list[str]], str]) -> list[BlindSpot]:
        """Return the blind spots, most rules first; metrics that the same rules need on the same workloads are one.

        command: for some metrics, "" for those this tool does not export. collect: the same, "" where the capture was made with it.
        """
        merged: dict[tuple[tuple[str, ...], _Bits], list[str]] = {}
        for metric, rules in self._rules.items():
            merged.setdefault((tuple(sorted(rules)), tuple(self._where[metric])), []).append(metric)
        out = []
        for (rules_of, bits), asked in merged.items():
            metrics = sorted(m for m in asked if command([m]))
            if metrics:
                named, count = self._workloads(bits)
                out.append(BlindSpot(tuple(metrics), rules_of, named, count, collect(metrics)))
        out.sort(key=lambda s: (-len(s.rules), -s.count, s.missing))
        return out

    def _workloads(self, bits: _Bits) -> tuple[tuple[int, ...], int]:
        """(first MAX_LISTED_WORKLOADS workloads, number of workloads)."""
        named: list[int] = []
        count = 0
        for block, packed in bits:
            rows = self._rows[block]
            where = np.unpackbits(np.frombuffer(packed, np.uint8), count=len(rows)).view(bool)
            count += int(where.sum())
            if len(named) < MAX_LISTED_WORKLOADS:
                named += rows[where][: MAX_LISTED_WORKLOADS - len(named)].tolist()
        return tuple(named), count
