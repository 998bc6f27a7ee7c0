"""Shares of AMD's and Intel's units that other counters imply."""

import math

import pytest

from triage.derive.compute_units import _barriers


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
