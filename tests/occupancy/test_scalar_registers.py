"""Scalar registers as profilers print them, which is as allocated, keep no group out that runs."""

import pytest

from triage import occupancy


@pytest.mark.parametrize(
    ("arch", "sgprs"), [("gfx1100", 128), ("gfx1201", 128), ("gfx90a", 112), ("gfx942", 112), ("gfx700", 112)]
)
def test_allocated_registers_fit(arch: str, sgprs: int) -> None:
    found = occupancy.occupancy(arch, threads=256, registers=32, sgprs=sgprs)
    assert found.groups > 0
    assert occupancy.occupancy(arch, threads=256, registers=32, sgprs=sgprs + 1).groups == 0
