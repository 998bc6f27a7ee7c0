"""One comparison as evidence: its numbers, units, words and the origin of its value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from triage import schema
from triage.capture.arrays import Values
from triage.derive import View
from triage.findings.finding_types import Check, Origin
from triage.ground.columns import is_column
from triage.ground.phrasing import FIELD, as_written, comparison, failed_comparison, upper_first
from triage.ground.terminology import localize
from triage.ground.units import display, show
from triage.inference.evaluate import Lookup
from triage.rulebook.expression import TRUE, Condition
from triage.rulebook.expression import value as compiled
from triage.rulebook.rule import Rule, reads

EQUAL = 0.005  # of a value: two that are closer print the same three digits
FAR = 0.1  # of a value: a lower bound below that only keeps zeros out
_PIECES = ("draw.count", "dispatch.count", "prims.input", "prims.drawn", "prims.rasterized", "vertices.input")


def at(values: Values, i: int) -> float:
    """The i-th of many values, or the one that holds for all."""
    return float(values[i] if is_column(values) else values)


def bare_origin(view: View, metric: str, i: int) -> Origin:
    """A metric's value at position i without the cells behind it."""
    return Origin(metric, at(view[metric], i), schema.get(metric).unit if schema.known(metric) else "count")


def make_check(
    rule: Rule, c: Condition, lookup: Lookup, i: int, origin: Callable[[str], Origin], failed: bool = False
) -> Check:
    """One comparison at position i with its numbers, units and origin. failed: it does not hold, and is worded so."""
    value = at(lookup.once(c.left), i)
    bound = at(lookup.once(c.right), i) if c.right else None
    name = c.left.text
    plain = c.left.names == (name,) and schema.known(name)
    # what a comparison reads is looked up once for all the workloads it is shown of
    names = () if plain else lookup.view.once(("read by", rule.id, name), lambda: metrics_behind(rule, c))
    inputs = tuple(map(origin, names))
    # a difference that happens to equal one of its parts is still a difference
    apart = name in rule.let and " - " in rule.let[name].text
    chosen = "" if apart else _chosen(value, inputs)
    unit = unit_of(rule, c, chosen)
    if plain:
        source = origin(name)
    elif chosen:
        # a choice between metrics is as traceable as the one it took
        source = next(o for o in inputs if o.metric == chosen)
    else:
        formula = lookup.view.once(("formula of", rule.id, lookup.method, name), lambda: _formula(lookup, name))
        source = Origin(name, value, unit, formula=formula, inputs=inputs)
    shown, shown_unit = display(value, unit)
    limit = None if bound is None else display(bound, unit)[0]
    margin = None if limit is None else round(shown - limit, 6)
    title = upper_first(title_of(rule, c, chosen))
    left = f"{title} {show(value, unit)}"
    if c.right is None or bound is None:
        why = left = f"{title}: yes" if value else f"{title}: no"
    else:
        worded = failed_comparison if failed else comparison
        why = worded(title, show(value, unit), c.op, limit_of(rule, c, bound, unit))
    sign = c.op if c.right else "is"
    return Check(
        chosen or rule.labels.get(name, name),
        round(shown, 6),
        shown_unit,
        sign,
        limit if c.right else 1.0,
        margin,
        source,
        why,
        left,
        stated=not {name, chosen}.isdisjoint(_names_in(rule.finding)),
    )


def _formula(lookup: Lookup, name: str, outside: tuple[str, ...] = ()) -> str:
    """A formula over metrics and numbers alone: names of the rule's own give way to what they stand for."""
    rule = lookup.rule
    if name in rule.thresholds:
        return as_written(rule.threshold(name, lookup.method), rule.thresholds[name].unit)
    text = " or ".join(_known(rule.let[name].text, lookup)) if name in rule.let else name
    kept = ("or", name, *outside)
    text = _OWN_NAME.sub(lambda m: m[0] if m[0] in kept else _formula(lookup, m[0], (name, *outside)), text)
    text = _CHOICE.sub(lambda m: _choice(m[1].split(", "), lookup.view), text)
    text = text.replace("not measured, ", "").replace(", not measured", "")
    return f"({text})" if outside and " " in text and not _CALL.fullmatch(text) else text


def _known(text: str, lookup: Lookup) -> list[str]:
    """The alternatives of `a or b`, without those that no workload has a value for; the last one where none has."""
    parts, depth = [""], 0
    for word in re.split(r"(\(|\)| or )", text):
        depth += (word == "(") - (word == ")")
        if word == " or " and not depth:
            parts.append("")
        else:
            parts[-1] += word
    return [p for p in parts[:-1] if np.isfinite(lookup.once(compiled(p))).any()] + parts[-1:]


def _choice(choices: Sequence[str], view: View) -> str:
    """The highest of several, without those that the capture lacks."""
    held = [c for c in choices if not (schema.known(c) and view.lacks(c))]
    return f"most({', '.join(held)})" if len(held) > 1 else held[0] if held else "not measured"


_CHOICE = re.compile(r"\bmost\(([^()]*)\)")
_CALL = re.compile(r"\w+\([^()]*\)")
_OWN_NAME = re.compile(r"(?<![\w.])[a-z]\w*(?![\w.(])")  # of a formula: no metric, whose id has a dot, and no function


def metrics_behind(rule: Rule, c: Condition) -> tuple[str, ...]:
    """Metrics behind the left side of a comparison, sorted."""
    return tuple(sorted(m for m in reads(rule, c.left.names) if schema.known(m)))


def _chosen(value: float, inputs: Sequence[Origin]) -> str:
    """The metric whose value a choice between several took: `most(a, b)`, `a or b`; "" where it computed another."""
    return next((o.metric for o in inputs if o.value == value and is_quantity(o.metric)), "")


def is_quantity(metric: str) -> bool:
    """True if a metric is a quantity, not a flag."""
    return schema.known(metric) and not schema.get(metric).is_flag


def title_of(rule: Rule, c: Condition, chosen: str = "") -> str:
    """Label of the left side of a comparison. chosen: the metric that a rule's own name stood for."""
    known = c.left.text if schema.known(c.left.text) else chosen
    return localize(schema.get(known).label if known else rule.labels.get(c.left.text, c.left.text.replace("_", " ")))


def holding_checks(rule: Rule, method: str, lookup: Lookup, i: int, origin: Callable[[str], Origin]) -> list[Check]:
    """The comparisons that a fired rule rests on at position i, without those that are trivial."""
    when = rule.when[method]
    chosen = [*when.all_of, *(c for c in when.any_of if at(lookup.once(c), i) == TRUE)]
    made = [(c, make_check(rule, c, lookup, i, origin)) for c in chosen]
    based = [(c, x) for c, x in made if is_measured(x)]
    telling = [(c, x) for c, x in based if is_telling(rule, c, x)]
    # a measured value in the place of a threshold says nothing without its name: shown where nothing else decides
    named = [x for c, x in telling if c.right is None or _has_threshold(rule, c)]
    return _strictest(named or [x for _, x in telling or based])


def stated_checks(
    rule: Rule, lookup: Lookup, i: int, origin: Callable[[str], Origin], made: Sequence[Check]
) -> list[Check]:
    """Numbers of the finding's sentence that none of the comparisons made shows: each with its origin, and no threshold."""
    known, out = {c.metric for c in made}, []
    for name in stated_metrics(rule):
        value = at(lookup(name), i)
        if name not in known and value == value:
            unit = schema.get(name).unit
            shown, shown_unit = display(value, unit)
            figure = f"{upper_first(localize(schema.get(name).label))} {show(value, unit)}"
            out.append(Check(name, round(shown, 6), shown_unit, "is", None, None, origin(name), figure, figure, True))
    return out


def stated_metrics(rule: Rule) -> list[str]:
    """Metrics whose numbers stand in the finding's sentence."""
    return [m for m in _names_in(rule.finding) if schema.known(m)]


@cache
def _names_in(sentence: str) -> tuple[str, ...]:
    """What the fields of a rule's sentence name, each once."""
    return tuple(dict.fromkeys(f[1] for f in FIELD.finditer(sentence)))


def _strictest(checks: Sequence[Check]) -> list[Check]:
    """Comparisons without those that another of the same value implies: of `>= 2 %` and `>= 80 %` the latter."""
    out: dict[object, Check] = {}
    for c in checks:
        key = (c.metric, c.value, c.op[0]) if c.threshold is not None and c.op[0] in "<>" else id(c)
        old = out.get(key)
        # nearest to the value: the one that decides
        if old is None or abs(c.margin or 0.0) < abs(old.margin or 0.0):
            out[key] = c
    return [c for c in out.values() if not any(_adds_nothing(c, other) for other in out.values() if other is not c)]


def _adds_nothing(c: Check, other: Check) -> bool:
    """True for a flag of what another comparison shows, a difference that equals it, a far lower bound beside an upper one, or one of 0 of what goes into it."""
    if c.metric == other.metric:
        return c.threshold is not None and c.value == other.value and abs(c.threshold) < FAR * abs(c.value)
    if c.threshold == 0 and c.op in (">", ">="):
        return any(o.metric == c.metric for o in other.source.inputs)
    return any(o.metric == other.metric and (c.op == "is" or o.value == c.source.value) for o in c.source.inputs)


def is_measured(c: Check) -> bool:
    """True if a comparison rests on a measured value; `launch.grid_size or 0` of a frame does not."""
    return not c.source.inputs or any(o.value == o.value for o in c.source.inputs)


def is_telling(rule: Rule, c: Condition, x: Check) -> bool:
    """True if a comparison is not trivial: not a value compared with what equals it, nor a check of the kind of work."""
    if c.right is None:
        return True
    metrics = metrics_behind(rule, c)
    if (x.value == 0 and describe_work(metrics)) or (metrics and not any(map(is_quantity, metrics))):
        return False
    if _has_threshold(rule, c):
        return not x.value == x.threshold == 0
    # beside a measured value: one that equals it proves nothing
    return abs(x.margin or 0.0) > EQUAL * abs(x.value)


def _has_threshold(rule: Rule, c: Condition) -> bool:
    return c.right is not None and any(n in rule.thresholds for n in c.right.names)


def describe_work(metrics: Sequence[str]) -> bool:
    """True if metrics only describe the kind and amount of work, not how it ran."""
    return bool(metrics) and all(not is_quantity(m) or m.startswith(_PIECES) for m in metrics)


def limit_of(rule: Rule, c: Condition, bound: float, unit: str) -> str:
    """The right side of a comparison as people read it: a threshold as its author wrote it, else a measured value."""
    chosen = c.right is not None and c.right.text in rule.thresholds
    return as_written(bound, unit) if chosen else show(bound, unit)


def unit_of(rule: Rule, c: Condition, chosen: str = "") -> str:
    """Canonical unit of a comparison: the metric's own, else that of the threshold or metric on the right."""
    if schema.known(c.left.text):
        return schema.get(c.left.text).unit
    if c.right is not None:
        for n in (*c.right.names, *(n for let in c.right.names if let in rule.let for n in rule.let[let].names)):
            if n in rule.thresholds:
                # a bare 0 has no unit of its own: `most(a, b) > none` is of what it took
                bare = rule.thresholds[n].unit == "count" and chosen
                return schema.get(chosen).unit if bare else rule.thresholds[n].unit
            if schema.known(n):
                return schema.get(n).unit
    if chosen:
        return schema.get(chosen).unit
    # two names of the rule's own: take the left one's metric
    units = {schema.get(m).unit for m in reads(rule, c.left.names) if is_quantity(m)}
    return units.pop() if len(units) == 1 else "count"
