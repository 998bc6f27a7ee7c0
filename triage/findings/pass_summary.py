"""What every pass of a frame does: its work, its bytes, its limiter and what leads it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from triage.capture.arrays import Floats, Indices, Masks
from triage.capture.capture import Capture
from triage.derive import View
from triage.diagnosis.diagnosis_result import Part
from triage.diagnosis.pass_facts import column, geometry
from triage.diagnosis.root_causes import Causes
from triage.reading.pass_tree import CALL, Pass, passes

DARK = 0.05  # house judgement: with more of a pass's time without its counter a sum does not stand for the pass
# counts that add up over the ranges of a pass
COUNTS = {
    "draws": "draw.count",
    "dispatches": "dispatch.count",
    "primitives_in": "prims.input",
    "primitives": "prims.rasterized",
    "vertices": "invocations.vs",
    "pixels": "pixels.shaded",
    "pixel_invocations": "invocations.ps",
    "compute_invocations": "invocations.cs",
    "read_bytes": "vram.bytes_read",
    "written_bytes": "vram.bytes_written",
}


@dataclass(frozen=True)
class Rollup:
    """One pass. counts: of COUNTS, None where unknown. cause: the leading one, a position in the vocabulary, -1 for none;
    saved_ns: what the leaders of its ranges would give back together."""

    part: int
    of: Pass
    calls: float
    counts: dict[str, float | None]
    pixels_per_primitive: float | None
    bytes_per_pixel: float | None
    least_bytes_per_pixel: float | None
    limiter: int
    cause: int
    saved_ns: float


def rollup(part: Part) -> list[Rollup]:
    """The passes of one capture in the order of the frame, with what they do; [] where it is no frame."""
    capture = part.capture
    found = passes(capture)
    if not found:
        return []
    view = View(capture)
    columns = {name: column(view, metric) for name, metric in COUNTS.items()}
    target, depth = column(view, "target.pixels"), column(view, "target.pixel_bytes")
    own, leaf = np.nan_to_num(capture.self_ns), capture.leaf
    prims, pixels = column(view, "prims.drawn"), column(view, "pixels.drawn")
    return [_one(part, p, columns, target, depth, own, leaf, geometry(p, prims, pixels, leaf)[1]) for p in found]


def _one(
    part: Part,
    p: Pass,
    columns: dict[str, Floats],
    target: Floats,
    depth: Floats,
    own: Floats,
    leaves: Masks,
    size_of_primitives: float,
) -> Rollup:
    c, rows = part.capture, p.rows
    leaf = rows[leaves[rows]]
    counts = {name: _sum(values, leaf, p, own) for name, values in columns.items()}
    calls = float(c.calls[leaf].sum())
    if counts["draws"] is None:
        counts["draws"] = _calls(c, leaf, "draw")
    if counts["dispatches"] is None:
        counts["dispatches"] = _calls(c, leaf, "compute")
    pixels = counts["pixels"] or counts["pixel_invocations"] or None
    primitives = counts["primitives"] or counts["primitives_in"] or None
    each = None
    if pixels and primitives:
        each = size_of_primitives if np.isfinite(size_of_primitives) else pixels / primitives
    moved = None
    if counts["read_bytes"] is not None and counts["written_bytes"] is not None:
        moved = counts["read_bytes"] + counts["written_bytes"]
    size = _middle(target, rows)
    area = size or pixels or counts["compute_invocations"] or None
    leaders = part.leaders
    saved = leaders.likely[rows] * own[rows]
    lead = _lead(leaders.cause[rows], saved)
    return Rollup(
        part.number,
        p,
        calls,
        counts,
        each,
        moved / area if moved is not None and area else None,
        _middle(depth, rows) if size else None,
        int(np.bincount(part.limiter[rows], own[rows]).argmax()),
        lead,
        float(saved.sum()),
    )


def _sum(values: Floats, leaf: Indices, p: Pass, own: Floats) -> float | None:
    """Sum over the ranges of a pass; the marker's own inclusive count where they have none; None where too little is known."""
    known = leaf[np.isfinite(values[leaf])]
    if len(known) and own[known].sum() >= (1 - DARK) * own[leaf].sum():
        return float(values[known].sum())
    if p.marker >= 0 and not p.rest and np.isfinite(values[p.marker]):
        return float(values[p.marker])
    return None


def _calls(c: Capture, leaf: Indices, kind: str) -> float | None:
    """Draws or dispatches that stand in the export as ranges of their own."""
    if not c.table.leaf_time and not any(CALL.match(str(n)) for n in c.names[leaf]):
        return None
    return float(c.calls[leaf][c.kinds[leaf] == kind].sum()) or None


def _middle(values: Floats, rows: Indices) -> float | None:
    known = values[rows][np.isfinite(values[rows])]
    return float(np.median(known)) if len(known) else None


def _lead(cause: Causes, saved: Floats) -> int:
    some = cause >= 0
    if not some.any():
        return -1
    sums = np.bincount(cause[some], weights=saved[some])
    return int(sums.argmax()) if sums.max() > 0 else int(cause[some][0])
