"""Loads of units that a page implies."""

import math

import pytest

from triage.derive.unit_loads import BEYOND, MAX_UNAWAITED, _implied_fill, _shared_share, _useful


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


@pytest.mark.parametrize(("part", "share"), [(0.59, math.nan), (0.9, 0.9)])
def test_shared_memory_alone_bounds_its_share(part: float, share: float) -> None:
    """Where only its own load is counted: nothing certain, or nearly all that the stage can do."""
    found = float(_shared_share(part, *[math.nan] * 10))
    assert found == pytest.approx(share, nan_ok=True)


@pytest.mark.parametrize(
    ("loads", "stores", "share"),
    [
        (1e6, 1e6, (32e6 + 4e6) / 100e6),  # both counted: a byte of DRAM that neither asked for was of no use
        (math.nan, 1e6, (40e6 + 4e6) / 100e6),  # whatever was read stays, since no fix of the stores removes it
        (1e6, math.nan, (32e6 + 60e6) / 100e6),
        (math.nan, math.nan, math.nan),
        (math.nan, 2e7, 1.0),  # scattered stores whose sectors L2 completed: DRAM has nothing to give back
    ],
)
def test_bytes_of_what_was_not_counted_are_all_of_use(loads: float, stores: float, share: float) -> None:
    found = float(_useful(100e6, loads, stores, 28 / 64, 0.0, 0.875, 40e6, 60e6))
    assert found == pytest.approx(share, nan_ok=True)
