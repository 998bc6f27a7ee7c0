"""From the time before to the time after: what each workload adds, largest first; exclusive times, so that nothing counts twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from triage.ground.phrasing import first_of
from triage.products.compare.compare_result import ALONE, Comparison, Paired, Row
from triage.products.compare.timeline_changes import IDLE
from triage.products.noise import SAME, UNKNOWN
from triage.rendering.escape import distinct

NAMED = 2  # workloads of one side that a step names
STEPS = 10  # workloads that are steps of their own


class Step(TypedDict):
    """One step: the name, what it adds in ns, and the sum up to it."""

    name: str
    adds_ns: float
    sum_ns: float


def titles(pairs: Sequence[Paired]) -> list[str]:
    """Names with the ranges around them."""
    return [" / ".join([*p["path"], name]) for p, name in zip(pairs, own_titles(pairs), strict=True)]


def own_titles(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names; of one kernel in several launch shapes, the shape as well."""
    often = Counter((*p["path"], p["name"]) for p in pairs)
    several = [bool(p["shape"]) and often[(*p["path"], p["name"])] > 1 for p in pairs]
    return [f"{p['name']} ({p['shape']})" if some else p["name"] for p, some in zip(pairs, several, strict=True)]


def unequal_work(doc: Comparison) -> Row | None:
    """The amount of work of which two records of a loop hold different numbers: a window of equal length holds less of slower work.

    Of marked steps or frames it is their number, whatever runs in one of them.
    """
    work, rate = doc["work"], doc["work"]["per_iteration"]
    if not (doc["timeline"] and rate and work["unequal"] and work["ratio"]):
        return None
    what = work["what"] if rate["kernels"] else f"{rate['unit']}s"
    return next((r for r in work["rows"] if r["what"] == what and r["ratio"] != 1), None)


def scale(doc: Comparison) -> float:
    """Factor of times after, which makes them those of as much work as before."""
    return 1 / ((unequal_work(doc) or {"ratio": 1.0})["ratio"] or 1.0)


def ends(doc: Comparison) -> tuple[float, float]:
    """(before, after) in ns, the time after for as much work as before; 0 where a side has no times."""
    return doc["frame"]["before_ns"] or 0.0, (doc["frame"]["after_ns"] or 0.0) * scale(doc)


def figures_added(doc: Comparison) -> dict[str, float]:
    """What each time of the timeline adds in ns, for as much work as before."""
    by = scale(doc)
    return {r["what"]: (r["after"] or 0.0) * by - (r["before"] or 0.0) for r in doc["timeline"] if r["unit"] == "ns"}


def steps(doc: Comparison, rest: str) -> list[Step]:
    """The steps; none where a side has no times. rest: the name of what lies in no workload, such as idle time.

    Their sum is the change of the whole, see `ends`: what is not listed, or lies in no workload, is a step as well.
    """
    before, after = ends(doc)
    if not before or not after:
        return []
    by = scale(doc)
    every = [
        (name + _own(doc, p), (p["own_ns"][1] or 0.0) * by - (p["own_ns"][0] or 0.0), _quiet(doc, p))
        for name, p in zip(titles(doc["pairs"]), doc["pairs"], strict=True)
    ]
    quiet = [ns for _, ns, still in every if still]
    if len(quiet) == len(every) and doc["frame"]["verdict"] in (SAME, UNKNOWN):
        return []
    named = sorted(((name, ns) for name, ns, still in every if not still), key=lambda n: -abs(n[1]))
    parts = named[:STEPS]
    if more := named[STEPS:]:
        parts.append((f"{len(more)} more", sum(ns for _, ns in more)))
    parts += [(f"{len(quiet)} unchanged or inconclusive", sum(quiet))] if quiet else []
    for side, sign in (("before", -1), ("after", by)):
        some = [u for u in doc["unmatched"] if u["side"] == side]
        names = first_of([u["name"] for u in some], NAMED) if some else ""
        parts.append((f"{ALONE[side]}: {names}", sign * sum(u["own_ns"] or 0.0 for u in some)))
    idle = [(what, ns) for what, ns in figures_added(doc).items() if what in IDLE]
    parts += sorted(idle, key=lambda p: -abs(p[1]))
    parts.append((rest, after - before - sum(ns for _, ns in parts)))
    out: list[Step] = []
    level = before
    for name, ns in parts:
        if abs(ns) >= 0.5e-3 * max(abs(after - before), 1e-3 * before):
            level += ns
            out.append({"name": name, "adds_ns": ns, "sum_ns": level})
    return out


def _quiet(doc: Comparison, p: Paired) -> bool:
    """True of a pair whose change may be noise; of other amounts of work the times change without the time per call."""
    return p["verdict"] in (SAME, UNKNOWN) and not (p["per_call"] or doc["timeline"] or doc["work"]["unequal"])


def _own(doc: Comparison, p: Paired) -> str:
    """` (self time)` of a marker around others."""
    return " (self time)" * (not doc["timeline"] and (p["own_ns"][0] or 0.0) < 0.999 * (p["total_ns"][0] or 0.0))


def labels(found: Sequence[Step], most: int) -> list[str]:
    """The names in at most `most` characters; what stays alike, such as two kernels of one name, is numbered."""
    cut = distinct([s["name"] for s in found], most)
    again = {label for label in cut if cut.count(label) > 1}
    if not again:
        return cut
    narrow = distinct([s["name"] for s in found], most - len(" (10)"))
    return [
        f"{short_} ({narrow[: i + 1].count(short_)})" if label in again else label
        for i, (label, short_) in enumerate(zip(cut, narrow, strict=True))
    ]
