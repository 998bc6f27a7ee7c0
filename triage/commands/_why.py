"""Why, or why not: each condition of a rule with its value on the workloads of a capture.

What became of the rule is asked of diagnosis.outcomes, as every report does; here it is only put into lines.
"""

from __future__ import annotations

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
from triage.ground.phrasing import FLIPPED
from triage.ground.units import show
from triage.inference.evaluate import BLIND, FIRED, NOT_APPLICABLE, OVERRULED, missing
from triage.inference.groups import reads, wanted
from triage.rulebook.applies import said
from triage.rulebook.expression import FALSE, TRUE, Condition
from triage.rulebook.rule import Rule

SHOWN = 5  # workloads, by their own time
_WORD = {FALSE: "no", TRUE: "yes"}


def why(rule: Rule, capture: Capture, doctor: Diagnoser, method: str) -> str:
    """The rule on the capture's longest workloads (or on the frame), condition by condition."""
    if method not in rule.when:
        return f"{rule.id} {rule.name} speaks under method {', '.join(rule.when)} only.\n"
    d = doctor.diagnose([capture])
    if rule.scope == "frame":
        return _Why(rule, Outcomes(d, d.parts[0], whole=True)).text(whole=True)
    # without a time a workload still counts, last
    times = np.nan_to_num(capture.self_ns, nan=-1.0)
    rows = np.sort(np.argsort(-times, kind="stable")[:SHOWN])
    return _Why(rule, Outcomes(d, d.parts[0], rows)).text(whole=False)


class _Why:
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

    def text(self, whole: bool) -> str:
        out = [wrap(f"{self.rule.id} {self.rule.name} on {self.capture.input.path}, method {self.method}")]
        own = np.nan_to_num(self.capture.self_ns[self.rows], nan=-1.0)
        for i in np.argsort(-own, kind="stable").tolist():
            w = int(self.rows[i])
            name = f"w{w + 1} {path_text(str(self.capture.paths[w]), str(self.capture.names[w]))}"
            time = float(self.capture.self_ns[w])
            out += [
                "",
                wrap(
                    "the whole capture" if whole else name + (f" ({show(time, 'ns')} own time)" if time == time else "")
                ),
            ]
            out.append(wrap(self.outcome(i), "  "))
            out += [line for c in self.when.given for line in self.concept(c, i)]
            for kind, conditions in (("all of", self.when.all_of), ("any of", self.when.any_of)):
                out += [line for c in conditions for line in self.condition(kind, c, i, w)]
        left = len(self.capture) - len(self.rows)
        if left > 0 and not whole:
            out += ["", wrap(f"{left} more workloads with less own time are not shown; choose with --marker GLOB.")]
        return "\n".join(out) + "\n"

    def outcome(self, i: int) -> str:
        """The outcome in words, with what is missing and how to collect it."""
        found = int(self.outcomes.outcome(self.index)[i])
        if found == FIRED:
            return "fires"
        if found == OVERRULED:
            return f"overruled by {self.outcomes.overruled_by(self.index, i)}"
        absent = ", ".join(m for m, mask in missing(wanted(self.rule, self.method), self.view) if mask[i])
        if not self.outcomes.concerns(self.index):
            return f"not applicable: the rule is about {said(self.rule.applies)}, and this capture is not"
        if found == NOT_APPLICABLE and self.outcomes.strange(self.index):
            return f"not applicable: the rule is about {said(self.rule.applies)}, and nothing here tells of such a GPU"
        if found == NOT_APPLICABLE:
            return f"not applicable: this profiler does not export {absent or 'what a premise needs'}"
        if found != BLIND:
            return "silent"
        ask = list(self.outcomes.waits_for(self.index, i))
        what = absent or f"a premise is unknown, {', '.join(ask)}"
        return f"blind: {what} not collected; {self.outcomes.collect(ask)}"

    def concept(self, name: str, i: int) -> list[str]:
        """A premise and whether it holds."""
        value = int(np.broadcast_to(self.outcomes.truth.concept(name), (self.view.size,))[i])
        makers = [r.id for r in self.book.rules if name in (r.name, *r.concludes)]
        return [wrap(f"{name} (concluded by {', '.join(makers)})", f"  {_WORD.get(value, 'unknown'):8} given   ")]

    def condition(self, kind: str, c: Condition, i: int, w: int) -> list[str]:
        """A comparison with its numbers, turned round where it fails, and the cells behind it."""
        value = int(np.broadcast_to(self.lookup.once(c), (self.view.size,))[i])
        # a comparison that fails is told the way it is: `40 % < 60 %`, not `no: 40 % >= 60 %`
        op = FLIPPED[c.op] if value == FALSE and c.right is not None else c.op
        found = make_check(self.rule, c, self.lookup, i, lambda m: self.origins.origin(m, w, i), op)
        lines = [wrap(found.why if value in _WORD else c.text, f"  {_WORD.get(value, 'unknown'):8} {kind:7} ")]
        source = found.source
        if source.formula and c.left.text in self.rule.let:
            lines.append(wrap(f"{c.left.text} = {source.formula}", " " * 21))
        inputs = [source] if source.metric == c.left.text and not source.inputs else list(source.inputs)
        return lines + [wrap(_origin(o), " " * 21) for o in inputs]


def _origin(o: Origin) -> str:
    """One value and where it comes from."""
    if o.value != o.value:
        return f"{o.metric}: missing"
    place = f"{o.record} {o.line}, {o.column!r} = {o.text!r}" if o.line else o.formula
    if o.metric in derivations() and not o.line:
        place = f"= {o.formula}"
    return f"{o.metric} {show(o.value, o.unit)}" + (f" ({place})" if place else "")
