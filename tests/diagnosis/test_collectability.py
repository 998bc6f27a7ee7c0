"""What cannot be had keeps a rule from deciding only where it cannot decide without it."""

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES, generic
from triage import api
from triage.derive import View
from triage.diagnosis import collectability
from triage.diagnosis.collectability import could_be_known, could_decide
from triage.diagnosis.diagnosing import Diagnoser
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.outcomes import Outcomes
from triage.inference.evaluate import BLIND, NOT_APPLICABLE, askable
from triage.rulebook import packs


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
    mine = [spot for spot in o.blind_spots if o.d.book.rules[index].id in spot.rules]
    # the run that made the capture asked for it: no report says to run it again
    assert mine and not any(spot.collect for spot in mine)


def test_a_counter_that_is_needed_and_cannot_be_had_is_one(demo: Diagnosis) -> None:
    o = Outcomes(demo, demo.parts[0])
    assert o.engine
    for index, rule in enumerate(demo.book.rules):
        if demo.method in rule.when and not rule.is_concept:
            had = np.ones(o.view.size, dtype=bool)
            for metric in rule.needs:
                had &= could_be_known(metric, o.view)
            assert not (could_decide(rule, o.engine.wanted(index), o.view, o.engine) & ~had).any()
    index = _index(demo, "register-limited-kernel")
    assert not (o.outcome(index) == BLIND).any()


def test_nothing_can_be_had_of_work_without_counters(demo: Diagnosis, monkeypatch: pytest.MonkeyPatch) -> None:
    o, index = Outcomes(demo, demo.parts[0]), _index(demo, "special-function-bound")
    assert o.engine
    rule, wanted = demo.book.rules[index], o.engine.wanted(index)
    assert np.any(could_decide(rule, wanted, o.view, o.engine))
    for copying in (np.ones(len(o.capture), dtype=bool), np.arange(len(o.capture)) == 0):  # all of them, and one
        monkeypatch.setattr(type(o.capture), "copying", copying)
        view = View(o.capture)
        assert not np.any(could_decide(rule, wanted, view, o.engine) & copying)
        assert np.any(could_decide(rule, wanted, view, o.engine) & ~copying) == (not copying.all())


def test_dispatches_of_a_frame_are_not_asked_for_the_shape_of_a_kernel(tmp_path: Path) -> None:
    rows = [{"name": "SSR", "kind": "compute", "gpu.time": 2e6, "sm.throughput": 40}]
    frame = [*rows, {"name": "G-buffer", "kind": "geometry", "gpu.time": 1e6, "sm.throughput": 20}]
    for given, asked in ((rows, True), (frame, False)):
        d = api.diagnose(generic(tmp_path / "t.csv", given))
        waiting = {rule for b in d.to_dict()["blind_spots"] for rule in b["rules"]}
        assert ("CMP078" in waiting) is asked  # registers of one kernel's launch


def test_what_is_remembered_of_captures_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectability, "REMEMBERED", 40)
    doctor = Diagnoser(packs.load())
    expected = []
    for again in range(2):
        for columns in ("sm.throughput", "sm.throughput,vram.throughput", "l2.hit_rate,l2.throughput"):
            path = tmp_path / f"{len(columns)}.csv"
            path.write_text(f"marker,gpu.time [ms],{columns}\nA,3{',50%' * (columns.count(',') + 1)}\n", "utf-8")
            d = doctor.diagnose([api.read(path)])
            spots = [(s.missing, s.rules) for s in Outcomes(d, d.parts[0]).blind_spots]
            if not again:
                expected.append(spots)
            assert spots in expected
    assert len(doctor.workload.decided) <= 40
