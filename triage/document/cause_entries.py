"""Causes in the result: what explains which finding, each workload's chain, the to-do list, what cannot be judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage import schema
from triage.derive import View
from triage.diagnosis.diagnosis_result import Diagnosis, Item
from triage.diagnosis.root_causes import Known
from triage.diagnosis.todo import todo
from triage.document.bundle import Entry
from triage.document.numbers import number
from triage.findings.evidence import at, held
from triage.findings.finding_types import Check, Finding, Origin
from triage.findings.identity import of_item, scope
from triage.findings.outcomes import Outcomes
from triage.ground.limiters import level
from triage.ground.terminology import said
from triage.inference.evaluate import Lookup
from triage.inference.rule_context import gpu_facts
from triage.rulebook.applies import holds
from triage.rulebook.cause import Cause


class Causes:
    """What led to what on the workloads that findings are about. outcomes: one per part, of what is shown.

    place: per part, the position of each of these workloads in what is known of them.
    """

    def __init__(self, d: Diagnosis, outcomes: Sequence[Outcomes], found: Sequence[Finding]) -> None:
        """found: what is listed, and what speaks for the items of the to-do lists."""
        self.d, self.names = d, d.vocabulary.names
        self.code = {name: i for i, name in enumerate(self.names)}
        self.place: list[dict[int, int]] = []
        self._among: list[Outcomes] = []
        for part, shown in zip(d.parts, outcomes, strict=True):
            rows = sorted({f.workload for f in found if f.part == part.number and f.workload >= 0})
            self.place.append({w: w if part.few else i for i, w in enumerate(rows)})
            same = part.few or rows == shown.rows.tolist()
            self._among.append(shown if same else Outcomes(d, part, np.array(rows, dtype=np.int64)))

    def _known(self, part: int) -> Known:
        return self.d.parts[part].known or self._among[part].causes

    def of(self, f: Finding) -> Entry:
        """cause, root and explained_by of a finding."""
        part = self.d.parts[f.part]
        code = self.code[f.rule.cause]
        known = part.whole if f.workload < 0 else self._known(f.part)
        row = known.rows.get(code)
        by = -1 if row is None else int(row.by[0 if f.workload < 0 else self.place[f.part][f.workload]])
        return {
            "cause": f.rule.cause,
            "root": by < 0 and not self.d.vocabulary.verdict[code],
            "explained_by": self.names[by] if by >= 0 else None,
        }

    def links(self, item: Item, f: Finding, found: Sequence[Finding]) -> list[Entry]:
        """The chain of an item's worst workload, root first, each cause with one number."""
        part, w = item.workloads[0]
        codes = [item.cause] if w < 0 or w not in self.place[part] else self._chain(part, w)
        best: dict[str, Finding] = {f.rule.cause: f}
        for x in found:  # findings come best first
            if (x.part, x.workload) == (part, w):
                best.setdefault(x.rule.cause, x)
        out = []
        for name in (self.names[c] for c in codes):
            # a yes or no is no number
            evidence = best[name].evidence if name in best else self._evidence(part, w, self.code[name])
            figure = next((e.said for e in evidence if e.op != "is" and not _flag(e.metric)), "")
            out.append({"cause": name, "title": said(self.d.book.cause(name).title), "number": figure})
        return out

    def _evidence(self, part: int, w: int, cause: int) -> list[Check]:
        """What a cause rests on where no finding of it is listed; cells are left out."""
        i, whole = self.place[part][w], self.d.parts[part]
        rule = self.d.book.rules[int(self._known(part).rows[cause].rule[i])]
        view = whole.view if whole.known else self._among[part].view

        def origin(metric: str) -> Origin:
            return Origin(metric, at(view[metric], i), schema.get(metric).unit)

        return held(rule, self.d.method, Lookup(rule, view, self.d.method), i, origin)

    def _chain(self, part: int, w: int) -> list[int]:
        leader = int(self.d.parts[part].leaders.cause[w])
        return self._known(part).chain(leader, self.place[part][w])

    def chain(self, part: int, w: int) -> list[str]:
        """Cause ids of a workload, its root first; consequences only where a finding is listed."""
        leader = int(self.d.parts[part].leaders.cause[w])
        if leader < 0:
            return []
        if w not in self.place[part]:
            return [self.names[leader]]
        return [self.names[c] for c in self._chain(part, w)]


def groups(d: Diagnosis) -> list[tuple[str, list[int], list[Item]]]:
    """(scope, numbers of its parts, its items): first all parts together, then each scope by itself."""
    parts: dict[str, list[int]] = {}
    for part in d.parts:
        parts.setdefault(scope(part.capture), []).append(part.number)
    together = next(iter(parts), "") if len(parts) == 1 else ""
    out = [(together, [p.number for p in d.parts], d.items)]
    if len(parts) > 1:
        out += [(name, mine, todo([d.parts[p] for p in mine], d.vocabulary)) for name, mine in parts.items()]
    return out


def todo_lists(
    d: Diagnosis, found: Sequence[Finding], speak: Sequence[Finding], causes: Causes
) -> list[tuple[str, list[int], list[Entry]]]:
    """The to-do list of all captures together, cut to --top, then that of each scope, whole."""
    out, said = [], iter(speak)
    for place, (name, mine, items) in enumerate(groups(d)):
        total = float(sum(d.parts[p].capture.frame_ns for p in mine))
        entries = [_entry(d, n, i, next(said), found, total, name, causes) for n, i in enumerate(items, 1)]
        out.append((name, [p + 1 for p in mine], entries[: d.top] if place == 0 else entries))
    return out if len(out) > 1 else [*out, *out]


def _entry(
    d: Diagnosis, rank: int, item: Item, f: Finding, found: Sequence[Finding], total: float, scope: str, causes: Causes
) -> Entry:
    cause = d.book.cause(d.vocabulary.names[item.cause])
    share = item.saved_ns / total if total > 0 and item.saved_ns == item.saved_ns else None
    advice = list(dict.fromkeys((*f.advice, *general(cause, d.parts[f.part].view))))
    ids = [d.parts[p].workload_id(w, d.many) for p, w in item.workloads]
    mine = set(item.workloads)
    return {
        "rank": rank,
        "cause": cause.id,
        "title": said(cause.title),
        "level": level(item.fraction if share is None else share, f.confidence, f.gain.scope if f.gain else "workload"),
        "confidence": f.confidence,
        "saved_ns": number(item.saved_ns, 1),
        "share": None if share is None else number(share),
        "low_ns": number(item.low_ns, 1),
        "bound_ns": number(item.bound_ns, 1),
        "alone_ns": number(item.alone_ns, 1),
        "fraction": number(item.fraction),
        "scope": "frame" if item.whole else "workloads",
        "workload_count": item.count,
        "workloads": ids,
        "names": ["frame" if w < 0 else str(d.parts[p].capture.names[w]) for p, w in item.workloads],
        "chain": causes.links(item, f, found),
        "message": f.message,
        "action": advice[0] if advice else said(cause.meaning),
        "advice": advice,
        "code": [{"language": language, "text": text} for language, text in f.code],
        "verify": said(f.rule.verify) or None,
        "caveats": list(f.caveats),
        "cites": [{"text": c.text, "url": c.url or None} for c in f.cites],
        "rule": f.rule.id,
        "rules": [d.book.rules[r].id for r in sorted(item.rules)],
        "findings": [x.rank for x in found if x.rule.cause == cause.id and (x.part, x.workload) in mine],
        "fingerprint": of_item(cause.id, scope),
    }


def known_causes(d: Diagnosis, spoke: set[str]) -> dict[str, Entry]:
    """The causes a report speaks of, by id: meaning, what brings them about and what they bring about, look-alikes."""
    out: dict[str, Entry] = {}
    for name in sorted(spoke - {""}):
        c = d.book.cause(name)
        out[name] = {
            "id": c.id,
            "title": said(c.title),
            "meaning": said(c.meaning),
            "explains": [said(d.book.cause(e.cause).title) for e in c.explains],
            "confused_with": [
                {"title": said(d.book.cause(x.cause).title), "how": said(x.how)} for x in c.confused_with
            ],
            "rules": sorted(r.id for r in d.book.rules if r.cause == name),
            "cites": [{"text": x.text, "url": x.url or None} for x in c.cites],
        }
    return out


def _flag(metric: str) -> bool:
    """Does a metric say what something is, and not how much of it there is?"""
    return schema.known(metric) and schema.get(metric).is_flag


def general(cause: Cause, view: View) -> list[str]:
    """A cause's advice for the GPU and API at hand; what holds everywhere comes first."""
    return [said(a.text) for a in cause.advice if holds(a.where, gpu_facts(view))]


def _sides(view: View) -> list[str]:
    """What tells the limiter and is not there; VRAM stands for the memory system where the tool has no SOL of it."""
    sides = ("memory.throughput", "sm.throughput", "vram.bandwidth")
    return [m for m in sides if not np.isfinite(view[m]).any()] or list(sides)


def unjudged(d: Diagnosis, outcomes: Sequence[Outcomes]) -> Entry:
    """Time of workloads of which nothing can be said, and the one command that would judge most of it."""
    dark = [float(np.nan_to_num(part.capture.self_ns)[~part.judged].sum()) for part in d.parts]
    most = int(np.argmax(dark))
    ask = outcomes[most].collect(_sides(outcomes[most].view)) if dark[most] else ""
    return {"unjudged_ns": number(sum(dark), 3), "unjudged_collect": ask or None, "collect_all": _at_once(outcomes)}


def _at_once(outcomes: Sequence[Outcomes]) -> str | None:
    """One command for all blind spots, None where there is one step only, several captures, or a tool without commands."""
    if len(outcomes) != 1 or outcomes[0].capture.collect is None:
        return None
    spots = outcomes[0].blind_spots
    if len({s.collect for s in spots}) < 2:
        return None
    return outcomes[0].collect(sorted({m for s in spots for m in s.missing}))
