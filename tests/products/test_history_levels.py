"""Histories whose level moves: changes that were kept blind no later gate, and builds that differ by themselves fail none."""

import math

import numpy as np
import pytest

from benchmarks import history_levels as moving
from triage.products.history.changepoints import with_frame
from triage.products.history.gate import judge
from triage.products.history.gate_lines import is_own
from triage.products.history.record import shown
from triage.products.history.trend import FRAME
from triage.products.history.trend_series import _line


def test_kept_changes_and_spread_alone_seldom_fail_a_build() -> None:
    random = np.random.default_rng(11)
    figures = [moving.figures(random, 6, spread, kept) for spread in (0.0, 1.0, 3.0) for kept in (0.0, 0.125)]
    assert sum(alarms for alarms, *_ in figures) <= 4  # of 144; one in a hundred is allowed


@pytest.mark.parametrize(("spread", "least"), [(0.0, 19), (0.5, 18), (3.0, 18)])
def test_a_step_of_six_deviations_is_found_although_earlier_ones_were_kept(spread: float, least: int) -> None:
    random = np.random.default_rng(5)
    step = math.expm1(6 * math.sqrt(2) * moving.NOISE * math.sqrt(spread**2 + 1 / moving.RUNS))
    assert sum(moving.alarmed(moving.history(random, 20, spread, 0.1, step), moving.MOVED) for _ in range(20)) >= least


def staircase(new: float, builds: int = 13, seed: int = 1) -> moving.Trend:
    """Six markers of 2 ms; changes at builds 3, 6, 8 (taken back at 9) and 10, as of a team at work; a new marker in the last."""
    trend = moving.simulated(np.random.default_rng(seed), builds, 3, 7, (0.008, 0.008))
    noise = np.random.default_rng(seed).normal(0, 0.008, (builds * 3, 7))
    times = 2e6 * np.exp(noise)
    for marker, at, end, factor in ((0, 3, 99, 0.85), (1, 6, 99, 1.08), (2, 8, 9, 1.1), (3, 10, 99, 1.2)):
        times[(trend.of >= at) & (trend.of < end), marker] *= factor
    times[:, 6] = np.where(trend.of == builds - 1, new * np.exp(noise[:, 6]), np.nan)
    trend.times[:] = np.column_stack([times, np.nansum(times, axis=1)])
    return trend


@pytest.mark.parametrize("first", [None, 11])
@pytest.mark.parametrize("seed", range(4))
def test_a_new_marker_fails_the_frame_that_moved_before(first: int | None, seed: int) -> None:
    trend = staircase(1e6, seed=seed)
    doc = judge(trend, "", first)
    (frame,) = (m for m in doc["slower"] if m["marker"] == [FRAME])
    assert is_own(frame, doc) and frame["failing"]
    assert ("6", "012", "new") in [(p["marker"][-1], p["by"], p["came"]) for p in doc["parts"]]
    assert doc["visible"] is not None and doc["visible"] < 0.2


def test_gate_and_trend_name_the_same_steps() -> None:
    trend = staircase(1e6)
    _, steps = with_frame(trend.times, trend.of, len(trend.builds))
    for m, name in enumerate(trend.markers):
        line = _line(trend, "marker", shown(name), trend.times[:, m : m + 1], name)
        assert [x["by"]["at"] for x in line["moved"]] == [s.at for s in steps if s.marker == m]
    assert {s.at for s in steps if s.marker == len(trend.markers) - 1} >= {3, 10, 12}
