"""Barriers and queues, where an export lists them: counted per piece of work, and heard by the advice about order."""

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import SAMPLES
from triage import api
from triage.dialects.graphics import barriers
from triage.reading.pass_order import Fences, movable


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("ResourceBarrier", True),
        ("ResourceBarrier(NumBarriers:2, pBarriers:{...})", True),
        ("Barrier(NumBarrierGroups:1)", True),
        ("vkCmdPipelineBarrier2(...)", True),
        ("glMemoryBarrier(GL_ALL_BARRIER_BITS)", True),
        ("UAV Barrier", False),
        ("Barrier smoke", False),
        ("Dispatch(8, 8, 1)", False),
    ],
)
def test_what_a_barrier_is(name: str, is_one: bool) -> None:
    assert barriers.is_barrier(name) == is_one


def test_barriers_are_counted_before_the_work_they_hold_up() -> None:
    names = ["ResourceBarrier", "Dispatch", "Draw", "ResourceBarrier", "ResourceBarrier", "SetState", "Draw"]
    work = np.array([n in ("Dispatch", "Draw") for n in names])
    found = barriers.before(names, work)
    assert found is not None
    assert found[work].tolist() == [1, 0, 2]
    assert np.isnan(found[~work]).all()
    assert barriers.before(["Draw"], np.array([True])) is None


def test_the_pix_window_lists_barriers() -> None:
    facts = api.read(SAMPLES / "pix-gui" / "event-list.txt")
    counts = dict(zip(facts.names.tolist(), facts.facts["barrier.count"].tolist(), strict=True))
    assert next(v for k, v in counts.items() if k.startswith("DrawInstanced")) == 1


@pytest.mark.parametrize(
    ("walls", "fences"),
    [
        ([0, 1, 0, 0, 1, 0], Fences(2, 0, 4)),  # 2 beside 3: between the barriers before 1 and before 4
        ([0, 0, 1, 1, 1, 0], None),  # a barrier parts them, and no name says what they read
    ],
)
def test_what_no_barrier_parts_can_move_between_the_barriers(walls: list[float], fences: Fences | None) -> None:
    assert movable([None] * 6, 2, 3, walls) == fences


_HEAD = "name,path,kind,gpu.time [ms],queue,barriers,SM SOL%,TEX SOL%,L2 SOL%,VRAM SOL%,raster.throughput [%]\n"


def _frame(tmp_path: Path, *rows: str) -> list[str]:
    file = tmp_path / "frame.csv"
    file.write_text(_HEAD + "\n".join(rows) + "\n")
    return [f.message for f in api.diagnose(file).findings if f.workload < 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queue", "walls", "offered"), [("direct", 0, True), ("async compute", 0, False), ("direct", 1, False)]
)
def test_pairs_hear_barriers_and_queues(tmp_path: Path, queue: str, walls: int, offered: bool) -> None:
    """Work of unknown purpose is offered for overlap where no barrier parts it from its host, and not a second time."""
    said = _frame(
        tmp_path,
        "Alpha,F,geometry,3,direct,1,12,8,14,18,78",
        f"Beta,F,compute,3,{queue},{walls},70,30,20,12,0",
        "Gamma,F,fullscreen,2,direct,1,66,60,30,25,4",
    )
    assert any("could hide" in s for s in said) == offered


@pytest.mark.parametrize(("walls", "merged"), [(1, True), (0, False), ("", True)])
def test_what_no_barrier_parts_hands_nothing_over(tmp_path: Path, walls: int | str, merged: bool) -> None:
    said = _frame(
        tmp_path, "One,F,fullscreen,2,direct,1,20,25,40,85,0", f"Two,F,fullscreen,2,direct,{walls},22,24,41,83,0"
    )
    assert any("adjacent" in s for s in said) == merged


def test_idle_time_between_dense_barriers_is_not_first_the_cpus(tmp_path: Path) -> None:
    file = tmp_path / "frame.csv"
    file.write_text("name,kind,gpu.time [ms],barriers,gpu.active [%]\nDense,draw,3,369,43\nLoose,draw,3,3,43\n")
    first = {}
    for f in api.diagnose(file).findings:
        if f.gain is not None:
            first.setdefault(f.workload_name, f.rule.cause)
    assert first == {"Dense": "pipeline-drains", "Loose": "cpu-bound"}


def test_short_work_behind_barriers_is_a_cause_of_the_frame(tmp_path: Path) -> None:
    rows = [f"Step {i},F,compute,0.012,direct,1,20,10,10,10,0" for i in range(12)]
    assert any("12 barriers" in s for s in _frame(tmp_path, *rows))
