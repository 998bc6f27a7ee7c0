"""Fired rules as arrays, collected block by block: the best firings, and sums over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Indices, Masks
from triage.capture.capture import Capture

_FIELDS = ("rule", "workload", "low", "likely", "bound", "saved")
SLACK = 32_768  # firings gathered before the ledger is cut back to its limit


class Firings(Struct):
    """Fired rules as parallel arrays: rule index, workload index (-1: the frame), fractions, time saved (ns)."""

    rule: Indices
    workload: Indices
    low: Floats
    likely: Floats
    bound: Floats
    saved: Floats

    def __len__(self) -> int:
        return len(self.rule)

    @property
    def rank(self) -> Floats:
        """Sort key of firings: time saved in ns, or the fraction without times."""
        return _rank(self.saved, self.likely)

    def take(self, keep: Indices) -> Firings:
        """The firings at some positions."""
        return Firings(*(getattr(self, f)[keep] for f in _FIELDS))

    @staticmethod
    def one(rule: int, workload: int, low: float, likely: float, bound: float, saved: float) -> Firings:
        """A single firing."""
        where = (np.array([rule]), np.array([workload]))
        return Firings(*where, np.array([low]), np.array([likely]), np.array([bound]), np.array([saved]))

    @staticmethod
    def join(parts: Sequence[Firings]) -> Firings:
        """Several Firings one after another."""
        if not parts:
            e = np.empty(0)
            return Firings(e.astype(np.int64), e.astype(np.int64), e, e, e, e)
        return Firings(*(np.concatenate([getattr(p, f) for p in parts]) for f in _FIELDS))


def _rank(saved: Floats, likely: Floats) -> Floats:
    # an untimed capture ranks by fraction throughout; choosing by a mask is slow and nearly never needed
    unknown = np.isnan(saved)
    return np.where(unknown, np.nan_to_num(likely), saved) if unknown.any() else saved


def timeless(workload: Indices, untimed: Masks | None) -> Masks:
    """Mask of firings (their workloads, -1 the frame) on workloads without a time; those come last among equals."""
    out = np.zeros(len(workload), dtype=bool)
    return out if untimed is None else (workload >= 0) & untimed[workload]


def untimed(capture: Capture) -> Masks | None:
    """Mask of workloads without a time in a capture with times; None without any."""
    return np.isnan(capture.self_ns) if capture.frame_ns > 0 else None


class Ledger:
    """Collects firings of one capture.

    limit: most firings kept; ties at the edge are decided by whether the workload has a time, confidence, rule id and
    workload, so the result does not depend on how the capture was cut into blocks. least: (fraction, time) below which
    a firing is counted, not kept. untimed: workloads without a time in a capture that has times.
    """

    def __init__(
        self,
        limit: int,
        least: float,
        frame_ns: float,
        confidence: Floats,
        id_order: Indices,
        untimed: Masks | None = None,
    ) -> None:
        self.limit, self.least, self.frame_ns = limit, least, frame_ns
        self.confidence, self.id_order = confidence, id_order
        self.untimed = untimed
        self.counts: dict[int, int] = {}
        self.total = 0
        self._kept: list[Firings] = []
        self._pending = 0
        # firings below the last kept one need not be gathered
        self._edge = -np.inf

    def add(
        self,
        rule: int,
        workload: Indices,
        fractions: tuple[Floats, Floats, Floats],
        time: Floats,
    ) -> None:
        """Add firings of one rule. workload: indices, or -1 for the frame; time: self time of each in ns."""
        saved = fractions[1] * time
        self.total += len(workload)
        self.counts[rule] = self.counts.get(rule, 0) + len(workload)
        # ties with the edge stay in: which are kept must not depend on the order of blocks
        keep = _rank(saved, fractions[1]) >= self._edge
        if self.least > 0:
            share = np.nan_to_num(saved) / self.frame_ns if self.frame_ns > 0 else np.nan_to_num(fractions[1])
            # rounding: a finding of exactly the minimum share is kept
            keep &= share >= self.least - 1e-12
        kept = np.flatnonzero(keep)
        if len(kept):
            low, likely, bound = (x[kept] for x in fractions)
            rules = np.full(len(kept), rule)
            self._kept.append(Firings(rules, workload[kept], low, likely, bound, saved[kept]))
        self._pending += len(kept)
        # rarely, because a cut sorts everything that is kept
        if self._pending > max(2 * self.limit, SLACK):
            self._cut()

    def firings(self) -> Firings:
        """The best ones so far, at most `limit`."""
        self._cut()
        return Firings.join(self._kept)

    def _cut(self) -> None:
        f = Firings.join(self._kept)
        if len(f) > self.limit:
            rank = f.rank
            at = len(rank) - self.limit
            self._edge = float(np.partition(rank, at)[at]) if self.limit else np.inf
            sure, tied = np.flatnonzero(rank > self._edge), np.flatnonzero(rank == self._edge)
            if len(sure) + len(tied) > self.limit:
                rule, workload = f.rule[tied], f.workload[tied]
                order = np.lexsort(
                    (workload, self.id_order[rule], -self.confidence[rule], timeless(workload, self.untimed))
                )
                tied = tied[order[: self.limit - len(sure)]]
            f = f.take(np.sort(np.concatenate([sure, tied])))
        self._kept, self._pending = [f], 0
