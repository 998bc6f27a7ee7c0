"""Why a Chrome trace holds nothing to diagnose: whose it is, and what to record instead."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from triage.capture.source import Source
from triage.dialects.tables import same_run
from triage.dialects.traces.event import Event
from triage.dialects.traces.json_rows import JsonRows
from triage.dialects.traces.kineto import GPU_WORK, Columns
from triage.ground.errors import CaptureError, NotTriageable
from triage.ground.phrasing import plural

_RECORD = "record with torch.profiler and activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"


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
    for pattern, what, hint in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["writers"]:
        if any(re.search(pattern, word, re.IGNORECASE) for word in seen):
            return NotTriageable(f"{path}: {what}{cut}", hint or _RECORD)
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
