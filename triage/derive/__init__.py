"""Computed metrics: each declares its inputs and its formula, and is computed only where it was not exported.

The modules of this folder hold the derivations by area in a tuple DERIVATIONS; the folder is the registry.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Hashable
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np

from triage import schema
from triage.capture.arrays import Indices, Masks, Values
from triage.capture.capture import Capture
from triage.derive._arrays import full
from triage.derive._derivation import Derivation
from triage.devices import Device
from triage.ground.columns import anywhere, is_column

T = TypeVar("T")
_DIGITS = str.maketrans("123456789", "000000000")

__all__ = ["Derivation", "View", "absent", "derivations", "leaves"]


@cache
def derivations() -> dict[str, Derivation]:
    """metric id -> how it is computed; ValueError when one is declared twice or not in the schema."""
    found: dict[str, Derivation] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        if not info.name.startswith("_"):
            for d in importlib.import_module(f"{__name__}.{info.name}").DERIVATIONS:
                if d.metric in found or not schema.known(d.metric):
                    raise ValueError(f"derivation of {d.metric}: twice, or not in the schema")
                found[d.metric] = d
    return found


@cache
def leaves(metric: str, collectable: frozenset[str]) -> tuple[str, ...]:
    """Metrics to collect so that `metric` is known: itself where the tool exports it, else what it is computed from.

    Empty when the tool cannot give it at all: a rule that needs it is not applicable there.
    """
    d = derivations().get(metric)
    # A metric without a name in any tool is only ever computed: asking a profiler for it would lead nowhere.
    computed_only = d is not None and schema.known(metric) and not schema.get(metric).aliases
    if metric in collectable and not computed_only:
        return (metric,)
    if d is None:
        return ()
    if not d.inputs and not d.ask:  # any one of the optional inputs would do
        return next((found for o in d.optional if (found := leaves(o, collectable))), ())
    # The device is known from its name, so it is nothing to collect. Of what `ask` names, those that the tool has are
    # enough; of plain inputs every one is needed.
    parts = [leaves(i, collectable) for i in d.ask or d.inputs if not i.startswith("device.")]
    if d.ask:
        return tuple(dict.fromkeys(leaf for p in parts for leaf in p))
    return tuple(dict.fromkeys(leaf for p in parts for leaf in p)) if all(parts) else ()


def absent(metric: str, capture: Capture) -> bool:
    """Is this metric missing in the whole capture: not exported, and not computable from anything that was?"""
    if metric in capture.facts or metric.startswith("device."):
        return False
    d = derivations().get(metric)
    if d is None or any(absent(m, capture) for m in d.inputs):
        return True
    return bool(d.optional) and not d.inputs and not d.whole and all(absent(m, capture) for m in d.optional)


class Kept:
    """What was worked out, by key."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made when `key` is first asked for and remembered as long as this lives.

        One key, one type: a key stands for one thing that is worked out, such as the clusters or a rule's `let`.
        """
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made


class View(Kept):
    """Facts of some workloads of a capture, exported or derived, as float64 arrays, or one NaN if no workload has them.

    rows: a slice, or positions of workloads. Results are remembered, so a condition used by ten rules is computed once.
    """

    def __init__(
        self, capture: Capture, rows: slice | Indices | list[int] = slice(None), whole: Kept | None = None
    ) -> None:
        super().__init__()
        self.capture = capture
        self.rows = rows
        self.size = len(capture.names[rows])
        # keeps what does not depend on the rows; never a view: a circle would hold the capture after its diagnosis
        self.whole = whole or Kept()
        self._memo: dict[str, Values] = {}

    def part(self, rows: slice | Indices | list[int]) -> View:
        """A view of other rows of the same capture, which shares what is known of the capture as a whole."""
        return View(self.capture, rows, self.whole)

    def __getitem__(self, metric: str) -> Values:
        """Values of a metric in its canonical unit: array of `size`, or scalar NaN when it is missing everywhere."""
        if metric not in self._memo:
            self._memo[metric] = self._load(metric)
        return self._memo[metric]

    def lacks(self, metric: str) -> bool:
        """Is a metric missing in the whole capture (see absent)?"""
        return self.whole.once(("lacks", metric), lambda: absent(metric, self.capture))

    @property
    def leaf(self) -> Masks:
        """Which of these workloads hold no other."""
        leaf: Masks = self.whole.once("leaf", lambda: self.capture.leaf)[self.rows]
        return leaf

    @cached_property
    def names(self) -> list[str]:
        """Names of the workloads."""
        names: list[str] = self.capture.names[self.rows].tolist()
        return names

    @cached_property
    def alike(self) -> tuple[list[str], set[str]]:
        """The names with 0 for every digit, and which there are: of a million launches a few kinds are looked at."""
        names = self.names
        lines = "\n".join(names).translate(_DIGITS).split("\n")
        alike = lines if len(lines) == len(names) else [n.translate(_DIGITS) for n in names]  # a name holds a line end
        return alike, set(alike)

    def _load(self, metric: str) -> Values:
        exported = self.capture.facts.get(metric)
        values = np.nan if exported is None else exported[self.rows]
        d = derivations().get(metric)
        if d is None:
            return values if exported is not None else self._device(metric)
        if exported is not None and not anywhere(np.isnan(values)):
            return values
        computed = self._compute(d)
        if exported is None:
            return computed
        # What the profiler measured always wins; a formula only fills the cells it left empty.
        return np.where(np.isnan(values), computed, values)

    def _compute(self, d: Derivation) -> Values:
        inputs = [self[m] for m in (*d.inputs, *d.optional)]
        # A scalar NaN means that no workload has the metric: with a needed one missing there is nothing to compute, and
        # with none of the optional ones there is nothing to compute from.
        if any(not is_column(v) and np.isnan(v) for v in inputs[: len(d.inputs)]):
            return np.nan
        if d.optional and not d.inputs and not d.whole and all(not is_column(v) and np.isnan(v) for v in inputs):
            return np.nan
        with np.errstate(all="ignore"):
            out = d.function(self) if d.whole else d.function(*inputs)
        if not is_column(out):
            return out
        # Something over zero is no figure: infinity would pass every "more than" condition.
        infinite = np.isinf(out)
        return np.where(infinite, np.nan, out) if anywhere(infinite) else out

    def _device(self, metric: str) -> Values:
        if not metric.startswith("device."):
            return np.nan
        value = _device_value(self.capture.device, metric)
        return np.nan if value is None else full(value, self.size)


def _device_value(device: Device | None, metric: str) -> float | None:
    if device is None:
        return None
    name = metric.partition(".")[2]
    value = getattr(device, name, None)
    if value is None:
        value = getattr(device, {"max_warps": "max_warps_per_sm"}.get(name, ""), None)
    return None if value is None else float(value)
