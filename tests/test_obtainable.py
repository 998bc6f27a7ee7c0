"""What cannot be had keeps a rule from deciding only where it cannot decide without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES, generic
from triage import api
from triage.diagnosis.judged import Diagnosis
from triage.diagnosis.obtainable import could_be_known, could_decide
from triage.diagnosis.outcomes import Outcomes
from triage.inference.evaluate import BLIND, NOT_APPLICABLE, askable


@pytest.fixture(scope="module")
def demo() -> Diagnosis:
    return api.diagnose(SAMPLES / "gpu-trace" / "demo_frame")


def _index(d: Diagnosis, name: str) -> int:
    return next(i for i, r in enumerate(d.book.rules) if r.name == name)


def test_an_optional_counter_that_no_tool_gives_is_no_reason_to_give_up(demo: Diagnosis) -> None:
    o, index = Outcomes(demo, demo.parts[0]), _index(demo, "special-function-bound")
    never = [m for m in o.engine.wanted(index) if not askable(m, o.view)] if o.engine else []
    assert never  # this tool cannot give all that the rule reads
    codes = o.outcome(index)
    assert (codes == BLIND).any() and not (codes == NOT_APPLICABLE).any()
    i = int(np.flatnonzero(codes == BLIND)[0])
    assert "pipe.xu" in o.waits_for(index, i)
    assert any(o.d.book.rules[index].id in spot.rules for spot in o.blind_spots)


def test_a_counter_that_is_needed_and_cannot_be_had_is_one(demo: Diagnosis) -> None:
    o = Outcomes(demo, demo.parts[0])
    bare = np.zeros(o.view.size, dtype=bool)
    for rule in demo.book.rules:
        if demo.method in rule.when and not rule.is_concept:
            had = [could_be_known(m, o.view, bare) for m in rule.needs]
            assert not (could_decide(rule, o.view, demo.method, bare) & ~np.logical_and.reduce([~bare, *had])).any()
    index = _index(demo, "register-limited-kernel")
    assert not (o.outcome(index) == BLIND).any()


def test_nothing_can_be_had_of_work_without_counters(demo: Diagnosis) -> None:
    o, index = Outcomes(demo, demo.parts[0]), _index(demo, "special-function-bound")
    rule, all_bare = demo.book.rules[index], np.ones(o.view.size, dtype=bool)
    assert not could_decide(rule, o.view, demo.method, all_bare).any()


def test_dispatches_of_a_frame_are_not_asked_for_the_shape_of_a_kernel(tmp_path: Path) -> None:
    rows = [{"name": "SSR", "kind": "compute", "gpu.time": 2e6, "sm.throughput": 40}]
    frame = [*rows, {"name": "G-buffer", "kind": "geometry", "gpu.time": 1e6, "sm.throughput": 20}]
    for given, asked in ((rows, True), (frame, False)):
        d = api.diagnose(generic(tmp_path / "t.csv", given))
        waiting = {rule for b in d.to_dict()["blind_spots"] for rule in b["rules"]}
        assert ("CMP078" in waiting) is asked  # registers of one kernel's launch
