"""The profiler's rule results against triage: same root cause, also found, ruled out and why, or not found.

nvidia_rules.toml maps the rules of Nsight Compute to causes.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import numpy as np
from msgspec import Struct

from triage.capture.capture import Opinion
from triage.diagnosis.outcomes import Outcomes
from triage.document.entries import VERDICTS
from triage.findings.reasons import Reasons
from triage.ground.phrasing import whole_percent
from triage.inference.evaluate import BLIND, OVERRULED, SILENT

_FILE = Path(__file__).resolve().parent / "nvidia_rules.toml"
# verdicts on a cause that the profiler names, from agreement to no evidence
ROOT, NAMED, RULED_OUT, BLIND_TO, UNSEEN, NO_CAUSE = VERDICTS


class Topic(Struct, frozen=True):
    """Causes behind a profiler's rule. says: lower-case pieces of its sentence, none for any. ours: name of the rule here
    with the same condition. estimates: of what its figure is a share, "" for unknown."""

    name: str
    says: tuple[str, ...]
    ours: str
    causes: tuple[str, ...]
    estimates: str


class ComparedOpinion(Struct, frozen=True):
    """One opinion compared with the diagnosis. causes: those it may mean, none for a roll-up; cause: the one of them that
    fired here, "" for none; verdict: one of VERDICTS; why: in words; ours: fraction of time, None without one."""

    opinion: Opinion
    causes: tuple[str, ...]
    cause: str
    verdict: str
    why: str
    ours: float | None


@cache
def topics() -> tuple[Topic, ...]:
    """All topics, in the order in which they are tried."""
    data = tomllib.loads(_FILE.read_text("utf-8"))
    return tuple(
        Topic(r["name"], _pieces(r.get("says", ())), r["ours"], tuple(r.get("causes", ())), r.get("estimates", ""))
        for r in data["rule"]
    )


def _pieces(says: str | list[str]) -> tuple[str, ...]:
    return (says,) if isinstance(says, str) else tuple(says)


def topic(rule: str, text: str) -> Topic | None:
    """Causes behind a rule's sentence; None for a roll-up or a rule without a cause."""
    low = " ".join(text.lower().split())
    for t in topics():
        # older versions have one rule per stall reason: CPIStallBarrier
        same = rule == t.name or (t.name == "CPIStall" and rule.startswith("CPIStall"))
        if same and all(piece in low for piece in t.says):
            return t
    return None


class SecondOpinion:
    """Opinions about the workloads of some outcomes."""

    def __init__(self, outcomes: Outcomes) -> None:
        self.o, self.names = outcomes, outcomes.d.cause_index.names
        self._reasons = Reasons(outcomes)
        self.code = {name: i for i, name in enumerate(self.names)}
        self.rules: dict[str, list[int]] = {}
        for index, rule in enumerate(outcomes.d.book.rules):
            if rule.cause and not rule.is_concept and rule.scope == "workload":
                self.rules.setdefault(rule.cause, []).append(index)
        self.place = {int(w): i for i, w in enumerate(outcomes.rows)}

    def compare(self, opinion: Opinion, w: int) -> ComparedOpinion:
        """One opinion about the workload of index w."""
        found = topic(opinion.rule, opinion.text)
        if found is None or w not in self.place:
            return ComparedOpinion(opinion, (), "", NO_CAUSE, "", None)
        i = self.place[w]
        ours = self._cause_here(found.causes, w, i)
        if ours is None:
            verdict, why = self._absent(found, i)
            if verdict == RULED_OUT and opinion.speedup is not None and found.estimates:
                why += f"; profiler's estimate: {found.estimates}"
            return ComparedOpinion(opinion, found.causes, "", verdict, why, None)
        cause, root = ours
        row = self.o.causes.rows[self.code[cause]]
        mine = float(row.likely[i])
        why = self._difference(opinion, found, cause, i)
        return ComparedOpinion(opinion, found.causes, cause, ROOT if root else NAMED, why, mine)

    def _cause_here(self, causes: tuple[str, ...], w: int, i: int) -> tuple[str, bool] | None:
        """(cause, does it lead) of those that fired here: the leader first, then in the order of the topic."""
        leader = int(self.o.part.leaders.cause[w])
        if leader >= 0 and self.names[leader] in causes:
            return self.names[leader], True
        rows = self.o.causes.rows
        for name in causes:
            row = rows.get(self.code.get(name, -1))
            if row is not None and row.fired[i]:
                return name, False
        return None

    def _difference(self, opinion: Opinion, found: Topic, cause: str, i: int) -> str:
        """Why the two estimates differ, or the cause that explains this one."""
        row = self.o.causes.rows[self.code[cause]]
        by = int(row.by[i])
        rule = self.o.d.book.rules[int(row.rule[i])]
        parts = []
        if by >= 0:
            parts.append(f"effect of {self.names[by]}")
        if opinion.speedup is not None and found.estimates:
            parts.append(f"profiler's estimate: {found.estimates}")
        if rule.gain is not None and row.likely[i] > 0:
            parts.append(
                f"triage: {whole_percent(float(row.likely[i]))}, bound {whole_percent(float(row.bound[i]))}, from "
                f"{rule.gain.because}"
            )
        return "; ".join(parts)

    def _absent(self, found: Topic, i: int) -> tuple[str, str]:
        """Why none of the causes fired: overruled, a failed condition, or missing counters.

        The rule with the same condition decides; other kinds of missing evidence rule nothing out. Other rules may be
        overruled, which excludes their cause, and count where that rule does not apply.
        """
        book = self.o.d.book
        mine = [k for k, r in enumerate(book.rules) if r.name == found.ours]
        rest = [k for name in found.causes for k in self.rules.get(name, ()) if k not in mine]
        blind = premise = ""
        for index in (*mine, *rest):
            name, code = book.rules[index].name, int(self.o.outcome(index)[i])
            if code == OVERRULED:
                return RULED_OUT, self._reasons.why_overruled(index, i).why
            if code == BLIND:
                asked = ", ".join(self.o.waits_for(index, i)[:3])
                blind = blind or f"{name} needs {asked or 'a derived fact'}"
            elif code == SILENT and not blind:
                given, why = self._reasons.why_silent(index, i)
                if why and not given:  # a comparison says more than a premise that does not hold
                    return RULED_OUT, f"{name}: {why}"
                premise = premise or (f"{name}: {why}" if why else "")
        if blind:
            return BLIND_TO, blind
        return (RULED_OUT, premise) if premise else (UNSEEN, "no finding of this cause")


def best(opinions: list[ComparedOpinion]) -> ComparedOpinion | None:
    """The most promising one that names a cause: the largest estimate of the whole workload, else of a part of it."""
    named = [h for h in opinions if h.causes and h.opinion.speedup is not None and np.isfinite(h.opinion.speedup)]
    whole = [h for h in named if h.opinion.scope == "global"] or named
    return max(whole, key=lambda h: h.opinion.speedup or 0.0, default=None)
