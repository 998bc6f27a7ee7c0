"""Steps of a framework: the longest against the median, what it loads, and an optimizer that goes parameter by parameter."""

import numpy as np
import pytest

from triage.capture.timeline.device_steps import device_steps
from triage.capture.timeline.trace_model import build
from triage.capture.trace_nouns import KERNEL, LAUNCH, LOAD, Calls, Operations, Step, Trace
from triage.diagnosis.step_facts import step_facts
from triage.document.trace_entries import StepEntry
from triage.rendering.timeline_phrases import steps

US = 1000


def _trace(starts: list[int], name: str = "addcdiv", loads: tuple[tuple[int, int], ...] = ()) -> Trace:
    """A kernel of 2 us launched at each start (us), and calls that load code."""
    n = len(starts)
    start = np.array(starts, dtype=np.int64) * US
    zeros, no = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    ops = Operations(
        start=start + 5 * US, end=start + 7 * US, kind=np.full(n, KERNEL, dtype=np.int8), device=zeros, stream=zeros,
        process=zeros, call=np.arange(n), name=zeros, bytes=zeros, way=np.zeros(n, dtype=np.int8), pageable=no,
    )  # fmt: skip
    load = np.array(loads, dtype=np.int64).reshape(-1, 2) * US
    kinds = np.array([LAUNCH] * n + [LOAD] * len(load), dtype=np.int8)
    every = np.zeros(n + len(load), dtype=np.int64)
    calls = Calls(np.append(start, load[:, 0]), np.append(start + US, load[:, 1]), every, kinds, every, ["call"])
    return Trace(ops, calls, [("0", None)], [name], [""])


def test_the_longest_step_is_named_with_what_it_loads() -> None:
    trace = _trace([10, 110, 210], loads=((220, 270),))
    trace.steps = [
        Step("ProfilerStep#1", 0, 100 * US),
        Step("ProfilerStep#2", 100 * US, 200 * US),
        Step("ProfilerStep#3", 200 * US, 450 * US),
    ]
    found = step_facts(trace, 450_000)
    assert found["steps.variance"][0] == 2.5 and found["steps.loading"][0] == 0.2
    assert "ProfilerStep#3 250 µs, median 100 µs" in found["steps.variance"][1]


def test_the_time_of_a_step_that_fills_the_span_is_named_once() -> None:
    entry: list[StepEntry] = [{"capture": "a", "name": "ProfilerStep#6", "ns": 960 * US, "batch": ""}]
    assert steps(entry, 1_000 * US) == "1 step on the device, which fills the span: ProfilerStep#6"
    assert steps(entry, 2_000 * US) == "1 step on the device: ProfilerStep#6 960 µs"


def test_a_first_step_that_may_have_been_longer_is_not_compared() -> None:
    def said(*ns: int) -> str:
        return steps([{"capture": "a", "name": f"#{i}", "ns": n * US, "batch": ""} for i, n in enumerate(ns)])

    assert said(40, 20, 20, 30, 30, 25).endswith("median 25 µs after the first, slowest #0 40 µs")
    assert said(20, 20, 20, 20, 20, 30).endswith("median 20 µs after the first, slowest of these #5 30 µs")
    assert said(20, 20, 20, 20, 20, 20).endswith("median 20 µs after the first, none of these slower")
    assert (
        said(40, 20, 30, 20, 20)
        == "5 steps on the device: 40 µs (#0, from its first work on), 20 µs, 30 µs, 20 µs, 20 µs"
    )
    assert said(20) == "1 step on the device: #0 20 µs"


def test_two_steps_have_no_usual_one() -> None:
    trace = _trace([10, 110])
    trace.steps = [Step("ProfilerStep#1", 0, 100 * US), Step("ProfilerStep#2", 100 * US, 900 * US)]
    assert step_facts(trace, 900_000) == {}


def test_kernels_of_the_optimizer_are_those_launched_in_it() -> None:
    for name, fused in (("unrolled_elementwise_kernel", 0.0), ("multi_tensor_apply_kernel<Adam>", 1.0)):
        trace = _trace([*range(100, 300, 4), 400], name)
        trace.optimizer = [Step("Optimizer.step#Adam.step", 100 * US, 300 * US)]
        found = {metric: value for metric, (value, _) in step_facts(trace, 1_000_000).items()}
        assert found == {
            "optimizer.kernels": 50, "optimizer.fused": fused, "optimizer.time": 0.1,
        }  # fmt: skip


def test_waits_for_the_loader_are_those_of_the_usual_step() -> None:
    trace = _trace([10, 110, 210])
    trace.steps = [Step(f"ProfilerStep#{i}", i * 100 * US, (i + 1) * 100 * US) for i in range(3)]
    trace.loading = np.array([10, 110, 210]) * US, np.array([90, 190, 230]) * US
    found = step_facts(trace, 300_000)
    assert (found["steps.waiting"][0], found["steps.count"][0]) == (0.8, 3)


@pytest.mark.parametrize(("name", "counts"), [("addcdiv", True), ("multi_tensor_apply_kernel", False)])
def test_idle_time_before_kernels_of_a_loop_over_parameters(name: str, counts: bool) -> None:
    """A launch of 1 us each 10 us, whose kernel begins 5 us later and takes 2 us."""
    trace = _trace([*range(100, 260, 10), 400], name)
    trace.grace = 3 * US
    trace.optimizer = [Step("Optimizer.step#Adam.step", 100 * US, 300 * US)]
    device = build(trace).devices[0]
    assert (device.optimizer_launch_ns > 0, device.optimizer_host_ns > 0) == (counts, counts)
    assert device.optimizer_launch_ns + device.optimizer_host_ns <= 15 * 8 * US


def test_a_host_that_runs_ahead_makes_no_step_uneven() -> None:
    """Three steps of ten kernels in a queue: the host enters them in 12 us and waits in the last one."""
    trace = _trace([0, 1, 2, 4, 5, 6, 8, 9, 10])
    trace.operations.start = np.arange(9) * 100 * US + 5 * US
    trace.operations.end = trace.operations.start + 95 * US
    host = [Step(f"ProfilerStep#{i}", i * 4 * US, (i * 4 + 3) * US) for i in range(3)]
    host[2] = Step("ProfilerStep#2", 8 * US, 905 * US)
    trace.steps = device_steps(trace, host)
    assert [s.ns for s in trace.steps] == [295 * US, 300 * US, 300 * US]
    assert step_facts(trace, 900_000)["steps.variance"][0] < 1.05


def test_a_step_that_waits_for_the_host_is_long_on_the_device_too() -> None:
    trace = _trace([10, 110, 390])
    host = [Step(f"ProfilerStep#{i}", a * US, b * US) for i, (a, b) in enumerate(((0, 100), (100, 200), (200, 450)))]
    first, second, last = device_steps(trace, host)
    assert second == host[1] and last.ns > 1.5 * second.ns
    # a step on the device lies between its first and its last work
    assert first.start == trace.operations.start[0] and last.end == trace.operations.end[-1]


def test_a_prefill_step_is_not_compared_with_decode_steps() -> None:
    trace = _trace([10, 110, 210, 510])
    batches = ("decode", "decode", "prefill", "decode")
    trace.steps = [
        Step(f"step {i}", a * US, b * US, batch)
        for i, (a, b, batch) in enumerate(zip((0, 100, 200, 500), (100, 200, 500, 600), batches, strict=True))
    ]
    assert step_facts(trace, 600_000)["steps.variance"][0] == 1.0
    entries: list[StepEntry] = [{"capture": "a", "name": s.name, "ns": s.ns, "batch": s.batch} for s in trace.steps]
    assert steps(entries) == (
        "4 steps on the device: 3 decode (median 100 µs), 1 prefill (median 300 µs), slowest step 2 300 µs"
    )
