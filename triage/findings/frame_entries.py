"""Captures, totals and data quality as entries of the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.arrays import distinct
from triage.capture.capture import FIRST
from triage.capture.frame_spread import MANY, slowest
from triage.diagnosis.diagnosis_result import Diagnosis, Part
from triage.diagnosis.outcomes import Outcomes
from triage.diagnosis.verdicts import NOT_DIAGNOSED, deciding
from triage.dialects.frames.pacing import STUTTER
from triage.document.capture_entries import FramesEntry
from triage.document.entries import VERDICT_CLASSES, CaptureEntry, FrameEntry, LimiterEntry, QualityEntry
from triage.document.headline import shorten_middle
from triage.document.numbers import number, numbers
from triage.findings.timeline_entries import kernels, operators, ranks, steps, timelines
from triage.ground.limiters import CLASSES


def capture(part: Part, many: bool) -> CaptureEntry:
    """One input. many: among several."""
    c = part.capture
    entry: CaptureEntry = {
        "path": c.input.path,
        "sha256": c.sha256,
        "dialect": c.input.dialect,
        "device": c.device_name or None,
        "rows": c.input.rows,
        "workloads": len(c),
        "frames": _frames(part, many),
        "unmapped": list(c.table.unmapped),
        "notes": list(c.notes),
    }
    rows = c.table.accounted
    if rows and (rows.file != rows.read or rows.untimed):
        entry["accounted"] = rows._asdict()
    if c.table.isolated:
        entry["isolated"] = True
    span, lanes = c.table.queues
    if lanes:
        entry["queue_span_ns"] = number(span, 3)
        entry["queues"] = [
            {
                "name": lane.name,
                "busy_ns": number(lane.busy, 3),
                "beside_ns": number(max(lane.beside, 0.0), 3),
                "waits_ns": number(max(lane.waits, 0.0), 3),
                "parts": lane.parts,
            }
            for lane in lanes
        ]
    return entry


def _frames(part: Part, many: bool) -> FramesEntry | None:
    """How many frames a capture holds, what they take, and the markers that vary most; null for one frame."""
    c = part.capture
    if c.frames is None:
        return None
    p99, low = slowest(c.frames)
    return {
        "count": len(c.frames),
        "median_ns": number(float(np.median(c.frames)), 3),
        "p99_ns": number(p99, 3),
        "longest_ns": number(float(c.frames.max()), 3),
        "stutter": number(float((c.frames > STUTTER * np.median(c.frames)).mean())),
        "low_1_ns": number(low, 3) if len(c.frames) >= MANY else None,
        "markers": [
            {
                "workload": part.workload_id(s.workload, many),
                "name": str(c.names[s.workload]),
                "median_ns": number(s.median, 3),
                "p99_ns": number(s.p99, 3),
                "low_1_ns": number(s.low, 3),
                "worst_ns": number(s.worst, 3),
                "worst_frame": s.worst_frame,
            }
            for s in c.spreads
        ],
    }


def frame(d: Diagnosis, outcomes: Sequence[Outcomes]) -> FrameEntry:
    """Totals: time, recoverable time, self time by limiter class, findings, the command that diagnoses most of the rest."""
    low, likely, bound = d.recoverable_ns
    total = d.frame_ns
    dark = [float(np.nan_to_num(part.capture.self_ns)[~part.judged].sum()) for part in d.parts]
    return {
        "duration_ns": number(total, 3) if total > 0 else None,
        "workloads": sum(len(p.capture) for p in d.parts),
        "recoverable_ns": number(likely, 3),
        "recoverable_low_ns": number(low, 3),
        "recoverable_bound_ns": number(bound, 3),
        # between the work of a timeline lies idle time, which has its causes
        "uncovered_ns": number(sum(p.capture.uncovered_ns for p in d.parts if p.capture.timeline is None), 3),
        "limiters": _limiters(d),
        "findings_total": d.total,
        "findings_listed": len(d.order),
        "notes": [
            *_banners(d),
            *dict.fromkeys(q.message for p in d.parts for q in p.capture.quality if q.check in FIRST),
            *dict.fromkeys(p.capture.selection for p in d.parts if p.capture.selection),
            *d.notes,
        ],
        "time_by_verdict": _time_by_verdict(d),
        "unjudged_ns": number(sum(dark), 3),
        "unjudged_collect": _deciding(d, outcomes),
        "collect_all": _at_once(outcomes),
        "timeline": timelines(d.parts),
        "kernels": kernels(d.parts),
        "operators": operators(d.parts),
        "steps": steps(d.parts),
        "ranks": ranks(d.parts),
    }


def _banners(d: Diagnosis) -> list[str]:
    """What causes with a banner say of their workloads, above the list: `sgemm_naive and 2 more: looks like a debug build ...`."""
    out = []
    for code, name in enumerate(d.cause_index.names):
        banner = d.book.cause(name).banner
        if not banner:
            continue
        rules = np.flatnonzero(d.cause_index.of_rule == code)
        seen: list[str] = []
        for part in d.parts:
            where = distinct(part.firings.workload[np.isin(part.firings.rule, rules)])
            seen += [str(part.capture.names[w]) for w in where if w >= 0]
        if seen:
            more = f" and {len(seen) - 1:,} more" if len(seen) > 1 else ""
            out.append(f"{shorten_middle(seen[0], 60)}{more}: {banner}")
    return out


def _limiters(d: Diagnosis) -> list[LimiterEntry]:
    """Self time by limiter class, longest first."""
    times: dict[str, float] = {}
    for part in d.parts:
        own = np.nan_to_num(part.capture.self_ns)
        seen, time = np.bincount(part.limiter), np.bincount(part.limiter, own)
        for code in np.flatnonzero(seen):
            name = CLASSES[int(code)]
            times[name] = times.get(name, 0.0) + float(time[code])
    total = d.frame_ns
    return [
        {"limiter_class": name, "self_ns": number(ns, 3), "share": number(ns / total) if total > 0 else None}
        for name, ns in sorted(times.items(), key=lambda kv: (-kv[1], kv[0]))
    ]


def _time_by_verdict(d: Diagnosis) -> dict[str, float | None]:
    """Self time by verdict; the sums add up to that of all workloads."""
    times = np.zeros(len(VERDICT_CLASSES))
    for part in d.parts:
        times += np.bincount(part.verdict, np.nan_to_num(part.capture.self_ns), len(VERDICT_CLASSES))
    return dict(zip(VERDICT_CLASSES, numbers(times, 3), strict=True))


def _deciding(d: Diagnosis, outcomes: Sequence[Outcomes]) -> str | None:
    """The command for what most of the time that is not diagnosed lacks; null where nothing that decides is missing."""
    dark = [float(np.nan_to_num(p.capture.self_ns)[p.verdict == NOT_DIAGNOSED].sum()) for p in d.parts]
    most = int(np.argmax(dark))
    ask = (
        deciding(outcomes[most].view, d.parts[most].verdict[outcomes[most].rows] == NOT_DIAGNOSED) if dark[most] else []
    )
    return outcomes[most].collect(ask) or None if ask else None


def _at_once(outcomes: Sequence[Outcomes]) -> str | None:
    """One command for all blind spots, None where there is one step only, several tools or GPUs, or a tool without commands."""
    first, *others = [o.capture for o in outcomes]
    alike = all(c.input.dialect == first.input.dialect and c.device == first.device for c in others)
    if not alike or first.collect is None:
        return None
    spots = [s for o in outcomes for s in o.blind_spots if s.collect]
    if len({s.collect for s in spots}) < 2:
        return None
    return outcomes[0].collect(sorted({m for s in spots for m in s.missing}))


def quality(d: Diagnosis) -> list[QualityEntry]:
    """Notes on the data of all captures."""
    out: list[QualityEntry] = []
    for part in d.parts:
        c = part.capture
        owners = c.owners([max(q.row, 0) for q in c.quality])
        for q, owner in zip(c.quality, owners, strict=True):
            w = int(owner) if q.row >= 0 else -1
            out.append(
                {"check": q.check, "workload": part.workload_id(w, d.many) if w >= 0 else None, "message": q.message}
            )
    return out
