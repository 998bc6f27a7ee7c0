"""Chrome traces of PyTorch's profiler: rows, damage, timeline, operators, and words for files without GPU work."""

import gzip
import json
import random
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import SAMPLES, run
from triage.capture import timeline
from triage.capture.capture import Table
from triage.capture.source import Source
from triage.capture.trace_nouns import TO_DEVICE
from triage.diagnosis.timeline_facts import timeline_facts
from triage.dialects import Options, pick
from triage.dialects.traces import chrome_trace, json_rows, kineto, kineto_operators, nsys_sqlite, operator_work
from triage.dialects.traces.json_rows import JsonRows
from triage.ground.errors import BadCapture, CaptureError, NotTriageable
from triage.reading import reader

SAMPLE = SAMPLES / "pytorch-trace" / "training.pt.trace.json"
DOCUMENT: dict[str, Any] = json.loads(SAMPLE.read_text("utf-8"))


def _row(cat: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    place = {"pid": 0, "tid": args["stream"]} if "stream" in args else {"pid": 9, "tid": 9}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, **place, "args": args}


def _read(rows: list[Any], **head: Any) -> Table:
    return _read_text(json.dumps({**head, "traceEvents": rows}).encode())


def _read_text(data: bytes) -> Table:
    return chrome_trace.read(Source("-", data), Options())


def _all(data: bytes) -> tuple[list[dict[str, Any]], JsonRows]:
    rows = JsonRows(Source("-", data))
    return [row for batch in rows for row in batch], rows


KERNEL = _row("kernel", "k", 20, 10, device=0, stream=7, correlation=1)
CALL = _row("cuda_runtime", "cudaLaunchKernel", 10, 5, correlation=1)


# --- rows


@pytest.mark.parametrize("indent", [None, 2])
def test_rows_are_those_of_the_json_module(indent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rows, "BLOCK", 977)  # rows lie across blocks
    found, rows = _all(json.dumps(DOCUMENT, indent=indent).encode())
    assert found == DOCUMENT["traceEvents"]
    assert rows.head["deviceProperties"] == DOCUMENT["deviceProperties"] and not rows.cut


def test_head_behind_the_rows_and_braces_in_texts() -> None:
    tricky = [{"name": 'a }, { "b', "args": {"list": [{"x": 1}, {"y": [{}]}]}}, {"name": "]"}]
    found, rows = _all(json.dumps({"traceEvents": tricky, "deviceProperties": [{"id": 0}, {"id": 1}]}).encode())
    assert found == tricky and len(rows.head["deviceProperties"]) == 2


@pytest.mark.parametrize(
    ("text", "many", "cut"),
    [
        (b'[{"a": 1}, {"a": 2}', 2, False),  # an array may lack its end
        (b'[{"a": 1},\n{"a": 2},\n', 2, False),
        (b'[{"a": 1}, {"a":', 1, True),
        (b'{"traceEvents": [{"a": 1},]}', 1, False),
        (b'\xef\xbb\xbf{"traceEvents": [{"a": NaN}, {"a": Infinity}]}', 2, False),
        (b'{"traceEvents": [{"a": 1}', 1, True),
        (b'{"traceEvents": [{"a": 1}]', 1, True),
        (b'{"traceEvents": [{"a": 1, "a": 2}, 7, null]}', 1, False),  # of equal keys the last counts
    ],
)
def test_damage_ends_in_a_remark(text: bytes, many: int, cut: bool) -> None:
    found, rows = _all(text)
    assert len(found) == many and bool(rows.cut) == cut


def test_no_cut_is_fatal() -> None:
    data, chance = SAMPLE.read_bytes(), random.Random(7)
    for _ in range(40):
        end = chance.randrange(len(data))
        try:
            table = _read_text(data[:end])
        except CaptureError:
            continue
        assert any(q.check == "cut-trace" for q in table.quality)


def test_a_cut_gzip_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    big = json.dumps({"traceEvents": [CALL, KERNEL] * 40_000}).encode()
    packed = gzip.compress(big)
    path.write_bytes(packed[: int(len(packed) * 0.9)])
    table = chrome_trace.read(Source(str(path), max_unpacked=1 << 30), Options())
    assert len(table) > 30_000 and any("damaged gz" in q.message for q in table.quality)


@pytest.mark.parametrize("value", ["[" * 3000 + "]" * 3000, "1e999", "9" * 5000, '{"a":' * 2000 + "1" + "}" * 2000])
def test_hostile_values_cost_their_row_only(value: str) -> None:
    row = json.dumps(KERNEL)
    odd = f'{{"ph": "X", "cat": "kernel", "name": "b", "ts": {value}, "dur": 1}}'
    table = _read_text(f'{{"traceEvents": [{row}, {odd}, {row}]}}'.encode())
    assert len(table) == 2 and any(q.check == "rows-left-out" for q in table.quality)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused_by_name(encoding: str) -> None:
    with pytest.raises(BadCapture, match="UTF-16"):
        _read_text(json.dumps({"traceEvents": [CALL, KERNEL]}).encode(encoding))


def test_one_endless_row_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rows, "MAX_ROW", 10_000)
    monkeypatch.setattr(json_rows, "BLOCK", 1000)
    with pytest.raises(BadCapture, match="one row"):
        _all(b'{"traceEvents": [{"name": "' + b"x" * 100_000)


# --- timeline


def test_launch_lasts_a_tenth_of_a_millisecond_and_the_rest_is_queued() -> None:
    late = _row("kernel", "k", 500, 10, device=0, stream=7, correlation=2)
    again = _row("cuda_runtime", "cudaLaunchKernel", 40, 10, correlation=2)
    capture = reader.read(Source("-", json.dumps([KERNEL, CALL, late, again]).encode()))
    assert capture.timeline is not None
    device = capture.timeline.devices[0]
    # 30: first kernel ends; 40-50: call; until 150 launching, until 500 queued
    assert {g.cause: g.total_ns for g in device.gaps} == {"host": 10_000, "launch": 110_000, "queued": 350_000}
    assert {g.cause: g.count for g in device.gaps if g.count} == {"queued": 1}


def test_only_work_counts_and_copies_say_their_way() -> None:
    rows = [
        KERNEL, CALL,
        _row("gpu_user_annotation", "step", 0, 900, stream=7), _row("cuda_sync", "Stream Sync", 0, 900, stream=7),
        _row("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 40, 5, device=0, stream=7, bytes=64),
        _row("kernel", "__amd_rocclr_copyBuffer", 50, 5, device=0, stream=7),
    ]  # fmt: skip
    capture = reader.read(Source("-", json.dumps(rows).encode()))
    assert capture.timeline is not None
    device = capture.timeline.devices[0]
    assert (device.span_ns, device.kernels, device.copies, device.pageable_copies, device.h2d_bytes) == (
        35_000,
        1,
        2,
        1,
        64,
    )


def test_communication_is_exposed_where_nothing_computes() -> None:
    rows = [KERNEL, _row("kernel", "ncclDevKernel_AllReduce", 25, 25, device=0, stream=8)]
    capture = reader.read(Source("-", json.dumps(rows).encode()))
    assert capture.timeline is not None
    device = capture.timeline.devices[0]
    assert (device.compute_ns, device.comm_ns, device.exposed_comm_ns) == (10_000, 25_000, 20_000)


def test_busy_time_is_computing_and_what_nothing_computes_beside() -> None:
    """As TraceLens takes a timeline apart: each instant of busy time counts once."""
    copy = _row("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 40, 30, device=0, stream=9)
    rows = [KERNEL, _row("kernel", "ncclDevKernel_AllReduce", 25, 25, device=0, stream=8), copy]
    capture = reader.read(Source("-", json.dumps(rows).encode()))
    assert capture.timeline is not None
    device = capture.timeline.devices[0]
    assert device.busy_ns == device.compute_ns + device.exposed_comm_ns + device.exposed_copy_ns == 50_000


def test_texts_for_numbers_and_old_categories() -> None:
    old = {
        "ph": "X",
        "cat": "Kernel",
        "name": "k",
        "pid": "0",
        "tid": "7",
        "ts": "1690000000000000",
        "dur": "3",
        "args": {},
    }
    table = _read([old])
    assert table.trace is not None and table.trace.operations.start[0] == 1_690_000_000_000_000_000
    assert table.columns["gpu.time"].values[0] == 3000


def test_private_keys_are_not_shown() -> None:
    table = _read([KERNEL, CALL], host_name="secret-host", username="secret-user")
    assert "secret" not in repr((table.notes, table.quality, table.device))


# --- no GPU work


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([], "no events"),
        ([_row("cpu_op", "aten::add", 1, 1)], "CPU only"),
        ([CALL], "no kernels"),
        ([CALL, _row("kernel", "gemm", 1, float("nan"))], "1 row of GPU work without readable times"),
        ([CALL, _row("kernel", "gemm", 1, 1, grid=[[1], [1], [1]])], "1 row of GPU work without readable times or"),
        ([_row("devtools.timeline", "Paint", 1, 1)], "browser"),
        ([_row("cuda_profiler_range", "k", 1, 1)], "counters"),
        ([_row("privateuse1_runtime", "aclrtLaunch", 1, 1)], "another accelerator"),
        ([_row("", "x", 1, 1)], "no row marked as GPU work"),
        ([{**_row("", "aten::mm", 1, 1), "pid": "CUDA functions"}], "autograd profiler"),
        ([_row("cuda", "gemm", 1, 1)], "Nsight Systems data"),
        ([_row("Node", "MatMul_kernel_time", 1, 1)], "ONNX Runtime profile without GPU kernels"),
        ([_row("FEE", "fib (a.py:3)", 1, 1)], "Python profiler"),
        ([{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:TPU:0"}}], "TPUs"),
        (
            [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/host:CPU"}}],
            "XLA trace .* without GPU work",
        ),
        (
            [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0/stream:all Compute"}}],
            "TensorFlow 1",
        ),
    ],
)
def test_files_without_gpu_work_say_what_they_are(rows: list[Any], word: str) -> None:
    with pytest.raises(NotTriageable, match=word):
        _read(rows)


def test_rocm_profile_data_is_named() -> None:
    rows = [{"name": "thread_name", "ph": "M", "pid": "77", "tid": "77", "args": {"name": "Hip 77"}}]
    source = Source(
        "-",
        json.dumps([{}, *rows, {"pid": "0", "tid": "1", "name": "Cijk", "ts": "1", "dur": "2", "ph": "X"}]).encode(),
    )
    assert pick(source)[0].NAME == "pytorch-trace"
    with pytest.raises(NotTriageable, match="rpd2tracing"):
        chrome_trace.read(source, Options())


def test_the_sample_is_picked() -> None:
    assert pick(Source(str(SAMPLE)))[0].NAME == "pytorch-trace"


def test_ranges_of_2021_are_operators() -> None:
    loads = [_row("Operator", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 40, 4000)]
    steps = [_row("Operator", f"ProfilerStep#{n}", 5000 * n, 4900) for n in range(3)]
    trace = _read([CALL, KERNEL, *loads, *steps, _row("Operator", "aten::mm", 8, 10)]).trace
    assert trace is not None and [s.name for s in trace.steps] == [s["name"] for s in steps]
    assert trace.loading is not None and trace.loads_itself and [o.name for o in trace.operators] == ["aten::mm"]


def test_a_wait_for_the_loader_is_no_other_waits() -> None:
    """A blocking copy before it would else take the loader's time, as far as the device was busy before."""
    wait = _row("cuda_runtime", "cudaMemcpyAsync", 16, 9_000, correlation=5)
    back = _row("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 9_010, 2, device=0, stream=7, correlation=5)
    load = _row("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 9_017, 20_000)
    later = [_row("cuda_runtime", "cudaLaunchKernel", 29_020, 5, correlation=6), _row("kernel", "k", 29_030, 9, device=0, stream=7, correlation=6)]  # fmt: skip
    long = {**KERNEL, "dur": 8_980.0}
    trace = _read([CALL, long, wait, back, load, *later]).trace
    assert trace is not None
    device = timeline.build(trace).devices[0]
    assert device.loading_ns == 20_000_000 and device.gap("memcpy").blamed_ns < 100_000


def test_merged_ranks_keep_their_calls() -> None:
    """SGLang merges ranks by a label before the process; correlations repeat."""
    rows = [
        {**row, "pid": f"[TP0{r}] {row['pid']}", "ts": row["ts"] + 1000 * r, "args": {**row["args"], **({"device": r} if "device" in row["args"] else {})}}
        for r in (0, 1)
        for row in (CALL, KERNEL)
    ]  # fmt: skip
    trace = _read(rows).trace
    assert trace is not None and len(trace.devices) == 2
    assert trace.operations.call.tolist() == [0, 1] and trace.operations.process.tolist() == [0, 1]


def test_intel_gpus_under_pytorch() -> None:
    call = _row("xpu_runtime", "urEnqueueKernelLaunch", 10, 5, correlation=1)
    table = _read([call, KERNEL])
    assert table.tells["vendor"] == "intel" and table.trace is not None and table.trace.operations.call.tolist() == [0]


def test_onnx_runtime_is_named() -> None:
    kernel = {"cat": "Kernel", "pid": -1, "tid": -1, "ph": "X", "ts": 20, "dur": 9, "name": "gemm", "args": {"op_name": "MatMul", "stream": "7"}}  # fmt: skip
    table = _read([_row("Session", "model_run", 5, 90), _row("Node", "MatMul_kernel_time", 10, 15), kernel])
    assert table.trace is not None and table.trace.devices == [("0", None)]
    assert table.notes[0] == "Chrome trace of ONNX Runtime: times, no counters"


# --- operators


def test_innermost_interval_of_the_thread() -> None:
    start, end, thread = (np.array(v) for v in ([0, 10, 30, 0], [100, 20, 40, 50], [0, 0, 0, 1]))
    at = kineto_operators.innermost(
        start,
        end,
        thread,
        np.array([0, 0, 0, 1, 2, 0, 0, 0]),
        np.array([15, 25, 35, 15, 15, 200, 20, 20]),
        np.array([16, 26, 36, 16, 16, 201, 21, 20]),
    )
    assert at.tolist() == [1, 0, 2, 3, -1, -1, 0, 1]


@pytest.mark.parametrize(
    ("name", "dims", "plain", "flops", "size"),
    [
        ("aten::mm", [[4, 8], [8, 16]], [], 2 * 4 * 8 * 16, 2 * (32 + 128 + 64)),
        ("aten::addmm", [[16], [4, 8], [8, 16]], [], 2 * 4 * 8 * 16, 2 * (32 + 128 + 64)),
        ("aten::bmm", [[3, 4, 8], [3, 8, 16]], [], 3 * 2 * 4 * 8 * 16, 3 * 2 * (32 + 128 + 64)),
        ("aten::mm", [[4, 8], [9, 16]], [], None, None),
        ("aten::convolution", [[1, 3, 8, 8], [4, 3, 3, 3]], ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"],
         2 * 64 * 108, 2 * (192 + 108 + 256)),
        ("aten::_scaled_dot_product_flash_attention", [[1, 2, 8, 4]] * 3, [], 4 * 2 * 8 * 8 * 4, 2 * 4 * 64),
        ("aten::_flash_attention_forward", [[1, 8, 2, 4]] * 3, [""] * 8 + ["True"], 4 * 2 * 36 * 4, 2 * 4 * 64),
        ("aten::_efficient_attention_forward", [[1, 8, 2, 4]] * 3, [""] * 9 + ["0"], 4 * 2 * 64 * 4, 2 * 4 * 64),
        ("aten::_scaled_dot_product_cudnn_attention", [[1, 2, 8, 4]] * 3, [""] * 6 + ["True"], 4 * 2 * 36 * 4, 2 * 4 * 64),
        ("aten::mul", [[4, 4], [4, 4]], [], 16, 2 * 48),
        ("aten::odd", [[4, 4]], [], None, None),
    ],
)  # fmt: skip
def test_work_of_operators(name: str, dims: Any, plain: Any, flops: float | None, size: float | None) -> None:
    work = operator_work.work(name, {"dims": dims, "types": ["c10::BFloat16"] * len(dims), "plain": plain})
    assert (work.flops, work.bytes) == (flops, size)


@pytest.mark.parametrize(
    ("dims", "shown", "elements"),
    [
        ([[[16, 4], [16, 6]], []], "16×4, 16×6", 160),
        ([[[16, 4], []], []], "16×4", 64),
        ([[], []], "", 0),
        ([], "", 0),
        ("x", "", 0),
        ([[["a"], [-1], [2.5]], []], "", 0),
    ],
)
def test_what_a_concatenation_writes(dims: Any, shown: str, elements: int) -> None:
    work = operator_work.work("aten::cat", {"dims": dims, "types": ["TensorList", "Scalar"]})
    assert (work.kind, work.dims, work.elements) == ("copy", shown, elements)


@pytest.mark.parametrize(("length", "launches", "kept"), [(50, False, True), (51, False, False), (51, True, True)])
def test_long_operators_that_start_nothing_are_the_programs_own_work(length: int, launches: bool, kept: bool) -> None:
    rows = [_row("cpu_op", "aten::empty", 1, 5), CALL, KERNEL, _row("cpu_op", "aten::randn", 100, length)]
    if launches:
        rows += [
            _row("cuda_runtime", "cudaLaunchKernel", 110, 5, correlation=9),
            {**KERNEL, "ts": 300, "args": {**KERNEL["args"], "correlation": 9}},
        ]
    trace = _read(rows).trace
    assert trace is not None and trace.framework is not None
    assert (100_000 in trace.framework[0].tolist()) == kept


def test_operators_of_the_sample() -> None:
    capture = reader.read(str(SAMPLE))
    assert capture.table.trace is not None
    made = {(o.name, o.m, o.n, o.k): o for o in capture.table.trace.operators}
    scores = made["aten::bmm", 1537, 1537, 64]
    assert (scores.calls, scores.batch, scores.ns) == (6, 96, 6 * 900_000)
    assert sum(o.ns for o in made.values()) <= sum(d.busy_ns for d in capture.timeline.devices)  # type: ignore[union-attr]


def test_ranks_of_a_merged_file_keep_their_calls() -> None:
    rows = []
    for rank in (0, 1):
        for row, start in ((KERNEL, 100 * rank + 20), (CALL, 100 * rank + 10)):
            rows.append({**row, "ts": start, "pid": rank * 100_000_000, "args": {**row["args"], "rank": rank}})
    table = _read(rows)
    assert table.trace is not None and [key for key, _ in table.trace.devices] == ["0", "1"]
    calls = table.trace.calls.start[table.trace.operations.call]
    assert (table.trace.operations.start - calls).tolist() == [10_000, 10_000]


# --- hostile files


def test_blanks_of_a_bomb_and_endless_names_stay_within_bounds(tmp_path: Path) -> None:
    row = json.dumps(KERNEL).encode()
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + row + b"," + b" " * 30_000_000 + row + b"]}", 1))
    tracemalloc.start()
    table = chrome_trace.read(Source(str(path), max_unpacked=1 << 30), Options())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(table) == 2 and most < 20_000_000
    named = _read([{**KERNEL, "name": "x" * 1_000_000}, CALL])
    assert len(str(named.names[0])) == kineto.MAX_NAME


def test_of_keys_given_twice_the_last_counts() -> None:
    text = json.dumps(KERNEL).replace('"dur": 10', '"dur": 10, "dur": 12')
    table = _read_text(f'{{"traceEvents": [{text}], "traceEvents": [1]}}'.encode())
    assert table.columns["gpu.time"].values.tolist() == [12_000]


def test_a_loader_without_workers_does_the_work_itself() -> None:
    for name, own in (("_SingleProcessDataLoaderIter", True), ("_MultiProcessingDataLoaderIter", False)):
        wait = _row("user_annotation", f"enumerate(DataLoader)#{name}.__next__", 30, 1_600)
        later = [
            {**KERNEL, "ts": 1_740, "args": {**KERNEL["args"], "correlation": 2}},
            {**CALL, "ts": 1_730, "args": {"correlation": 2}},
        ]
        table = _read([KERNEL, CALL, wait, *later])
        assert table.trace is not None and table.trace.loads_itself is own
        (device,) = timeline.build(table.trace).devices
        assert (device.loading_ns, device.loading_own_ns) == (1_600_000, 1_600_000 if own else 0)
        # of one batch the loop's own time is all but the wait: 130 us
        assert device.loading_used_ns == (1_740 + KERNEL["dur"] - KERNEL["ts"] - 1_600) * 1_000
        # the gap of 1,710 us: the part of its cause never exceeds the class
        (gap,) = device.longest
        assert gap.cause == "host" and gap.cause_ns == device.gap("host").blamed_ns < gap.end - gap.start


@pytest.mark.parametrize("wait, workers", [(1_560, 12), (1_561, 13)])
def test_workers_that_keep_up_are_a_batch_over_its_use(wait: int, workers: int) -> None:
    load = _row("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 30, wait)
    later = wait + KERNEL["ts"] + 120
    rows = [{**KERNEL, "ts": later, "args": {**KERNEL["args"], "correlation": 2}}, {**CALL, "ts": later - 10, "args": {"correlation": 2}}]  # fmt: skip
    trace = _read([KERNEL, CALL, load, *rows]).trace
    assert trace is not None
    made = timeline.build(trace)
    assert timeline_facts(made, made.devices[0].span_ns)["idle.loader_workers"][0] == workers


def test_what_comes_before_the_first_of_several_batches_is_cut() -> None:
    name, rows = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", [KERNEL, CALL]
    for i in range(3):
        at = 1_000 * (i + 1)
        rows += [_row("user_annotation", name, at - 700, 600), {**CALL, "ts": at - 10, "args": {"correlation": i + 2}}]
        rows.append({**KERNEL, "ts": at, "args": {**KERNEL["args"], "correlation": i + 2}})
    (device,) = timeline.build(_read(rows).trace).devices
    assert (device.batches, device.loading_used_ns) == (3, 3 * 400_000)  # every 1,000 us, 600 of them in the wait


def test_taking_a_batch_that_workers_have_ready_is_no_wait() -> None:
    for name, waits in (("_SingleProcessDataLoaderIter", True), ("_MultiProcessingDataLoaderIter", False)):
        table = _read([KERNEL, CALL, _row("user_annotation", f"enumerate(DataLoader)#{name}.__next__", 30, 60)])
        assert table.trace is not None and (table.trace.loading is not None) is waits


def test_few_operations_have_idle_causes_around_long_gaps_only() -> None:
    for pause, judged in ((200.0, False), (5_000.0, True)):
        table = _read([KERNEL, CALL, {**KERNEL, "ts": 30 + pause}])
        assert table.trace is not None and timeline.build(table.trace).has_judged_gaps is judged


# --- work that was launched before the trace


def _called(number: int, name: str, ts: float, dims: list[list[int]], kernel: str, grid: int) -> list[dict[str, Any]]:
    types = ["c10::BFloat16"] * len(dims)
    return [
        _row("cpu_op", name, ts, 8, **{"Input Dims": dims, "Input type": types}),
        _row("cuda_runtime", "cudaLaunchKernel", ts + 1, 5, correlation=number),
        _row(
            "kernel", kernel, ts + 20, 6, device=0, stream=7, correlation=number, grid=[grid, 1, 1], block=[128, 1, 1]
        ),
    ]


def test_early_kernels_count_for_the_only_operator_that_launches_such() -> None:
    early = [
        _row("kernel", name, i, 1, device=0, stream=7, correlation=90 + i, grid=[grid, 1, 1], block=[128, 1, 1])
        for i, (name, grid) in enumerate([("mul", 64), ("mul", 64), ("mul", 32), ("add", 64), ("other", 64)])
    ]
    shape = [[64, 64], [64, 64]]
    rows = [
        *early,
        *_called(1, "aten::mul", 100, shape, "mul", 64),
        *_called(2, "aten::add", 200, shape, "add", 64),
        *_called(3, "aten::sub", 300, shape, "add", 64),  # whose the early one was nothing tells
    ]
    trace = _read(rows).trace
    assert trace is not None
    assert {o.name: (o.calls, o.ns, o.queued_ns) for o in trace.operators} == {
        "aten::mul": (1, 6_000, 2_000), "aten::add": (1, 6_000, 0), "aten::sub": (1, 6_000, 0),
    }  # fmt: skip


def test_passes_in_a_row_over_tensors_of_one_size_have_time_to_spare() -> None:
    shape = [[64, 64]]
    rows = [
        *_called(1, "aten::mul", 100, shape, "a", 1),
        *_called(2, "aten::add", 200, shape, "b", 1),
        *_called(3, "aten::tanh", 300, shape, "c", 1),
        *_called(4, "aten::mm", 400, [[64, 64], [64, 64]], "d", 1),
        *_called(5, "aten::neg", 500, shape, "e", 1),
    ]
    trace = _read(rows).trace
    assert trace is not None
    spare = {o.name: o.spare_ns for o in trace.operators}
    assert spare == {"aten::mul": 4_000, "aten::add": 4_000, "aten::tanh": 4_000, "aten::mm": 0, "aten::neg": 0}


@pytest.mark.parametrize(
    ("strides", "lead"),
    [([[50257, 1], [1024, 1]], (50257, 1024)), ([[1, 50257], [1024, 1]], (50257, 1024)), ([[2, 3], [8, 1]], (0, 8)), (None, (0, 0))],
)  # fmt: skip
def test_leading_dimensions_come_from_strides(strides: Any, lead: tuple[int, int]) -> None:
    given = {"dims": [[64, 64], [64, 64]], "types": ["float", "float"], "strides": strides}
    assert operator_work.work("aten::mm", given).lead == lead


def test_no_two_kernels_share_the_name_of_a_profile() -> None:
    names = ["_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1" + end for end in ("", "_swiglu", "_swiglu_split")]
    for command, option in (
        (chrome_trace.profile_amd, r"--name (\S+)"),
        (chrome_trace.profile, r"-o (\S+)"),
        (nsys_sqlite.profile, r"-o (\S+)"),
    ):
        files = [re.findall(option, command(name, 0))[0] for name in names]
        assert len(set(files)) == len(names) and files == [re.findall(option, command(n, 0))[0] for n in names]


def test_rows_of_rocprofv3_by_way_of_perfetto() -> None:
    """Its categories and keys, as traceconv writes them."""
    rows = [
        _row("hip_api", "hipLaunchKernel", 10, 5, corr_id=7),
        _row("kernel_dispatch", "my_kernel", 20, 9, corr_id=7, agent=4, queue=1, workgroup_size=256),
        _row("hip_api", "hipMemcpy", 30, 50, corr_id=8),
        _row("memory_copy", "MEMORY_COPY_HOST_TO_DEVICE", 40, 30, corr_id=8, src_agent=0, dst_agent=4, copy_bytes=4096),
    ]
    table = _read(rows)
    trace = table.trace
    assert trace is not None and [key for key, _ in trace.devices] == ["4"] and table.tells["vendor"] == "amd"
    assert trace.operations.call.tolist() == [0, 1] and trace.operations.bytes.tolist() == [0, 4096]
    assert trace.operations.way.tolist()[1] == TO_DEVICE and "AMD's profiler" in table.notes[0]


def test_a_trace_of_proton_is_named() -> None:
    row = {**KERNEL, "args": {"call_stack": ["ROOT", "k"], "metrics": {"flops": 1e9}}}
    assert "Triton's Proton" in _read([row]).notes[0]


@pytest.mark.parametrize(
    ("category", "process", "says"),
    [
        ("hpu_op", "HPU-0", "another accelerator"),
        ("x", "/device:GPU:0", "no details of kernels"),
        ("operator", "gpu/0", "MXNet"),
        ("disabled-by-default-gpu.dawn", "GPU Process", "web browser"),
        ("Op", "/job:localhost/replica:0/task:0/device:GPU:0 Compute", "TensorFlow 1"),
    ],
)
def test_relatives_without_kernels_are_named(category: str, process: str, says: str) -> None:
    named = {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": process}}
    source = Source("-", json.dumps({"traceEvents": [named, _row(category, "y", 1, 1)]}).encode())
    assert pick(source)[0].NAME == "pytorch-trace"
    with pytest.raises(NotTriageable, match=says):
        chrome_trace.read(source, Options())


def test_a_name_of_half_a_character_is_read_and_reported(tmp_path: Path) -> None:
    kernel = {**KERNEL, "name": "\ud800 kernel"}
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": [kernel, CALL]}), "utf-8")
    ended = run("diagnose", str(tmp_path / "t.json"), "-f", "json")
    assert ended.returncode == 0 and "kernel" in ended.stdout


@pytest.mark.parametrize(("gib", "named"), [(192, "MI300X"), (256, "MI325X"), (64, "")])
def test_memory_tells_apart_what_cores_do_not(gib: int, named: str) -> None:
    properties = [{"id": 0, "name": "", "numSms": 304, "totalGlobalMem": (gib << 30) - (16 << 20)}]
    table = _read([KERNEL, CALL], hip_runtime_version=70051831, deviceProperties=properties)
    (text,) = (q.message for q in table.quality if q.check == "unnamed-gpu")
    assert table.device == named
    assert (f"memory it is {named};" if named else "no roofs are known") in text


def test_collectives_have_the_name_of_their_operator() -> None:
    rows = [
        _row("cpu_op", "c10d::allreduce_", 5, 12, **{"Input Dims": [[[96]], []], "Input type": ["TensorList", ""]}),
        _row("cpu_op", "record_param_comms", 8, 8, **{"Input Dims": [[96]], "Input type": ["float"]}),
        CALL,
        {**KERNEL, "name": "ncclDevKernel_AllReduce"},
    ]
    trace = _read(rows).trace
    assert trace is not None and [(o.name, o.kind, o.dims) for o in trace.operators] == [
        ("c10d::allreduce_", "collective", "96")
    ]


@pytest.mark.parametrize(("gap_us", "remarked"), [(99.0, True), (101.0, False)])
def test_a_step_that_begins_on_the_host_is_longer_than_its_span(gap_us: float, remarked: bool) -> None:
    rows = [_row("user_annotation", "ProfilerStep#6", 0, 9000), {**CALL, "ts": 5000}]
    rows.append({**KERNEL, "ts": 5005 + gap_us, "dur": 3000})
    assert ("lead-in" in {q.check for q in _read(rows).quality}) == remarked
