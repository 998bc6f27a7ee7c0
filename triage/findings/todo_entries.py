"""The to-do list as entries of the result: of all captures together, and of each thing that was captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from triage.derive import View
from triage.diagnosis.diagnosis_result import Diagnosis, Item
from triage.diagnosis.ranking import untimed_share
from triage.diagnosis.shared_savings import hidden_by
from triage.diagnosis.todo import todo
from triage.diagnosis.verdicts import FIX, SUSPECT
from triage.document.entries import VERDICT_CLASSES, ItemEntry
from triage.document.headline import shorten_middle
from triage.document.numbers import number
from triage.findings.cause_chains import Causes
from triage.findings.chosen_advice import distinct, language_advice, owner_advice
from triage.findings.finding_types import Finding
from triage.findings.identity import of_item, scope
from triage.findings.workload_facts import own_facts
from triage.ground.kernel_owners import language_of, owner_of
from triage.ground.limiters import CONFIDENCE, LEVELS, level
from triage.ground.terminology import localize
from triage.ground.units import show
from triage.inference.rule_context import gpu_facts
from triage.rulebook.applies import fits, holds
from triage.rulebook.cause import Cause

MAX_BEFORE = 2  # items named that come before another
MAX_NAME = 40  # characters of a workload's name in a sentence
Scope: TypeAlias = tuple[
    str, list[int], list[ItemEntry]
]  # (what was captured, numbers of its captures from 1, its items)


def groups(d: Diagnosis) -> list[tuple[str, list[int], list[Item]]]:
    """(scope, numbers of its parts, its items): first all parts together, then each scope by itself."""
    parts: dict[str, list[int]] = {}
    for part in d.parts:
        parts.setdefault(scope(part.capture), []).append(part.number)
    together = next(iter(parts), "") if len(parts) == 1 else ""
    out = [(together, [p.number for p in d.parts], d.listed)]
    if len(parts) > 1:
        out += [(name, mine, todo([d.parts[p] for p in mine], d.cause_index)) for name, mine in parts.items()]
    return out


def todo_lists(d: Diagnosis, listed: Sequence[Finding], speak: Sequence[Finding], causes: Causes) -> list[Scope]:
    """The to-do list of all captures together, as listed, then that of each scope, whole."""
    out: list[Scope] = []
    findings = iter(speak)
    for name, mine, items in groups(d):
        total = float(sum(d.parts[p].capture.frame_ns for p in mine))
        entries = [_entry(d, n, i, next(findings), listed, total, name, causes) for n, i in enumerate(items, 1)]
        _raise_levels(entries)
        out.append((name, [p + 1 for p in mine], entries))
    return out if len(out) > 1 else [*out, *out]


def _raise_levels(entries: Sequence[ItemEntry]) -> None:
    """Give an item at least the priority of a later one that saves no more, no more surely: idle time has higher limits."""
    sure = list(CONFIDENCE).index
    for k, e in enumerate(entries):
        rest = [
            i["level"]
            for i in entries[k + 1 :]
            if (i["saved_ns"] or 0.0) <= (e["saved_ns"] or 0.0) and sure(i["confidence"]) <= sure(e["confidence"])
        ]
        e["level"] = max((e["level"], *rest), key=LEVELS.index)


def _entry(
    d: Diagnosis,
    rank: int,
    item: Item,
    finding: Finding,
    listed: Sequence[Finding],
    total: float,
    captured: str,
    causes: Causes,
) -> ItemEntry:
    """One item. finding: the one on its worst workload. total: time of its captures in ns."""
    cause, f = d.book.cause(d.cause_index.names[item.cause]), finding.entry
    share = item.saved_ns / total if total > 0 and item.saved_ns == item.saved_ns else None
    alike = 1.0 if item.whole else untimed_share(d.parts, item.count)
    first, w = item.workloads[0]
    worst = "" if item.whole else str(d.parts[first].capture.names[w])
    owner, theirs = owner_of(worst), owner_advice(worst)
    view = d.parts[finding.part].view
    language = language_of(worst, (place["file"] for place in f["locations"])) if worst else ""
    own = in_words_of(language, cause, view)
    if language == "triton":
        theirs = [*theirs[:1], *(own or language_advice(language, ""))]
    elif language:
        theirs = [] if owner is not None and owner.owner == "own" else own or language_advice(language, "")
    rest = [] if own else language_advice(language, "")
    advice = theirs or distinct(
        (*own, *f["advice"], *general(cause, view, own_facts(view.capture, w, language)), *rest)
    )
    mine, is_suspect = set(item.workloads), bool(d.cause_index.is_suspect[item.rule])
    looks = finding.looks | {localize(a.text) for a in cause.advice if a.look}
    return {
        "rank": rank,
        "cause": cause.id,
        "title": localize(cause.title),
        "verdict_class": VERDICT_CLASSES[SUSPECT if is_suspect else FIX],
        "level": level(
            item.fraction * alike if share is None or (rank == 1 and not item.saved_ns) else share,
            f["confidence"],
            f["gain"]["of"] if f["gain"] else "workload",
            bool(item.low_ns),
        ),
        "confidence": f["confidence"],
        "saved_ns": number(item.saved_ns, 1),
        "share": None if share is None else number(share),
        "low_ns": number(item.low_ns, 1),
        "bound_ns": number(item.bound_ns, 1),
        "alone_ns": number(item.alone_ns, 1),
        "fraction": number(item.fraction),
        "scope": "frame" if w < 0 else "workloads",
        "workload_count": item.count,
        "workloads": [d.parts[p].workload_id(w, d.many) for p, w in item.workloads],
        "names": ["frame" if w < 0 else str(d.parts[p].capture.names[w]) for p, w in item.workloads],
        "kernel_owner": owner.owner if owner else None,
        "chain": causes.links(item, finding, listed),
        "message": _of_one(worst, item, d) + f["message"] + _after(item, d),
        "action": advice[0] if advice else localize(cause.meaning),
        "action_kind": "investigate" if looks & {*advice[:1]} else "try" if is_suspect else "fix",
        "advice": advice,
        "code": [] if theirs else f["code"],
        "verify": f["verify"],
        "caveats": f["caveats"],
        "cites": f["cites"],
        "rule": f["rule"],
        "rules": [d.book.rules[r].id for r in sorted(item.rules)],
        "findings": [x.rank for x in listed if x.rule.cause == cause.id and (x.part, x.workload) in mine],
        "fingerprint": of_item(cause.id, captured),
    }


def _after(item: Item, d: Diagnosis) -> str:
    """` Void once “Unfused attention” is fixed, which changes the same kernels.`; ` Pays after “CPU-bound”: ...`."""
    causes = [d.book.cause(name) for name in d.cause_index.names]
    if item.after >= 0:
        return f" Void once “{localize(causes[item.after].title)}” is fixed, which changes the same kernels."
    host = hidden_by(item, d.items, d.parts, d.cause_index)
    names = " and ".join(f"“{localize(causes[c].title)}”" for c in host[:MAX_BEFORE])
    return f" Pays after {names}: until then the device only idles longer." if host else ""


def _of_one(worst: str, item: Item, d: Diagnosis) -> str:
    """`NAME: ` before a sentence that holds for the worst of several workloads of different names, or captures."""
    whole = {p for p, w in item.workloads if w < 0}
    if not worst and d.many:
        path = d.parts[item.workloads[0][0]].capture.input.path
        each = show(item.saved_ns / max(len(whole), 1), "ns")
        more = f" (largest of {len(whole)}, {each} each on average)" if len(whole) > 1 else ""
        return f"{shorten_middle(Path(path).name, MAX_NAME)}{more}: "
    names = {d.parts[p].capture.names[w] for p, w in item.workloads if w >= 0}
    return f"{shorten_middle(worst, MAX_NAME)}: " if worst and len(names) > 1 else ""


def in_words_of(language: str, cause: Cause, view: View) -> list[str]:
    """Advice of a cause in the words of a language, which no CUDA kernel gets; [] without a language."""
    facts = gpu_facts(view) | {"api": language}
    found = [localize(a.text) for a in cause.advice if language and "api" in a.where and holds(a.where, facts)]
    return found or language_advice(language, cause.id)


def general(cause: Cause, view: View, own: Mapping[str, str]) -> list[str]:
    """Advice of a cause for the GPU and API of the capture, and for one workload; general advice first. own: facts of it."""
    facts = {**gpu_facts(view), **own}
    return [localize(a.text) for a in cause.advice if fits(a.where, facts)]
