"""A cause on a capture: where it is the root cause, what excludes it, and which counters are missing to tell."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from triage.capture.capture import Capture
from triage.commands._describe import wrap
from triage.commands._explain_rule import longest, unlisted
from triage.diagnosis.diagnosing import Diagnoser
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.outcomes import Outcomes
from triage.findings.assembling import terminology_of
from triage.findings.evidence import bare_origin, holding_checks
from triage.findings.finding_types import Origin
from triage.findings.near_misses import near_misses
from triage.findings.reasons import Reasons
from triage.ground.phrasing import plural
from triage.ground.terminology import localize, speaking
from triage.ground.units import show
from triage.inference.evaluate import BLIND, FIRED, NOT_APPLICABLE, OVERRULED
from triage.rulebook.cause import Cause
from triage.rulebook.rule import Rule


def explain_cause(cause: Cause, capture: Capture, doctor: Diagnoser) -> str:
    """The cause on the longest workloads of a capture, or on the whole of it: yes or no, by which number of which rule."""
    d = doctor.diagnose([capture])
    with speaking(names=terminology_of(d)):
        out = [wrap(f"{cause.id} ({localize(cause.title)}) on {capture.input.path}, method {d.method}")]
        scopes = {r.scope for r in d.book.rules if r.cause == cause.id}
        if not scopes:
            return (
                "\n".join([*out, "", wrap(f"No rule names it: {cause.reserved or 'its rules are not selected'}.")])
                + "\n"
            )
        ones: list[tuple[str, _One]] = []
        if "frame" in scopes:
            ones.append(("the whole capture", _One(cause, Outcomes(d, d.parts[0], whole=True), 0)))
        if scopes - {"frame"}:
            out.append(_led(cause, d))
            shown = longest(capture)
            o = Outcomes(d, d.parts[0], np.sort([w for w, _ in shown]))
            ones += [(name, _One(cause, o, int(np.searchsorted(o.rows, w)))) for w, name in shown]
        for name, one in ones:
            out += ["", wrap(name), *one.lines()]
        if scopes - {"frame"}:
            out += unlisted(capture)
        if wanted := sorted({m for _, one in ones for m in one.missing()}):
            out += ["", wrap(f"To test it: {ones[-1][1].o.collect(wanted)}")]
    return "\n".join([*out, "", wrap("One rule in detail: triage explain RULE --on FILE")]) + "\n"


def _led(cause: Cause, d: Diagnosis) -> str:
    """`Root cause of 1 of 3 workloads, 214 µs.`"""
    capture, names = d.parts[0].capture, d.cause_index.names
    led = np.flatnonzero(d.parts[0].leaders.cause == (names.index(cause.id) if cause.id in names else -2))
    time = float(np.nansum(capture.self_ns[led]))
    took = f", {show(time, 'ns')}" if time else ""
    return wrap(f"Root cause of {len(led):,} of {plural(len(capture), 'workload')}{took}.")


class _One:
    """A cause on position i of some outcomes, of workloads or of the whole capture."""

    def __init__(self, cause: Cause, o: Outcomes, i: int) -> None:
        self.cause, self.o, self.i = cause, o, i
        self.whole = o.capture is o.part.frame
        rules = [(k, r) for k, r in enumerate(o.d.book.rules) if r.cause == cause.id and not r.is_concept]
        self.rules = [(k, r) for k, r in rules if (r.scope == "frame") == self.whole]
        self.codes = {k: int(o.outcome(k)[i]) for k, _ in self.rules}

    def lines(self) -> list[str]:
        """The verdict on the cause, then its rules: those that fire, that a number silences, that lack a counter."""
        out = [wrap(self.verdict(), "  ")]
        order = {FIRED: 0, OVERRULED: 1, BLIND: 3}
        judged = [(k, r) for k, r in self.rules if self.codes[k] != NOT_APPLICABLE and self.o.concerns(k)]
        others = [r for k, r in self.rules if (k, r) not in judged and not r.unweighed]
        for k, r in sorted(judged, key=lambda x: (order.get(self.codes[x[0]], 2), x[1].id)):
            out.append(wrap(f"{r.id} {self.word(k)}: {self.why(k, r)}", "  - "))
        if others:
            out.append(wrap(f"{plural(len(others), 'rule')} for other devices, work or profilers", "  - "))
        return out

    def missing(self) -> set[str]:
        """Metrics that its rules lack."""
        return {m for k, code in self.codes.items() if code == BLIND for m in self.o.waits_for(k, self.i)}

    def verdict(self) -> str:
        """`root cause`, `an effect of X`, `excluded`, `not tested`, in that order."""
        names, codes = self.o.d.cause_index.names, set(self.codes.values())
        if FIRED in codes:
            if self.whole:
                return "Found."
            leader = int(self.o.part.leaders.cause[self.o.rows[self.i]])
            if leader < 0:
                return "Seen, but not shown to cost time: no root cause here."
            if names[leader] == self.cause.id:
                return "Root cause here."
            chain = {names[c] for c in self.o.causes.chain(leader, self.i)}
            word = "Seen as an effect of" if self.cause.id in chain else "Seen; the root cause saves more:"
            return f"{word} {names[leader]}."
        if codes <= {NOT_APPLICABLE}:
            return "Not applicable: no rule of it is for this device, work or profiler."
        if codes <= {NOT_APPLICABLE, BLIND}:
            return "Not tested: counters are missing."
        return "Not found; some rules lack counters." if BLIND in codes else "Excluded."

    def word(self, k: int) -> str:
        """The outcome of one rule in a word."""
        return {FIRED: "fires", OVERRULED: "overruled", BLIND: "not evaluated"}.get(self.codes[k], "no")

    def why(self, k: int, r: Rule) -> str:
        """The numbers behind it; the missing metrics of a rule that was not evaluated."""
        code = self.codes[k]
        if code == BLIND:
            return f"{', '.join(self.o.waits_for(k, self.i)) or 'a derived fact'} missing"
        if code == OVERRULED:
            return Reasons(self.o).why_overruled(k, self.i).reason
        if code == FIRED:
            checks = holding_checks(r, self.o.d.method, self.o.lookup(k), self.i, self.origin)
            return "; ".join(c.why for c in checks) or "its conditions hold"
        premise, why = Reasons(self.o).why_silent(k, self.i)
        near = "" if premise or k not in self.near else " (a near miss)"
        return (why or "its conditions do not hold") + near

    @cached_property
    def near(self) -> set[int]:
        """Rules that one comparison silences by little."""
        return {n.rule for n in near_misses(self.o, self.i)}

    def origin(self, metric: str) -> Origin:
        """A value without its cell."""
        return bare_origin(self.o.view, metric, self.i)
