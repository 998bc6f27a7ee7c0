"""The `passes` of the result: what every pass of a frame does - its work, bytes, limiter, root cause - in the order of the frame."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Floats, Indices, Masks
from triage.capture.capture import Capture, Pass
from triage.derive import View
from triage.diagnosis.diagnosis_result import Diagnosis, Part
from triage.diagnosis.pass_facts import geometry
from triage.diagnosis.root_causes import Causes
from triage.document.bundle import MAX_PASSES
from triage.document.entries import PassEntry
from triage.document.numbers import number
from triage.ground.limiters import CLASSES
from triage.ground.phrasing import lower_first
from triage.ground.pixel_formats import pixel_bytes
from triage.ground.terminology import localize
from triage.reading.pass_tree import CALL
from triage.reading.pixel_account import Account, accounts, column

MAX_UNMEASURED_SHARE = 0.05  # heuristic: with more of a pass's time without its counter a sum is no sum of the pass
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
INTERFACE = {"vram.bytes_read": "gti.bytes_read", "vram.bytes_written": "gti.bytes_written"}


def entries(d: Diagnosis) -> list[PassEntry]:
    """The longest passes of all captures; [] for captures that are no frames."""
    return [entry for part in d.parts for entry in _entries(d, part)]


def _entries(d: Diagnosis, part: Part) -> list[PassEntry]:
    found = part.capture.passes
    # one range after the other without markers around them are no passes of their own
    if len(found) < 2:
        return []
    columns = _Columns.read(d, part)
    book = accounts(part.capture, found, View(part.capture))
    longest = sorted(range(len(found)), key=lambda i: (-found[i].time_ns, i))[:MAX_PASSES]
    return [_entry(d, part, found[i], columns, book[i]) for i in sorted(longest)]


class _Columns(Struct, frozen=True):
    """Metrics over all workloads of a capture; NaN where missing. counts: of COUNTS. target: pixels; depth: bytes per pixel.

    cause: the one that a workload's time counts for, -1 for none; saved: by its fix, in ns.
    """

    counts: dict[str, Floats]
    target: Floats
    depth: Floats
    prims: Floats
    drawn: Floats
    own: Floats
    leaf: Masks
    cause: Causes
    saved: Floats

    @classmethod
    def read(cls, d: Diagnosis, part: Part) -> _Columns:
        capture, view = part.capture, View(part.capture)
        return cls(
            {name: _counted(view, metric) for name, metric in COUNTS.items()},
            column(view, "target.pixels"),
            column(view, "target.pixel_bytes"),
            column(view, "prims.drawn"),
            column(view, "pixels.drawn"),
            np.nan_to_num(capture.self_ns),
            capture.leaf,
            part.roots,
            np.nan_to_num(d.saved_ns(part)),
        )


def _counted(view: View, metric: str) -> Floats:
    """A count of every workload; bytes over Intel's memory interface where those of the memory were not counted."""
    values = column(view, metric)
    return np.where(np.isnan(values), column(view, INTERFACE[metric]), values) if metric in INTERFACE else values


def _entry(d: Diagnosis, part: Part, p: Pass, columns: _Columns, account: Account) -> PassEntry:
    c, rows, own = part.capture, p.rows, columns.own
    leaf = rows[columns.leaf[rows]]
    counts = _counts(c, p, leaf, columns)
    pixels = counts["pixels"] or counts["pixel_invocations"] or None
    stated = _median(columns.target, rows)
    size = stated or (account.target if pixels else None)
    area = size or pixels or counts["compute_invocations"] or None
    read, written = counts["read_bytes"], counts["written_bytes"]
    moved = None if read is None or written is None else read + written
    # a cause of the pass itself saves beside those of its ranges
    mine = rows if p.rest or p.marker < 0 else np.union1d(rows, [p.marker])
    names = [d.cause_index.names[k] for k in _leading(columns.cause[mine], columns.saved[mine])]
    titles = [localize(d.book.cause(name).title) for name in names]
    return {
        "capture": c.input.path,
        "name": p.levels[-1] if p.levels else "",
        "path": list(p.levels[:-1]),
        "rest": p.rest,
        "ranges": len(rows),
        "calls": number(float(c.calls[leaf].sum()), 3),
        "duration_ns": number(p.time_ns, 3),
        "share": number(p.time_ns / d.frame_ns) if c.frame_ns > 0 else None,
        "draws": _known(counts["draws"], 3),
        "dispatches": _known(counts["dispatches"], 3),
        "primitives_in": _known(counts["primitives_in"], 3),
        "primitives": _known(counts["primitives"], 3),
        "vertices": _known(counts["vertices"], 3),
        "pixels": _known(counts["pixels"], 3),
        "pixel_invocations": _known(counts["pixel_invocations"], 3),
        "compute_invocations": _known(counts["compute_invocations"], 3),
        "read_bytes": _known(read, 3),
        "written_bytes": _known(written, 3),
        "pixels_per_primitive": _known(
            None if account.survivors else _pixels_per_primitive(p, counts, pixels, columns), 4
        ),
        "bytes_per_pixel": _known(moved / area if moved is not None and area else None, 4),
        "least_bytes_per_pixel": _known(_least_bytes(p, columns, stated), 4),
        "target_pixels": _known(account.target if account.shaded else None, 3),
        "layers": _known(account.shaded, 4),
        "layers_passed": _known(account.passed, 4),
        "thrown_away": _known(account.thrown, 4),
        "limiter_class": CLASSES[int(np.bincount(part.limiter[rows], own[rows]).argmax())],
        "cause": names[0] if names else None,
        "title": ", ".join([*titles[:1], *map(lower_first, titles[1:])]) or None,
        "saved_ns": number(float(columns.saved[mine].sum()), 1),
    }


def _known(value: float | None, digits: int) -> float | None:
    return None if value is None else number(value, digits)


def _counts(c: Capture, p: Pass, leaf: Indices, columns: _Columns) -> dict[str, float | None]:
    """Counts of a pass, None where unknown; draws and dispatches also from ranges that are one each."""
    inside = np.flatnonzero(c.parent == p.marker) if p.rest and p.marker >= 0 else leaf[:0]
    timed = inside[c.duration_ns[inside] > 0]
    counts = {name: _sum(values, leaf, p, columns.own, inside, timed) for name, values in columns.counts.items()}
    for name, kind in (("draws", "draw"), ("dispatches", "compute")):
        if counts[name] is None:
            counts[name] = _calls(c, leaf, kind)
    return counts


def _pixels_per_primitive(
    p: Pass, counts: dict[str, float | None], pixels: float | None, columns: _Columns
) -> float | None:
    """As drawn where both were counted there, else pixels over rasterised primitives."""
    primitives = counts["primitives"] or counts["primitives_in"] or None
    if not pixels or not primitives:
        return None
    size = geometry(p, columns.prims, columns.drawn, columns.leaf)[1]
    return size if np.isfinite(size) else pixels / primitives


def _sum(values: Floats, leaf: Indices, p: Pass, own: Floats, inside: Indices, timed: Indices) -> float | None:
    """Sum over the ranges of a pass; the marker's inclusive count where they have none; None where too little is known.

    inside: the markers in the wrapper that a rest belongs to; timed: those of them that take time.
    """
    known = leaf[np.isfinite(values[leaf])]
    if len(known) and own[known].sum() >= (1 - MAX_UNMEASURED_SHARE) * own[leaf].sum():
        return float(values[known].sum())
    if p.marker < 0 or not np.isfinite(values[p.marker]):
        return None
    if not p.rest:
        return float(values[p.marker])
    # what the wrapper states, without what the markers in it state; unknown where one that takes time states nothing
    stated = values[inside]
    if np.isnan(stated).all() or np.isnan(values[timed]).any():
        return None
    return float(values[p.marker] - np.nansum(stated)) or None


def _calls(c: Capture, leaf: Indices, kind: str) -> float | None:
    """Draws or dispatches that stand in the export as ranges of their own."""
    if not c.table.leaf_time and not any(CALL.match(str(n)) for n in c.names[leaf]):
        return None
    return float(c.calls[leaf][c.kinds[leaf] == kind].sum()) or None


def _median(values: Floats, rows: Indices) -> float | None:
    known = values[rows][np.isfinite(values[rows])]
    return float(np.median(known)) if len(known) else None


def _least_bytes(p: Pass, columns: _Columns, stated: float | None) -> float | None:
    """Bytes that a pixel takes where each target is written once: as exported, else by the formats in the pass's names."""
    if stated and (exported := _median(columns.depth, p.rows)) is not None:
        return exported
    return next((found for level in reversed(p.levels) if (found := pixel_bytes(level)) is not None), None)


def _leading(cause: Causes, saved: Floats) -> list[int]:
    """Causes that save time, the largest first; the first of all where none does."""
    some = cause >= 0
    if not some.any():
        return []
    sums = np.bincount(cause[some], weights=saved[some])
    return sorted(np.flatnonzero(sums > 0).tolist(), key=lambda k: -sums[k]) or [int(cause[some][0])]
