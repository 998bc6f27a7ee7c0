"""Why, or why not: each condition of a rule with its value on the workloads of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from triage.commands._describe import wrap
from triage.derive import View, derivations
from triage.diagnosis.findings import check
from triage.diagnosis.origins import Origins
from triage.diagnosis.outcomes import FLIP
from triage.diagnosis.sentences import path_text
from triage.ground.units import show
from triage.inference.evaluate import Lookup, Truth, askable, infer, missing
from triage.inference.groups import reads
from triage.rulebook.expression import FALSE, TRUE, Condition

if TYPE_CHECKING:
    from triage.capture.capture import Capture, Origin
    from triage.diagnosis.diagnose import Diagnostician
    from triage.rulebook.rule import Rule

SHOWN = 5
_WORD = {FALSE: "no", TRUE: "yes"}


def why(rule: Rule, capture: Capture, doctor: Diagnostician, method: str) -> str:
    """The rule on the capture's longest workloads (or on the frame), condition by condition."""
    if method not in rule.when:
        return f"{rule.id} {rule.name} speaks under method {', '.join(rule.when)} only.\n"
    whole = rule.scope == "frame"
    if whole:
        part = doctor.diagnose([capture]).parts[0]
        capture, rows = part.frame, np.array([0])
    else:
        times = np.nan_to_num(capture.self_ns, nan=-1.0)
        rows = np.sort(np.argsort(-times, kind="stable")[:SHOWN])
    engine = doctor.frame if whole else doctor.workload
    assert engine is not None
    view = View(capture, rows)
    truth = infer(view, engine)
    return _Why(rule, capture, view, truth, doctor, method).text(whole)


class _Why:
    def __init__(
        self, rule: Rule, capture: Capture, view: View, truth: Truth, doctor: Diagnostician, method: str
    ) -> None:
        self.rule, self.capture, self.view, self.truth, self.doctor, self.method = (
            rule,
            capture,
            view,
            truth,
            doctor,
            method,
        )
        self.rows = view.rows
        self.lookup = Lookup(rule, view, method)
        self.when = rule.when[method]
        self.origins = Origins(capture, view)
        metrics = {m for c in self.when.conditions for m in reads(rule, c.names)}
        self.origins.want(metrics, {int(r) for r in self.rows})
        self.index = next(i for i, r in enumerate(doctor.book.rules) if r.id == rule.id)

    def text(self, whole: bool) -> str:
        out = [wrap(f"{self.rule.id} {self.rule.name} on {self.capture.input.path}, method {self.method}")]
        order = sorted(
            range(len(self.rows)), key=lambda i: -float(np.nan_to_num(self.capture.self_ns[self.rows[i]], nan=-1.0))
        )
        for i in order:
            w = int(self.rows[i])
            name = (
                "the whole capture"
                if whole
                else f"w{w + 1} {path_text(str(self.capture.paths[w]), str(self.capture.names[w]))}"
            )
            time = float(self.capture.self_ns[w])
            out += [
                "",
                wrap(name + (f" ({show(time, 'ns')} own time)" if time == time and not whole else "")),
                wrap(self.outcome(i), "  "),
            ]
            out += [line for c in self.when.given for line in self.concept(c, i)]
            out += [
                line
                for kind, cs in (("all of", self.when.all_of), ("any of", self.when.any_of))
                for c in cs
                for line in self.condition(kind, c, i, w)
            ]
        left = len(self.capture) - len(self.rows)
        if left > 0 and not whole:
            out += ["", wrap(f"{left} more workloads with less own time are not shown; choose with --marker GLOB.")]
        return "\n".join(out) + "\n"

    def outcome(self, i: int) -> str:
        fired = bool(np.broadcast_to(self.truth.fired.get(self.index, False), (self.view.size,))[i])
        for by, hit in self.truth.overruled.get(self.index, ()):
            if hit[i]:
                return f"overruled by {by}"
        if fired:
            return "fires"
        if not bool(np.broadcast_to(self.truth.possible.get(self.index, False), (self.view.size,))[i]):
            return "silent"
        absent = [m for m, mask in missing(self.rule, self.view, self.method) if mask[i]]
        ask = sorted({a for m in absent for a in askable(m, self.view)})
        if absent and not ask:
            return f"not applicable: this profiler does not export {', '.join(absent)}"
        collect = self.capture.collect(ask) if ask and self.capture.collect else ""
        return f"blind: {', '.join(absent) or 'a premise is unknown'}" + (
            f" not collected; {collect}" if collect else " not collected" if absent else ""
        )

    def concept(self, name: str, i: int) -> list[str]:
        value = int(np.broadcast_to(self.truth.concept(name), (self.view.size,))[i])
        makers = [r.id for r in self.doctor.book.rules if name in (r.name, *r.concludes)]
        return [wrap(f"{name} (concluded by {', '.join(makers)})", f"  {_WORD.get(value, 'unknown'):8} given   ")]

    def condition(self, kind: str, c: Condition, i: int, w: int) -> list[str]:
        value = int(np.broadcast_to(self.lookup.once(c), (self.view.size,))[i])
        found = check(self.rule, c, self.lookup, i, lambda m: self.origins.of(m, w, i))
        text = c.text if value not in _WORD else found.why
        if value == FALSE and c.right is not None:
            text = found.why.replace(f" {c.op} ", f" {FLIP[c.op]} ", 1)
        lines = [wrap(text, f"  {_WORD.get(value, 'unknown'):8} {kind:7} ")]
        inputs = (
            [found.source]
            if found.source.metric == c.left.text and not found.source.inputs
            else list(found.source.inputs)
        )
        formula = found.source.formula
        if formula and c.left.text in self.rule.let:
            lines.append(wrap(f"{c.left.text} = {formula}", " " * 21))
        return lines + [wrap(_origin(o), " " * 21) for o in inputs]


def _origin(o: Origin) -> str:
    """One value and where it comes from."""
    if o.value != o.value:
        return f"{o.metric}: missing"
    place = f"line {o.line}, {o.column!r} = {o.text!r}" if o.line else o.formula
    if o.metric in derivations() and not o.line:
        place = f"= {o.formula}"
    return f"{o.metric} {show(o.value, o.unit)}" + (f" ({place})" if place else "")
