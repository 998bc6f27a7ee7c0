"""Causes that traces of PyTorch show: each in the sample, none in a healthy one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES
from triage.api import diagnose
from triage.diagnosis import operator_facts

SAMPLE = SAMPLES / "pytorch-trace" / "training.pt.trace.json"
OF_TRACES = {
    "dataloader-wait", "exposed-communication", "matrix-unused", "unfused-attention", "layout-conversion",
    "cpu-bound", "launch-overhead", "shape-misaligned", "matrix-underfed", "unfused-elementwise",
}  # fmt: skip


def _causes(path: Path) -> set[str]:
    found: Any = diagnose(str(path)).findings
    return {f["cause"] if isinstance(f, dict) else f.cause for f in found}


def test_the_sample_shows_its_causes() -> None:
    assert {"dataloader-wait", "exposed-communication", "matrix-unused", "unfused-attention"} <= _causes(SAMPLE)


@pytest.mark.parametrize(
    ("kernel", "fp32"),
    [
        ("volta_sgemm_128x64_tn", True),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_ffma", True),
        ("igemm_bwd_data_gtcx_nhwc_fp32_bx0", True),
        ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2", False),
        ("cutlass_80_tensorop_bf16_s16816gemm_bf16_fp32_128x128", False),
        ("ampere_h16816gemm_128x64", False),
    ],
)
def test_fp32_is_the_type_of_the_arguments(kernel: str, fp32: bool) -> None:
    assert bool(operator_facts.FP32_RE.search(kernel)) is fp32


def test_a_healthy_trace_is_silent(tmp_path: Path) -> None:
    """Long aligned BF16 products, launched far ahead, at four fifths of the peak."""
    rows, free = [], 100.0
    for i in range(1, 60):
        called = 10.0 + 8 * i
        place = {"ph": "X", "pid": 9, "tid": 9}
        dims = {"Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["c10::BFloat16"] * 2}
        rows.append({**place, "cat": "cpu_op", "name": "aten::mm", "ts": called - 1, "dur": 7, "args": dims})
        rows.append(
            {
                **place,
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "ts": called,
                "dur": 5,
                "args": {"correlation": i},
            }
        )
        kernel = {"device": 0, "stream": 7, "correlation": i, "grid": [1056, 1, 1], "block": [256, 1, 1]}
        rows.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": "nvjet_hsh_256x128_64x4",
                "pid": 0,
                "tid": 7,
                "ts": free + 2,
                "dur": 1400,
                "args": kernel,
            }
        )
        free += 1402
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}
    path = tmp_path / "healthy.json"
    path.write_text(json.dumps({"deviceProperties": [device], "traceEvents": rows}))
    assert not _causes(path) & OF_TRACES
