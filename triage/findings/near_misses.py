"""Near misses: rules with exactly one failed comparison, and that by little."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from triage.diagnosis.outcomes import Outcomes
from triage.findings.evidence import at, bare_origin, is_quantity, make_check, metrics_behind
from triage.findings.finding_types import Origin
from triage.findings.origins import Origins
from triage.inference.evaluate import SILENT
from triage.rulebook.expression import FALSE, TRUE, Condition
from triage.rulebook.rule import Rule, reads

MAX_GAP = 0.25  # of its limit, or of the value where that is larger: the widest miss that is called near


class NearMiss(Struct, frozen=True):
    """A silent rule (its index in the rulebook), the comparison that fails, and by what part of its limit."""

    rule: int
    why: str
    gap: float


def near_misses(o: Outcomes, i: int, origins: Origins | None = None) -> list[NearMiss]:
    """Near misses of the workload at position i: rules with exactly one failed comparison, closest first.

    origins: of the values, where their cells matter.
    """

    def origin(metric: str) -> Origin:
        if origins:
            return origins.origin(metric, int(o.rows[i]), i)
        return bare_origin(o.view, metric, i)

    out = []
    for index, rule in enumerate(o.d.book.rules):
        if rule.is_concept or o.d.method not in rule.when or not o.concerns(index) or o.strange(index):
            continue
        if index in o.truth.possible and int(o.outcome(index)[i]) != SILENT:
            continue
        missed = [(gap, c) for c in _missing(o, index, rule, i) if (gap := _gap(o, index, c, i)) <= MAX_GAP]
        if missed:
            gap, c = min(missed, key=lambda m: m[0])
            if origins:
                origins.want(reads(rule, c.names), {int(o.rows[i])})
            found = make_check(rule, c, o.lookup(index), i, origin, failed=True)
            out.append(NearMiss(index, found.why, gap))
    return sorted(out, key=lambda n: (n.gap, n.rule))


def _missing(o: Outcomes, index: int, rule: Rule, i: int) -> Iterator[Condition]:
    """Comparisons that alone keep the rule from firing; none where a premise fails or a value is unknown."""
    when, lookup = rule.when[o.d.method], o.lookup(index)

    def truth(c: Condition) -> float:
        return at(lookup.once(c), i)

    if any(at(o.truth.concept(c), i) != TRUE for c in when.given):
        return
    failed = [c for c in when.all_of if truth(c) != TRUE]
    if any(truth(c) != FALSE for c in failed):
        return
    one_holds = not when.any_of or any(truth(c) == TRUE for c in when.any_of)
    if len(failed) == 1 and one_holds:
        yield failed[0]
    elif not failed and not one_holds:
        yield from (c for c in when.any_of if truth(c) == FALSE)


def _gap(o: Outcomes, index: int, c: Condition, i: int) -> float:
    """Distance of a comparison's two sides as a part of the larger; infinite for what is no matter of degree."""
    rule, lookup = o.d.book.rules[index], o.lookup(index)
    if c.right is None or c.op not in (">", ">=", "<", "<=") or not any(map(is_quantity, metrics_behind(rule, c))):
        return float("inf")
    if not rule.thresholds.keys() >= set(c.right.names):  # which of two counters is larger is not a limit
        return float("inf")
    value, limit = (at(lookup.once(side), i) for side in (c.left, c.right))
    if not (np.isfinite(value) and np.isfinite(limit)) or limit == 0:
        return float("inf")
    return abs(value - limit) / max(abs(value), abs(limit))
