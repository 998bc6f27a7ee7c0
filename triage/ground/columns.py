"""A column has a value per workload; a scalar stands for one whose values are all the same."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_column(values: Any) -> bool:
    """Is there a value per workload, not one for all? As np.ndim, which takes five times as long to tell."""
    return isinstance(values, np.ndarray) and values.ndim > 0


def anywhere(mask: Any) -> bool:
    """Does something hold for any workload? As np.any, which takes three times as long of a few hundred."""
    return bool(np.count_nonzero(mask))
