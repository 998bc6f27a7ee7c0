"""The one gain model: what holds of every effect, whatever the rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.conftest import bare_capture
from triage.derive import View
from triage.diagnosis.gain import CAP, MODEL, fractions
from triage.ground.gpu_units import EVERY, ROLLUPS, UNITS
from triage.inference.evaluate import Lookup
from triage.products.rule_checks.rule_tests import facts_view
from triage.rulebook.expression import value
from triage.rulebook.gain_parser import Wrong, gain_model
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
    assert MODEL.slowest(0.9, MODEL.reach) == 1.0


def test_in_a_kernel_only_the_top_unit_gives_time(rule: Rule) -> None:
    stated, units = {"remains": {"l2": 0.5}}, {"l2": 0.5, "math": 0.6}
    assert gain(rule, stated, units, **{"work.kernels": 1})[1] == 0  # arithmetic takes as long as before
    assert gain(rule, stated, units)[1] > 0  # a range of draws, each with a top unit of its own


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
    limit = MODEL.streams if unit == "vram" else MODEL.reach
    assert own[1] <= max(0.0, 1 - units[unit] / limit) + 1e-4


def test_a_pack_may_know_how_far_a_unit_gets(rule: Rule) -> None:
    stated = {"because": "test", "time": 0.9}
    view = facts_view({UNITS["l2"]: 0.6})
    likely = []
    for reach in (None, 0.9):
        made = replace(rule, gain=gain_model(stated, value, reach))
        likely.append(float(fractions(made, Lookup(made, view, "v2"), np.array([0]))[1][0]))
    assert likely == pytest.approx([1 - 0.6 / MODEL.reach, 1 - 0.6 / 0.9], abs=1e-4)


def test_dram_runs_closer_to_its_peak_than_other_units(rule: Rule) -> None:
    likely = {unit: gain(rule, {"time": 0.9}, {unit: 0.6})[1] for unit in ("vram", "l2")}
    assert likely == pytest.approx({"vram": 1 - 0.6 / MODEL.streams, "l2": 1 - 0.6 / MODEL.reach}, abs=1e-4)


def test_a_roll_up_stands_for_parts_nobody_counted(rule: Rule) -> None:
    by_parts = gain(rule, {"time": 0.9}, {"l2": 0.7})
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


@given(
    seed=st.integers(0, 2**32 - 1),
    freed=st.dictionaries(st.sampled_from([*PARTS, EVERY]), st.tuples(shares, shares), max_size=3),
    time=st.one_of(st.none(), shares),
)
def test_the_busiest_of_the_others_speaks_for_all_of_them(
    rule: Rule, seed: int, freed: dict[str, tuple[float, float]], time: float | None
) -> None:
    """Rules that free the same units share one column for the others; here every part is gone through one by one."""
    stated: dict[str, object] = {"remains": {u: a for u, (a, _) in freed.items()}}
    stated["at_best"] = {u: b for u, (_, b) in freed.items()}
    if time is not None or not freed:
        stated["time"] = time or 0.0
    made = replace(rule, scope="workload", gain=gain_model({"because": "test", **stated}, value))
    rng = np.random.default_rng(seed)
    columns = {m: rng.random(5) for m in (*UNITS.values(), *ROLLUPS)}
    for busy in columns.values():
        busy[rng.random(5) < rng.random()] = np.nan
    view, where = View(bare_capture(columns, [f"w{i}" for i in range(5)])), np.array([0, 1, 3, 4])
    _, likely, bound = fractions(made, Lookup(made, view, "v2"), where)
    for k, i in enumerate(where.tolist()):
        parts = [(u, float(columns[m][i])) for u, m in UNITS.items()]
        for metric, units in ROLLUPS.items():
            if all(np.isnan(columns[UNITS[u]][i]) for u in units):
                parts.append((next((u for u in units if u in freed), units[0]), float(columns[metric][i])))
        needs, least, gone = [0.0], [0.0], []
        for unit, share in parts:
            a, b = freed.get(unit, freed.get(EVERY, (1.0, 1.0)))
            if not np.isnan(share):
                pace = min(share / MODEL.reach, 1.0)
                needs.append(min(share / MODEL.streams, 1.0) * a if unit == "vram" else pace * a)
                least.append(share * min(a, b))
                gone += [(1 - a) * pace] if unit in freed or EVERY in freed else []
        waits = max(gone, default=np.nan) if time is None and freed else (time or 0.0)
        most = float(np.clip(1 - max(least), 0, CAP))
        expected = np.clip(np.minimum(1 - max(needs), waits), 0, most)
        assert likely[k] == pytest.approx(expected, abs=1e-4, nan_ok=True)
        assert bound[k] == pytest.approx(max(most, np.nan_to_num(expected)), abs=1e-4)
