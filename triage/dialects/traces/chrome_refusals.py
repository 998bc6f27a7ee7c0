"""Why a Chrome trace holds nothing to diagnose: whose it is, and what to record instead."""

from __future__ import annotations

import re

from triage.capture.source import Source
from triage.dialects.tables import same_run
from triage.dialects.traces.event import Event
from triage.dialects.traces.json_rows import JsonRows
from triage.dialects.traces.kineto import GPU_WORK, Columns
from triage.ground.errors import CaptureError, NotTriageable
from triage.ground.phrasing import plural

_RECORD = "record with torch.profiler and activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
# (pattern over categories and process names, whose trace it is, what to do)
_WRITERS = (
    (r"^cuda_profiler_range$", "counters per kernel without times, no GPU timeline", "record without the range profiler"),
    (r"mtia|^privateuse1|\bhpu|habana|gaudi", "trace of another accelerator, no GPU kernel", "use that vendor's tools"),
    (r"ascend", "trace of an Ascend accelerator, no GPU kernel", "use that vendor's tools"),
    (r"^/device:TPU:", "XLA trace of TPUs, no GPU kernel", "read it in XProf (TensorBoard)"),
    (r"^/device:GPU:\d+$", "XLA trace whose GPU rows have no details of kernels, copies or sets", 'record with: jax.profiler.trace("log")'),
    (r"^[cg]pu/\d+$", "MXNet profile: operators without GPU kernels", "nsys profile -t cuda ./your-app"),
    (r"^/job:.*/device:|/stream:all", "timeline of TensorFlow 1, operations without GPU kernels", "record with tf.profiler, and name its .trace.json.gz"),
    (r"^/host:CPU", "XLA trace (JAX, TensorFlow) without GPU work", "record on a GPU with: jax.profiler.trace(\"log\")"),
    (r"^CUDA functions$", "trace of PyTorch's autograd profiler: operators, no kernels", _RECORD),
    (r"^(?:Node|Session)$", "ONNX Runtime profile without GPU kernels", "build ONNX Runtime with CUDA profiling, or: nsys profile -t cuda ./your-app"),
    (r"^cuda(?:_api)?$|^Device \d+$", "Nsight Systems data converted to JSON, or CUDA calls alone (eBPF), no GPU rows of a profiler", "give the .sqlite of: nsys export --type sqlite; without one: nsys profile -t cuda ./your-app"),
    (r"^(?:FEE|py-spy)$", "trace of a Python profiler, no GPU kernel", _RECORD),
    (r"^HOST<", "trace of Intel's unitrace without kernels", "record with: unitrace --chrome-kernel-logging --chrome-call-logging ./app"),
    (r"devtools\.|blink|^cc$|^cc,|^(?:disabled-by-default-)?gpu\.[a-z]+$|^CrBrowserMain$|^Browser$", "trace of a web browser, no GPU kernel", "name a trace of torch.profiler"),
)  # fmt: skip


def other_tool(source: Source) -> None:
    """Raise NotTriageable for the JSON of rocprof, recognised by its first lines."""
    head = source.head_text
    if '"Hip ' in head:
        raise NotTriageable(
            f"{source.path}: rpd2tracing JSON of rocmProfileData, not read",
            "record with torch.profiler, or rocprofv3 --output-format rocpd",
        )
    if '"CPU HIP API"' in head or '"BeginNs"' in head:
        raise NotTriageable(
            f"{source.path}: results.json of rocprof, not read",
            same_run.advice(
                source,
                "give the results.stats.csv or results.csv of the run, or record with rocprofv3 --output-format rocpd",
            ),
        )


def without_work(path: str, rows: JsonRows[Event], columns: Columns) -> CaptureError:
    """The error for a trace without rows of GPU work."""
    seen = [*columns.categories, *columns.processes]
    operators, calls = len(columns.operators), len(columns.calls)
    cut = f"; it is cut: {rows.cut}" if rows.cut else ""
    if not columns.rows:
        return NotTriageable(f"{path}: Chrome trace without GPU work (no events){cut}", _RECORD)
    for pattern, what, hint in _WRITERS:
        if any(re.search(pattern, word, re.IGNORECASE) for word in seen):
            return NotTriageable(f"{path}: {what}{cut}", hint)
    if columns.odd and (work := sum(columns.categories[c] for c in GPU_WORK)):
        return NotTriageable(
            f"{path}: {plural(work, 'row')} of GPU work without readable times or values{cut}", "export the trace again"
        )
    if calls:
        text = f"{plural(calls, 'runtime call')}, but no kernels: the driver gave the profiler no activity (WSL, container, a second profiler)"
        return NotTriageable(
            f"{path}: PyTorch trace without GPU work ({text}){cut}", "check with: nsys profile -t cuda ./your-app"
        )
    if operators:
        is_mac = any("mps" in name.lower() for name, _ in columns.signatures)
        where = "on the GPU of a Mac, which the profiler does not see" if is_mac else "CPU only"
        return NotTriageable(
            f"{path}: PyTorch trace without GPU work ({plural(operators, 'operator')}, {where}){cut}", _RECORD
        )
    why, mark = "no row marked as GPU work", "name the tracks of GPU queues GPU"
    if not any(columns.categories):
        why = "rows without a category (cat), so no row marked as GPU work"
        mark = "write cat kernel, gpu_memcpy or gpu_memset into rows of GPU work"
    return NotTriageable(f"{path}: Chrome trace of an unknown tool: {why}{cut}", f"{mark}, or {_RECORD}")
