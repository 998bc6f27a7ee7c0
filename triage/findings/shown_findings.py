"""Finding objects of what is listed: message, evidence with the cells behind it, advice, fingerprint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from triage import schema
from triage.derive import View
from triage.diagnosis.diagnosis_result import Diagnosis, Item, Part
from triage.diagnosis.firings import Firings
from triage.diagnosis.gain import speedup
from triage.diagnosis.pass_order import layer
from triage.diagnosis.root_causes import Leaders, Row
from triage.findings.evidence import at, held
from triage.findings.finding_types import Check, Finding, Gain
from triage.findings.identity import fingerprint, identity
from triage.findings.locations import locations
from triage.findings.origins import Origins
from triage.findings.text_fields import NOT_MEASURED, sentence
from triage.ground.limiters import less_sure, level
from triage.ground.terminology import names_of, said, speaking
from triage.inference.evaluate import Lookup
from triage.inference.groups import reads
from triage.inference.rule_context import gpu_facts
from triage.rulebook.applies import LANGUAGES, may_hold
from triage.rulebook.rule import Advice, Cite, Rule

_CUDA = re.compile(r"\bcuda([A-Z]\w*)")
_HIP = {
    "cudaMallocHost": "hipHostMalloc",
    "cudaFreeHost": "hipHostFree",
}  # all others differ in their first letters alone


def findings(d: Diagnosis, items: Sequence[Item] = ()) -> tuple[list[Finding], list[Finding]]:
    """(findings in rank order, for each of the items the finding that speaks for it on its worst workload).

    The latter are made whether or not they are among the former. File cells are fetched once per file.
    """
    listed: list[Finding | None] = [None] * len(d.order)
    speak: list[Finding | None] = [None] * len(items)
    for p, part in enumerate(d.parts):
        for whole in (False, True):
            ranked = [
                (rank, part.firings, k)
                for rank, (q, k) in enumerate(d.order)
                if q == p and (part.firings.workload[k] < 0) == whole
            ]
            asked = [
                (n, _spokesman(part, item), 0)
                for n, item in enumerate(items)
                if item.workloads[0][0] == p and (item.workloads[0][1] < 0) == whole
            ]
            wanted = [(int(f.workload[k]), int(f.rule[k])) for _, f, k in (*ranked, *asked)]
            if not wanted:
                continue
            maker = _Maker(d, part, p, whole, [w for w, _ in wanted], [r for _, r in wanted])
            with speaking(names=names_of(maker.here)):
                for rank, f, k in ranked:
                    listed[rank] = maker.make(rank, f, k)
                for number, f, k in asked:
                    speak[number] = maker.make(number, f, k)
    return [f for f in listed if f is not None], [f for f in speak if f is not None]


def _spokesman(part: Part, item: Item) -> Firings:
    """The firing behind an item, on its worst workload."""
    w = item.workloads[0][1]
    row: Row | Leaders
    if w < 0:
        row, at, time = part.whole.rows[item.cause], 0, part.capture.frame_ns
    else:
        row, at, time = part.leaders, w, float(part.capture.self_ns[w])
    low, likely, bound = (float(x[at]) for x in (row.low, row.likely, row.bound))
    return Firings.one(item.rule, w, low, likely, bound, likely * time)


class _Maker:
    def __init__(
        self, d: Diagnosis, part: Part, number: int, frame: bool, workloads: list[int], rules: list[int]
    ) -> None:
        self.d, self.part, self.number, self.frame = d, part, number, frame
        capture = part.frame if frame else part.capture
        if frame:
            self.place, self.view = {-1: 0}, View(capture)
        else:
            rows = np.arange(len(capture)) if part.few else np.array(sorted(set(workloads)), dtype=np.int64)
            self.place, self.view = {w: i for i, w in enumerate(rows.tolist())}, part.look(rows)
        self.origins = Origins(capture, self.view)
        self.here = gpu_facts(self.view)
        self.lookups: dict[int, Lookup] = {}
        for index in set(rules):
            rule = d.book.rules[index]
            when = rule.when[d.method]
            metrics = {m for c in when.conditions for m in reads(rule, c.names)}
            self.origins.want(metrics, {0 if w < 0 else w for w, r in zip(workloads, rules, strict=True) if r == index})

    def make(self, rank: int, f: Firings, k: int) -> Finding:
        index, workload = int(f.rule[k]), int(f.workload[k])
        rule, i = self.d.book.rules[index], self.place[workload]
        lookup = self.lookups.setdefault(index, Lookup(rule, self.view, self.d.method))
        gain = self._gain(rule, f, k)
        checks = tuple(self._checks(rule, lookup, 0 if workload < 0 else workload, i))
        here = self._here(workload)
        advice = [
            (a, sentence(a.text, rule, lookup, i))
            for a in rule.advice
            if may_hold(a.where, here) and (a.only_if is None or at(lookup.once(a.only_if), i) != 0)
        ]
        advice = [(a, text) for a, text in advice if NOT_MEASURED not in text]
        confidence = rule.gain.confidence if rule.gain else "medium"
        doubts = [q.message for q in self.part.capture.quality if q.doubt]
        if doubts:
            confidence = less_sure(confidence)
        name = "frame" if workload < 0 else str(self.part.capture.names[workload])
        because = [f"{c.why}" for c in checks]
        if gain and gain.because:
            because.append(f"gain: {said(gain.because)}")
        caveats = [said(c.text) for c in rule.caveats if may_hold(c.where, here)]
        caveats += self._tell_apart(rule, lookup, i)
        caveats += [f"the export is damaged: {doubts[0]}"] if doubts else []
        return Finding(
            rank=rank + 1,
            rule=rule,
            part=self.number,
            workload=workload,
            workload_id=self.part.workload_id(workload, self.d.many),
            workload_name=name,
            level=level(gain.share if gain else None, confidence, gain.scope if gain else "workload"),
            confidence=confidence,
            message=sentence(rule.finding, rule, lookup, i),
            gain=gain,
            because=tuple(because),
            evidence=checks,
            advice=tuple(text for _, text in advice),
            code=tuple(
                _written(a, here) for a, _ in advice if a.code and may_hold(LANGUAGES.get(a.language, {}), here)
            ),
            caveats=tuple(caveats),
            cites=tuple(sorted(rule.cites, key=lambda c: _foreign(c, here))),
            fingerprint=fingerprint(rule, identity(self.part.capture, workload)),
            locations=locations(self.part.capture, workload, self.d.book.causes.get(rule.cause), checks),
        )

    def _here(self, workload: int) -> Mapping[str, str]:
        """Facts that choose advice: those of the capture, and how the pass at hand draws."""
        capture = self.part.capture
        drawing = "" if workload < 0 else layer(str(capture.paths[workload]), str(capture.names[workload]))
        return {**self.here, "layer": drawing} if drawing else self.here

    def _gain(self, rule: Rule, f: Firings, k: int) -> Gain | None:
        likely = float(f.likely[k])
        if rule.gain is None or likely != likely:
            return None
        saved, frame = float(f.saved[k]), self.part.capture.frame_ns
        known = saved == saved
        share = saved / frame if known and frame > 0 else likely if not known else 0.0
        return Gain(
            likely,
            float(f.low[k]),
            float(f.bound[k]),
            saved if known else float("nan"),
            round(share, 6),
            speedup(likely),
            rule.gain.because,
            rule.gain.scope,
        )

    def _checks(self, rule: Rule, lookup: Lookup, workload: int, i: int) -> list[Check]:
        return held(rule, self.d.method, lookup, i, lambda m: self.origins.of(m, workload, i))

    def _tell_apart(self, rule: Rule, lookup: Lookup, i: int) -> list[str]:
        out = []
        for t in rule.tell_apart:
            value = at(self.view[t.by], i)
            if value != value:
                other = self.d.book.by_name.get(t.rule)
                title = other.title if other else t.rule
                out.append(
                    f"\u201c{said(title)}\u201d would look the same; {said(schema.get(t.by).label)} ({t.by}) decides: {said(t.how)}"
                )
        return out


def _foreign(cite: Cite, here: Mapping[str, str]) -> bool:
    """Is a source about other vendors' GPUs? Those come last."""
    return bool(cite.vendors) and here.get("vendor", "") not in cite.vendors


def _written(advice: Advice, here: Mapping[str, str]) -> tuple[str, str]:
    """(language, code); CUDA's calls as HIP names them."""
    if advice.language == "cuda" and here.get("api") == "hip":
        return "hip", _CUDA.sub(lambda m: _HIP.get(m[0], f"hip{m[1]}"), advice.code)
    return advice.language, advice.code
