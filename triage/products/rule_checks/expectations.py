"""Why a rule's test failed: what the expected outcome requires, and what the facts of the test gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from triage.derive import View
from triage.findings.evidence import unit_of
from triage.ground.columns import is_column
from triage.ground.phrasing import comparison, failed_comparison
from triage.ground.units import show
from triage.inference.evaluate import Lookup
from triage.rulebook.expression import FALSE, TRUE, UNKNOWN, Condition
from triage.rulebook.rule import Rule, reads

MAX_NAMED_RULES = 3
_REQUIRED = {
    "fires": "every condition must hold",
    "silent": "one condition must fail",
    "blind": "a counter must be missing and no condition fail",
}


class Expectation:
    """One rule on the facts of one test, condition by condition. given: derived fact -> TRUE, FALSE or UNKNOWN."""

    def __init__(self, rule: Rule, view: View, given: Mapping[str, int], method: str) -> None:
        self.rule, self.view, self.given, self.when = rule, view, given, rule.when[method]
        self.lookup = Lookup(rule, view, method)

    def missed(self, expected: str, got: str, instead: Sequence[str] = ()) -> str:
        """Expected and found outcome with the reason. instead: rules that fire on these facts.

        `expected fires, got silent: every condition must hold, but sm.throughput 80.0 %, not below half 50.0 %`.
        """
        found = {"fires": self._held, "silent": self._failed, "blind": self._missing}[got]()
        text = f"expected {expected}, got {got}: {_REQUIRED[expected]}, but {' and '.join(found) or 'no fact is given'}"
        if expected == "fires" and instead:
            text += f"; fires instead: {', '.join(instead[:MAX_NAMED_RULES])}"
        return text

    def _held(self) -> Iterator[str]:
        yield from self.when.given
        yield from (self._compared(c, comparison) for c in self.when.conditions if _first(c(self.lookup)) == TRUE)

    def _failed(self) -> Iterator[str]:
        yield from (f"{name} is false" for name in self.when.given if self.given.get(name) == FALSE)
        # of `any` all have failed, or it is no reason
        either = self.when.any_of if all(_first(c(self.lookup)) == FALSE for c in self.when.any_of) else ()
        for c in (*self.when.all_of, *either):
            if _first(c(self.lookup)) == FALSE:
                yield self._compared(c, failed_comparison) if c.right else f"{c.text} is false"

    def _missing(self) -> Iterator[str]:
        """What was not given: needs, derived facts, then what undecided conditions read."""
        undecided = [c for c in self.when.conditions if _first(c(self.lookup)) == UNKNOWN]
        read = [m for c in undecided for m in sorted(reads(self.rule, c.names))]
        absent = [m for m in dict.fromkeys((*self.rule.needs, *read)) if np.isnan(_first(self.view[m]))]
        yield from (f"{name} is missing" for name in absent)
        yield from (f"{name} is missing" for name in self.when.given if self.given.get(name, UNKNOWN) == UNKNOWN)

    def _compared(self, c: Condition, in_words: Callable[[str, str, str, str], str]) -> str:
        """`sm.throughput 30.0 % < half 50.0 %`. in_words: comparison or failed_comparison."""
        if c.right is None:
            return c.text
        unit = unit_of(self.rule, c)
        left, right = (show(float(_first(e(self.lookup))), unit) for e in (c.left, c.right))
        return in_words(c.left.text, left, c.op, f"{c.right.text} {right}")


def _first(value: Any) -> Any:
    return value[0] if is_column(value) else value
