"""rocprofv3's JSON with what it records beside the dispatches."""

import json
from typing import Any

from tests.conftest import SAMPLES
from tests.helpers.dialects import read
from triage.capture import timeline

SAMPLE = SAMPLES / "rocprofv3-json" / "4711_results.json"
KINDS = [
    {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpy"]},
    {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
]


def _traced() -> dict[str, Any]:
    """The sample's dispatches without counters, each with its launch, and one copy behind them."""
    whole: dict[str, Any] = json.loads(SAMPLE.read_text())
    run = whole["rocprofiler-sdk-tool"][0]
    counted = run["callback_records"]["counter_collection"]
    run["callback_records"]["counter_collection"] = []
    dispatches, calls = [], []
    for i, record in enumerate(counted, 1):
        one = record["dispatch_data"]
        one |= {
            "correlation_id": {"internal": i},
            "start_timestamp": 100_000 * i,
            "end_timestamp": 100_000 * i + 40_000,
        }
        calls.append({"kind": 0, "operation": 0, "thread_id": 5, "correlation_id": {"internal": i}, "start_timestamp": 100_000 * i - 9_000, "end_timestamp": 100_000 * i - 4_000})  # fmt: skip
        dispatches.append(one)
    last = 100_000 * (len(counted) + 1)
    gpu, host = dispatches[0]["dispatch_info"]["agent_id"], {"handle": 7000}
    copy = {"kind": 1, "operation": 1, "correlation_id": {"internal": 999}, "start_timestamp": last, "end_timestamp": last + 5_000, "src_agent_id": host, "dst_agent_id": gpu, "bytes": 4096}  # fmt: skip
    calls.append({"kind": 0, "operation": 1, "thread_id": 5, "correlation_id": {"internal": 999}, "start_timestamp": last - 1_000, "end_timestamp": last + 6_000})  # fmt: skip
    run["strings"]["buffer_records"] = KINDS
    run["buffer_records"] = {"kernel_dispatch": dispatches, "hip_api": calls, "memory_copy": [copy]}
    return whole


def test_copies_and_calls_beside_the_dispatches_are_in_the_timeline() -> None:
    trace = read(json.dumps(_traced())).trace
    assert trace is not None and (trace.operations.call >= 0).all() and len(trace.devices) == 1
    assert set(trace.calls.names) == {"hipLaunchKernel", "hipMemcpy"}
    found = timeline.build(trace).devices[0]
    assert found.h2d_bytes == 4096 and found.copies == 1 and found.gap("launch").total_ns > 0


def test_dispatches_alone_have_no_calls() -> None:
    whole = _traced()
    whole["rocprofiler-sdk-tool"][0]["buffer_records"] |= {"hip_api": [], "memory_copy": []}
    trace = read(json.dumps(whole)).trace
    assert trace is not None and not len(trace.calls) and timeline.build(trace).host is None


def test_devices_are_the_gpus_by_their_numbers() -> None:
    whole = _traced()
    run = whole["rocprofiler-sdk-tool"][0]
    handle = run["buffer_records"]["kernel_dispatch"][0]["dispatch_info"]["agent_id"]["handle"]
    run["agents"] = [
        {"id": {"handle": 7000}, "type": 1, "logical_node_type_id": 3},
        {"id": {"handle": handle}, "type": 2, "logical_node_type_id": 3},
    ]
    trace = read(json.dumps(whole)).trace
    assert trace is not None and [key for key, _ in trace.devices] == ["3"]
