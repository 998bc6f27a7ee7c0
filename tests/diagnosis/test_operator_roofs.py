"""The roof of an operator: FLOPs and least bytes against the peaks of its type."""

import pytest

from triage import devices
from triage.capture.trace_nouns import Operator
from triage.devices import Peaks
from triage.diagnosis.operator_roofs import good_share, is_slow, most_share, roof_share

PEAKS = Peaks(fp32_tflops=50, fp16_tensor_tflops=1000, dram_bytes_per_s=2e12, l2_bytes=50e6)


def _operator(kind: str, type_: str, flops: float | None, size: float | None, ns: int, kernel: str = "k") -> Operator:
    return Operator("op", kind, type_, "1", 2, ns, (kernel,), flops, size, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("operator", "share"),
    [
        (_operator("matmul", "c10::BFloat16", 1e12, 1e8, 4_000_000), 0.5),  # 2 TFLOP in 4 ms
        (_operator("matmul", "c10::BFloat16", 1e10, 1e9, 2_000_000), 0.5),  # 10 FLOP/byte: 20 TFLOP/s at most
        (_operator("matmul", "float", 1e11, 1e6, 8_000_000), 0.5),
        (_operator("matmul", "float", 1e11, 1e6, 8_000_000, "cutlass_80_tensorop_s1688gemm"), None),  # TF32: peak not in the table
        (_operator("matmul", "c10::Float8_e4m3fn", 1e12, 1e8, 4_000_000), None),
        (_operator("elementwise", "float", 1e9, 1e9, 2_000_000), 0.5),
        (_operator("elementwise", "float", 1e6, 1e6, 2_000), None),  # fits the cache
        (_operator("matmul", "c10::BFloat16", 1e12, 1e8, 1_000_000), None),  # faster than the roof: the dims are not these
        (_operator("norm", "float", None, 1e9, 2_000_000), None),
    ],
)  # fmt: skip
def test_share_of_the_roof(operator: Operator, share: float | None) -> None:
    assert roof_share(operator, PEAKS) == (None if share is None else pytest.approx(share))


def test_no_roof_without_peaks() -> None:
    assert roof_share(_operator("matmul", "c10::Half", 1e12, 1e8, 4_000_000), None) is None


def test_products_are_held_against_what_the_vendor_measured() -> None:
    peaks, half = devices.require("MI300X").peaks, _operator("matmul", "c10::BFloat16", 1e12, 1e9, 4_000_000)
    assert round(most_share(half, peaks), 2) == 0.54 and good_share(half, peaks) < 0.7
    assert is_slow(half, peaks, 0.35) and not is_slow(half, peaks, 0.45)
    assert good_share(half, devices.require("H100 SXM5 80GB").peaks) == 0.7
