"""Text fields of rule sentences besides numbers: {top_unit}, {top_stall}, {limiter} ...

And the formatter of those sentences: a field is one name, dots included; no attribute or index is ever followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from triage import schema
from triage.capture.capture import SEP, Derived
from triage.derive import View
from triage.derive.sm_activity import losses
from triage.derive.speed_of_light import clusters
from triage.findings import occupancy_text
from triage.ground.columns import is_column
from triage.ground.limiters import CLASSES, limiter_words
from triage.ground.phrasing import FIELD, upper_first
from triage.ground.terminology import localize
from triage.ground.units import show
from triage.inference.evaluate import Lookup
from triage.rulebook.rule import Rule
from triage.schema.derived import HARDWARE_UNITS

NOT_MEASURED = "(not measured)"
# `[[ at {l1tex.hit_rate} hits]]`: left out where not measured. HLSL's [[unroll]] has no field in it.
_CLAUSE = re.compile(r"\[\[([^\[\]]*\{[^\[\]]*)\]\]")


def _top_unit(view: View, i: int) -> str:
    # what was measured, complete or not: a rule that needs the true top has asked for it
    c = clusters(view)
    return HARDWARE_UNITS[c.names[int(c.top_index[i])]] if c.names and c.top_index[i] >= 0 else "the top unit"


def _top_units(view: View, i: int) -> str:
    c = clusters(view)
    # highest first, ties in the order of the hardware table
    found = [(-c.sol[k, i], HARDWARE_UNITS[u]) for k, u in enumerate(c.names) if c.primary[k, i]]
    return " and ".join(name for _, name in sorted(found, key=lambda unit: unit[0])) or "no unit"


def _top_stall(view: View, i: int) -> str:
    have, stack = losses(view)
    return have[int(stack[:, i].argmax())].replace("_", " ") if have and stack[:, i].max() >= 0 else "unknown"


def _row(view: View, i: int) -> int:
    return (view.rows.start or 0) + i if isinstance(view.rows, slice) else int(view.rows[i])


def _workload(view: View, i: int) -> str:
    return str(view.capture.names[_row(view, i)])


def _kind(view: View, i: int) -> str:
    return str(view.capture.kinds[_row(view, i)]) or "unknown"


def _loader_function(view: View, i: int) -> str | None:
    known = view.capture.timeline
    return known.loading_in[0] if known is not None and known.loading_in else None


# What each text field becomes at position i of a view, None where it is not known; rulebook.rule.TEXT_FIELDS has the names, for authors' mistakes.
# {detail} is not among them: it belongs to a rule's first need, see `sentence`.
FIELDS: dict[str, Callable[[View, int], str | None]] = {
    "workload": _workload,
    "kind": _kind,
    "top_unit": _top_unit,
    "top_units": _top_units,
    "top_stall": _top_stall,
    "limiter": occupancy_text.limiter,
    "next_step": occupancy_text.next_step,
    "loader_function": _loader_function,
}
QUOTED = ("workload", "loader_function")  # names from the capture


def sentence(template: str, rule: Rule, lookup: Lookup, i: int, *, whole: bool = False) -> str:
    """A rule's sentence with its fields filled in for position i of the lookup's view; NOT_MEASURED where one is missing.

    A clause in double square brackets goes with its field. whole: "" where one is missing outside of such.
    """
    missing: list[str] = []

    def clause(m: re.Match[str]) -> str:
        known, whole = len(missing), FIELD.sub(fill, m[1])
        if len(missing) == known:
            return whole
        del missing[known:]
        return ""

    def unknown(name: str) -> str:
        missing.append(name)
        return NOT_MEASURED

    def fill(m: re.Match[str]) -> str:
        name, spec = m[1], m[2]
        if name == "detail":
            return _detail(rule, lookup)
        # lets first, as in a condition: a word of FIELDS never hides a rule's own number
        if not (name in rule.let or schema.known(name)):
            word = FIELDS[name](lookup.view, i)
            return unknown(name) if word is None else word if name in QUOTED else localize(word)
        values = lookup(name)
        value = float(values[i]) if is_column(values) else float(values)
        if value != value:
            return unknown(name)
        if spec:
            return format(value, spec).replace("%", " %")
        return show(value, schema.get(name).unit if schema.known(name) else "count")

    # before the fields are filled in: what stands in a capture is never put into other words
    text = localize(template)
    if "[[" in text:
        text = _CLAUSE.sub(clause, text)
    text = FIELD.sub(fill, text) if "{" in text else text  # most advice has none
    return "" if whole and missing else text


def _detail(rule: Rule, lookup: Lookup) -> str:
    """The workloads behind the first fact that a frame rule needs; "" for any other rule."""
    source = lookup.view.capture.sources.get(rule.needs[0]) if rule.needs else None
    return source.detail if isinstance(source, Derived) else ""


def verdict_text(limiter: int, best: str = "", *, namesake: bool = False, measured: bool = True) -> str:
    """One sentence on a workload: its limiter, then `best`, the title of its best finding ("" for none).

    limiter: a position in CLASSES. namesake: the title names it as well. measured: False where waits alone make it latency-bound, and no unit was measured:
    nothing is claimed of units then.
    """
    words = limiter_words(CLASSES[limiter])
    phrase = words.limited if words.id == "latency" and not measured else words.phrase
    if not best:
        return f"{upper_first(phrase)}."
    if namesake:  # the title is the narrower of two alike
        return f"{upper_first(best)}."
    return f"{upper_first(phrase)}; {best}."


def path_text(path: str, name: str) -> str:
    """Levels and name, joined by slashes."""
    return f"{path}{SEP}{name}".lstrip(SEP).replace(SEP, " / ")
