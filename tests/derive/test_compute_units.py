"""Shares of AMD's and Intel's units that other counters imply."""

import math

import pytest

from triage.derive.compute_units import _barriers, _conflict_time


@pytest.mark.parametrize(
    ("messages", "lookups", "share"),
    [
        (8_000, 100_000, 0.67),  # four barriers per thread of 16 lanes, memory hardly asked
        (3_900, 100_000, math.nan),  # one barrier after the load
        (8_000, 800_000, math.nan),  # SLM moves no more than L3 brings
        (math.nan, 100_000, math.nan),
    ],
)
def test_stalls_that_only_barriers_explain(messages: float, lookups: float, share: float) -> None:
    found = float(_barriers(0.82, 0.15, 200e6, 100e6, lookups, messages, 32_000.0))
    assert found == pytest.approx(share, nan_ok=True)


@pytest.mark.parametrize(
    ("busy", "bandwidth", "share"),
    [
        (0.84, math.nan, 0.753),  # 8.7 of 9.7 cycles of a busy LDS
        (
            math.nan,
            0.0863,
            0.751,
        ),  # the same kernel: what it moved without conflicts, times the conflicts of each access
        (math.nan, math.nan, math.nan),
    ],
)
def test_conflicts_take_their_part_of_the_time(busy: float, bandwidth: float, share: float) -> None:
    found = float(_conflict_time(math.nan, math.nan, busy, 8.7, bandwidth))
    assert found == pytest.approx(share, abs=0.001, nan_ok=True)
