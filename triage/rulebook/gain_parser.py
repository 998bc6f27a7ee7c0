"""The `gain` of a rule file -> GainModel: what the fix does to demands and waits, and the grade of its evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from triage.ground.gpu_units import EVERY, UNITS
from triage.ground.limiters import CONFIDENCE
from triage.rulebook.expression import Expression
from triage.rulebook.rule import ENDS, EVIDENCE, GAIN_OF, Demand, GainModel

_EFFECT = {"remains", "at_best", "time", "time_at_best", "sure"}
_BEFORE = {"saves": "time", "at_most": "time_at_best", "low": "sure"}  # what users' rules of 0.1 say
_ALWAYS = {"of", "ends", "evidence", "confidence", "because"}


class Wrong(ValueError):
    """What is wrong with a gain, and at which key."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def gain_model(g: Mapping[str, Any], parse: Callable[[str], Expression], reach: float | None = None) -> GainModel:
    """Raises Wrong. parse: text of a formula -> Expression. reach: of the rule's pack."""
    for old, new in _BEFORE.items():
        if old in g:
            raise Wrong(old, f"`{old}` is called `{new}` now; a gain states what the fix does, and busy units bound it")
    if not set(g) & {"time", "remains"} or not g.get("because"):
        raise Wrong("gain", "`gain` needs `because`, and `remains`, `time` or both")
    if unknown := set(g) - _ALWAYS - _EFFECT:
        raise Wrong("gain", f"unknown gain key {sorted(unknown)[0]!r}")
    evidence = _word(g, "evidence", "stall", EVIDENCE)
    confidence = _word(g, "confidence", EVIDENCE[evidence], CONFIDENCE)
    if (of := str(g.get("of", "workload"))) not in GAIN_OF:
        raise Wrong("of", f"a gain is of one of {', '.join(GAIN_OF)}")
    sure = g.get("sure", 0)
    if isinstance(sure, bool) or not isinstance(sure, int | float) or not 0 <= sure <= 1:
        raise Wrong("sure", "`sure` is the part of the likely gain that is safe, 0 to 1")

    ends = g.get("ends") or []
    if not isinstance(ends, list) or not set(map(str, ends)) <= set(ENDS):
        raise Wrong("ends", f"`ends` is a list of {', '.join(ENDS)}")

    def share(key: str) -> Expression | None:
        v = g.get(key)
        return None if v is None else parse(_share(v))

    return GainModel(
        remains=_demands(g, parse),
        time=share("time"),
        best=share("time_at_best"),
        sure=float(sure),
        evidence=evidence,
        confidence=confidence,
        because=" ".join(str(g["because"]).split()),
        scope=of,
        reach=reach,
        ends=tuple(sorted(set(map(str, ends)))),
    )


def _word(g: Mapping[str, Any], key: str, default: str, known: Mapping[str, Any]) -> str:
    word = str(g.get(key, default))
    if word not in known:
        raise Wrong(key, f"{key} is one of {', '.join(known)}")
    return word


def _demands(g: Mapping[str, Any], parse: Callable[[str], Expression]) -> tuple[Demand, ...]:
    """`remains` and `at_best`: unit -> the part of its demand that stays."""
    likely, best = g.get("remains") or {}, g.get("at_best") or {}
    for key, units in (("remains", likely), ("at_best", best)):
        if not isinstance(units, Mapping):
            raise Wrong(key, f"{key} is a mapping of units; units are {', '.join(UNITS)}, or {EVERY}")
        if unknown := set(units) - {*UNITS, EVERY}:
            raise Wrong(key, f"{key}: unknown unit {min(unknown)!r}; units are {', '.join(UNITS)}, or {EVERY}")
    out = []
    for unit in dict.fromkeys((*likely, *best)):
        stays = parse(_share(likely.get(unit, 1)))
        out.append(Demand(unit, stays, parse(_share(best[unit])) if unit in best else stays))
    return tuple(out)


def _share(v: Any) -> str:
    """`90%` in a gain is the number 0.9; anything else is an expression."""
    m = re.fullmatch(r"\s*([\d.]+)\s*%\s*", str(v))
    return repr(float(m[1]) / 100) if m else str(v)
