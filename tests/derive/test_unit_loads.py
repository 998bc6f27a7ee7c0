"""Loads of units that a page implies."""

import math

import pytest

from triage.derive.unit_loads import BEYOND, _implied_fill


@pytest.mark.parametrize(("l2", "fill"), [(BEYOND - 0.01, math.nan), (BEYOND + 0.01, 0.92), (math.nan, 0.92)])
def test_an_idle_l2_fills_no_l1(l2: float, fill: float) -> None:
    found = float(_implied_fill(0.92, 0.92, 0.5, 0.4, 0.1, l2, 0.7))
    assert found == pytest.approx(fill, nan_ok=True)
