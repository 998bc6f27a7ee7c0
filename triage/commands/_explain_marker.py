"""One marker or kernel of a capture: root cause, findings, near misses, causes ruled out, rules not evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

import numpy as np

from triage import schema
from triage.capture.arrays import Indices
from triage.capture.capture import SEP, Capture
from triage.commands._describe import block, wrap
from triage.diagnosis.diagnosing import Diagnoser
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.gain import fractions
from triage.diagnosis.outcomes import Outcomes
from triage.findings.assembling import terminology_of
from triage.findings.evidence import holding_checks
from triage.findings.near_misses import MAX_GAP, near_misses
from triage.findings.origins import Origins
from triage.findings.reasons import Reasons
from triage.findings.text_fields import path_text, sentence, verdict_text
from triage.ground.kernel_names import kernel, plain
from triage.ground.phrasing import first_of, plural, whole_percent
from triage.ground.terminology import localize, speaking
from triage.ground.units import show
from triage.inference.evaluate import BLIND, FIRED, NOT_APPLICABLE
from triage.rendering.escape import clean
from triage.rendering.phrases import origin_of
from triage.rulebook.rule import reads

MAX_MARKERS, MAX_NEAR, MAX_NAMED = 3, 8, 6  # markers of one name; near misses; rules in one line


def find(name: str, capture: Capture) -> Indices:
    """Positions of the workloads with this id, path, name, end of a path, pattern or part of a name; longest first.

    The first of these kinds with a match counts; letter case does not. Empty without a match.
    """
    want = re.sub(r"\s*/\s*", "/", name.strip()).lower()
    if (m := re.fullmatch(r"w(\d+)", want)) and 0 < int(m[1]) <= len(capture):
        return np.array([int(m[1]) - 1])
    names = [str(n).lower() for n in capture.names]
    paths = [f"{p}{SEP}{n}".lstrip(SEP).replace(SEP, "/").lower() for p, n in zip(capture.paths, names, strict=True)]
    kinds: tuple[Callable[[int], bool], ...] = (
        lambda i: paths[i] == want,
        lambda i: want in (names[i], plain(names[i]), kernel(names[i])),
        lambda i: paths[i].endswith(f"/{want}"),
        lambda i: any(fnmatchcase(x, want) for x in (paths[i], names[i], kernel(names[i]))),
        lambda i: want in names[i],
    )
    times = np.nan_to_num(capture.self_ns, nan=-1.0)
    for matches in kinds if want else ():
        if hits := [i for i in range(len(names)) if matches(i)]:
            return np.array(sorted(hits, key=lambda i: (-times[i], i)))
    return np.array([], dtype=np.int64)


def explain_workloads(rows: Indices, capture: Capture, doctor: Diagnoser) -> str:
    """The outcome of every rule on the first of these workloads; the ids of the others."""
    d = doctor.diagnose([capture])
    shown = rows[:MAX_MARKERS]
    with speaking(names=terminology_of(d)):
        outcomes = Outcomes(d, d.parts[0], np.sort(shown))
        place = {int(w): i for i, w in enumerate(outcomes.rows)}
        out = "\n\n".join(_One(outcomes, place[int(w)]).text() for w in shown)
    if len(rows) > MAX_MARKERS:
        more = ", ".join(f"w{int(w) + 1}" for w in rows[MAX_MARKERS : MAX_MARKERS + MAX_NAMED])
        out += "\n\n" + wrap(f"{len(rows) - MAX_MARKERS:,} more of this name, such as {more}: give an id or a path.")
    return out + "\n"


class _One:
    """One workload, position i of some outcomes."""

    def __init__(self, outcomes: Outcomes, i: int) -> None:
        self.o, self.i, self.w = outcomes, i, int(outcomes.rows[i])
        self.d: Diagnosis = outcomes.d
        self.rules, self.capture = self.d.book.rules, outcomes.capture
        self.origins = Origins(self.capture, outcomes.view)
        self.own = float(self.capture.self_ns[self.w])
        self.codes = [int(outcomes.outcome(k)[i]) for k in range(len(self.rules))]

    def text(self) -> str:
        fired = self.fired()
        close = near_misses(self.o, self.i, self.origins)[:MAX_NEAR]
        listed = {self.rules[n.rule].id for n in close}
        away = dict.fromkeys(
            (r.rule, r.why) for r in Reasons(self.o).ruled_out() if r.row == self.w and r.rule not in listed
        )
        return "\n".join(
            [
                *self.head(),
                *block("Findings: alternatives, root cause first, then by saving (not additive)", fired or ["  none"]),
                *block(
                    f"Near misses (one condition off by at most {whole_percent(MAX_GAP)})",
                    [
                        wrap(f"{self.rules[n.rule].id} {localize(self.rules[n.rule].title)}: {n.why}", "  - ")
                        for n in close
                    ],
                ),
                *block("Ruled out", [wrap(f"{rule} {why}", "  - ") for rule, why in away]),
                *block("Not evaluated: missing counters", self.blind()),
                "",
                *self.rest(),
            ]
        )

    def head(self) -> list[str]:
        """Name, time, limiter, and the root cause with its effects."""
        name = clean(path_text(str(self.capture.paths[self.w]), str(self.capture.names[self.w])))
        total = self.d.frame_ns
        share = f", {self.own / total * 100:.1f} % of {show(total, 'ns')}" if total > 0 and self.own == self.own else ""
        time = f" ({show(self.own, 'ns')} self time{share})" if self.own == self.own else " (no time)"
        leaders, names = self.d.parts[0].leaders, self.d.cause_index.names
        leader = int(leaders.cause[self.w])
        out = [
            wrap(f"w{self.w + 1} {name}{time}"),
            wrap(verdict_text(int(self.o.limiter[self.i]), measured=bool(self.o.units_measured[self.i])), "  "),
        ]
        if leader >= 0:
            title = self.title(names[leader])
            likely = float(leaders.likely[self.w])
            gives = show(likely * self.own, "ns") if self.own == self.own else f"{whole_percent(likely)} of its time"
            out.append(wrap(f"{title}: saves {gives} ({names[leader]})", "  Root cause: "))
            chain = [self.title(names[c]) for c in self.o.causes.chain(leader, self.i)[1:]]
            if chain:
                out.append(wrap("; ".join(chain), "  Leads to: "))
        return out

    def title(self, cause: str) -> str:
        """Title of a cause in the vendor's terms."""
        return localize(self.d.book.cause(cause).title)

    def fired(self) -> list[str]:
        """Every finding: saving, sentence, comparisons and their source cells."""
        findings, leader = [], int(self.d.parts[0].leaders.rule[self.w])
        for k, rule in enumerate(self.rules):
            if self.codes[k] == FIRED and not rule.is_concept:
                _, likely, _ = fractions(rule, self.o.lookup(k), np.array([self.i]))
                findings.append((k != leader, -np.nan_to_num(float(likely[0])), rule.id, k))
        out = []
        for other, gain, rule_id, k in sorted(findings):
            rule = self.rules[k]
            gives = "" if not gain else show(-gain * self.own, "ns") if self.own == self.own else whole_percent(-gain)
            root = "" if other else " (root cause)"
            out.append(wrap(f"{rule_id} {localize(rule.title)}{root}", f"  {gives or '-':>8}  "))
            if rule.finding:
                out.append(wrap(sentence(rule.finding, rule, self.o.lookup(k), self.i), " " * 12))
            out += self.evidence(k)
        return out

    def evidence(self, k: int) -> list[str]:
        """The comparisons of a rule that hold, each with a source cell."""
        rule = self.rules[k]
        self.origins.want({m for c in rule.when[self.d.method].conditions for m in reads(rule, c.names)}, {self.w})
        out = []
        for comparison in holding_checks(
            rule, self.d.method, self.o.lookup(k), self.i, lambda m: self.origins.origin(m, self.w, self.i)
        ):
            out.append(wrap(comparison.why, " " * 14))
            out.append(wrap(origin_of(comparison.entry), " " * 16))
        return out

    def blind(self) -> list[str]:
        """Rules with missing counters, by counters, most rules first; and the command that collects them."""
        waits: dict[tuple[str, ...], list[str]] = {}
        for k, rule in enumerate(self.rules):
            if self.codes[k] == BLIND and not rule.is_concept:
                waits.setdefault(self.o.waits_for(k, self.i), []).append(rule.id)
        out = []
        for metrics, rules in sorted(waits.items(), key=lambda x: (-len(x[1]), x[0])):
            out.append(
                wrap(f"{_some(rules)}: {_some(dict.fromkeys(map(_label, metrics))) or 'a derived fact'}", "  - ")
            )
        wanted = sorted({m for metrics in waits for m in metrics})
        command = self.o.collect(wanted) if wanted else ""
        return [*out, wrap(command, "    ")] if command else out

    def rest(self) -> list[str]:
        """Number of rules that do not apply, and the command that explains one rule."""
        judged = [k for k, rule in enumerate(self.rules) if not rule.is_concept]
        other = sum(not self.o.concerns(k) or self.o.strange(k) for k in judged)
        lacking = sum(self.codes[k] == NOT_APPLICABLE for k in judged) - sum(not self.o.concerns(k) for k in judged)
        out = [
            f"{plural(len(judged), 'rule')}: {other} do not apply"
            + (f", {lacking} need counters this profiler lacks." if lacking > 0 else ".")
        ]
        out.append("One rule in detail: triage explain RULE --on FILE --marker NAME")
        return [wrap(" ".join(out))]


def _label(metric: str) -> str:
    return localize(schema.get(metric).label) if schema.known(metric) else metric


def _some(words: Iterable[str]) -> str:
    """The first of many."""
    return first_of(list(words), MAX_NAMED, " and ")
