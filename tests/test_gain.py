"""The one gain model: what holds of every effect, whatever the rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.diagnosis.gain import CAP, MODEL, fractions
from triage.ground.parts import UNITS
from triage.inference.evaluate import Lookup
from triage.products.proof.check import facts_view
from triage.rulebook.expression import value
from triage.rulebook.gainfile import Wrong, gain_model
from triage.rulebook.packs import Rulebook
from triage.rulebook.rule import Rule

PARTS = ("lsu", "l1_data", "l2", "vram", "math", "issue")
shares = st.floats(0, 1)
busy = st.dictionaries(st.sampled_from(PARTS), shares, min_size=1)


def gain(rule: Rule, stated: dict[str, object], units: dict[str, float], **facts: float) -> tuple[float, float, float]:
    """(low, likely, bound) of an effect on a workload of these shares of peak."""
    made = replace(rule, gain=gain_model({"because": "test", **stated}, value))
    view = facts_view({**{UNITS[u]: v for u, v in units.items()}, **facts})
    low, likely, bound = fractions(made, Lookup(made, view, "v2"), np.array([0]))
    return float(low[0]), float(likely[0]), float(bound[0])


@pytest.fixture(scope="module")
def rule(book: Rulebook) -> Rule:
    return next(r for r in book.rules if r.id == "MEM001")


@given(units=busy, unit=st.sampled_from(PARTS), stays=shares, time=shares, sure=shares)
def test_an_interval_is_ordered_and_no_other_unit_passes_its_peak(
    rule: Rule, units: dict[str, float], unit: str, stays: float, time: float, sure: float
) -> None:
    low, likely, bound = gain(rule, {"remains": {unit: stays}, "time": time, "sure": sure}, units)
    others = max([v for u, v in units.items() if u != unit], default=0.0)
    assert 0 <= low <= likely <= bound <= CAP
    assert likely <= min(time, 1 - others) + 1e-4


@given(units=busy, unit=st.sampled_from(PARTS), stays=st.tuples(shares, shares), time=shares)
def test_a_cure_that_leaves_less_never_gives_less(
    rule: Rule, units: dict[str, float], unit: str, stays: tuple[float, float], time: float
) -> None:
    less, more = (gain(rule, {"remains": {unit: s}, "time": time}, units) for s in sorted(stays))
    assert all(a >= b - 1e-4 for a, b in zip(less, more, strict=True))


def test_a_unit_reaches_what_cured_kernels_reach(rule: Rule) -> None:
    # half of the sectors of a kernel that VRAM limits at 90 %: L2 at 40 % is next
    _, likely, bound = gain(rule, {"remains": {"vram": 0.5}}, {"vram": 0.9, "l2": 0.4})
    assert likely == pytest.approx(1 - 0.4 / 0.75, abs=1e-4)  # the demand halves, then L2 limits
    assert bound == pytest.approx(0.55, abs=1e-4)  # VRAM at its peak needs 0.45 of the time
    assert MODEL.slowest(0.9) == 1.0


def test_waits_that_were_measured_decide(rule: Rule) -> None:
    stated = {"remains": {"vram": 0.5}, "time": 0.1}
    assert gain(rule, stated, {"vram": 0.5})[1] == pytest.approx(0.1, abs=1e-4)


def test_what_was_not_measured_is_no_gain(rule: Rule) -> None:
    assert np.isnan(gain(rule, {"time": "stall.wait"}, {"vram": 0.5})[1])
    assert np.isnan(gain(rule, {"remains": {"vram": 0.5}}, {"l2": 0.5})[1])


@given(units=busy, stays=shares)
def test_work_that_goes_goes_from_every_unit(rule: Rule, units: dict[str, float], stays: float) -> None:
    everywhere = gain(rule, {"remains": {"all": stays}}, units)
    assert everywhere == gain(rule, {"remains": dict.fromkeys(PARTS, stays)}, units)
    # what is said of one unit holds for that one
    unit = min(units)
    own = gain(rule, {"remains": {"all": stays, unit: 1}, "time": 1}, units)
    assert own[1] <= max(0.0, 1 - units[unit] / MODEL.reach) + 1e-4


def test_a_pack_may_know_how_far_a_unit_gets(rule: Rule) -> None:
    stated = {"because": "test", "time": 0.9}
    view = facts_view({UNITS["vram"]: 0.6})
    likely = []
    for reach in (None, 0.9):
        made = replace(rule, gain=gain_model(stated, value, reach))
        likely.append(float(fractions(made, Lookup(made, view, "v2"), np.array([0]))[1][0]))
    assert likely == pytest.approx([1 - 0.6 / MODEL.reach, 1 - 0.6 / 0.9], abs=1e-4)


def test_a_roll_up_stands_for_parts_nobody_counted(rule: Rule) -> None:
    by_parts = gain(rule, {"time": 0.9}, {"vram": 0.7})
    rolled_up = gain(rule, {"time": 0.9}, {}, **{"memory.side": 0.7})
    assert by_parts == rolled_up


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"time": 0.1, "waits": 0.1}, "unknown gain key"),
        ({"saves": 0.1}, "`saves` is called `time` now"),
        ({"time": 0.1, "at_most": 0.9}, "`at_most` is called `time_at_best` now"),
        ({"remains": {"l3": 0.5}}, "unknown unit 'l3'"),
        ({"remains": 0.5}, "mapping of units"),
        ({"time": 0.1, "sure": 2}, "0 to 1"),
        ({"time": 0.1, "evidence": "hearsay"}, "mechanism, stall, rate, absence"),
        ({"because": "why not"}, "`remains`, `time` or both"),
    ],
)
def test_a_gain_that_makes_no_sense_is_refused(stated: dict[str, object], says: str) -> None:
    with pytest.raises(Wrong, match=says):
        gain_model({"because": "test", **stated}, value)


def test_confidence_comes_from_the_evidence(book: Rulebook) -> None:
    said = [r.gain for r in book.rules if r.gain and r.gain.confidence == "high"]
    assert said
    assert {g.evidence for g in said} == {"mechanism"}
