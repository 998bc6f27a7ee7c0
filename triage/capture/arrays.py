"""Names for the arrays that travel between rooms: one value per row or workload, always one-dimensional.

Where a whole column shares one value, a scalar may stand for it (`Values`): a million equal numbers are one number.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

PANDAS_FREE_UP_TO = 5_000  # values that are numbered without pandas, whose import takes longer than a small diagnosis

Floats: TypeAlias = NDArray[np.float64]  # measured values in canonical units; NaN = missing
Masks: TypeAlias = NDArray[np.bool_]  # true where something holds
Codes: TypeAlias = NDArray[np.int8]  # small numbers with names: limiter class, band, three-valued truth, outcome
Indices: TypeAlias = NDArray[np.int64]  # positions of workloads, rows or rules; -1 = none
Names: TypeAlias = NDArray[np.object_]  # texts: names, paths, kinds
Values: TypeAlias = Any  # Floats, or one float that holds for every workload
Facts: TypeAlias = dict[str, tuple[float, str]]  # of a whole capture: metric -> (value, formula)


def distinct(values: NDArray[Any]) -> list[Any]:
    """The distinct values, sorted. Of few not by np.unique: the numpy.ma that comes with it takes 3 % of a small diagnosis."""
    return np.unique(values).tolist() if len(values) > PANDAS_FREE_UP_TO else sorted(set(values.tolist()))


def numbered(values: NDArray[Any]) -> tuple[Indices, NDArray[Any]]:
    """(number of each value by first appearance, -1 where it is missing; the distinct values), as pandas.factorize."""
    if len(values) > PANDAS_FREE_UP_TO:
        import pandas as pd

        return pd.factorize(values)
    order: dict[Any, int] = {}
    codes = [-1 if v is None or v != v else order.setdefault(v, len(order)) for v in values.tolist()]
    distinct = np.empty(len(order), dtype=values.dtype)
    distinct[:] = list(order)
    return np.array(codes, dtype=np.int64), distinct
