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
    prefixes = _prefixes(rules)
    for rule in rules:
        bundled = Path(rule.file).resolve().is_relative_to(share("rules").resolve())
        # a rule of a user's own pack may stand for itself
        if rule.cause and rule.cause not in known and (bundled or rule.cause != rule.name):
            hint = meant(rule.cause, known) or f"add rules/causes/{rule.cause}.yaml, or see: triage list causes"
            yield RuleError(rule.file, line_of(rule.file, "cause", rule.cause), f"unknown cause {rule.cause!r}", hint)
        here, prefix = Path(rule.file).parent, _prefix(rule)
        own = prefixes[here]
        elsewhere = sorted(p.name for p, other in prefixes.items() if other == prefix and p != here)
        if prefix != own or elsewhere:
            used = f"pack {rule.pack!r} uses {own}" if prefix != own else f"pack {elsewhere[0]!r} uses it"
            hint = f"the next free id is {_next_free(rules, here, own)}" if prefix != own else "choose another prefix"
            yield RuleError(
                rule.file, line_of(rule.file, "id", rule.id), f"id {rule.id}: prefix {prefix}, {used}", hint
            )


def _prefix(rule: Rule) -> str:
    return rule.id.rstrip("0123456789")


def _prefixes(rules: Sequence[Rule]) -> dict[Path, str]:
    """Folder -> the prefix that most of its rules have; of equally many the first by name."""
    counts: dict[Path, Counter[str]] = {}
    for rule in rules:
        counts.setdefault(Path(rule.file).parent, Counter())[_prefix(rule)] += 1
    return {folder: min(c, key=lambda prefix: (-c[prefix], prefix)) for folder, c in counts.items()}


def _next_free(rules: Sequence[Rule], folder: Path, prefix: str) -> str:
    taken = [int(r.id[len(prefix) :]) for r in rules if Path(r.file).parent == folder and _prefix(r) == prefix]
    return f"{prefix}{max(taken) + 1:03d}"


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
