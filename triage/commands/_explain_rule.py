"""A rule on a capture: its outcome and each condition with its values, as lines of text.

Outcomes come from diagnosis.outcomes, as in every report.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triage.capture.capture import Capture
from triage.commands._describe import wrap
from triage.derive import derivations
from triage.diagnosis.diagnosing import Diagnoser
from triage.diagnosis.outcomes import Outcomes
from triage.findings.evidence import make_check
from triage.findings.finding_types import Origin
from triage.findings.origins import Origins
from triage.findings.text_fields import path_text
from triage.ground.phrasing import either
from triage.ground.units import show
from triage.inference.evaluate import BLIND, FIRED, NOT_APPLICABLE, OVERRULED, missing
from triage.inference.groups import wanted
from triage.rulebook.applies import describe
from triage.rulebook.expression import FALSE, TRUE, Condition
from triage.rulebook.rule import Rule, reads

MAX_WORKLOADS = 5  # that a rule or a cause is explained on, by self time
_WORD = {FALSE: "no", TRUE: "yes"}


def longest(capture: Capture) -> list[tuple[int, str]]:
    """(position, `w3 Frame/Shadows (1.2 ms self time)`) of the longest workloads; those without a time come last."""
    own = capture.self_ns
    rows = np.argsort(-np.nan_to_num(own, nan=-1.0), kind="stable")[:MAX_WORKLOADS].tolist()
    names = [f"w{w + 1} {path_text(str(capture.paths[w]), str(capture.names[w]))}" for w in rows]
    times = [f" ({show(float(own[w]), 'ns')} self time)" if own[w] == own[w] else "" for w in rows]
    return [(w, name + time) for w, name, time in zip(rows, names, times, strict=True)]


def unlisted(capture: Capture) -> list[str]:
    """How many workloads `longest` leaves out, as lines below a blank one."""
    more = len(capture) - MAX_WORKLOADS
    return ["", wrap(f"{more:,} more with less self time; select others with --marker GLOB.")] if more > 0 else []


def explain_rule(rule: Rule, capture: Capture, doctor: Diagnoser, method: str) -> str:
    """The rule on the capture's longest workloads (or on the frame), one condition per line."""
    if method not in rule.when:
        return f"{rule.id} {rule.name} applies to method {either(rule.when)} only.\n"
    d = doctor.diagnose([capture])
    if rule.scope == "frame":
        return explain_outcome(rule, Outcomes(d, d.parts[0], whole=True))
    return explain_outcome(rule, Outcomes(d, d.parts[0], np.sort([w for w, _ in longest(capture)])))


def explain_outcome(rule: Rule, outcomes: Outcomes) -> str:
    """The rule on the longest workloads, of which these are the outcomes, or on the whole capture."""
    if rule.scope == "frame":
        return _Explanation(rule, outcomes).text([(0, "the whole capture")])
    return _Explanation(rule, outcomes).text(longest(outcomes.capture), unlisted(outcomes.capture))


class _Explanation:
    def __init__(self, rule: Rule, outcomes: Outcomes) -> None:
        self.rule, self.outcomes = rule, outcomes
        self.capture, self.view, self.rows = outcomes.capture, outcomes.view, outcomes.rows
        self.book, self.method = outcomes.d.book, outcomes.d.method
        self.index = next(i for i, r in enumerate(self.book.rules) if r.id == rule.id)
        self.lookup = outcomes.lookup(self.index)
        self.when = rule.when[self.method]
        self.origins = Origins(self.capture, self.view)
        metrics = {m for c in self.when.conditions for m in reads(rule, c.names)}
        self.origins.want(metrics, {int(r) for r in self.rows})

    def text(self, shown: Sequence[tuple[int, str]], rest: Sequence[str] = ()) -> str:
        out = [wrap(f"{self.rule.id} {self.rule.name} on {self.capture.input.path}, method {self.method}")]
        for w, name in shown:
            i = int(np.searchsorted(self.rows, w))
            out += ["", wrap(name), wrap(self.outcome(i), "  ")]
            out += [line for c in self.when.given for line in self.concept(c, i)]
            for kind, conditions in (("all of", self.when.all_of), ("any of", self.when.any_of)):
                out += [line for c in conditions for line in self.condition(kind, c, i, w)]
        return "\n".join([*out, *rest]) + "\n"

    def outcome(self, i: int) -> str:
        """The outcome; for missing counters also how to collect them."""
        outcome = int(self.outcomes.outcome(self.index)[i])
        if outcome == FIRED:
            return "fires"
        if outcome == OVERRULED:
            return f"overruled by {self.outcomes.overruled_by(self.index, i)}"
        absent = ", ".join(m for m, mask in missing(wanted(self.rule, self.method), self.view) if mask[i])
        if not self.outcomes.concerns(self.index):
            return f"not applicable: the rule needs {describe(self.rule.applies)}; this capture is not"
        if outcome == NOT_APPLICABLE and self.outcomes.strange(self.index):
            return f"not applicable: the rule needs {describe(self.rule.applies)}; the capture does not name such a GPU"
        if outcome == NOT_APPLICABLE and self.rule.unweighed:
            return f"does not fire: {self.rule.unweighed} tells"
        if outcome == NOT_APPLICABLE:
            return f"not applicable: this profiler does not export {absent or 'the metrics of a derived fact'}"
        if outcome != BLIND:
            return "does not fire"
        ask = list(self.outcomes.waits_for(self.index, i))
        return f"not evaluated: {absent or ', '.join(ask)} not collected; {self.outcomes.collect(ask) or 'the settings of this capture lack it'}"

    def concept(self, name: str, i: int) -> list[str]:
        """A derived fact and whether it holds."""
        value = int(np.broadcast_to(self.outcomes.truth.concept(name), (self.view.size,))[i])
        makers = [r.id for r in self.book.rules if name in (r.name, *r.concludes)]
        return [wrap(f"{name} (from {', '.join(makers)})", f"  {_WORD.get(value, 'unknown'):8} given   ")]

    def condition(self, kind: str, c: Condition, i: int, w: int) -> list[str]:
        """A comparison with its values, negated in words if it fails, and its source cells."""
        value = int(np.broadcast_to(self.lookup.once(c), (self.view.size,))[i])
        comparison = make_check(
            self.rule, c, self.lookup, i, lambda m: self.origins.origin(m, w, i), failed=value == FALSE
        )
        lines = [wrap(comparison.why if value in _WORD else c.text, f"  {_WORD.get(value, 'unknown'):8} {kind:7} ")]
        source = comparison.source
        if source.formula and c.left.text in self.rule.let:
            lines.append(wrap(f"{c.left.text} = {source.formula}", " " * 21))
        inputs = [source] if source.metric == c.left.text and not source.inputs else list(source.inputs)
        return lines + [wrap(_origin(o), " " * 21) for o in inputs]


def _origin(o: Origin) -> str:
    """One value with its source cell or formula."""
    if o.value != o.value:
        return f"{o.metric}: missing"
    place = f"{o.record} {o.line}, {o.column!r} = {o.text!r}" if o.line else o.formula
    if o.metric in derivations() and not o.line:
        place = f"= {o.formula}"
    return f"{o.metric} {show(o.value, o.unit)}" + (f" ({place})" if place else "")
