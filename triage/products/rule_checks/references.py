"""What rules and causes say of each other: names that lead nowhere, ids of another pack, advice that an API lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from triage.files.bundled import share
from triage.ground.errors import RuleError
from triage.rulebook.cause import Cause
from triage.rulebook.reference import line_of, meant
from triage.rulebook.rule import Rule

# APIs that the advice of a cause must cover: where something is drawn, and elsewhere
GRAPHICS_APIS, COMPUTE_APIS = ("d3d12", "vulkan"), ("cuda", "hip")


def rule_references(rules: Sequence[Rule], known: Sequence[str]) -> Iterator[RuleError]:
    """Mistakes in what rules name: the cause, and the prefix of the pack in the id. known: ids of all cause files."""
    bundled = share("rules").resolve()
    for rule in rules:
        # a rule of a user's own pack may stand for itself
        own = rule.cause == rule.name and not Path(rule.file).resolve().is_relative_to(bundled)
        if rule.cause and rule.cause not in known and not own:
            hint = meant(rule.cause, known) or f"add rules/causes/{rule.cause}.yaml, or see: triage list causes"
            line = line_of(rule.file, "cause", rule.cause, after=rule.line)
            yield RuleError(rule.file, line, f"unknown cause {rule.cause!r}", hint)
    counts = Counter((Path(rule.file).parent, _prefix(rule)) for rule in rules)
    for rule in rules:
        here, prefix = Path(rule.file).parent, _prefix(rule)
        # the prefix that most rules of the pack have, and the pack in which most rules with the prefix lie
        mine = max((p for folder, p in counts if folder == here), key=lambda p: counts[here, p])
        home = max((folder for folder, p in counts if p == prefix), key=lambda folder: counts[folder, prefix])
        line, problem = line_of(rule.file, "id", rule.id, after=rule.line), f"id {rule.id}: prefix {prefix}, pack "
        if mine != prefix:
            free = 1 + max(int(r.id[len(mine) :]) for r in rules if _prefix(r) == mine)
            hint = f"the next free id is {mine}{free:03d}"
            yield RuleError(rule.file, line, f"{problem}{rule.pack!r} uses {mine}", hint)
        elif home != here:
            yield RuleError(rule.file, line, f"{problem}{home.name!r} uses it", "choose another prefix")


def _prefix(rule: Rule) -> str:
    return rule.id.rstrip("0123456789")


def cause_references(causes: Mapping[str, Cause], rules: Sequence[Rule]) -> Iterator[RuleError]:
    """Mistakes in cause files that only the rules or the readers of its advice show."""
    named = {rule.cause: rule for rule in reversed(rules) if not rule.is_concept}
    for c in causes.values():
        if c.id not in named and not c.reserved:
            hint = f"write `cause: {c.id}` in one, or say why there is none: `reserved: REASON`"
            yield RuleError(c.file, line_of(c.file, "id"), f"no rule names the cause {c.id!r}", hint)
        if c.id in named and c.reserved:
            line = line_of(c.file, "reserved")
            yield RuleError(c.file, line, f"reserved, but {named[c.id].id} names it", "remove `reserved`")
        covered = {api for fix in c.advice for api in fix.where.get("api", ())}
        if lacking := [api for api in (GRAPHICS_APIS if c.is_drawn else COMPUTE_APIS) if api not in covered]:
            line = line_of(c.file, "advice")
            hint = f'add `- {{do: "...", api: {lacking[0]}}}`'
            yield RuleError(c.file, line, f"no advice for {' and '.join(lacking)}", hint)
        if not c.decides:
            yield RuleError(c.file, line_of(c.file, "decides"), "no metric decides it", "add `decides: [METRIC]`")
