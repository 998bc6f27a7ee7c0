"""Names for the arrays that travel between rooms: one value per row or workload, always one-dimensional.

Where a whole column shares one value, a scalar may stand for it (`Values`): a million equal numbers are one number.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]  # measured values in canonical units; NaN = missing
Masks: TypeAlias = NDArray[np.bool_]  # true where something holds
Codes: TypeAlias = NDArray[np.int8]  # small numbers with names: limiter class, band, three-valued truth, outcome
Indices: TypeAlias = NDArray[np.int64]  # positions of workloads, rows or rules; -1 = none
Names: TypeAlias = NDArray[np.object_]  # texts: names, paths, kinds
Values: TypeAlias = Any  # Floats, or one float that holds for every workload
