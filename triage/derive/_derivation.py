"""The noun of this folder."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from triage.capture.arrays import Values


class Derivation(Struct, frozen=True):
    """How one metric is computed, element by element over the workloads.

    function gets the inputs, then the optional ones, as float64 arrays (scalar NaN where nobody has them); with
    whole=True it gets the View instead. formula: what a reader of a report sees. ask: what to collect when it is
    missing, where that is not simply the inputs.
    """

    metric: str
    formula: str
    function: Callable[..., Values]
    inputs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    whole: bool = False
    ask: tuple[str, ...] = ()
