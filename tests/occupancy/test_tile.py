"""Tiles and launch shapes: the halo table, and arithmetic that must hold for any numbers."""

import csv
import gzip
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from triage.ground.errors import TriageError
from triage.occupancy import launch_shape, tile, warps_needed
from triage.occupancy.grid import parse_shape

DATA = ROOT / "tests" / "data"


def test_the_halo_table_agrees() -> None:
    with gzip.open(DATA / "occupancy_halo.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        found = tile(row["tile"], int(row["radius"]))
        assert len(found.size) == int(row["dims"])
        assert found.payload == int(row["interior"])
        assert found.total == int(row["with_halo"])
        assert found.border_elements == int(row["halo"])
        assert 100 * found.over_payload == pytest.approx(float(row["halo_over_interior_pct"]), abs=6e-4)
        assert 100 * found.over_total == pytest.approx(float(row["halo_over_total_pct"]), abs=6e-4)
        assert found.loads_without == int(row["loads_without_lds"])
        assert found.reduction == pytest.approx(float(row["load_reduction_factor"]), abs=6e-5)
        for size in (4, 8, 16):
            assert found.shared_bytes(size) == int(row[f"lds_bytes_{size}B"])
    assert len(rows) > 50


@given(st.lists(st.integers(1, 80), min_size=1, max_size=3), st.integers(0, 8))
def test_groups_cover_their_tile(edges: list[int], border: int) -> None:
    found = tile(tuple(edges), border)
    groups = found.groups()
    assert groups[0].shape == found.size and groups[0].per_thread == 1
    for group in groups:
        assert group.threads * group.per_thread >= found.payload
        assert group.threads * group.loads >= found.total
        assert group.fits == (group.threads <= 1024)


@given(st.integers(1, 1024), st.integers(1, 10**6), st.integers(1, 300), st.integers(0, 64), st.sampled_from([32, 64]))
def test_launch_shape_adds_up(threads: int, grid: int, units: int, resident: int, wave: int) -> None:
    shape = launch_shape((threads, 1, 1), (grid, 1, 1), units, resident, wave)
    assert shape.subgroups * wave - shape.idle_lanes == threads and 0 <= shape.idle_lanes < wave
    if resident == 0:
        assert shape.rounds == 0 and math.isinf(shape.waves) and shape.utilisation == 0
        return
    assert (shape.rounds - 1) * shape.capacity < grid <= shape.rounds * shape.capacity
    assert (grid + shape.to_fill) % shape.capacity == 0
    assert shape.tail == 0 or shape.tail + shape.to_fill == shape.capacity
    assert 0 < shape.utilisation <= 1


@pytest.mark.parametrize(("text", "shape"), [("256", (256, 1, 1)), ("16x16", (16, 16, 1)), ("8X4x2", (8, 4, 2))])
def test_shapes_are_read(text: str, shape: tuple[int, int, int]) -> None:
    assert parse_shape(text, "--threads") == shape


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "1x0", "1x2x3x4", "1.5"])
def test_bad_shapes_are_refused(text: str) -> None:
    with pytest.raises(TriageError, match="expected N"):
        parse_shape(text, "--threads")


def test_impossible_launches_are_refused() -> None:
    with pytest.raises(TriageError):
        launch_shape((32, 1, 1), (1, 1, 1), 0, 1, 32)
    with pytest.raises(TriageError):
        warps_needed(-1, 4)
