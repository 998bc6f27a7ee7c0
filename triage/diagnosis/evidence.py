"""One comparison as evidence: its numbers, units, words and the origin of its value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from triage import schema
from triage.capture.arrays import Values
from triage.diagnosis.nouns import Check, Origin
from triage.ground.units import display, show
from triage.ground.wording import comparison
from triage.inference.evaluate import Lookup
from triage.inference.groups import reads
from triage.rulebook.expression import Condition
from triage.rulebook.rule import Rule


def at(values: Values, i: int) -> float:
    """The i-th of many values, or the one that holds for all."""
    return float(values[i] if np.ndim(values) else values)


def check(rule: Rule, c: Condition, lookup: Lookup, i: int, origin: Callable[[str], Origin], op: str = "") -> Check:
    """One comparison at position i with its numbers, units and origin; `op`: print another operator than the rule's."""
    value = at(lookup.once(c.left), i)
    bound = at(lookup.once(c.right), i) if c.right else None
    names = list(reads(rule, c.left.names))
    plain = len(c.left.names) == 1 and c.left.text == c.left.names[0] and schema.known(c.left.text)
    unit = unit_of(rule, c)
    if plain:
        source = origin(c.left.text)
        name = c.left.text
    else:
        formula = rule.let[c.left.text].text if c.left.text in rule.let else c.left.text
        source = Origin(
            c.left.text, value, unit, formula=formula, inputs=tuple(origin(m) for m in sorted(names) if schema.known(m))
        )
        name = c.left.text
    shown, shown_unit = display(value, unit)
    limit = None if bound is None else display(bound, unit)[0]
    margin = None if limit is None else round(shown - limit, 6)
    title = title_of(c)
    said = f"{title} {show(value, unit)}"
    if c.right is None or bound is None:
        why = said = f"{title}: yes" if value else f"{title}: no"
    else:
        why = comparison(title, show(value, unit), op or c.op, show(bound, unit))
        if c.right.text in rule.thresholds:
            why += f" ({c.right.text.replace('_', ' ')})"
    sign = c.op if c.right else "is"
    return Check(name, round(shown, 6), shown_unit, sign, limit if c.right else 1.0, margin, source, why, said)


def title_of(c: Condition) -> str:
    """The left side of a comparison as people read it."""
    return schema.get(c.left.text).label if schema.known(c.left.text) else c.left.text.replace("_", " ")


def unit_of(rule: Rule, c: Condition) -> str:
    """Canonical unit of a comparison: the metric's own, else that of the threshold or metric on the right."""
    if schema.known(c.left.text):
        return schema.get(c.left.text).unit
    if c.right is not None:
        for n in c.right.names:
            if n in rule.thresholds:
                return rule.thresholds[n].unit
            if schema.known(n):
                return schema.get(n).unit
    return "count"
