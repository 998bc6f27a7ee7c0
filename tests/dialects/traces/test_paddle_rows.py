"""Traces of PaddlePaddle's profiler, in the layout of its chrometracing_logger.cc."""

import json
from typing import Any

import pytest

from triage.capture.source import Source
from triage.dialects import Options
from triage.dialects.picking import pick
from triage.dialects.traces import chrome_trace


def _row(name: str, cat: str, ts: int, dur: float, pid: int, tid: str | int, **args: Any) -> dict[str, Any]:
    return {"name": f"{name}[{dur / 1000:.3f} ms]", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "ph": "X", "cat": cat, "args": {**args}}  # fmt: skip


def _trace(categories: dict[str, str]) -> bytes:
    rows = []
    for i, dur in enumerate((30.0, 50.0)):
        at = 100 * i
        rows += [
            _row(f"ProfileStep#{i}", categories["step"], at, 99, 9, "9(Python)"),
            _row("matmul dygraph", categories["operator"], at + 5, 40, 9, "9(C++)"),
            _row("cudaLaunchKernel", categories["call"], at + 10, 5, 9, "9(C++)", **{"correlation id": i + 1}),
            _row("volta_sgemm_128x64_tn", categories["kernel"], at + 20, dur, 0, 7, device=0, stream=7,
                 **{"correlation id": i + 1, "grid": [4, 1, 1], "block": [128, 1, 1]}),
        ]  # fmt: skip
    head = {"schemaVersion": "1.0.1", "displayTimeUnit": "ms", "span_indx": "0"}
    gpu = [{"id": 0, "name": "Tesla V100-SXM2-16GB", "smCount": 80, "computeMajor": 7, "computeMinor": 0}]
    return json.dumps({**head, "deviceProperties": gpu, "traceEvents": [*rows, {}], "ExtraInfo": {}}).encode()


@pytest.mark.parametrize(
    "categories",
    [
        {"step": "ProfileStep", "operator": "Operator", "call": "CudaRuntime", "kernel": "Kernel"},
        {"step": "profile_step", "operator": "operator", "call": "cuda_runtime", "kernel": "kernel"},
    ],
)
def test_launches_of_one_kernel_are_one_kernels(categories: dict[str, str]) -> None:
    source = Source("-", _trace(categories))
    assert pick(source)[0].NAME == "pytorch-trace"
    table = chrome_trace.read(source, Options())
    trace = table.trace
    assert trace is not None and table.names.tolist() == ["volta_sgemm_128x64_tn"] * 2
    assert table.columns["gpu.time"].values.tolist() == [30_000, 50_000]
    assert (trace.operations.call >= 0).all() and [s.name for s in trace.steps] == ["ProfileStep#0", "ProfileStep#1"]
    assert [(o.name, o.calls) for o in trace.operators] == [("matmul dygraph", 2)]
    assert table.columns["device.sm_count"].values.tolist() == [80, 80] and "PaddlePaddle" in table.notes[0]
    assert "framework" not in table.tells
