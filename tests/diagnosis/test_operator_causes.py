"""Causes that traces of PyTorch show: each in the sample, none in a healthy one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import SAMPLES
from triage.api import diagnose

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
