"""Text fields a rule's sentences may use besides numbers: {top_unit}, {top_stall}, {limiter} ...

And the formatter of those sentences: a field is one name, dots included; no attribute or index is ever followed.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from triage import schema
from triage.capture.capture import SEP
from triage.derive import View
from triage.derive.sm import losses
from triage.derive.speed_of_light import clusters
from triage.diagnosis.limiter import unit_names
from triage.ground.units import show
from triage.inference.evaluate import Lookup
from triage.rulebook.rule import Rule
from triage.schema.derived import HARDWARE_UNITS

NOT_MEASURED = "(not measured)"
_FIELD = re.compile(r"\{([^{}:!]+)(?::([^{}]*))?\}")


def label(name: str, view: View, i: int) -> str:
    """A text field at position i of a view; "" when it does not apply."""
    c = clusters(view)
    if name == "top_unit":
        return HARDWARE_UNITS[c.names[int(c.top_index[i])]] if c.names and c.top_index[i] >= 0 else "the top unit"
    if name in ("top_units", "second_units"):
        flags = c.primary if name == "top_units" else c.secondary
        return " and ".join(unit_names(c, flags, i)) or "no unit"
    if name == "top_stall":
        have, stack = losses(view)
        return have[int(stack[:, i].argmax())].replace("_", " ") if have and stack[:, i].max() >= 0 else "unknown"
    rows = np.arange(len(view.capture))[view.rows]
    if name == "workload":
        return str(view.capture.names[rows[i]])
    if name == "kind":
        return str(view.capture.kinds[rows[i]]) or "unknown"
    return str(_hooks().get(name, lambda v, k: "")(view, i))


def _hooks() -> dict[str, Any]:
    from triage.diagnosis import launch_words

    return launch_words.LABELS


def sentence(template: str, rule: Rule, lookup: Lookup, i: int) -> str:
    """A rule's sentence with its fields filled in for position i."""

    def fill(m: re.Match[str]) -> str:
        name, spec = m[1], m[2]
        if name == "detail" and rule.scope == "frame":  # the workloads behind the first needed fact
            return str(getattr(lookup.view.capture.sources.get(rule.needs[0]), "formula", ""))
        if not (name in rule.thresholds or name in rule.let or schema.known(name)):
            return label(name, lookup.view, i)
        values = lookup(name)
        value = float(values[i]) if np.ndim(values) else float(values)
        if value != value:
            return NOT_MEASURED
        if spec:
            return format(value, spec)
        unit = (
            rule.thresholds[name].unit
            if name in rule.thresholds
            else schema.get(name).unit
            if schema.known(name)
            else "count"
        )
        return show(value, unit)

    return _FIELD.sub(fill, template)


def path_text(path: str, name: str) -> str:
    """Levels and name as people read them."""
    return f"{path}{SEP}{name}".lstrip(SEP).replace(SEP, " / ")
