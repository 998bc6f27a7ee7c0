"""One marker or kernel of a capture: what leads it, what else spoke, what nearly did, and what could not be asked."""

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
from triage.findings.finding_types import Origin
from triage.findings.near_misses import near_misses
from triage.findings.origins import Origins
from triage.findings.reasons import Reasons
from triage.findings.text_fields import path_text, sentence, verdict_text
from triage.ground.kernel_names import kernel, plain
from triage.ground.phrasing import plural, whole_percent
from triage.ground.terminology import said, speaking
from triage.ground.units import show
from triage.inference.evaluate import BLIND, FIRED, NOT_APPLICABLE
from triage.inference.groups import reads
from triage.rendering.escape import clean, short

SHOWN, NEAREST, NAMED = 3, 8, 6  # markers of one name; rules that nearly spoke; rules named in one line


def find(name: str, capture: Capture) -> Indices:
    """Positions of what is called so: by id, path, name, end of a path, pattern, or a part of the name; longest first.

    The first of these that anything answers to counts, in any case of letters. Empty where nothing is called so.
    """
    want = re.sub(r"\s*/\s*", "/", name.strip()).lower()
    if (m := re.fullmatch(r"w(\d+)", want)) and 0 < int(m[1]) <= len(capture):
        return np.array([int(m[1]) - 1])
    names = [str(n).lower() for n in capture.names]
    paths = [f"{p}{SEP}{n}".lstrip(SEP).replace(SEP, "/").lower() for p, n in zip(capture.paths, names, strict=True)]
    tried: tuple[Callable[[int], bool], ...] = (
        lambda i: paths[i] == want,
        lambda i: want in (names[i], plain(names[i]), kernel(names[i])),
        lambda i: paths[i].endswith(f"/{want}"),
        lambda i: any(fnmatchcase(x, want) for x in (paths[i], names[i], kernel(names[i]))),
        lambda i: want in names[i],
    )
    times = np.nan_to_num(capture.self_ns, nan=-1.0)
    for answers in tried if want else ():
        if found := [i for i in range(len(names)) if answers(i)]:
            return np.array(sorted(found, key=lambda i: (-times[i], i)))
    return np.array([], dtype=np.int64)


def about(rows: Indices, capture: Capture, doctor: Diagnoser) -> str:
    """What became of every rule on the first of some workloads; the others are named."""
    d = doctor.diagnose([capture])
    shown = rows[:SHOWN]
    with speaking(names=terminology_of(d)):
        outcomes = Outcomes(d, d.parts[0], np.sort(shown))
        place = {int(w): i for i, w in enumerate(outcomes.rows)}
        out = "\n\n".join(_One(outcomes, place[int(w)]).text() for w in shown)
    if len(rows) > SHOWN:
        more = ", ".join(f"w{int(w) + 1}" for w in rows[SHOWN : SHOWN + NAMED])
        out += "\n\n" + wrap(f"{len(rows) - SHOWN:,} more are called so, such as {more}: name one, or its path.")
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
        close = near_misses(self.o, self.i, self.origins)[:NEAREST]
        told = {self.rules[n.rule].id for n in close}
        away = dict.fromkeys(
            (rule, why) for rule, w, why in Reasons(self.o).ruled_out() if w == self.w and rule not in told
        )
        return "\n".join(
            [
                *self.head(),
                *block("What speaks here: alternatives, best first; they do not add up", fired or ["  nothing"]),
                *block(
                    "What nearly speaks: one comparison fails, by a quarter at most",
                    [wrap(f"{self.rules[n.rule].id} {said(self.rules[n.rule].title)}: {n.why}", "  - ") for n in close],
                ),
                *block("Ruled out", [wrap(f"{rule} {why}", "  - ") for rule, why in away]),
                *block("Could not be asked: a counter is missing", self.blind()),
                "",
                *self.rest(),
            ]
        )

    def head(self) -> list[str]:
        """Name, time, verdict, and the cause that leads with its chain."""
        name = clean(path_text(str(self.capture.paths[self.w]), str(self.capture.names[self.w])))
        total = self.d.frame_ns
        share = f", {self.own / total * 100:.1f} % of {show(total, 'ns')}" if total > 0 and self.own == self.own else ""
        time = f" ({show(self.own, 'ns')} own time{share})" if self.own == self.own else " (no time)"
        leaders, names = self.d.parts[0].leaders, self.d.cause_index.names
        leader = int(leaders.cause[self.w])
        out = [wrap(f"w{self.w + 1} {name}{time}"), wrap(verdict_text(int(self.o.limiter[self.i]), ""), "  ")]
        if leader >= 0:
            title = self.title(names[leader])
            likely = float(leaders.likely[self.w])
            gives = show(likely * self.own, "ns") if self.own == self.own else f"{whole_percent(likely)} of its time"
            out.append(wrap(f"{title}: {gives} likely ({names[leader]})", "  Leads: "))
            chain = [self.title(names[c]) for c in self.o.causes.chain(leader, self.i)[1:]]
            if chain:
                out.append(wrap("; ".join(chain), "  Brings about: "))
        return out

    def title(self, cause: str) -> str:
        """What people call a cause."""
        return said(self.d.book.cause(cause).title)

    def fired(self) -> list[str]:
        """Every rule that speaks: what it would save, its sentence, its comparisons and their cells."""
        spoke = []
        for k, rule in enumerate(self.rules):
            if self.codes[k] == FIRED and not rule.is_concept:
                _, likely, _ = fractions(rule, self.o.lookup(k), np.array([self.i]))
                spoke.append((-np.nan_to_num(float(likely[0])), rule.id, k))
        out = []
        for gain, id, k in sorted(spoke):
            rule = self.rules[k]
            gives = "" if not gain else show(-gain * self.own, "ns") if self.own == self.own else whole_percent(-gain)
            leads = " (leads)" if k == int(self.d.parts[0].leaders.rule[self.w]) else ""
            out.append(wrap(f"{id} {said(rule.title)}{leads}", f"  {gives or '-':>8}  "))
            if rule.finding:
                out.append(wrap(sentence(rule.finding, rule, self.o.lookup(k), self.i), " " * 12))
            out += self.evidence(k)
        return out

    def evidence(self, k: int) -> list[str]:
        """The comparisons of a rule that hold, each with the cell behind it."""
        rule = self.rules[k]
        self.origins.want({m for c in rule.when[self.d.method].conditions for m in reads(rule, c.names)}, {self.w})
        out = []
        for found in holding_checks(
            rule, self.d.method, self.o.lookup(k), self.i, lambda m: self.origins.origin(m, self.w, self.i)
        ):
            cells = [o for o in (found.source, *found.source.inputs) if o.line]
            out.append(wrap(found.why, " " * 14))
            out += [wrap(_cell(o), " " * 16) for o in cells[:1]]
        return out

    def blind(self) -> list[str]:
        """Rules that lack a counter, by what they wait for, with how to collect it; those that wait for least first."""
        waits: dict[tuple[str, ...], list[str]] = {}
        for k, rule in enumerate(self.rules):
            if self.codes[k] == BLIND and not rule.is_concept:
                waits.setdefault(self.o.waits_for(k, self.i), []).append(rule.id)
        out = []
        for metrics, rules in sorted(waits.items(), key=lambda x: (-len(x[1]), x[0])):
            out.append(wrap(f"{_some(rules)}: {_some(dict.fromkeys(map(_label, metrics))) or 'a premise'}", "  - "))
        wanted = sorted({m for metrics in waits for m in metrics})
        return [*out, wrap(self.o.collect(wanted), "    ")] if wanted else out

    def rest(self) -> list[str]:
        """What was never in question, counted; and where one rule stands in full."""
        judged = [k for k, rule in enumerate(self.rules) if not rule.is_concept]
        other = sum(not self.o.concerns(k) or self.o.strange(k) for k in judged)
        untold = sum(self.codes[k] == NOT_APPLICABLE for k in judged) - sum(not self.o.concerns(k) for k in judged)
        out = [f"{plural(len(judged), 'rule')} in all; {other} are about other work, GPUs or APIs."]
        if untold > 0:
            out.append(f"{untold} ask for what this profiler cannot tell.")
        out.append("One of them, comparison by comparison: triage explain RULE --on FILE --marker NAME")
        return [wrap(" ".join(out))]


def _cell(o: Origin) -> str:
    return clean(f"“{short(o.text, 40)}” in {o.record} {o.line}, column {o.column}")


def _label(metric: str) -> str:
    return said(schema.get(metric).label) if schema.known(metric) else metric


def _some(words: Iterable[str]) -> str:
    """The first of many."""
    found = list(words)
    return ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")
