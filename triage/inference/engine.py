"""Inference engine: a group's signature -> the rules that fire, on a forward-chaining (Rete) engine.

Two independent Rete engines do the same work: durable-rules (the default) and CLIPS. Both only ever see names that
this module made from the rule pack, never a byte of a capture. Three-valued logic needs no negation: every input
contributes a literal `kT` when it is true and `kP` when it may be true (true or unknown); each rule enters twice, over
its T-literals (it fires) and over its P-literals (it cannot be excluded).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from triage.capture.arrays import distinct
from triage.ground.errors import TriageError, out_of_memory
from triage.ground.phrasing import either
from triage.inference.groups import RULES, Group, Program, Signatures, unsign, wanted
from triage.rulebook.expression import FALSE, TRUE, UNKNOWN

BACKENDS = ("durable", "clips")
UNSEEN = 1  # member 0 fires and yet is excluded: no signature gives that
MAX_CLIPS_RUNS = 1_000  # of one environment, which slows down with every run: 1.6-fold over the first 1,500
Definition = tuple[str, tuple[str, ...]]  # rule name (`3.0T#1`), literals (`3.4T`)


class Backend(Protocol):
    """An engine: asserts literals, returns the names of the rules that fired, keeps nothing.

    One set of facts at a time: threads that share an engine take turns.
    """

    name: str

    def run(self, literals: Sequence[str]) -> list[str]:
        """Names of all rules whose literals are all among the given ones."""


class Durable:
    """durable-rules, through its C module: no Host, hence no threads and no leaked megabytes (see docs/engine.md)."""

    name = "durable"
    # the C engine does not detect rules that run in a circle; no group comes near this
    MAX_FIRINGS = 5_000
    ROOM = 48 << 20  # bytes that must be free when it starts: three times what it takes for all rules there are

    def __init__(self, definitions: Sequence[Definition]) -> None:
        import durable_rules_engine as c

        self._c, self._turn = c, threading.Lock()
        spread = {x for _, literals in definitions for x in literals}
        # Limits of the C engine, found by experiment: beyond them it loops, loses rules or crashes.
        counts: dict[str, int] = {}
        for name, literals in definitions:
            if not 1 <= len(literals) <= 16:
                hint = "split the rule with a derived fact"
                raise TriageError(f"rule {name} has {len(literals)} literals; the engine takes 1 to 16", hint)
            for x in literals:
                counts[x] = counts.get(x, 0) + 1
        if len(definitions) > 4000 or max(counts.values(), default=0) > 250:
            raise TriageError("too many rules for one engine", "load fewer rule packs")
        rules: dict[str, Any] = {"_prime": self._asks("_p", ["_prime"])}
        for name, literals in definitions:
            group, *more = {self._group(x) for x in literals}
            if more:
                raise TriageError(f"rule {name} reads literals of several groups", "give each group rules of its own")
            rules[name] = self._asks(group, sorted(literals))
        self._known = spread
        np.empty(self.ROOM, dtype=np.uint8)  # a MemoryError here: the C engine looks at no allocation, and crashes
        self._handle = c.create_ruleset("triage", json.dumps(rules))
        # A state slot in which no rule ever fired makes delete_state crash: fire one rule first.
        self._cycle([self._fact("_p", ["_prime"])])
        c.delete_state(self._handle, "0")

    @staticmethod
    def _group(literal: str) -> str:
        return "g" + literal.partition(".")[0]

    @staticmethod
    def _asks(group: str, literals: Sequence[str]) -> dict[str, Any]:
        """A rule over one fact. The group first: more than 511 conditions side by side loop forever."""
        return {"all": [{"f": {"$and": [{"g": group}, *({x: "1"} for x in literals)]}}]}

    @staticmethod
    def _fact(group: str, literals: Sequence[str]) -> str:
        """All literals of a group are one fact: a retract after a rule over two facts fired writes beyond its frame."""
        return json.dumps({"g": group, **dict.fromkeys(literals, "1")})

    def run(self, literals: Sequence[str]) -> list[str]:
        """See Backend."""
        groups: dict[str, list[str]] = {}
        for x in literals:
            if x in self._known:
                groups.setdefault(self._group(x), []).append(x)
        with self._turn:
            return self._cycle([self._fact(group, mine) for group, mine in groups.items()])

    def _cycle(self, facts: Sequence[str]) -> list[str]:
        c, handle, fired, live, state = self._c, self._handle, [], [], None
        try:
            for fact in facts:  # everything goes in before the first rule is asked for
                code, state = c.assert_fact(handle, fact)
                # 0: some rule reads it; 1: none does, and it was not kept; 2: it is there already
                if code not in (0, 1, 2):
                    raise RuntimeError(f"durable-rules answered {code}")
                if code == 0:
                    live.append(fact)
            first = c.start_action_for_state(handle, state) if live else None
            message = first[1] if first else None
            while message:
                fired.append(next(iter(json.loads(message))))
                if len(fired) > self.MAX_FIRINGS:
                    raise RuntimeError("runaway rules")
                message = c.complete_and_start_action(handle, state)
        # Ctrl-C too: facts left behind would fire for the next signature
        except BaseException:
            c.delete_state(handle, "0")
            raise
        for fact in live:  # only with an empty agenda is a retract safe
            c.retract_fact(handle, fact)
        return fired


class Clips:
    """CLIPS through clipspy: binary wheels for every platform, no compiler needed."""

    name = "clips"

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self._definitions = list(definitions)
        self._known = {x for _, literals in definitions for x in literals}
        self._fired: list[str] = []
        self._turn = threading.Lock()
        self._build()

    def _build(self) -> None:
        import clips

        self._env = clips.Environment()
        self._env.define_function(self._note, "note")
        self._env.build("(deftemplate lit (slot k (type SYMBOL)))")
        for name, literals in self._definitions:
            patterns = " ".join(f"(lit (k k{x}))" for x in literals)
            self._env.build(f'(defrule r{name.replace("#", "-")} {patterns} => (note "{name}"))')
        self._runs = 0

    def _note(self, name: str) -> None:
        self._fired.append(str(name))

    def run(self, literals: Sequence[str]) -> list[str]:
        """See Backend."""
        with self._turn:
            self._fired = []
            self._runs += 1
            if self._runs > MAX_CLIPS_RUNS:
                self._build()
            for x in literals:
                if x in self._known:
                    self._env.assert_string(f"(lit (k k{x}))")
            self._env.run()
            self._env.reset()
            return self._fired


@cache
def _compiled(name: str, definitions: tuple[Definition, ...]) -> Backend:
    """One engine for the same rules, however often they are loaded: durable-rules never gives 30 MB of them back."""
    return (Durable if name == "durable" else Clips)(definitions)


def backend(name: str, definitions: Sequence[Definition]) -> tuple[Backend, str]:
    """(engine, note). name: durable, clips or "" (durable where it is installed, else clips; a note where it cannot be loaded)."""
    if name not in ("", *BACKENDS):
        raise TriageError(f"unknown engine {name!r}", f"choose {either(BACKENDS)}")
    problem = ""
    for candidate in [name] if name else BACKENDS:
        try:
            return _compiled(candidate, tuple(definitions)), problem
        except ModuleNotFoundError:  # as without a compiler; `triage --version --verbose` says so, not each run
            continue
        except ImportError as e:  # on Python 3.13 the published sources build and do not load
            if out_of_memory(e):
                raise
            problem = f"the {candidate} engine cannot be loaded here ({e}); using clips instead"
    hint = "install it: pip install durable-rules, or use --engine clips"
    raise TriageError(f"engine {name or 'durable or clips'}: cannot be loaded", hint)


def definitions(program: Program) -> list[Definition]:
    """Both forms (T and P) of every rule of a program, one definition per alternative."""
    return [
        (f"{group.number}.{m}{form}#{a}", tuple(f"{group.number}.{i}{form}" for i in inputs))
        for group in program.groups
        for m, member in enumerate(group.members)
        for a, inputs in enumerate(member.alternatives)
        for form in "TP"
    ]


class Engine:
    """Infers a program's groups; keeps the result of every signature."""

    def __init__(self, program: Program, choice: str = "") -> None:
        self.program = program
        self.backend, self.note = backend(choice, definitions(program))
        # a place for every signature there can be, at most 6 MB: looking a million up is one gather
        self._table = [np.full(3 ** len(g.inputs), UNSEEN, dtype=np.uint32) for g in program.groups]
        # metrics without which some condition is unknown
        self.needs = frozenset[str]().union(*(i.needs for g in program.groups for i in g.inputs))
        self._wanted: dict[int, tuple[str, ...]] = {}
        # (rule id, which of the metrics it wants can be known) -> could it decide, its premises left aside?
        self.decided: dict[tuple[str, tuple[bool, ...]], bool] = {}

    def infer(self, group: Group, codes: Signatures) -> NDArray[np.uint32]:
        """Per workload: bit m set = member m fires, bit 16+m = it cannot be excluded (uint32 array)."""
        table = self._table[group.number]
        bits = table.take(codes)
        unseen = bits == UNSEEN
        if unseen.any():
            for code in distinct(codes[unseen]):
                table[code] = self.ask(group, code)
            bits = table.take(codes)
        return bits

    def wanted(self, index: int) -> tuple[str, ...]:
        """Metrics that a rule reads or needs, by its index in the rulebook; sorted, computed once."""
        if index not in self._wanted:
            self._wanted[index] = wanted(self.program.book.rules[index], self.program.method)
        return self._wanted[index]

    def ask(self, group: Group, code: int) -> int:
        """The engine's result for one signature, as the bits that `infer` returns."""
        digits = unsign(code, len(group.inputs))
        certain = UNKNOWN not in digits  # then what fires and what cannot be excluded are the same: ask once
        literals = [f"{group.number}.{i}T" for i, truth in enumerate(digits) if truth == TRUE]
        if not certain:
            literals += [f"{group.number}.{i}P" for i, truth in enumerate(digits) if truth != FALSE]
        bits = 0
        for name in self.backend.run(literals):
            member = name.partition(".")[2].partition("#")[0]
            bits |= 1 << (int(member[:-1]) + (0 if member[-1] == "T" else RULES))
        return bits | bits << RULES if certain else bits
