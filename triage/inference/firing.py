"""Where rules fire, for a pass over all workloads.

An unknown condition fires nothing, so two truth values suffice where `evaluate.infer` needs three. Rules that read a
metric which the whole capture lacks are left out for all blocks. Within a block a rule is dropped at the first condition
that holds nowhere together with those before it: of a plain table nine rules of ten are never evaluated.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from msgspec import Struct, field

from triage.capture.arrays import Masks
from triage.derive import View
from triage.inference.engine import Engine
from triage.inference.evaluate import Lookup, Truth, resolve
from triage.inference.groups import Group, Input, Member, sign
from triage.inference.rule_context import setting
from triage.rulebook.applies import may_hold

Holding: TypeAlias = Masks | bool | np.bool_  # where a condition holds, or one truth for all


class Candidate(Struct, frozen=True):
    """A rule that may fire, with the inputs of each alternative that may hold."""

    number: int  # of its bit in the group's signatures
    member: Member
    alternatives: tuple[tuple[int, ...], ...]


class Candidates:
    """Rules of an engine's program that may fire on a capture, group by group."""

    def __init__(self, engine: Engine, view: View) -> None:
        self.engine = engine
        self.groups: list[tuple[Group, list[Candidate]]] = []
        here, concluded = setting(view), set[str]()
        lacking = frozenset(filter(view.lacks, engine.needs))
        for group in engine.program.groups:
            chance = [i.name in concluded if i.kind == "given" else lacking.isdisjoint(i.needs) for i in group.inputs]
            found = [
                Candidate(m, member, tuple(a for a in member.alternatives if all(chance[i] for i in a)))
                for m, member in enumerate(group.members)
                if may_hold(member.rule.applies, here)
            ]
            found = [c for c in found if c.alternatives]
            for c in found:
                concluded.update((c.member.rule.name, *c.member.rule.concludes))
            if found:
                self.groups.append((group, found))


class _Block(Struct):
    """Where the inputs of rules hold in one view."""

    view: View
    method: str
    truth: Truth = field(default_factory=Truth)
    known: dict[str, Holding] = field(default_factory=dict)

    def holds(self, item: Input) -> Holding:
        """Where an input of a group is true; computed once for all rules that read it."""
        if item.kind == "given":
            return self.truth.holds(item.name)
        if item.key not in self.known:
            self.known[item.key] = self._holds(item)
        return self.known[item.key]

    def _holds(self, item: Input) -> Holding:
        if item.kind == "have":
            values = self.view[item.name]
            there: Holding = values == values  # NaN is missing
            return there
        assert item.condition and item.rule
        held: Holding = item.condition.holds(Lookup(item.rule, self.view, self.method))
        return held

    def chance(self, inputs: list[Input]) -> bool:
        """True if these hold together anywhere. Those behind the first that leaves nothing are not evaluated."""
        together: Holding = True
        for item in inputs:
            together = together & self.holds(item)
            if not np.any(together):
                return False
        return True


def fire(view: View, candidates: Candidates) -> dict[int, Masks]:
    """Rule index -> where it fires, as `evaluate.infer` has it; rules that fire nowhere may be left out."""
    engine, block = candidates.engine, _Block(view, candidates.engine.program.method)
    truth = block.truth
    for group, found in candidates.groups:
        live = [c for c in found if any(block.chance([group.inputs[i] for i in a]) for a in c.alternatives)]
        if not live:
            continue
        read = {i for c in live for a in c.alternatives for i in a}
        held = [block.holds(item) if i in read else False for i, item in enumerate(group.inputs)]
        bits = engine.infer(group, sign(held, view.size))
        for c in live:
            fired = bits & np.uint32(1 << c.number) != 0
            truth.fired[c.member.index] = fired
            for name in (c.member.rule.name, *c.member.rule.concludes):
                truth.conclude(name, fired, fired)
    resolve(view, engine, truth)
    return truth.fired
