"""Work that a program states: rates against the roof, and the kernels they are of."""

from __future__ import annotations

from triage.capture.trace_nouns import Operator
from triage.devices import require
from triage.diagnosis.stated_work import slow_kernels, stated_facts


def _operator(name: str, tflops: float, type_: str = "Half", intensity: float = 1_000.0) -> Operator:
    """1 ms of work at a rate."""
    flops = tflops * 1e9
    return Operator(
        name=name, kind="stated", type=type_, dims="", calls=1, ns=1_000_000, kernels=(f"{name}_kernel",),
        flops=flops, bytes=flops / intensity, batch=0, m=0, n=0, k=0,
    )  # fmt: skip


def test_stated_work_is_held_against_good_libraries() -> None:
    peaks = require("H100 SXM5 80GB").peaks
    operators = [_operator("mine", 400), _operator("cublas", 700)]
    found = stated_facts(operators, peaks, 2_000_000)
    excess, text = found["operators.product_excess"]
    assert 0.15 < excess < 0.35
    assert text.startswith("mine FP16: 4") and text.endswith(" % of its roof")
    assert slow_kernels(operators, peaks) == {"mine_kernel"}


def test_what_moves_bytes_or_has_other_types_is_not_judged() -> None:
    peaks = require("H100 SXM5 80GB").peaks
    assert stated_facts([_operator("copy", 1, intensity=1.0), _operator("fp32", 20, "float")], peaks, 2_000_000) == {}
    assert stated_facts([_operator("mine", 400)], None, 2_000_000) == {}
    assert slow_kernels([_operator("mine", 400)], None) == frozenset()
    assert stated_facts([_operator("good", 700)], peaks, 1_000_000)["operators.product_excess"][0] == 0
