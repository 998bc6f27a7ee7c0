"""The way of a kernel through NVIDIA's Compute Triage Guide: its decisions, and what our rules answer to each check.

Decisions, checks and the rules that ask them stand in guide.toml beside this file; the answers are the rules' own outcomes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from triage.capture.arrays import Codes
from triage.diagnosis.outcomes import Outcomes
from triage.document.page_entries import StepEntry
from triage.findings.decision_path import LIMITS, NOTED, OPEN, PASSES
from triage.findings.evidence import at
from triage.findings.reasons import Reasons
from triage.findings.text_fields import sentence
from triage.ground.method import stated
from triage.ground.phrasing import lower_first, plural
from triage.inference.evaluate import BLIND, FIRED, NOT_APPLICABLE, OVERRULED, SILENT
from triage.rulebook.expression import TRUE

_FILE = Path(__file__).resolve().parent / "guide.toml"


class Check(Struct, frozen=True):
    """One check or symptom page. rules: names of the rules and concepts that ask it here; instead: why none does, or what
    else answers."""

    id: str
    ask: str
    rules: tuple[str, ...]
    instead: str


class Decision(Struct, frozen=True):
    """One decision of the guide. unless: concepts where it is no question."""

    id: str
    ask: str
    checks: tuple[Check, ...]
    unless: tuple[str, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """Rules of all its checks, once each."""
        return tuple(dict.fromkeys(name for c in self.checks for name in c.rules))


def check_from(data: dict[str, Any]) -> Check:
    """A check or symptom page of the file."""
    return Check(data["id"], stated(data["ask"]), tuple(data.get("rules", ())), data.get("instead", ""))


@cache
def decisions() -> tuple[Decision, ...]:
    """The guide's decisions in its order."""
    data = tomllib.loads(_FILE.read_text("utf-8"))
    return tuple(
        Decision(d["id"], stated(d["ask"]), tuple(check_from(c) for c in d["check"]), tuple(d.get("unless", ())))
        for d in data["decision"]
    )


@cache
def concerns() -> str:
    """The derived fact of the kernels that the guide is about."""
    return str(tomllib.loads(_FILE.read_text("utf-8"))["concerns"])


class Guide:
    """Ways of the kernels that some outcomes are about."""

    def __init__(self, outcomes: Outcomes) -> None:
        self.o, self._reasons = outcomes, Reasons(outcomes)
        self.index = {r.name: i for i, r in enumerate(outcomes.d.book.rules)}
        self._suspects = {r.unweighed: i for i, r in enumerate(outcomes.d.book.rules) if r.unweighed}
        self._codes: dict[int, Codes] = {}

    def concerns(self, i: int) -> bool:
        """True if the i-th workload is a kernel on an NVIDIA GPU."""
        return self._holds(concerns(), i)

    def _holds(self, concept: str, i: int) -> bool:
        return at(self.o.truth.concept(concept), i) == TRUE

    def _code(self, index: int, i: int) -> int:
        if index not in self._codes:
            self._codes[index] = self.o.outcome(index)
        return int(self._codes[index][i])

    def steps(self, i: int) -> list[StepEntry]:
        """One step per decision: fired rules, missing counters, else no evidence. Empty for other work."""
        asked = [d for d in decisions() if not d.rules or self._asked(d)] if self.concerns(i) else []
        return [self._decision(d, i) if d.rules else self._lines(d) for d in asked]

    def checks(self, i: int) -> list[tuple[Decision, list[StepEntry]]]:
        """Every check of every decision with its answer."""
        return [(d, [self._answer(c, i) for c in d.checks]) for d in decisions()]

    def _of(self, names: Iterable[str]) -> list[int]:
        """Indices of these rules and of their suspects, as far as they are in force."""
        every = [index[name] for name in names for index in (self.index, self._suspects) if name in index]
        return list(dict.fromkeys(every))

    def _asked(self, d: Decision) -> bool:
        return any(name in self.index for name in d.rules)

    def _lines(self, d: Decision) -> StepEntry:
        """The decision that findings answer by their lines, as far as the export has any."""
        ask = f"{d.id}: {d.ask}"
        if self.o.capture.table.locate is not None:
            return _step(ask, "", "the findings below name their lines", NOTED)
        return _step(ask, "", "not in this export: " + d.checks[0].instead, OPEN)

    def _decision(self, d: Decision, i: int) -> StepEntry:
        veto = next((v for v in d.unless if self._holds(v, i)), "")
        if veto and not any(self._fired(name, i) for name in d.rules):
            return _step(f"{d.id}: {d.ask}", "", f"not applicable: {self._title(veto)}", PASSES)
        codes = [(k, self._code(k, i)) for k in self._of(d.rules)]
        book, ask = self.o.d.book, f"{d.id}: {d.ask}"
        fired = [book.rules[k] for k, code in codes if code == FIRED]
        titles = [lower_first(r.title) for r in fired if not r.is_concept] or [lower_first(r.title) for r in fired]
        if titles:
            return _step(ask, "", "; ".join(titles), LIMITS if any(not r.is_concept for r in fired) else NOTED)
        asked = [code for k, code in codes if self.o.concerns(k) and not book.rules[k].unweighed]
        unknown = sum(code in (BLIND, NOT_APPLICABLE) for code in asked)
        if unknown == len(asked):
            return _step(ask, "", "not measured", OPEN)
        if 2 * unknown > len(asked):  # what most checks could not tell is no all-clear
            return _step(ask, "", f"{unknown} of {plural(len(asked), 'check')} not measured", OPEN)
        rest = f"; {plural(unknown, 'check')} not measured" if unknown else ""
        return _step(ask, "", f"no findings{rest}", PASSES)

    def _fired(self, name: str, i: int) -> bool:
        """True if a rule that reports something fired here."""
        index = self.index.get(name, -1)
        return index >= 0 and not self.o.d.book.rules[index].is_concept and self._code(index, i) == FIRED

    def _answer(self, c: Check, i: int) -> StepEntry:
        """What the rules of a check answer: the first that fired, else overruled, silent with a reason, blind."""
        ask = f"{c.id} {c.ask}?"
        codes = [(index, self._code(index, i)) for index in self._of(c.rules)]
        book = self.o.d.book
        fired = [index for index, code in codes if code == FIRED]
        if fired:
            rules = [book.rules[k] for k in fired]
            titles = "; ".join(lower_first(r.title) for r in rules)
            spoken = next((r for r in rules if not r.is_concept), None)
            text = sentence(spoken.finding, spoken, self.o.lookup(self.index[spoken.name]), i) if spoken else ""
            return _step(ask, titles, text or titles, LIMITS if spoken else NOTED)
        overruled = next((k for k, code in codes if code == OVERRULED), None)
        if overruled is not None:
            return _step(ask, "", self._reasons.why_overruled(overruled, i).why, PASSES)
        silent = [
            self._reasons.why_silent(k, i)[1] for k, code in codes if code == SILENT and not book.rules[k].is_concept
        ]
        if any(silent):
            return _step(ask, "", f"no: {next(s for s in silent if s)}", PASSES)
        blind = [k for k, code in codes if code == BLIND]
        if blind:
            return _step(
                ask, "", f"not measured: {', '.join(self.o.waits_for(blind[0], i)[:3]) or 'a derived fact'}", OPEN
            )
        if codes and all(code == NOT_APPLICABLE for _, code in codes):
            return _step(ask, "", "needs counters this profiler lacks", OPEN)
        return _step(ask, "", "no" if codes else c.instead, PASSES if codes else OPEN)

    def _title(self, concept: str) -> str:
        maker = next((r for r in self.o.d.book.rules if concept in (r.name, *r.concludes)), None)
        return lower_first(maker.title) if maker else concept


def _step(ask: str, value: str, answer: str, state: str) -> StepEntry:
    return {"ask": ask, "metric": "", "value": value, "edge": "", "answer": answer, "state": state}
