"""Rulebook -> Program: rules cut into small groups of conditions, in the order of their derived facts.

Each group is signed and inferred by itself. A group of ten three-valued conditions has a few hundred distinct
signatures however noisy the data, so that a forward-chaining engine stays affordable on a million workloads. A derived
fact is concluded before the groups that build on it and enters them as one more condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from triage.capture.arrays import Codes, Masks
from triage.ground.columns import is_column
from triage.ground.errors import RuleError
from triage.rulebook.expression import Condition
from triage.rulebook.packs import Rulebook, layers
from triage.rulebook.rule import Rule, reads

WIDTH = 9  # conditions per group; a rule that needs more gets a group of its own
MAX_GROUP_CONDITIONS = 13  # 3**13 signatures: the largest table a group may need
SIGNATURE16_DIGITS = 9  # 3**9 signatures fit 16 bits
RULES = 16  # two bits per rule and group in one uint32

Signatures: TypeAlias = NDArray[np.int16] | NDArray[np.int32]  # per workload, the truths of a group as one number


class Input(Struct, frozen=True):
    """One literal source of a group. kind: condition | given | have (a needed metric that no condition reads).

    needs: metrics without which it is unknown, whatever the others are.
    """

    key: str
    kind: str
    condition: Condition | None = None
    rule: Rule | None = None
    name: str = ""
    needs: frozenset[str] = frozenset()


class Member(Struct, frozen=True):
    """A rule of a group: its alternatives as tuples of input positions, and its index in the rulebook."""

    rule: Rule
    index: int
    alternatives: tuple[tuple[int, ...], ...]


class Group(Struct, frozen=True):
    """A few rules over a few inputs."""

    number: int
    inputs: tuple[Input, ...]
    members: tuple[Member, ...]


class Program(Struct, frozen=True):
    """Groups in the order in which they must be inferred."""

    book: Rulebook
    method: str
    scope: str
    groups: tuple[Group, ...]


def spelled(rule: Rule, text: str, names: Sequence[str], method: str, depth: int = 0) -> str:
    """An expression's text with thresholds and lets spelled out: equal spelling means equal truth."""
    parts = []
    for name in names:
        if name in rule.thresholds:
            parts.append(f"{name}={rule.threshold(name, method)!r}")
        # lets that read each other in a circle have no value: stop at a depth
        elif name in rule.let and depth < 8:
            e = rule.let[name]
            parts.append(f"{name}=({spelled(rule, e.text, e.names, method, depth + 1)})")
    return f"{text} | {'; '.join(parts)}" if parts else text


def wanted(rule: Rule, method: str) -> tuple[str, ...]:
    """Metrics that a rule itself reads or needs, sorted."""
    when = rule.when.get(method)
    return tuple(sorted({*rule.needs, *(m for c in when.conditions for m in reads(rule, c.names))})) if when else ()


def _forgives(rule: Rule, c: Condition) -> bool:
    """True if the condition may be known although a metric behind it is missing, by itself or through a let."""
    todo = [e for e in (c.left, c.right) if e is not None]
    seen: set[str] = set()
    while todo:
        e = todo.pop()
        if e.forgives:
            return True
        new = {n for n in e.names if n in rule.let} - seen
        seen |= new
        todo += [rule.let[n] for n in new]
    return False


def _inputs(rule: Rule, method: str) -> tuple[list[Input], list[Input]]:
    when = rule.when[method]

    def atom(c: Condition) -> Input:
        needs = frozenset() if _forgives(rule, c) else frozenset(reads(rule, c.names))
        return Input(spelled(rule, c.text, c.names, method), "condition", c, rule, needs=needs)

    all_of, any_of = [atom(c) for c in when.all_of], [atom(c) for c in when.any_of]
    # a condition that forgives missing inputs does not prove that a need is there
    read = frozenset().union(*(i.needs for i in (*all_of, *any_of)))
    given = [Input(f"given {g}", "given", name=g) for g in when.given]
    have = [Input(f"have {m}", "have", name=m, needs=frozenset((m,))) for m in rule.needs if m not in read]
    return [*given, *all_of, *have], any_of


def compile_program(book: Rulebook, method: str, scope: str) -> Program:
    """The groups of one scope for one method revision; raises RuleError for a rule too wide for the engine."""
    index = {r.name: i for i, r in enumerate(book.rules)}
    groups: list[Group] = []
    for layer in layers(book.rules, method):
        rules = [r for r in layer if r.scope == scope and method in r.methods and method in r.when]
        open_groups: list[tuple[dict[str, Input], list[tuple[Rule, list[Input], list[Input]]]]] = []
        for rule in rules:
            base, either = _inputs(rule, method)
            keys = {i.key: i for i in base + either}
            if len(keys) > MAX_GROUP_CONDITIONS or not keys:
                problem = f"{len(keys)} conditions; a rule takes 1 to {MAX_GROUP_CONDITIONS}"
                raise RuleError(rule.file, rule.line, problem, "split it with a derived fact")
            # join the group that shares most conditions: every condition a group does not hold yet may triple its signatures
            best = min(
                (g for g in open_groups if len(g[0].keys() | keys.keys()) <= WIDTH and len(g[1]) < RULES),
                key=lambda g: len(keys.keys() - g[0].keys()),
                default=None,
            )
            if best is None:
                best = ({}, [])
                open_groups.append(best)
            best[0].update(keys)
            best[1].append((rule, base, either))
        for inputs, content in open_groups:
            place = {key: i for i, key in enumerate(inputs)}
            members = []
            for rule, base, either in content:
                common = tuple(place[i.key] for i in base)
                # `any` is one plain conjunction for each branch: the engines are never asked for an OR
                alternatives = tuple((*common, place[i.key]) for i in either) or (common,)
                members.append(Member(rule, index[rule.name], alternatives))
            groups.append(Group(len(groups), tuple(inputs.values()), tuple(members)))
    return Program(book, method, scope, tuple(groups))


def sign(truths: Sequence[Codes | Masks | np.bool_ | int], size: int) -> Signatures:
    """Signature per workload: three-valued inputs as the digits of a base-3 number."""
    code: Signatures = np.zeros(size, np.int16) if len(truths) <= SIGNATURE16_DIGITS else np.zeros(size, np.int32)
    # what all workloads share is added up as one number; columns move up when the next one comes
    same, places = 0, 1
    for truth in truths:
        same, places = 3 * same, 3 * places
        if is_column(truth):
            code *= places
            code += truth
            places = 1
        else:
            same += int(truth)
    code *= places
    code += same
    return code


def unsign(code: int, width: int) -> list[int]:
    """The digits of a signature, first input first."""
    digits = []
    for _ in range(width):
        code, d = divmod(code, 3)
        digits.append(d)
    return digits[::-1]
