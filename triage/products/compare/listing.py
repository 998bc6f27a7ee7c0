"""Which of very many pairs a comparison lists, and what it says of all of them; every pair is judged and counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import Masks
from triage.products.compare.compare_result import Totals
from triage.products.compare.side import Side
from triage.products.compare.verdict import Verdicts
from triage.products.noise import FASTER, SLOWER, UNKNOWN, VERDICTS

ALL, LISTED = 10_000, 1_000  # up to ALL pairs are all listed, of more the LISTED that matter most


def chosen(verdicts: Verdicts, changed: Masks, threshold: float | None) -> list[int]:
    """The pairs that matter most, in their order: regressions, slower and faster ones, those of which a rule says something
    else than before (changed), those of which the runs cannot tell; in each the largest change of the time first.
    """
    slower = verdicts.are(SLOWER)
    kinds = (slower & verdicts.above(threshold or 0.0), slower, verdicts.are(FASTER), changed, verdicts.are(UNKNOWN))
    gap = np.nan_to_num(np.abs(verdicts.after_ns - verdicts.before_ns))
    best = np.lexsort((-gap, np.select(kinds, range(len(kinds)), len(kinds))))
    return sorted(best[:LISTED].tolist())


def longest(sides: tuple[Side, Side], alone: tuple[Sequence[int], Sequence[int]]) -> tuple[list[int], list[int]]:
    """The longest of the workloads without a partner, on both sides, in their order."""
    times = np.concatenate([np.nan_to_num(s.times.middle[list(some)]) for s, some in zip(sides, alone, strict=True)])
    kept = np.zeros(len(times), dtype=bool)
    kept[np.argsort(-times, kind="stable")[:LISTED]] = True
    parts = np.split(kept, [len(alone[0])])
    gone, new = (
        [i for i, keep in zip(some, part.tolist(), strict=True) if keep]
        for some, part in zip(alone, parts, strict=True)
    )
    return gone, new


def totals(verdicts: Verdicts, unmatched: int, threshold: float | None) -> Totals:
    """Totals over all pairs."""
    open_ = verdicts.are(UNKNOWN)
    needs = np.sort(verdicts.found.needs[open_ & (verdicts.found.needs > 0)])
    return {
        "pairs": len(verdicts),
        "unmatched": unmatched,
        "verdicts": {v: int(n) for v in VERDICTS if (n := verdicts.are(v).sum())},
        # the median: one noisy workload of hundreds shall not ask for a hundred runs of all of them
        "needs": int(needs[len(needs) // 2]) if len(needs) else None,
        "regressed": int((verdicts.are(SLOWER) & verdicts.above(threshold or 0.0)).sum()),
        "open": 0 if threshold is None else int((open_ & verdicts.above(threshold)).sum()),
    }
