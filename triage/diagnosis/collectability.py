"""Which rules could be evaluated if every counter of the profiler were collected.

A condition may read counters that this tool lacks and be known without them (`a or b`, `most(a, b)`). So it is evaluated
with a number for each metric that is there or can be collected, and NaN for the rest: where the result is unknown, no
further run of the profiler helps.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from triage.capture.arrays import Masks, Values
from triage.derive import View
from triage.inference.engine import Engine
from triage.inference.evaluate import Lookup, askable, missing
from triage.rulebook.expression import UNKNOWN
from triage.rulebook.rule import Rule

_T = TypeVar("_T")
PROBES = (1, 2)  # sets of numbers that stand for what could be had: one may lie where a rate has no value, not both
REMEMBERED = 16_384  # answers of an engine: what some fifty kinds of captures need


class _Obtainable:
    """A view in which a metric has some number where it could be known, and NaN elsewhere.

    Nearly always that is the same for all workloads: then one number stands for the column, and conditions are evaluated once.
    """

    def __init__(self, view: View, probe: int) -> None:
        self.view, self.probe, self.size = view, probe, view.size
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        if key not in self._made:
            self._made[key] = make()
        return cast(_T, self._made[key])

    def __getitem__(self, metric: str) -> Values:
        known = could_be_known(metric, self.view)
        number = 0.05 + zlib.crc32(f"{self.probe} {metric}".encode()) / 2**32
        if isinstance(known, bool):
            return number if known else np.nan
        return np.where(known, number, np.nan)


def bare(view: View) -> Masks:
    """Mask of workloads without counters in any run of a profiler: those of a copy engine."""
    copying = view.capture.copying
    return view.once("bare", lambda: np.zeros(view.size, dtype=bool) if copying is None else copying[view.rows])


def could_be_known(metric: str, view: View) -> Masks | bool:
    """Mask of workloads where a metric is there or can be collected; one bool where that is the same for all."""

    def look() -> Masks | bool:
        for _, absent in missing([metric], view):
            known: Masks = ~absent | (~bare(view) & bool(askable(metric, view)))
            return known if known.any() and not known.all() else bool(known.all())
        return True

    return view.once(("could be known", metric), look)


def could_decide(rule: Rule, wanted: Sequence[str], view: View, engine: Engine) -> Masks | bool:
    """Mask of workloads where a rule's own metrics (`wanted`) could be known; its premises are left out."""
    known = [could_be_known(m, view) for m in wanted]
    alike = tuple(k for k in known if isinstance(k, bool))
    if len(alike) < len(known):
        return _decides(rule, view, engine.program.method)
    # one answer for all captures of which the same is known
    key = (rule.id, alike)
    if key not in engine.decided:
        if len(engine.decided) >= REMEMBERED:
            engine.decided.clear()
        engine.decided[key] = bool(_decides(rule, view, engine.program.method))
    return engine.decided[key]


def _decides(rule: Rule, view: View, method: str) -> Masks | bool:
    when = rule.when[method]
    out: Masks | bool = False
    for probe in PROBES:
        lookup = Lookup(rule, cast(View, _Obtainable(view, probe)), method)
        known: Masks | bool = True
        for c in when.all_of:
            known &= c(lookup) != UNKNOWN
        either: Masks | bool = not when.any_of
        for c in when.any_of:
            either |= c(lookup) != UNKNOWN
        out |= known & either
    for metric in rule.needs:
        out &= could_be_known(metric, view)
    return out
