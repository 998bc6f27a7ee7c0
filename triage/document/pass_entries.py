"""The `passes` of the result: what every pass of a frame does, in the order of the frame."""

from __future__ import annotations

from collections.abc import Sequence

from triage.diagnosis.diagnosis_result import Diagnosis
from triage.document.bundle import MOST_PASSES, Entry
from triage.document.numbers import number
from triage.findings.pass_summary import COUNTS, Rollup, rollup
from triage.ground.limiters import CLASSES
from triage.ground.terminology import said


def entries(d: Diagnosis) -> list[Entry]:
    """Passes of all captures; [] for captures that are no frames."""
    return [entry for part in d.parts for entry in _listed(d, rollup(part))]


def _listed(d: Diagnosis, found: Sequence[Rollup]) -> list[Entry]:
    # one range after the other without markers around them are no passes of their own
    if len(found) < 2:
        return []
    longest = sorted(range(len(found)), key=lambda i: (-found[i].of.time_ns, i))[:MOST_PASSES]
    return [_entry(d, found[i]) for i in sorted(longest)]


def _entry(d: Diagnosis, r: Rollup) -> Entry:
    part = d.parts[r.part]
    total = part.capture.frame_ns
    return {
        "capture": part.capture.input.path,
        "name": r.of.levels[-1] if r.of.levels else "",
        "path": list(r.of.levels[:-1]),
        "rest": r.of.rest,
        "ranges": len(r.of.rows),
        "calls": number(r.calls, 3),
        "duration_ns": number(r.of.time_ns, 3),
        "share": number(r.of.time_ns / total) if total > 0 else None,
        **{name: None if (n := r.counts[name]) is None else number(n, 3) for name in COUNTS},
        "pixels_per_primitive": None if r.pixels_per_primitive is None else number(r.pixels_per_primitive, 4),
        "bytes_per_pixel": None if r.bytes_per_pixel is None else number(r.bytes_per_pixel, 4),
        "least_bytes_per_pixel": None if r.least_bytes_per_pixel is None else number(r.least_bytes_per_pixel, 4),
        "limiter_class": CLASSES[r.limiter],
        "cause": d.vocabulary.names[r.cause] if r.cause >= 0 else None,
        "title": said(d.book.cause(d.vocabulary.names[r.cause]).title) if r.cause >= 0 else None,
        "saved_ns": number(r.saved_ns, 1),
    }
