"""The findings that are listed, as entries of the result: message, evidence with the cells behind it, advice, fingerprint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from triage import schema
from triage.capture.capture import SEP
from triage.derive import View
from triage.diagnosis.diagnosis_result import Diagnosis, Item, Part
from triage.diagnosis.firings import Firings
from triage.diagnosis.gain import speedup
from triage.diagnosis.ranking import firing, untimed_share
from triage.document import finding_rows
from triage.document.entries import CiteEntry, CodeEntry, FindingEntry, GainEntry
from triage.document.numbers import number
from triage.findings.cause_chains import Causes
from triage.findings.evidence import at, holding_checks, stated_checks, stated_metrics
from triage.findings.finding_types import Finding, Origin
from triage.findings.identity import fingerprint, identity
from triage.findings.locations import locations
from triage.findings.origins import Origins
from triage.findings.text_fields import sentence
from triage.findings.wait_evidence import evidence
from triage.findings.workload_facts import own_facts
from triage.ground.kernel_owners import language_of
from triage.ground.limiters import CLASSES, less_sure, level
from triage.ground.terminology import localize, names_of, speaking
from triage.inference.evaluate import Lookup
from triage.inference.rule_context import gpu_facts
from triage.rulebook.applies import LANGUAGES, may_hold, suits
from triage.rulebook.rule import Advice, Cite, Rule, reads

# heuristic: of the work of a busy unit in a frame as much is needed as not, where nothing counts an excess
NEEDED = 0.5
_CUDA = re.compile(r"\bcuda([A-Z]\w*)")
_HIP = {
    "cudaMallocHost": "hipHostMalloc",
    "cudaFreeHost": "hipHostFree",
}  # all others differ in their first letters alone


def findings(d: Diagnosis, items: Sequence[Item], causes: Causes) -> tuple[list[Finding], list[Finding]]:
    """(findings in rank order, for each of the items the finding on its worst workload).

    The latter are made whether or not they are among the former. File cells are fetched once per file. Raises BadCapture
    when an input changed since it was read.
    """
    rules = {int(d.parts[p].firings.rule[k]) for p, k in d.order} | {i.rule for i in items}
    # titles stand beside those of other captures, whose GPU may be of another vendor: in the words that fit all
    titles = {r: (localize(d.book.rules[r].title), localize(d.book.rules[r].verify)) for r in rules}
    listed: list[Finding | None] = [None] * len(d.order)
    on_items: list[Finding | None] = [None] * len(items)
    for p, part in enumerate(d.parts):
        for whole in (None, *part.wholes):
            ranked = [
                (rank, part.firings, k)
                for rank, (q, k) in enumerate(d.order)
                if q == p and _whole(d, part.firings, k) == whole
            ]
            asked = [
                (n, f, 0)
                for n, item in enumerate(items)
                if item.workloads[0][0] == p and _whole(d, f := firing(part, item, item.workloads[0][1]), 0) == whole
            ]
            wanted = [(int(f.workload[k]), int(f.rule[k])) for _, f, k in (*ranked, *asked)]
            if not wanted:
                continue
            maker = _Maker(d, part, whole, wanted, causes, titles)
            with speaking(names=names_of(maker.here)):
                for rank, f, k in ranked:
                    listed[rank] = maker.make(rank, f, k)
                for n, f, k in asked:
                    on_items[n] = maker.make(n, f, k)
    return [f for f in listed if f is not None], [f for f in on_items if f is not None]


def _whole(d: Diagnosis, f: Firings, k: int) -> int | None:
    """Which of a part's wholes the k-th firing is about, None for a rule of workloads."""
    return int(f.workload[k]) if d.book.rules[int(f.rule[k])].scope == "frame" else None


class _Maker:
    """Maker of the findings of one capture. wanted: (workload, rule) of each, for the cells to be fetched together.

    whole: which of its wholes they are about, None for rules of workloads.
    """

    def __init__(
        self,
        d: Diagnosis,
        part: Part,
        whole: int | None,
        wanted: Sequence[tuple[int, int]],
        causes: Causes,
        titles: Mapping[int, tuple[str, str]],
    ) -> None:
        self.d, self.part, self.causes, self.titles = d, part, causes, titles
        self.whole = whole
        capture = part.capture if whole is None else part.wholes[whole].capture
        if whole is not None:
            self.place, self.view = {whole: 0}, View(capture)
        else:
            rows = np.arange(len(capture)) if part.few else np.array(sorted({w for w, _ in wanted}), dtype=np.int64)
            self.place, self.view = {w: i for i, w in enumerate(rows.tolist())}, part.look(rows)
        self.origins = Origins(capture, self.view)
        self.here = gpu_facts(part.view)
        self.lookups: dict[int, Lookup] = {}
        for index in {r for _, r in wanted}:
            rule = d.book.rules[index]
            when = rule.when[d.method]
            metrics = {m for c in when.conditions for m in reads(rule, c.names)} | {*stated_metrics(rule)}
            self.origins.want(metrics, {w if whole is None else 0 for w, r in wanted if r == index})

    def make(self, rank: int, f: Firings, k: int) -> Finding:
        """The finding at a rank (from 0), of the k-th firing."""
        index, workload = int(f.rule[k]), int(f.workload[k])
        rule, part, i = self.d.book.rules[index], self.part, self.place[workload]
        lookup = self.lookups.setdefault(index, Lookup(rule, self.view, self.d.method))
        gain = self._gain(rule, f, k, self.causes.may_be_needed(part, index))
        at_workload = workload if self.whole is None else 0

        def origin(metric: str) -> Origin:
            return self.origins.origin(metric, at_workload, i)

        held = holding_checks(rule, self.d.method, lookup, i, origin)
        checks = (*held, *stated_checks(rule, lookup, i, origin, held))
        here = self._here(workload)
        advice = self._advice(rule, lookup, i, here)
        confidence = rule.gain.confidence if rule.gain else "medium"
        doubts = [q.message for q in part.capture.quality if q.doubt]
        if doubts:
            confidence = less_sure(confidence)
        alike = 1.0 if part.capture.frame_ns > 0 else untimed_share([part])
        because = [c.why for c in checks]
        if gain and rule.gain and rule.gain.because:
            because.append(f"gain: {localize(rule.gain.because)}")
        caveats = [localize(c.text) for c in rule.caveats if may_hold(c.where, here)]
        caveats += self._tell_apart(rule, i)
        caveats += [f"the export is damaged: {doubts[0]}"] if doubts else []
        places = locations(part.capture, workload, self.d.book.causes.get(rule.cause), held)
        waits = evidence(rule.cause, places)
        title, verify = self.titles[index]
        root, explained_by = self.causes.explanation(part, workload, rule)
        entry: FindingEntry = {
            "rank": rank + 1,
            "rule": rule.id,
            "name": rule.name,
            "title": title,
            "workload": part.workload_id(workload, self.d.many),
            "level": level(
                (gain["share"] or 0.0) * alike if gain else None,
                confidence,
                gain["of"] if gain else "workload",
                bool(gain and gain["low"]),
            ),
            "confidence": confidence,
            "message": sentence(rule.finding, rule, lookup, i),
            "gain": gain,
            "because": [*because, *([waits.because] if waits else [])],
            "evidence": [c.entry for c in checks],
            "advice": [*([waits.advice] if waits else []), *(text for _, text in advice)],
            "code": [_code(a, here) for a, _ in advice if a.code and may_hold(LANGUAGES.get(a.language, {}), here)],
            "verify": verify or None,
            "caveats": caveats,
            "cites": [cite(c) for c in sorted(rule.cites, key=lambda c: _foreign(c, here))]
            + ([waits.cite] if waits else []),
            "cause": rule.cause,
            "root": root,
            "explained_by": explained_by,
            "locations": places,
            "fingerprint": fingerprint(rule, identity(part.capture, workload)),
        }
        made = Finding(entry, rule, part.number, workload, checks, self._row(entry, workload))
        made.looks = {text for a, text in advice if a.look}
        return made

    def _advice(self, rule: Rule, lookup: Lookup, i: int, here: Mapping[str, str]) -> list[tuple[Advice, str]]:
        """The advice that holds here, with its sentence; none with a number that was not measured."""
        out = (
            (a, sentence(a.text, rule, lookup, i, whole=True))
            for a in rule.advice
            if suits(a.where, here) and (a.only_if is None or at(lookup.once(a.only_if), i) != 0)
        )
        return [(a, text) for a, text in out if text]

    def _row(self, entry: FindingEntry, workload: int) -> finding_rows.Row:
        """The finding under finding_rows.COLUMNS."""
        capture, gain = self.part.capture, entry["gain"]
        return [
            entry["rank"],
            capture.input.path,
            entry["workload"],
            "" if workload < 0 else str(capture.paths[workload]).replace(SEP, "/"),
            "frame" if workload < 0 else str(capture.names[workload]),
            "" if workload < 0 else CLASSES[int(self.part.limiter[workload])],
            entry["rule"],
            entry["name"],
            entry["title"],
            entry["level"],
            entry["confidence"],
            None if gain is None or gain["saved_ns"] is None else round(gain["saved_ns"] / 1e6, 7),
            gain["fraction"] if gain else None,
            gain["share"] if gain else None,
            gain["speedup"] if gain else None,
            entry["message"],
            "; ".join(entry["because"][: len(entry["evidence"])]),
            entry["advice"][0] if entry["advice"] else "",
            entry["fingerprint"],
        ]

    def _here(self, workload: int) -> Mapping[str, str]:
        """Facts that choose advice: those of the capture, and of this workload."""
        language = "" if workload < 0 else language_of(str(self.part.capture.names[workload]))
        return self.here | own_facts(self.part.capture, workload, language)

    def _gain(self, rule: Rule, f: Firings, k: int, needed: bool) -> GainEntry | None:
        likely = float(f.likely[k])
        if rule.gain is None or likely != likely:
            return None
        part = NEEDED if needed else 1.0
        likely, low, saved, frame = likely * part, float(f.low[k]) * part, float(f.saved[k]) * part, self.d.frame_ns
        known = saved == saved
        of_own = self._part_of_frame(int(f.workload[k]))
        return {
            "fraction": min(likely / of_own, 1.0),
            "saved_ns": number(saved, 1),
            "share": round(saved / frame if known and frame > 0 else 0.0 if known else likely, 6),
            "speedup": speedup(min(likely / of_own, 1.0)),
            "low": min(low / of_own, 1.0),
            "bound": min(float(f.bound[k]) / of_own, 1.0),
            "of": rule.gain.scope,
        }

    def _part_of_frame(self, workload: int) -> float:
        """What a marker takes of the frame, of which rules of scope `frame` state a fraction; else 1."""
        c = self.part.capture
        if self.whole is None or workload < 0 or not c.duration_ns[workload] > 0:
            return 1.0
        return float(c.duration_ns[workload] / c.frame_ns)

    def _tell_apart(self, rule: Rule, i: int) -> list[str]:
        out = []
        for t in rule.tell_apart:
            value = at(self.view[t.by], i)
            if value != value:
                other = self.d.book.by_name.get(t.rule)
                title = other.title if other else t.rule
                out.append(
                    f"\u201c{localize(title)}\u201d would look the same; {localize(schema.get(t.by).label)} ({t.by}) decides: {localize(t.how)}"
                )
        return out


def _foreign(source: Cite, here: Mapping[str, str]) -> bool:
    """True if a source is about GPUs of other vendors only."""
    return bool(source.vendors) and here.get("vendor", "") not in source.vendors


def _code(advice: Advice, here: Mapping[str, str]) -> CodeEntry:
    """An example; CUDA's calls as HIP names them."""
    if advice.language == "cuda" and here.get("api") == "hip":
        return {"language": "hip", "text": _CUDA.sub(lambda m: _HIP.get(m[0], f"hip{m[1]}"), advice.code)}
    return {"language": advice.language, "text": advice.code}


def cite(c: Cite) -> CiteEntry:
    """A source, as the result has it."""
    return {"text": c.text, "url": c.url or None}
