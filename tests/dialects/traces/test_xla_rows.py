"""Chrome traces of XLA (JAX, TensorFlow): work by process and details, calls by correlation; protobuf files are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from triage.capture.capture import Table
from triage.capture.source import Source
from triage.capture.trace_nouns import COPY, KERNEL, TO_DEVICE
from triage.dialects import Options, pick
from triage.dialects.traces import chrome_trace
from triage.ground.errors import TriageError
from triage.reading import reader

HOST, GPU = 1, 2
DETAILS = "regs:40 static_shared:0 dynamic_shared:0 grid:8,2,1 block:128,1,1 occ_pct:100"


def _row(pid: int, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": 5, "ts": ts, "dur": dur, "name": name, "args": args}


ROWS = [
    *({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": n}} for pid, n in ((HOST, "/host:CPU"), (GPU, "/device:GPU:3"))),
    _row(HOST, "train", 0, 100, step_num="7"),
    _row(HOST, "cuGraphLaunch (CudaGraph:3)", 10, 4, correlation_id="41", context_id="$$1"),
    _row(GPU, "loop_fusion", 20, 6, correlation_id="41", hlo_op="loop_fusion", kernel_details=DETAILS),
    _row(GPU, "loop_fusion", 20, 6, hlo_op="loop_fusion", hlo_module="jit_step"),
    _row(GPU, "MemcpyH2D", 40, 2, correlation_id="42", memcpy_details="kind_src:pageable kind_dst:device size:4096 dest:0 async:1"),
]  # fmt: skip


def _read(rows: list[Any]) -> Table:
    text = json.dumps({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": rows})
    return chrome_trace.read(Source("-", text.encode()), Options())


def test_work_is_what_has_details() -> None:
    table = _read(ROWS)
    trace = table.trace
    assert trace is not None and trace.devices == [("3", None)]
    ops = trace.operations
    assert ops.kind.tolist() == [KERNEL, COPY] and ops.call.tolist() == [0, -1]
    assert trace.calls.names[int(trace.calls.name[0])] == "cuGraphLaunch"
    assert (int(ops.bytes[1]), int(ops.way[1]), bool(ops.pageable[1])) == (4096, TO_DEVICE, True)
    shape = [table.columns[m].values[0] for m in ("launch.grid_size", "launch.block_size", "launch.registers")]
    assert shape == [16, 128, 40]
    assert [(s.name, s.ns) for s in trace.steps] == [("train#7", 22_000)]
    assert any("XLA" in n for n in table.notes)


def test_the_dialect_of_gpu_zones_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "host.trace.json"
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": ROWS}))
    assert pick(Source(str(path)))[0].NAME == "pytorch-trace"


@pytest.mark.parametrize("details", ["grid:1,2", "grid:x,y,z regs:-", "", 7, None, "size:" + "9" * 4000])
def test_odd_details_cost_a_figure_only(details: Any) -> None:
    copy = _row(GPU, "MemcpyD2H", 60, 2, memcpy_details=details)
    table = _read([*ROWS, _row(GPU, "k", 50, 2, kernel_details=details), copy])
    assert len(table) == 4 and not any(q.check == "rows-left-out" for q in table.quality)


@pytest.mark.parametrize(
    ("name", "word"),
    [("a.pftrace", "traceconv json a.pftrace a.json"), ("b.proto", "Perfetto"), ("h.xplane.pb", ".trace.json.gz")],
)
def test_protobuf_is_named_with_what_to_do(name: str, word: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\x0a\x10\x00\x00\x01\xff" * 40)
    with pytest.raises(TriageError) as caught:
        reader.read(str(tmp_path / name))
    assert word in str(caught.value)
