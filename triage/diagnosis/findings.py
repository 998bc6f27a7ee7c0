"""Finding objects: message, evidence with the cells behind it, advice, fingerprint. Made only for what is shown."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from triage import schema
from triage.capture.capture import SEP, Check, Gain, Origin
from triage.derive import View
from triage.diagnosis.gain import level, speedup
from triage.diagnosis.origins import Origins
from triage.diagnosis.sentences import NOT_MEASURED, sentence
from triage.ground.units import display, show
from triage.inference.evaluate import Lookup
from triage.inference.groups import reads
from triage.rulebook.expression import TRUE, Condition
from triage.rulebook.rule import Cite, Rule

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis, Part


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule's statement about one workload. workload: index in its part's capture, -1 for the frame."""

    rank: int
    rule: Rule
    part: int
    workload: int
    workload_id: str
    workload_name: str
    level: str
    confidence: str
    message: str
    gain: Gain | None
    because: tuple[str, ...]
    evidence: tuple[Check, ...]
    advice: tuple[str, ...]
    code: tuple[tuple[str, str], ...]
    caveats: tuple[str, ...]
    cites: tuple[Cite, ...]
    fingerprint: str


def identity(part: Part, workload: int) -> str:
    """What makes a workload the same one in another capture: path, name, kind and launch shape, no measured number."""
    if workload < 0:
        return "frame"
    c = part.capture
    shape = [
        f"{m}={c.facts[m][workload]:g}"
        for m in ("launch.grid_size", "launch.block_size")
        if m in c.facts and not np.isnan(c.facts[m][workload])
    ]
    return SEP.join([str(c.paths[workload]), str(c.names[workload]), *shape])


def fingerprint(rule: Rule, who: str) -> str:
    """Stable over re-runs: rule id and workload identity only."""
    return hashlib.sha256(f"{rule.id}\0{who}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


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
            if a.only_if is None or _at(lookup.once(a.only_if), i) != 0
        ]
        advice = [(a, text) for a, text in advice if NOT_MEASURED not in text]
        name = "frame" if workload < 0 else str(self.part.capture.names[workload])
        because = [f"{c.why}" for c in checks]
        if gain and gain.because:
            because.append(f"gain: {gain.because}")
        caveats = [*rule.caveats, *self._tell_apart(rule, lookup, i)]
        return Finding(
            rank=rank + 1, rule=rule, part=self.number, workload=workload,
            workload_id=self.part.workload_id(workload, self.d.many), workload_name=name,
            level=level(gain.share if gain else None), confidence=rule.gain.confidence if rule.gain else "medium",
            message=sentence(rule.finding, rule, lookup, i), gain=gain, because=tuple(because), evidence=checks,
            advice=tuple(text for _, text in advice), code=tuple((a.language, a.code) for a, _ in advice if a.code), caveats=tuple(caveats), cites=rule.cites,
            fingerprint=fingerprint(rule, identity(self.part, workload)),
        )  # fmt: skip

    def _gain(self, rule: Rule, f: Any, k: int) -> Gain | None:
        likely = float(f.likely[k])
        if rule.gain is None or likely != likely:
            return None
        saved, frame = float(f.saved[k]), self.part.capture.frame_ns
        known = saved == saved
        share = saved / frame if known and frame > 0 else likely if not known else 0.0
        return Gain(likely, float(f.low[k]), float(f.bound[k]), saved if known else float("nan"), round(share, 6),
                    speedup(likely), rule.gain.because, rule.gain.scope)  # fmt: skip

    def _checks(self, rule: Rule, lookup: Lookup, workload: int, i: int) -> list[Check]:
        when = rule.when[self.d.method]
        held = [*when.all_of, *(c for c in when.any_of if _at(lookup.once(c), i) == TRUE)]
        return [self._check(rule, c, lookup, workload, i) for c in held]

    def _check(self, rule: Rule, c: Condition, lookup: Lookup, workload: int, i: int) -> Check:
        return check(rule, c, lookup, i, lambda m: self.origins.of(m, workload, i))

    def _tell_apart(self, rule: Rule, lookup: Lookup, i: int) -> list[str]:
        out = []
        for t in rule.tell_apart:
            value = _at(self.view[t.by], i)
            if value != value:
                other = self.d.book.by_name.get(t.rule)
                title = other.title if other else t.rule
                out.append(
                    f"\u201c{title}\u201d would look the same; {schema.get(t.by).label} ({t.by}) decides: {t.how}"
                )
        return out


def _at(values: Any, i: int) -> Any:
    return values[i] if np.ndim(values) else values


def check(rule: Rule, c: Condition, lookup: Lookup, i: int, origin: Any) -> Check:
    """One comparison with its numbers, units and origin."""
    value = float(_at(lookup.once(c.left), i))
    bound = float(_at(lookup.once(c.right), i)) if c.right else None
    names = list(reads(rule, c.left.names))
    plain = len(c.left.names) == 1 and c.left.text == c.left.names[0] and schema.known(c.left.text)
    unit = unit_of(rule, c)
    if plain:
        source = origin(c.left.text)
        name = c.left.text
    else:
        formula = rule.let[c.left.text].text if c.left.text in rule.let else c.left.text
        source = Origin(
            c.left.text, value, unit, formula=formula, inputs=tuple(origin(m) for m in sorted(names) if schema.known(m))
        )
        name = c.left.text
    shown, shown_unit = display(value, unit)
    limit = None if bound is None else display(bound, unit)[0]
    margin = None if limit is None else round(shown - limit, 6)
    title = title_of(c)
    if c.right is None:
        why = f"{title}: yes" if value else f"{title}: no"
    else:
        why = f"{title} {show(value, unit)} {c.op} {show(bound, unit)}" if bound is not None else title
        if c.right.text in rule.thresholds:
            why += f" ({c.right.text.replace('_', ' ')})"
    return Check(
        name, round(shown, 6), shown_unit, c.op if c.right else "is", limit if c.right else 1.0, margin, source, why
    )


def title_of(c: Condition) -> str:
    """The left side of a comparison as people read it."""
    return schema.get(c.left.text).label if schema.known(c.left.text) else c.left.text.replace("_", " ")


def unit_of(rule: Rule, c: Condition) -> str:
    """Canonical unit of a comparison: the metric's own, else that of the threshold or metric on the right."""
    if schema.known(c.left.text):
        return schema.get(c.left.text).unit
    if c.right is not None:
        for n in c.right.names:
            if n in rule.thresholds:
                return rule.thresholds[n].unit
            if schema.known(n):
                return schema.get(n).unit
    return "count"
