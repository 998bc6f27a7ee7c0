"""Steps that frameworks mark on the host."""

import numpy as np
import pytest

from triage.capture.trace_nouns import Step
from triage.dialects.traces.marked_steps import is_mark, marked


def _marked(*names: str, threads: tuple[int, ...] = ()) -> list[Step]:
    ranges = [Step(name, 10 * i, 10 * i + 9) for i, name in enumerate(names)]
    return marked(ranges, np.array(threads or [0] * len(names), dtype=np.int64))


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        ("execute_context_3(10)_generation_0(0)", "prefill"),
        ("execute_context_0(0)_generation_64(64)", "decode"),
        ("execute_1_context_3(sq128sk256sqsq1sqsk1)_generation_2(sq1sk300sqsq1sqsk1)", "mixed"),
        ("execute_model", ""),
        ("step[DECODE bs=32]", "decode"),
        ("step[EXTEND bs=15 toks=15360]", "prefill"),
        ("step[IDLE bs=0]", ""),
    ],
)
def test_steps_of_servers_say_their_batch(name: str, batch: str) -> None:
    assert [s.batch for s in _marked(name, "aten::mm", name)] == [batch, batch] and is_mark(name)


def test_one_step_of_a_server_is_the_whole_record() -> None:
    assert _marked("step[DECODE bs=32]") == [] and len(_marked("ProfilerStep#3")) == 1


def test_a_step_that_is_marked_twice_is_one() -> None:
    both = ("execute_context_0(0)_generation_4(4)", "step[DECODE bs=4]")
    assert [s.name for s in _marked(*both, *both)] == [both[0], both[0]]


@pytest.mark.parametrize(
    "phases",
    [
        ("gpu_model_runner: preprocess", "gpu_model_runner: forward", "gpu_model_runner: sample"),
        ("Preprocess", "Forward", "Sample"),
    ],
)
def test_phases_of_a_runner_are_one_step(phases: tuple[str, ...]) -> None:
    steps = _marked(*phases, "schedule: allocate_slots", *phases)
    assert [(s.name, s.start, s.end) for s in steps] == [(f"{phases[0]}#1", 0, 29), (f"{phases[0]}#2", 40, 69)]


def test_phases_of_other_threads_belong_to_no_step() -> None:
    names = ("Preprocess", "Forward", "Sample", "Preprocess", "Forward")
    assert [(s.start, s.end) for s in _marked(*names, threads=(0, 0, 1, 0, 0))] == [(0, 19), (30, 49)]


def test_marks_of_a_training_loop_are_no_phases() -> None:
    assert _marked("forward", "backward", "forward", "backward") == [] and not is_mark("Optimizer.step#Adam.step")
