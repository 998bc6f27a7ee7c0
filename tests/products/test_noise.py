"""What repeats can tell: intervals that hold, verdicts that are seldom wrong, remarks that are seldom made."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.products.noise import (
    FASTER,
    SAME,
    SLOWER,
    UNKNOWN,
    VERDICTS,
    Difference,
    Repeats,
    differences,
    remarks,
    student,
)


def difference(before: list[float], after: list[float], **how: float) -> Difference:
    """The comparison of one workload."""
    return differences(Repeats.one(before), Repeats.one(after), **how).at(0)  # type: ignore[arg-type]


def called(pairs: Any, **how: int) -> int:
    """How many of some workloads are called faster or slower; pairs: workload, side, run."""
    before, after = (Repeats.of(pairs[:, k].T) for k in (0, 1))
    changed = [VERDICTS.index(FASTER), VERDICTS.index(SLOWER)]
    return int(np.isin(differences(before, after, **how).verdict, changed).sum())


TIMES = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=9)


def test_students_quantiles_are_those_of_scipy() -> None:
    special = pytest.importorskip("scipy.special")
    for free in (1, 2, 3, 4, 5.5, 8, 18, 100, 999):
        for p in (0.5, 0.9, 0.975, 0.999, 1 - 1e-4, 1 - 1e-5):
            assert student(p, free) == pytest.approx(float(special.stdtrit(free, p)), rel=1e-5, abs=1e-9)


def test_three_runs_a_side_are_students_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    a, b = [1.0, 1.02, 1.01], [1.05, 1.06, 1.08]
    interval = stats.ttest_ind(np.log(b), np.log(a)).confidence_interval(0.95)
    d = difference(a, b)
    assert (d.low, d.high) == pytest.approx((math.expm1(interval.low), math.expm1(interval.high)), rel=1e-4)


@given(TIMES, TIMES)
@settings(max_examples=200, deadline=None)
def test_the_other_way_round_is_the_mirror_image(before: list[float], after: list[float]) -> None:
    d, back = difference(before, after), difference(after, before)
    assert {FASTER: SLOWER, SLOWER: FASTER}.get(d.verdict, d.verdict) == back.verdict
    assert d.low <= d.change <= d.high
    assert (d.needs is None) or d.verdict == UNKNOWN
    remarks(before)


@given(TIMES, TIMES, st.floats(1e-3, 1e3))
@settings(max_examples=100, deadline=None)
def test_the_unit_of_time_does_not_matter(before: list[float], after: list[float], unit: float) -> None:
    a = difference(before, after)
    b = difference([t * unit for t in before], [t * unit for t in after])
    assert a.change == pytest.approx(b.change, rel=1e-6, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [2, 3, 5, 8])
def test_noise_alone_is_called_a_change_once_in_twenty(runs: int) -> None:
    random = np.random.default_rng(runs)
    wrong = called(np.exp(random.normal(0, 0.03, (2_000, 2, runs))))
    assert wrong / 2_000 < 0.07


@pytest.mark.slow
def test_two_hundred_markers_together_are_called_wrong_as_seldom() -> None:
    random = np.random.default_rng(7)
    wrong = 0
    for _ in range(60):
        wrong += called(np.exp(random.normal(0, 0.03, (200, 2, 4))), tests=200) > 0
    assert wrong <= 8


def test_the_runs_asked_for_are_about_enough() -> None:
    random = np.random.default_rng(3)
    told = asked = 0
    for _ in range(300):
        a, b = np.exp(random.normal(0, 0.02, 3)), np.exp(random.normal(0.04, 0.02, 3))
        d = difference(a, b)
        if d.verdict != UNKNOWN or d.needs is None or d.needs > 30:
            continue
        asked += 1
        more = np.exp(random.normal(0, 0.02, d.needs + 2)), np.exp(random.normal(0.04, 0.02, d.needs + 2))
        told += difference([*a, *more[0]], [*b, *more[1]]).verdict != UNKNOWN
    assert asked > 50
    assert told / asked > 0.6


def test_an_outlier_of_five_decides_nothing() -> None:
    calm = [1.0, 1.01, 0.99, 1.005]
    assert difference([*calm, 5.0], [*calm, 1.0]).verdict in (SAME, UNKNOWN)
    assert difference([*calm, 9.0], [1.1 * t for t in [*calm, 1.0]]).verdict == SLOWER


@pytest.mark.parametrize("runs", [4, 5, 6, 8, 12, 30])
def test_remarks_are_seldom_made_of_plain_noise_and_often_of_what_is_odd(runs: int) -> None:
    random = np.random.default_rng(runs)
    idle = [remarks(np.exp(random.normal(0, 0.02, runs))) for _ in range(1_000)]
    assert sum(bool(o or m) for o, m in idle) < 45
    odd = [
        np.concatenate([random.normal(0, 0.01, runs // 2), random.normal(0.2, 0.01, runs - runs // 2)])
        for _ in range(200)
    ]
    assert sum(bool(remarks(np.exp(v))[1]) for v in odd) > 150
    far = [np.append(random.normal(0, 0.01, runs - 1), 0.4) for _ in range(200)]
    assert sum(bool(remarks(np.exp(v))[0]) for v in far) > 170


def test_the_modes_are_where_the_runs_are() -> None:
    outliers, modes = remarks([1.0, 1.3, 1.01, 1.31, 1.005])
    assert outliers == []
    assert [(round(t, 3), n) for t, n in modes] == [(1.005, 3), (1.305, 2)]
