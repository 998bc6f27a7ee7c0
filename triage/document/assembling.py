"""Diagnosis -> Bundle: everything fetched, every cell read back and every error raised here, before anything is written.

No timestamps, no paths beyond what the user typed: the same input gives the same bytes. Numbers that are not known
are null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from triage import dialects
from triage.capture.capture import SEP, Capture
from triage.capture.location import Location
from triage.diagnosis.diagnosis_result import Diagnosis, Part
from triage.document import pass_entries
from triage.document.bundle import SCHEMA, Bundle, Entry
from triage.document.cause_entries import Causes, groups, known_causes, todo_lists, unjudged
from triage.document.decision_paths import Ways
from triage.document.numbers import number
from triage.document.timeline_entries import kernels, timelines
from triage.document.workloads import Workloads
from triage.findings.finding_types import Check, Finding, Origin
from triage.findings.outcomes import Outcomes
from triage.findings.reasons import ruled_out
from triage.findings.roofline import Roofline, placed, roofline
from triage.findings.shown_findings import findings
from triage.ground.limiters import CLASSES
from triage.ground.terminology import names_of, said, speaking
from triage.ground.units import display
from triage.inference.rule_context import gpu_facts
from triage.rulebook.rule import Cite, Rule

Made: TypeAlias = tuple[list[Finding], list[Finding]]  # (listed, spokesmen of the items)


def bundle(d: Diagnosis, found: Made | None = None, *, ways: bool = True) -> Bundle:
    """The hand-over to the renderers. found: the findings, where they are made already.

    ways: also the way of each workload through the method's tree and its roofline; formats that show neither leave them
    away, which matters from 100,000 workloads on. Raises BadCapture when an input changed since it was read.
    """
    with speaking(names=whose(d)):
        return _bundle(d, *(found or made(d)), ways)


def whose(d: Diagnosis) -> tuple[str, ...]:
    """Whose words fit all captures (voice.Voice.names); empty where their GPUs are of several vendors."""
    found = {names_of(gpu_facts(p.view)) for p in d.parts}
    return found.pop() if len(found) == 1 else ()


def _item(d: Diagnosis) -> str:
    """What a row of all captures is called: as their dialects say, and a kernel in tables of people's own that hold nothing else."""
    named = dialects.noun(p.capture.input.dialect for p in d.parts)
    return "kernel" if named == "marker" and all(gpu_facts(p.view).get("work") == "compute" for p in d.parts) else named


def _bundle(d: Diagnosis, objects: list[Finding], speak: list[Finding], ways: bool) -> Bundle:
    outcomes = [Outcomes(d, part) for part in d.parts]
    causes = Causes(d, outcomes, [*objects, *speak])
    lists = todo_lists(d, objects, speak, causes)
    listed = [_finding(f, causes) for f in objects]
    excluded = _ruled_out(outcomes)
    blind_spots = _blind_spots(d, outcomes)
    head = {
        "schema": SCHEMA,
        "tool": {"name": "sol-triage", "version": d.version, "rules_sha256": d.book.sha256, "method": d.method},
        "captures": [_capture(part) for part in d.parts],
        "frame": {**_frame(d), **unjudged(d, outcomes), "timeline": timelines(d.parts), "kernels": kernels(d.parts)},
    }
    return Bundle(
        head=head,
        workloads=Workloads(d, outcomes, objects, causes),
        findings=listed,
        todo=lists[0][2],
        scopes=lists[1:],
        passes=pass_entries.entries(d),
        ruled_out=excluded,
        blind_spots=blind_spots,
        quality=_quality(d),
        rows=[_row(f, d) for f in objects],
        ways=Ways(d, outcomes) if ways else None,
        rooflines=_rooflines(outcomes) if ways else {},
        rules=_rules(d, {r["rule"] for r in (*listed, *excluded)}),
        causes=known_causes(d, {f["cause"] for f in listed} | {i["cause"] for i in lists[0][2]}),
        chosen=d.top is not None,
        item=_item(d),
        whose=whose(d),
    )


def made(d: Diagnosis) -> Made:
    """Findings, and those that speak for items of the to-do lists: of all captures, and of each scope alone."""
    return findings(d, [i for _, _, items in groups(d) for i in items])


def _rooflines(outcomes: Sequence[Outcomes]) -> dict[str, Roofline]:
    known = ((o.ids[int(o.rows[i])], roofline(o.view, i)) for o in outcomes for i in placed(o.view).tolist())
    return {name: roof for name, roof in known if roof is not None}


def _rules(d: Diagnosis, spoke: set[str]) -> dict[str, Entry]:
    """The rules that spoke or were ruled out, by id: what `triage explain` says of them, with the limits in force."""
    return {r.id: _rule(r, d.method) for r in sorted(d.book.rules, key=lambda r: r.id) if r.id in spoke}


def _rule(r: Rule, method: str) -> Entry:
    cites = {c.key: c.text for c in r.cites}
    limits = []
    for t in r.thresholds.values():
        value, unit = display(r.threshold(t.name, method), t.unit)
        why = said(t.why) or cites.get(t.cite, "")
        limits.append({"name": t.name.replace("_", " "), "value": value, "unit": unit, "why": why, "house": not t.cite})
    return {
        "id": r.id,
        "name": r.name,
        "title": said(r.title),
        "summary": said(r.summary or r.title),
        "thresholds": limits,
        "cites": [cite(c) for c in r.cites],
    }


def _row(f: Finding, d: Diagnosis) -> list[str | int | float | None]:
    """One finding under tables.COLUMNS."""
    part, g = d.parts[f.part], f.gain
    c, w = part.capture, f.workload
    path = "" if w < 0 else str(c.paths[w]).replace(SEP, "/")
    saved = None if g is None or g.saved_ns != g.saved_ns else round(g.saved_ns / 1e6, 6)
    return [
        f.rank,
        c.input.path,
        f.workload_id,
        path,
        f.workload_name,
        "" if w < 0 else CLASSES[int(part.limiter[w])],
        f.rule.id,
        f.rule.name,
        said(f.rule.title),
        f.level,
        f.confidence,
        saved,
        g.fraction if g else None,
        g.share if g else None,
        g.speedup if g else None,
        f.message,
        "; ".join(e.why for e in f.evidence),
        f.advice[0] if f.advice else "",
        f.fingerprint,
    ]


def _capture(part: Part) -> Entry:
    c = part.capture
    return {
        "path": c.input.path,
        "sha256": c.sha256,
        "dialect": c.input.dialect,
        "device": c.device.name if c.device else (c.table.device or None),
        "rows": c.input.rows,
        "workloads": len(c),
        "frames": _frames(c),
        "unmapped": list(c.table.unmapped),
        "notes": list(c.notes),
    }


def _frames(c: Capture) -> Entry | None:
    """How many frames a capture holds and what they take; null for one."""
    if c.frames is None:
        return None
    return {
        "count": len(c.frames),
        "median_ns": number(float(np.median(c.frames)), 3),
        "longest_ns": number(float(c.frames.max()), 3),
    }


def _frame(d: Diagnosis) -> Entry:
    """Totals: time, recoverable time, shares by limiter, what was listed and what only counted."""
    low, likely, bound = d.recoverable_ns
    shares: dict[str, float] = {}
    for part in d.parts:
        own = np.nan_to_num(part.capture.self_ns)
        seen, time = np.bincount(part.limiter), np.bincount(part.limiter, own)
        for code in np.flatnonzero(seen):
            name = CLASSES[int(code)]
            shares[name] = shares.get(name, 0.0) + float(time[code])
    total = d.frame_ns
    return {
        "duration_ns": number(total, 3) if total > 0 else None,
        "workloads": sum(len(p.capture) for p in d.parts),
        "recoverable_ns": number(likely, 3),
        "recoverable_low_ns": number(low, 3),
        "recoverable_bound_ns": number(bound, 3),
        # between the work of a timeline lies idle time, which has its causes
        "uncovered_ns": number(sum(p.capture.uncovered_ns for p in d.parts if p.capture.timeline is None), 3),
        "limiters": [
            {"limiter_class": name, "self_ns": number(ns, 3), "share": number(ns / total) if total > 0 else None}
            for name, ns in sorted(shares.items(), key=lambda kv: (-kv[1], kv[0]))
        ],
        "findings_total": d.total,
        "findings_listed": len(d.order),
        "notes": list(d.notes),
    }


def _finding(f: Finding, causes: Causes) -> Entry:
    """One finding as the contract has it."""
    g = f.gain
    return {
        "rank": f.rank,
        "rule": f.rule.id,
        "name": f.rule.name,
        "title": said(f.rule.title),
        "workload": f.workload_id,
        "level": f.level,
        "confidence": f.confidence,
        "message": f.message,
        "gain": None
        if g is None
        else {
            "fraction": g.fraction,
            "saved_ns": number(g.saved_ns, 1),
            "share": g.share,
            "speedup": g.speedup,
            "low": g.low,
            "bound": g.bound,
            "of": g.scope,
        },
        "because": list(f.because),
        "evidence": [_evidence(c) for c in f.evidence],
        "advice": list(f.advice),
        "code": [{"language": language, "text": text} for language, text in f.code],
        "verify": said(f.rule.verify) or None,
        "caveats": list(f.caveats),
        "cites": [cite(c) for c in f.cites],
        **causes.of(f),
        "locations": [location(place) for place in f.locations],
        "fingerprint": f.fingerprint,
    }


def location(place: Location) -> Entry:
    """A line or an instruction; null where the code carries no line information, or nothing is known."""
    return {
        "file": place.file or None,
        "line": place.line or None,
        "function": place.function,
        "offset": place.offset,
        "pc": place.pc,
        "instructions": place.instructions,
        "share": number(place.share),
        "what": place.what,
        "metric": place.metric,
        "value": number(place.value),
        "access": place.access or None,
        "reason": place.reason or None,
        "reason_share": number(place.reason_share) if place.reason else None,
        "excess": number(place.excess) if place.excess else None,
        "source": place.source or None,
        "result": place.record,
    }


def cite(c: Cite) -> Entry:
    """A source."""
    return {"text": c.text, "url": c.url or None}


def _evidence(c: Check) -> Entry:
    """A comparison and where its value comes from."""
    return {
        "metric": c.metric,
        "value": number(c.value),
        "unit": c.unit,
        "op": c.op,
        "threshold": None if c.threshold is None else number(c.threshold),
        "margin": None if c.margin is None else number(c.margin),
        "source": origin(c.source),
    }


def origin(o: Origin) -> Entry:
    """A cell as exported, or a formula over such cells."""
    if not o.formula:
        cell = {"file": o.file, "line": o.line, "column": o.column, "text": o.text}
        return cell if o.record == "line" else {**cell, "record": o.record}
    inputs = []
    for i in o.inputs:
        value, unit = display(i.value, i.unit)
        inputs.append({"metric": i.metric, "value": number(value), "unit": unit, "source": origin(i)})
    return {"formula": said(o.formula), "inputs": inputs}


def _ruled_out(outcomes: Sequence[Outcomes]) -> list[Entry]:
    return [{"rule": r, "workload": o.ids[w], "why": why} for o in outcomes for r, w, why in ruled_out(o)]


def _blind_spots(d: Diagnosis, outcomes: Sequence[Outcomes]) -> list[Entry]:
    """Blind spots of all captures; `workloads` names the first, `count` is all."""
    of = {r.id: r.cause for r in d.book.rules}
    return [
        {
            "missing": list(s.missing),
            "rules": list(s.rules),
            "causes": sorted({of[r] for r in s.rules if of[r]}),
            "workloads": [o.ids[w] for w in s.workloads],
            "count": s.count,
            "collect": s.collect,
        }
        for o in outcomes
        for s in o.blind_spots
    ]


def _quality(d: Diagnosis) -> list[Entry]:
    out = []
    for part in d.parts:
        c = part.capture
        owners = c.owners([max(q.row, 0) for q in c.quality])
        for q, owner in zip(c.quality, owners, strict=True):
            w = int(owner) if q.row >= 0 else -1
            out.append(
                {"check": q.check, "workload": part.workload_id(w, d.many) if w >= 0 else None, "message": q.message}
            )
    return out
