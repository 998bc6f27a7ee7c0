"""Triton Proton: a tree of scopes and kernels with their time (`.hatchet`), and what scopes state of their work."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from triage.capture.capture import DEEPEST, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
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
_HEAD_RE = re.compile(r'\A\s*\[\s*\{\s*"(?:children|frame|metrics)"\s*:')
_TIME_RE = re.compile(r"time \(ns\)", re.IGNORECASE)
_FLOPS_RE = re.compile(r"flops\d*")
Json = dict[str, Any]  # JSON as it stands


@dataclass(slots=True)
class _Tree:
    """Kernels in file order, and (name, ns, flops, bytes) of the scopes that state their work."""

    kernels: list[Kernel] = field(default_factory=list)
    stated: list[tuple[str, float, float, float]] = field(default_factory=list)


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
    tree.stated.sort(key=lambda s: -s[1])
    for name, ns, flops, size in tree.stated[:MAX_NOTED]:
        rates = [f"{flops / ns / 1e3:.3g} TFLOP/s"] if flops else []
        rates += [f"{size / ns:.3g} GB/s"] if size else []
        table.notes.append(f"{name[:60]}: {', '.join(rates)} by the work that its scope states")
    table.arch = _arch(whole)
    table.collectable = frozenset()
    table.collect = _collect
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
    below = sum(_walk(c, inner, tree, depth + 1) for c in (children if isinstance(children, list) else []))
    flops = sum(_number(v) for k, v in metrics.items() if _FLOPS_RE.fullmatch(k))
    size = _number(metrics.get("bytes"))
    if own + below > 0 and (flops or size):
        tree.stated.append((name, own + below, flops, size))
    return own + below


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e30 else 0.0


def _arch(whole: list[Json]) -> str:
    """`sm_80` of the first GPU that the last object lists, "" for none."""
    for kind, devices in _object(whole[-1]).items():
        for device in _object(devices).values() if kind in ("CUDA", "HIP") else ():
            arch = str(_object(device).get("arch", ""))
            if re.fullmatch(r"\w{2,12}", arch):
                return f"sm_{arch}" if kind == "CUDA" and arch.isdigit() else arch
    return ""


def names() -> dict[str, list[str]]:
    """Metrics of a node that are used."""
    return {"gpu.time": ["time (ns)"], "frame.calls": ["count"]}


def _collect(_metrics: list[str]) -> str:
    return "Proton has no counters of GPU units: profile the longest kernel with ncu --set full (AMD: rocprof-compute)"
