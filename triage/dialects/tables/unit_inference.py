"""The unit of a time column that states none, by its values."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Floats
from triage.capture.capture import Quality
from triage.ground.errors import BadCapture

MIN_LONGEST_NS = 1_000.0  # no capture's longest range is shorter than a microsecond
MAX_SUM_MS = 2_000.0  # that fractional times of a capture may add up to


def time_unit(where: str, header: str, values: Floats) -> tuple[str, Quality | None]:
    """(unit, remark) of a time column without a unit: canonical ns where that can be, ms where only that can be.

    where: file and line. Raises BadCapture where the values leave it open.
    """
    known = values[np.isfinite(values) & (values > 0)]
    if not len(known) or known.max() >= MIN_LONGEST_NS:
        return "", None
    fractional = bool((known != np.floor(known)).any())
    if fractional and known.sum() <= MAX_SUM_MS and (known.min() < 1 or known.max() < 100):
        message = (
            f"{header[:60]} states no unit; its values ({known.min():g} to {known.max():g}) are too short for ns and were read as "
            f"ms: write “{header[:60]} [ms]” to be sure"
        )
        return "ms", Quality("time-unit", message)
    raise BadCapture(
        f"{where}: column {header!r} without a unit ({known.min():g} to {known.max():g} may be ms or us)",
        f'write the unit into the header, such as "{header} [ms]"',
    )
