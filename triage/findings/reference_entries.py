"""The rules and causes that a report names, as the pages behind its links show them."""

from __future__ import annotations

from collections.abc import Set

from triage.diagnosis.diagnosis_result import Diagnosis
from triage.document.page_entries import CauseEntry, RuleEntry, ThresholdEntry
from triage.findings.shown_findings import cite
from triage.ground.terminology import localize
from triage.ground.units import display
from triage.rulebook.rule import Rule


def rules(d: Diagnosis, ids: Set[str]) -> dict[str, RuleEntry]:
    """Rules by id, with their thresholds in force."""
    return {r.id: _rule(r, d.method) for r in sorted(d.book.rules, key=lambda r: r.id) if r.id in ids}


def _rule(r: Rule, method: str) -> RuleEntry:
    cites = {c.key: c.text for c in r.cites}
    limits: list[ThresholdEntry] = []
    for t in r.thresholds.values():
        value, unit = display(r.threshold(t.name, method), t.unit)
        why = localize(t.why) or cites.get(t.cite, "")
        limits.append(
            {"name": t.name.replace("_", " "), "value": value, "unit": unit, "why": why, "heuristic": not t.cite}
        )
    return {
        "id": r.id,
        "name": r.name,
        "title": localize(r.title),
        "summary": localize(r.summary or r.title),
        "gain": localize(r.gain.because) if r.gain else "",
        "thresholds": limits,
        "cites": [cite(c) for c in r.cites],
    }


def causes(d: Diagnosis, ids: Set[str]) -> dict[str, CauseEntry]:
    """Causes by id: meaning, effects, look-alikes."""
    out: dict[str, CauseEntry] = {}
    for name in sorted(ids - {""}):
        c = d.book.cause(name)
        out[name] = {
            "id": c.id,
            "title": localize(c.title),
            "meaning": localize(c.meaning),
            "explains": [localize(d.book.cause(e.cause).title) for e in c.explains],
            "confused_with": [
                {"title": localize(d.book.cause(x.cause).title), "how": localize(x.how)} for x in c.confused_with
            ],
            "rules": sorted(r.id for r in d.book.rules if r.cause == name),
            "cites": [cite(x) for x in c.cites],
        }
    return out
