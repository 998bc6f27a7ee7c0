"""Shares of operators: attention by hand, misaligned products, chains of passes, and the kernels that they claim."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from triage.capture.trace_nouns import KERNEL, Calls, Operations, Operator, Trace
from triage.devices import Peaks
from triage.diagnosis.attention_by_hand import written_out
from triage.diagnosis.claimed_kernels import _names
from triage.diagnosis.operator_facts import fp32_kernels, operator_facts

PEAKS = Peaks(fp32_tflops=50, fp16_tensor_tflops=1000, dram_bytes_per_s=2e12)
NS = 10_000_000  # of each operator
NONE = np.zeros(0, dtype=np.int64)


def _product(m: int, n: int, k: int, batch: int = 1, **more: Any) -> Operator:
    """A 16-bit product in ten calls."""
    flops, size = 2.0 * batch * m * n * k, 2.0 * batch * (m * n + m * k + n * k)
    fields: dict[str, Any] = {"ns": NS, "kernels": ("gemm",)} | more
    return Operator(
        name="aten::mm", kind="matmul", type="c10::BFloat16", dims=f"{m}×{k}, {k}×{n}", calls=10, flops=flops, bytes=size,
        batch=batch, m=m, n=n, k=k, **fields,
    )  # fmt: skip


def _over(kind: str, dims: str, **more: Any) -> Operator:
    """An operator over a whole tensor."""
    fields: dict[str, Any] = {"ns": NS, "kernels": (kind,)} | more
    return Operator("op", kind, "c10::BFloat16", dims, 10, flops=None, bytes=None, batch=0, m=0, n=0, k=0, **fields)


def _trace(*operators: Operator) -> Trace:
    none = NONE.astype(bool)
    ops = Operations(NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, none)
    return Trace(ops, Calls(NONE, NONE, NONE, NONE, NONE, []), [], [], [], operators=list(operators))


def _facts(*operators: Operator, peaks: Peaks | None = PEAKS) -> dict[str, float]:
    return {metric: value for metric, (value, _) in operator_facts(_trace(*operators), peaks, 10.0 * NS).items()}


SOFTMAX = _over("softmax", "4×16×2048×1024")
SCORES, VALUES = _product(2048, 1024, 64, 64), _product(2048, 64, 1024, 64)


@pytest.mark.parametrize(
    ("operator", "belongs"),
    [
        (_over("elementwise", "4×16×2048×1024, 2048×1024"), True),  # the mask
        (_over("elementwise", "2048×1024, 4×16×2048×1024"), True),
        (_over("copy", "64×2048×1024, 64×2048×1024"), True),  # heads and batches as one
        (_product(64, 1024, 2048, 64), True),  # a gradient
        (_product(1024, 64, 2048, 64), True),
        (_over("elementwise", "4×16×2048×64"), False),  # queries
        (_over("elementwise", "2×16×2048×1024"), False),  # of other heads
        (_product(2048, 4096, 64), False),
    ],
)
def test_what_changes_the_scores_belongs_to_the_attention(operator: Operator, belongs: bool) -> None:
    assert (operator in written_out([SOFTMAX, SCORES, VALUES, operator])) is belongs
    assert written_out([SOFTMAX, SCORES, operator]) == []  # scores that nothing sums over


def test_fused_attention_leaves_its_products() -> None:
    found = _facts(SOFTMAX, SCORES, VALUES, _over("elementwise", "4×16×2048×1024"))
    assert found["operators.attention"] == pytest.approx(0.4)
    assert found["operators.attention_products"] == pytest.approx(0.2)
    rate = 2 * 64 * 2048 * 1024 * 64 * 10 / (1000e12) / 1e-9  # ns at the peak
    assert found["operators.attention_least"] == pytest.approx(2 * rate / (10 * NS))
    assert found["operators.elementwise"] == 0  # counted once


@pytest.mark.parametrize(
    ("operator", "odd"),
    [
        (_product(2048, 50257, 1024), True),
        (_product(2048, 1024, 50257), True),
        (_product(50257, 1024, 2048), False),  # rows: nothing tells that they lie side by side
        (_product(50257, 1024, 2048, lead=(50257, 1024)), True),  # transposed
        (_product(50257, 1024, 2048, kernels=("cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nt_align1",)), True),
        (_product(4096, 4096, 4096, kernels=("cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_nt_align8",)), False),
    ],
)
def test_rows_that_are_no_multiple_of_16_bytes(operator: Operator, odd: bool) -> None:
    assert (_facts(operator)["operators.misaligned"] > 0) is odd


def test_misaligned_products_are_held_against_aligned_ones_or_the_roof() -> None:
    odd = _product(2048, 50257, 1024)  # 211 TFLOP/s
    rate = 2 * 2048 * 50257 * 1024 / 1e6
    alone = _facts(odd)
    assert alone["operators.misaligned_excess"] == pytest.approx(0.1 * (1 - rate / 0.7e6))
    assert alone["operators.misaligned_most"] == pytest.approx(0.1 * (1 - rate / 1e6))
    beside = _facts(odd, _product(2048, 50304, 1024, ns=4 * NS // 10))
    assert beside["operators.misaligned_excess"] == pytest.approx(0.1 * (1 - 0.4), rel=0.01)
    assert _facts(odd, peaks=None)["operators.misaligned_excess"] == pytest.approx(0.01)


def test_shares_count_work_that_was_queued_before_the_trace() -> None:
    assert _facts(_product(2048, 50257, 1024, queued_ns=NS))["operators.misaligned"] == pytest.approx(0.2)


def test_a_kernel_belongs_to_those_who_use_it_most() -> None:
    mask = _over("elementwise", "4×16×2048×1024", kernels=("shared", "own"))
    other = _over("reduction", "4096×4096", ns=3 * NS, kernels=("shared",))
    claims = _names(_trace(SOFTMAX, SCORES, VALUES, mask, other), PEAKS)
    assert claims["operators.attention"] == {"softmax", "gemm", "own"}


def test_copies_are_those_within_the_device() -> None:
    grown = _over("copy", "1×32×2048×128", kernels=("CatArrayBatchedCopy",))
    batch = _over("copy", "64×3×224×224", kernels=("Memcpy HtoD (Pageable -> Device)",))
    found = _facts(grown, batch, _product(4096, 4096, 4096))
    assert found["operators.copies"] == pytest.approx(0.1)
    assert found["operators.filled"] == found["operators.joined"] == 0


@pytest.mark.parametrize(
    ("name", "fact"), [("aten::fill_", "filled"), ("aten::zero_", "filled"), ("aten::cat", "joined")]
)
def test_copies_that_fill_or_join(name: str, fact: str) -> None:
    found = _facts(replace(_over("copy", "50000×1024"), name=name), _product(4096, 4096, 4096))
    assert {m: found[f"operators.{m}"] for m in ("filled", "joined") if found[f"operators.{m}"]} == {fact: 0.1}


def test_fp32_kernels_of_what_waits_for_memory_are_not_blamed() -> None:
    """A depthwise convolution in FP32 is bound by its bytes, whatever its kernel is called."""
    depthwise = replace(
        _over("convolution", "8×1024×32×32, 1024×1×3×3", kernels=("depthwise_fp32",)),
        type="float",
        flops=1e8,
        bytes=6e7,
    )
    trace = replace(_trace(depthwise), names=["depthwise_fp32", "sgemm_fp32"])
    assert fp32_kernels(trace, PEAKS) == {"sgemm_fp32"}


@pytest.mark.parametrize(
    ("blocks", "share"), [(66.0, 0.5), (131.0, 131 / 132), (132.0, 1.0), (500.0, 1.0), (float("nan"), 1.0)]
)
def test_blocks_of_fp32_products_fill_part_of_the_sms(blocks: float, share: float) -> None:
    one, none = np.array([0]), np.array([False])
    ops = Operations(one, one + NS, np.array([KERNEL], np.int8), one, one, one, one - 1, one, one, one, none)
    trace = replace(_trace(_over("elementwise", "8×8")), operations=ops, names=["volta_sgemm_128x64_nn"])
    value, text = operator_facts(trace, PEAKS, float(NS), 132, np.array([blocks]))["operators.fp32"]
    assert value == pytest.approx(share)
    assert text.endswith("that it fills") == (share < 1)


@pytest.mark.parametrize(
    ("n", "share", "good"), [(2048, 0.6, 0.6), (2040, 0.6, 0.7), (2048, 0.501, 0.501), (2048, 0.499, 0.7)]
)
def test_slow_products_are_held_to_like_ones_of_the_trace(n: int, share: float, good: float) -> None:
    """Those of at least half the size that are not slow themselves: half the peak."""

    def at(columns: int, share: float) -> Operator:
        flops = 2.0 * 4096 * columns * 4096
        return _product(4096, columns, 4096, ns=round(10 * flops / (share * 1e6)))

    slow, like = at(4096, 0.3), at(n, share)
    found = _facts(slow, like)["operators.product_excess"] * 10 * NS
    also = like.ns * (1 - share / good) if share < 0.5 else 0.0
    assert found == pytest.approx(slow.ns * (1 - 0.3 / good) + also, rel=1e-3)
