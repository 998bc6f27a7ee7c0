"""Triton Proton: a tree of scopes and kernels with their time (`.hatchet`), and what scopes state of their work."""

from __future__ import annotations

import math
import re
from typing import Any

from msgspec import Struct, field

from triage import devices
from triage.capture.capture import DEEPEST, Table
from triage.capture.source import Source
from triage.capture.trace_nouns import Operator
from triage.dialects import Match, Options, always
from triage.dialects.tables import kernel_sums, whole_json
from triage.dialects.tables.kernel_sums import Kernel
from triage.ground.errors import NotTriageable

NAME = "proton"
SIGN = ('"frame"',)
TELLS = {"work": "compute"}
TITLE = "Triton Proton profile (.hatchet)"
CAPTURE = """\
    import triton.profiler as proton
    proton.start("run"); work(); proton.finalize()   # writes run.hatchet

`with proton.scope("matmul", {"flops": 2*M*N*K, "bytes": ...})` states the work of what it holds: rates are then noted.
"""
MAX_BYTES = 256 << 20
MAX_NOTED = 3  # scopes whose rates are noted
SAME_SPEED = 0.02  # data sheets round
_HEAD_RE = re.compile(r'\A\s*\[\s*\{\s*"(?:children|frame|metrics)"\s*:')
_TIME_RE = re.compile(r"time \(ns\)", re.IGNORECASE)
_FLOPS_RE = re.compile(r"flops\d*")
Json = dict[str, Any]  # JSON as it stands


# `flops16` counts operations of 16 bits; the peak of its units is that of half precision
_TYPES = {"flops16": "Half", "flops32": "float", "flops64": "double"}


class _Tree(Struct):
    """Kernels in file order, and the innermost scopes that state their work."""

    kernels: list[Kernel] = field(default_factory=list)
    stated: list[Operator] = field(default_factory=list)


def recognise(source: Source) -> Match | None:
    """A list whose first object has children, a frame and metrics."""
    head = source.head_text
    if _HEAD_RE.match(head) and '"metrics"' in head and '"frame"' in head:
        return Match(0.92, "JSON of Proton: children, frame, metrics")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per kernel and scope; raises BadCapture for damaged JSON, NotTriageable without kernels."""
    whole = whole_json.loads(source, MAX_BYTES, "Proton", "copy the profile again")
    tree = _Tree()
    for root in whole if isinstance(whole, list) else []:
        _walk(root, (), tree, 0)
    if not tree.kernels:
        raise NotTriageable(
            f"{source.path}: Proton tree without kernels",
            "launch kernels between proton.start() and proton.finalize()",
        )
    source.record = "kernel"
    table = kernel_sums.table(NAME, source, tree.kernels, "time (ns)", "count")
    table.operators = sorted(tree.stated, key=lambda o: (-o.ns, o.name))
    for o in table.operators[:MAX_NOTED]:
        rates = [f"{o.flops * o.calls / o.ns / 1e3:.3g} TFLOP/s"] if o.flops else []
        rates += [f"{o.bytes * o.calls / o.ns:.3g} GB/s"] if o.bytes else []
        table.notes.append(f"{o.name[:60]}: {', '.join(rates)} by the work that its scope states")
    table.arch, table.device = _gpu(whole)
    if table.device:
        table.notes.append(f"GPU known by its SMs, bus width and memory clock: {table.device}")
    table.collectable = frozenset()
    table.collect = always(
        "Proton has no counters of GPU units: profile the longest kernel with ncu --set full (AMD: rocprof-compute)"
    )
    return table


def _walk(node: Json, path: tuple[str, ...], tree: _Tree, depth: int) -> float:
    """Enter a node and those below it; returns their time in ns."""
    if not isinstance(node, dict) or depth > DEEPEST:
        return 0.0
    frame, metrics = _object(node.get("frame")), _object(node.get("metrics"))
    name = str(frame.get("name") or "(unnamed)")[:400]
    key = next((k for k in metrics if _TIME_RE.fullmatch(k)), "")
    own = _number(metrics.get(key))
    if own > 0:
        calls = metrics.get("count", metrics.get("Count", ""))
        tree.kernels.append(Kernel(len(tree.kernels) + 1, name, f"{own:.15g}", str(calls)[:20], path))
    inner = path if name == "ROOT" else (*path, name)
    children = node.get("children")
    first, before = len(tree.kernels) - (own > 0), len(tree.stated)
    below = sum(_walk(c, inner, tree, depth + 1) for c in (children if isinstance(children, list) else []))
    flops = {k: f for k, v in metrics.items() if _FLOPS_RE.fullmatch(k) and (f := _number(v))}
    size = _number(metrics.get("bytes"))
    # a scope around others that state their work would count it twice
    if own + below >= 1 and (flops or size) and len(tree.stated) == before:
        tree.stated.append(_operator(name, own + below, flops, size, tree.kernels[first:]))
    return own + below


def _operator(name: str, ns: float, flops: dict[str, float], size: float, kernels: list[Kernel]) -> Operator:
    """What a scope states of the work of its kernels; flops: by their key, which tells the type."""
    calls = max(1, sum(int(k.calls) for k in kernels if re.fullmatch(r"\d{1,12}", k.calls)))
    type_ = _TYPES.get(next(iter(flops)), "") if len(flops) == 1 else ""
    longest = sorted(kernels, key=lambda k: -float(k.time))
    return Operator(
        name=name, kind="stated", type=type_, dims="", calls=calls, ns=round(ns), kernels=tuple(k.name for k in longest),
        flops=sum(flops.values()) / calls or None, bytes=size / calls or None, batch=0, m=0, n=0, k=0,
    )  # fmt: skip


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e30 else 0.0


def _gpu(whole: list[Json]) -> tuple[str, str]:
    """(`sm_80`, name of the one product like it) of the first GPU that the last object lists, "" for none."""
    for kind, listed in _object(whole[-1]).items():
        for device in _object(listed).values() if kind in ("CUDA", "HIP") else ():
            arch = str(_object(device).get("arch", ""))
            if re.fullmatch(r"\w{2,12}", arch):
                arch = f"sm_{arch}" if kind == "CUDA" and arch.isdigit() else arch
                return arch, _product(arch, _object(device))
    return "", ""


def _product(arch: str, device: Json) -> str:
    """The one product of an architecture with as many SMs and as fast a memory; "" for none or several."""
    # kHz, two transfers a cycle, bits
    speed = 2e3 * _number(device.get("memory_clock_rate")) * _number(device.get("bus_width")) / 8
    alike = [d for d in devices.listing() if d.arch == arch and d.sm_count == device.get("num_sms")]
    fit = [d.name for d in alike if abs(speed / (d.peaks.dram_bytes_per_s or math.inf) - 1) < SAME_SPEED]
    return fit[0] if len(fit) == 1 else ""


def names() -> dict[str, list[str]]:
    """Metrics of a node that are used."""
    return {"gpu.time": ["time (ns)"], "frame.calls": ["count"]}
