"""Finding objects of what is listed: message, evidence with the cells behind it, advice, fingerprint."""

from __future__ import annotations

import numpy as np

from triage import schema
from triage.derive import View
from triage.diagnosis.evidence import at, check
from triage.diagnosis.firings import Firings
from triage.diagnosis.gain import speedup
from triage.diagnosis.identity import fingerprint, identity
from triage.diagnosis.judged import Diagnosis, Part
from triage.diagnosis.nouns import Check, Finding, Gain
from triage.diagnosis.origins import Origins
from triage.diagnosis.sentences import NOT_MEASURED, sentence
from triage.ground.limiters import level
from triage.inference.evaluate import Lookup
from triage.inference.groups import reads
from triage.rulebook.expression import TRUE, Condition
from triage.rulebook.rule import Rule


def findings(d: Diagnosis) -> list[Finding]:
    """All findings of a diagnosis in rank order; file cells are fetched once per file."""
    out: list[Finding | None] = [None] * len(d.order)
    for p, part in enumerate(d.parts):
        ranked = [(rank, k) for rank, (q, k) in enumerate(d.order) if q == p]
        for frame in (False, True):
            chosen = [(r, k) for r, k in ranked if (part.firings.workload[k] < 0) == frame]
            if chosen:
                maker = _Maker(
                    d,
                    part,
                    p,
                    frame,
                    [int(part.firings.workload[k]) for _, k in chosen],
                    [int(part.firings.rule[k]) for _, k in chosen],
                )
                for rank, k in chosen:
                    out[rank] = maker.make(rank, k)
    return [f for f in out if f is not None]


class _Maker:
    def __init__(
        self, d: Diagnosis, part: Part, number: int, frame: bool, workloads: list[int], rules: list[int]
    ) -> None:
        self.d, self.part, self.number, self.frame = d, part, number, frame
        capture = part.frame if frame else part.capture
        self.rows = np.array([0]) if frame else np.array(sorted(set(workloads)), dtype=np.int64)
        self.place = {-1: 0} if frame else {int(w): i for i, w in enumerate(self.rows)}
        self.view = View(capture, self.rows)
        self.origins = Origins(capture, self.view)
        self.lookups: dict[int, Lookup] = {}
        for index in set(rules):
            rule = d.book.rules[index]
            when = rule.when[d.method]
            metrics = {m for c in when.conditions for m in reads(rule, c.names)}
            self.origins.want(metrics, {0 if w < 0 else w for w, r in zip(workloads, rules, strict=True) if r == index})

    def make(self, rank: int, k: int) -> Finding:
        f = self.part.firings
        index, workload = int(f.rule[k]), int(f.workload[k])
        rule, i = self.d.book.rules[index], self.place[workload]
        lookup = self.lookups.setdefault(index, Lookup(rule, self.view, self.d.method))
        gain = self._gain(rule, f, k)
        checks = tuple(self._checks(rule, lookup, 0 if workload < 0 else workload, i))
        advice = [
            (a, sentence(a.text, rule, lookup, i))
            for a in rule.advice
            if a.only_if is None or at(lookup.once(a.only_if), i) != 0
        ]
        advice = [(a, text) for a, text in advice if NOT_MEASURED not in text]
        name = "frame" if workload < 0 else str(self.part.capture.names[workload])
        because = [f"{c.why}" for c in checks]
        if gain and gain.because:
            because.append(f"gain: {gain.because}")
        caveats = [*rule.caveats, *self._tell_apart(rule, lookup, i)]
        return Finding(
            rank=rank + 1,
            rule=rule,
            part=self.number,
            workload=workload,
            workload_id=self.part.workload_id(workload, self.d.many),
            workload_name=name,
            level=level(gain.share if gain else None),
            confidence=rule.gain.confidence if rule.gain else "medium",
            message=sentence(rule.finding, rule, lookup, i),
            gain=gain,
            because=tuple(because),
            evidence=checks,
            advice=tuple(text for _, text in advice),
            code=tuple((a.language, a.code) for a, _ in advice if a.code),
            caveats=tuple(caveats),
            cites=rule.cites,
            fingerprint=fingerprint(rule, identity(self.part.capture, workload)),
        )

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
        when = rule.when[self.d.method]
        held = [*when.all_of, *(c for c in when.any_of if at(lookup.once(c), i) == TRUE)]
        return [self._check(rule, c, lookup, workload, i) for c in held]

    def _check(self, rule: Rule, c: Condition, lookup: Lookup, workload: int, i: int) -> Check:
        return check(rule, c, lookup, i, lambda m: self.origins.of(m, workload, i))

    def _tell_apart(self, rule: Rule, lookup: Lookup, i: int) -> list[str]:
        out = []
        for t in rule.tell_apart:
            value = at(self.view[t.by], i)
            if value != value:
                other = self.d.book.by_name.get(t.rule)
                title = other.title if other else t.rule
                out.append(
                    f"\u201c{title}\u201d would look the same; {schema.get(t.by).label} ({t.by}) decides: {t.how}"
                )
        return out
