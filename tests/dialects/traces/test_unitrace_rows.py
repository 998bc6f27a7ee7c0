"""Chrome traces of Intel's unitrace: work with sizes in its name, calls by the flows behind them."""

import json
from typing import Any

import pytest

from tests.conftest import SAMPLES
from tests.helpers.dialects import check_provenance, read, read_or_refuse
from triage import dialects
from triage.capture.capture import Table
from triage.capture.source import Source
from triage.capture.trace_nouns import COPY, FROM_DEVICE, KERNEL, LAUNCH, MEMCPY, SET, SYNC, TO_DEVICE
from triage.dialects.traces import chrome_trace

SAMPLE = SAMPLES / "pytorch-trace" / "unitrace.4711.json"


def _row(
    phase: str, name: str, category: str, ts: int, dur: int = 0, pid: int = 7, work: int | None = None
) -> dict[str, Any]:
    args = {"args": {"id": str(work)}} if work is not None else {"id": 0}
    return {"ph": phase, "tid": pid, "pid": pid, "name": name, "cat": category, "ts": ts, "dur": dur, **args}


def _work(name: str, ts: int, dur: int, work: int, pid: int = 9) -> dict[str, Any]:
    return _row("X", name, "gpu_op", ts, dur, pid, work)


def _trace(*rows: dict[str, Any]) -> Table:
    return read(Source("app.1.json", json.dumps({"traceEvents": rows}).encode()), "pytorch-trace")


def test_a_training_step() -> None:
    table = read(SAMPLE, "pytorch-trace")
    trace = table.trace
    assert trace is not None and table.tells == {"vendor": "intel", "api": "sycl"}
    ops = trace.operations
    assert (ops.kind == KERNEL).sum() == 48 and (ops.kind == COPY).sum() == 24
    assert {str(n) for n in table.names} == {"gemm_kernel", "add_relu(float*, float const*, int)", "Memcpy DtoH"}
    assert (ops.call >= 0).all()
    check_provenance(table)
    assert {int(k) for k in trace.calls.kind} == {LAUNCH, MEMCPY, SYNC}
    gemm = list(table.names).index("gemm_kernel")
    assert [table.columns[m].values[gemm] for m in ("launch.grid_size", "launch.block_size")] == [4096, 256]
    assert int(ops.bytes[ops.kind == COPY][0]) == 4_194_304


@pytest.mark.parametrize(
    ("name", "kind", "way"),
    [
        ("zeCommandListAppendMemoryCopy(M2D)[64 bytes]", COPY, TO_DEVICE),
        ("zeCommandListAppendMemoryCopy(D2H)", COPY, FROM_DEVICE),
        ("zeCommandListAppendMemoryFill(D)[64]", SET, None),
        ("clEnqueueReadBuffer(D2M)[12]", COPY, FROM_DEVICE),
        ("clEnqueueWriteBuffer", COPY, TO_DEVICE),
        ("Tile #1: zeCommandListAppendMemoryCopy(S2D)[9]", COPY, TO_DEVICE),
        ("copy_kernel[SIMD_ANY {1; 1; 1} {8; 8; 1}]", KERNEL, None),
        ("k(int)[SIMD8 {x; 1; 1} {8; 8; 1}]", KERNEL, None),
    ],
)
def test_kinds_of_work(name: str, kind: int, way: int | None) -> None:
    table = _trace(_work(name, 10, 5, 1))
    assert table.trace is not None
    ops = table.trace.operations
    assert ops.kind[0] == kind and (way is None or ops.way[0] == way)


def test_one_call_submits_several() -> None:
    call = _row("X", "zeCommandQueueExecuteCommandLists", "cpu_op", 3, 4)
    flows = [_row("s", "dep", f"Flow_H2D_{i}_0", 3) for i in (1, 2)]
    wait = _row("X", "zeCommandQueueSynchronize", "cpu_op", 9, 30)
    table = _trace(call, *flows, wait, _work("a", 10, 5, 1), _work("b", 15, 5, 2), _row("X", "aten", "cpu_op", 0, 90))
    assert table.trace is not None
    calls = table.trace.calls
    assert [calls.names[int(calls.name[int(c)])] for c in table.trace.operations.call] == [call["name"]] * 2
    assert sorted(int(e - s) for s, e in zip(calls.start, calls.end, strict=True)) == [0, 0, 4000, 30_000]


def test_devices_are_told_apart() -> None:
    table = _trace(_work("a", 10, 5, 1, pid=4294967295), _work("a", 10, 5, 2, pid=4294967294))
    assert table.trace is not None and [k for k, _ in table.trace.devices] == ["0", "1"]


@pytest.mark.parametrize("odd", [{"id": None}, {"id": "x"}, 7, None, {"id": "9" * 400}])
def test_odd_rows_end_in_one_line(odd: Any) -> None:
    row = {**_work("k", 1, 2, 3), "args": odd}
    data = json.dumps({"traceEvents": [row, {**row, "ts": "x"}, {**row, "name": None}]}).encode()
    assert dialects.pick(Source("x.json", data))[0].NAME == "pytorch-trace"
    read_or_refuse(chrome_trace, data)
