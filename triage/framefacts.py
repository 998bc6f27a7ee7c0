"""The whole capture as one pseudo-workload, for rules of scope `frame`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.model import Capture, Derived
from triage.rulebook import Rulebook
from triage.verdict import CLASSES

if TYPE_CHECKING:
    from triage.diagnosis import Firings

TINY_NS = 10_000.0  # Nsight Compute and GPU Trace guidance: ranges below 10 µs are dominated by their start and end


def frame_capture(capture: Capture, limiter: Any, firings: Firings, book: Rulebook) -> Capture:
    """A one-row Capture of frame-level facts. Their sources are formulas over the workloads."""
    own = np.nan_to_num(capture.self_ns)
    leaf = np.ones(len(capture), dtype=bool)
    leaf[capture.parent[capture.parent >= 0]] = False
    busy = own > 0
    total = float(capture.frame_ns)
    facts: dict[str, float] = {
        "frame.time": total if total > 0 else np.nan,
        "frame.workloads": float(len(capture)),
        "frame.uncovered": capture.uncovered_ns / total if total > 0 else np.nan,
        "frame.tiny_count": float(np.sum(capture.calls[leaf & busy & (own / np.maximum(capture.calls, 1) < TINY_NS)])) if busy.any() else np.nan,
        "frame.tiny_share": float(own[leaf & busy & (own / np.maximum(capture.calls, 1) < TINY_NS)].sum() / total) if total > 0 else np.nan,
    }
    for code, name in enumerate(CLASSES):
        facts[f"frame.share_{name.replace('-', '_')}"] = float(own[limiter == code].sum() / total) if total > 0 else np.nan
    sources = {m: Derived(f"over {len(capture)} workloads", ()) for m in facts}
    one = np.array([0])
    return replace(
        capture, names=np.array(["frame"], dtype=object), paths=np.array([""], dtype=object), kinds=np.array(["frame"], dtype=object),
        calls=np.ones(1), parent=one - 1, depth=one, duration_ns=np.array([total]), self_ns=np.array([total]),
        facts={m: np.array([v]) for m, v in facts.items()}, sources=dict(sources), members=None,
        collectable=capture.collectable | frozenset(facts),
    )  # fmt: skip
