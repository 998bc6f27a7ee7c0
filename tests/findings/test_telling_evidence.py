"""Lines of evidence that say nothing new are left out."""

from tests.conftest import SAMPLES
from tests.helpers.reports import DEMO, diagnosed
from triage.document.entries import FindingEntry


def evidence(f: FindingEntry) -> list[tuple[str, str]]:
    return [(e["metric"], e["op"]) for e in f["evidence"]]


def test_a_flag_of_a_shown_quantity_and_a_difference_that_equals_it_are_left_out() -> None:
    found = diagnosed(DEMO).bundle.view["findings"]
    assert evidence(next(f for f in found if f["rule"] == "SOL017")) == [("crop.throughput", ">=")]
    # no wait of Coarse AO is hidden: the part that is not is the whole
    assert [m for m, _ in evidence(next(f for f in found if f["rule"] == "SOL008"))] == [
        "stall.long_scoreboard",
        "sm.throughput_active",
    ]


def test_a_far_lower_bound_is_left_out_and_a_near_one_stays() -> None:
    found = diagnosed(SAMPLES / "rocprof-compute" / "four_kernels_mi210").bundle.view["findings"]
    assert ("valu.utilization", ">=") not in evidence(next(f for f in found if f["rule"] == "AMD030"))
    near = evidence(next(f for f in found if f["rule"] == "AMD053"))
    assert {("l1tex.hit_rate", ">="), ("l1tex.hit_rate", "<")} <= set(near)
