"""Could a rule decide, were everything collected that its profiler can give?

A condition may read counters that this tool does not have and be known without them (`a or b`, `most(a, b)`). So it is
asked once with a number for whatever is there or could be had, and nothing for the rest: where it stays unknown, no run
of the profiler would help.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from triage.capture.arrays import Masks, Values
from triage.derive import View
from triage.inference.evaluate import Lookup, askable, missing
from triage.rulebook.expression import UNKNOWN
from triage.rulebook.rule import Rule

_T = TypeVar("_T")
PROBES = (1, 2)  # sets of numbers that stand for what could be had: one may lie where a rate has no value, not both


class _Obtainable:
    """Stands for a view in which a metric has some number where it could be known, and is missing elsewhere.

    Nearly always that is the same for all workloads: then one number stands for the column, and conditions are asked once.
    """

    def __init__(self, view: View, bare: Masks, probe: int) -> None:
        self.view, self.bare, self.probe, self.size = view, bare, probe, view.size
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        if key not in self._made:
            self._made[key] = make()
        return cast(_T, self._made[key])

    def __getitem__(self, metric: str) -> Values:
        return self.once(metric, lambda: self._values(metric))

    def _values(self, metric: str) -> Values:
        known, number = could_be_known(metric, self.view, self.bare), self._number(metric)
        if known.all():
            return number
        return np.where(known, number, np.nan) if known.any() else np.nan

    def _number(self, metric: str) -> float:
        return 0.05 + zlib.crc32(f"{self.probe} {metric}".encode()) / 2**32


def could_be_known(metric: str, view: View, bare: Masks) -> Masks:
    """Where a metric is there, or could be collected. bare: workloads of which no counter can be."""
    out = np.ones(view.size, dtype=bool)
    for _, absent in missing([metric], view):
        out = ~absent | (~bare & bool(askable(metric, view)))
    return out


def could_decide(rule: Rule, view: View, method: str, bare: Masks) -> Masks:
    """Where what a rule itself reads would be known, its premises left aside."""
    when, out = rule.when[method], np.zeros(view.size, dtype=bool)
    for probe in PROBES:
        # which workloads are bare is settled by which ones the view is about
        could = view.once(("obtainable", probe), partial(_Obtainable, view, bare, probe))
        lookup = Lookup(rule, cast(View, could), method)
        known: Masks | bool = True
        for c in when.all_of:
            known &= c(lookup) != UNKNOWN
        either: Masks | bool = not when.any_of
        for c in when.any_of:
            either |= c(lookup) != UNKNOWN
        out |= known & either
        if out.all():
            break
    for metric in rule.needs:
        out &= could_be_known(metric, view, bare)
    return out
