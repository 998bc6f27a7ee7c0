"""From the time before to the time after: what each workload adds, largest first; exclusive times, so that nothing counts twice."""

from __future__ import annotations

from typing import TypedDict

from triage.products.compare.compare_result import Comparison
from triage.rendering.phrases import time

MINUS = "\u2212"
STEPS = 10  # workloads that are steps of their own


class Step(TypedDict):
    """One step: the name, what it adds in ns, and the sum up to it."""

    name: str
    adds_ns: float
    sum_ns: float


def steps(doc: Comparison, rest: str) -> list[Step]:
    """The steps; none where a side has no times. rest: the name of what lies in no workload, such as idle time.

    Their sum is the change of the whole: what is not listed, or lies in no workload, is a step as well.
    """
    before, after = doc["frame"]["before_ns"], doc["frame"]["after_ns"]
    if not before or not after:
        return []
    named = [
        (" / ".join([*p["path"], p["name"]]), (p["own_ns"][1] or 0.0) - (p["own_ns"][0] or 0.0)) for p in doc["pairs"]
    ]
    named.sort(key=lambda n: -abs(n[1]))
    alone = {
        side: sum(u["own_ns"] or 0.0 for u in doc["unmatched"] if u["side"] == side) * sign
        for side, sign in (("before", -1), ("after", 1))
    }
    parts = named[:STEPS]
    if more := named[STEPS:]:
        parts.append((f"{len(more)} more", sum(ns for _, ns in more)))
    parts += [(f"only {side}", ns) for side, ns in alone.items()]
    parts.append((rest, after - before - sum(ns for _, ns in parts)))
    out: list[Step] = []
    level = before
    for name, ns in parts:
        if abs(ns) >= 0.5e-3 * max(abs(after - before), 1e-3 * before):
            level += ns
            out.append({"name": name, "adds_ns": ns, "sum_ns": level})
    return out


def added(ns: float) -> str:
    """`+1.2 ms`, `−340 µs`, `0 ns`."""
    return f"{'+' if ns > 0 else MINUS if ns < 0 else ''}{time(abs(ns))}"
