"""Loads of units that a page implies."""

import math

import pytest

from triage.derive.unit_loads import BEYOND, MAX_UNAWAITED, _implied_fill, _shared_share


@pytest.mark.parametrize(
    ("l2", "shared", "fill"),
    [
        (BEYOND - 0.01, math.nan, math.nan),
        (BEYOND + 0.01, math.nan, 0.92),
        (math.nan, math.nan, 0.92),
        (math.nan, 0.91, math.nan),
    ],
)
def test_an_idle_l2_and_shared_memory_fill_no_l1(l2: float, shared: float, fill: float) -> None:
    found = float(_implied_fill(0.92, 0.92, 0.5, 0.4, 0.1, l2, 0.7, shared))
    assert found == pytest.approx(fill, nan_ok=True)


@pytest.mark.parametrize(
    ("waits", "l1", "share"),
    [
        (MAX_UNAWAITED - 0.001, 0.7, 0),
        (MAX_UNAWAITED + 0.001, 0.7, math.nan),
        (0, 0.5, math.nan),
        (math.nan, 0.7, math.nan),
    ],
)
def test_a_busy_l1_without_short_waits_serves_no_shared_memory(waits: float, l1: float, share: float) -> None:
    found = float(_shared_share(*[math.nan] * 7, waits, l1, math.nan, math.nan))
    assert found == pytest.approx(share, nan_ok=True)
