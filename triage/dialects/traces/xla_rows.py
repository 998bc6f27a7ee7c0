"""Rows of XLA's profiler (JAX, TensorFlow) as rows of Kineto.

XLA gives no category: a row belongs to a GPU by its process, `/device:GPU:0`, and is work if it has the details of a kernel,
copy or set. Rows beside them on the same process (steps, modules, operations) are drawn from the work and are none. Host
calls have a correlation id. Keys of details: OpenXLA, xplane_schema.cc.
"""

from __future__ import annotations

import re
from typing import Any

Row = dict[str, Any]
GPU_RE = re.compile(r"/device:GPU:(\d{1,6})\b")
_FIELD_RE = re.compile(r"(?<!\w)(\w{1,64}):(\S+)")
_WAY = {("device", "device"): "DtoD", ("device", "host"): "DtoH", ("host", "device"): "HtoD"}


def row(given: Row, gpus: dict[Any, int]) -> Row | None:
    """A row as Kineto would write it, None for what is neither work nor a call; gpus: process -> number of its GPU."""
    args = given.get("args")
    if type(args) is not dict:
        return None
    gpu = gpus.get(given.get("pid"))
    if gpu is None:
        if "correlation_id" in args:  # `cuGraphLaunch (CudaGraph:3)`
            call = str(given.get("name")).partition(" ")[0]
            return {**given, "cat": "cuda_runtime", "name": call, "args": {"correlation": args["correlation_id"]}}
        if "step_num" in args:
            step = f"{given.get('name')}#{args['step_num']}"
            return {**given, "cat": "user_annotation", "name": step, "args": {}}
        return None
    place = {"device": gpu, "stream": given.get("tid"), "correlation": args.get("correlation_id")}
    if "kernel_details" in args:
        return {**given, "cat": "kernel", "args": {**place, **_shape(_fields(args["kernel_details"]))}}
    if "memcpy_details" in args:
        name, size = _copy(str(given.get("name")), _fields(args["memcpy_details"]))
        return {**given, "cat": "gpu_memcpy", "name": name, "args": {**place, "bytes": size}}
    if "memset_details" in {k.casefold() for k in args}:
        return {**given, "cat": "gpu_memset", "args": place}
    return None


def _fields(text: Any) -> dict[str, str]:
    """`regs:16 grid:1,1,1` by key."""
    return dict(_FIELD_RE.findall(str(text)[:1000]))


def _shape(fields: dict[str, str]) -> Row:
    axes = {
        k: [float(n) for n in fields[k].split(",")]
        for k in ("grid", "block")
        if re.fullmatch(r"\d{1,9}(,\d{1,9}){2}", fields.get(k, ""))
    }
    if (regs := fields.get("regs", "")).isdigit():
        return {**axes, "registers per thread": int(regs[:9])}
    return axes


def _copy(name: str, fields: dict[str, str]) -> tuple[str, int]:
    """(name in Kineto's words, bytes) of a copy: `kind_src:pinned kind_dst:device size:64`, or `MemcpyH2D`."""
    sides = [fields.get(f"kind_{side}", "") for side in ("src", "dst")]
    way = _WAY.get(("device" if sides[0] == "device" else "host", "device" if sides[1] == "device" else "host"))
    if not all(sides):
        way = next((w for w, part in (("HtoD", "H2D"), ("DtoH", "D2H"), ("DtoD", "D2D")) if part in name), None)
    pageable = " (Pageable)" if "pageable" in sides else ""
    size = fields.get("size", fields.get("num_bytes", ""))
    return (f"Memcpy {way}{pageable}" if way else name), int(size[:15]) if size.isdigit() else 0
