"""The gate: whether a build is slower than those before it, since which build, and by which top cause.

Rolling: the builds before on the same branch (or on another, `against`); every marker is looked at over all of them,
so a step that one build's few runs cannot show is found a build or two later, and named where it began. Named: the
runs of one build, such as a release, against those of the judged one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from triage.capture.capture import SEP
from triage.document.numbers import number
from triage.ground.errors import TriageError
from triage.ground.phrasing import lower_first, plural
from triage.products.history.changepoints import Levels, Shift, levels, limit, shifts
from triage.products.history.history_result import SCHEMA, Gate, Moved, Named, Over, Unsure
from triage.products.history.record import shown
from triage.products.history.store import Build, Database
from triage.products.history.trend import FRAME, Trend, load
from triage.products.noise import FLOOR, MOST
from triage.products.settings import matches as named_by
from triage.rendering.phrases import time

WINDOW = 120  # builds compared; noise is measured on them
OPEN = 20  # builds for which a change is still reported; older ones are the new level
_SUSPECT = 3.0  # standard errors from which a possible slow-down is listed although it may be noise


def choose(found: Sequence[Build], build: str = "") -> Build:
    """The newest build, or the one a label or the beginning of its commit names; raises TriageError."""
    if not found:
        raise TriageError("no such builds in the history", "see: triage history list")
    if not build:
        return found[-1]
    hits = [b for b in found if build in b.labels] or [b for b in found if b.key.revision == build]
    hits = hits or [b for b in found if b.key.revision.startswith(build)]
    if len({b.key.revision for b in hits}) != 1:
        what = "ambiguous" if hits else "unknown"
        raise TriageError(f"{what} build {build!r}", "see: triage history list")
    return hits[-1]


def gate(
    db: Database,
    found: Sequence[Build],
    judged: Build,
    *,
    against: str = "",
    baseline: str = "",
    threshold: float = 0.0,
    floor: float = FLOOR,
    budgets: Mapping[str, float] | None = None,
) -> Gate:
    """Judge a build. found: all builds of its scope and device. against: branch that is the baseline; default its own.

    baseline: label or commit of one build to compare with instead. threshold: least slow-down that fails. budgets: glob
    over markers -> most ns.
    """
    base = against or judged.key.branch
    line = [b for b in found if b.key.branch == base and _before(b, judged)]
    mine = [b for b in found if b.key.branch == judged.key.branch and _before(b, judged)] if against else []
    if baseline:
        fixed = choose([b for b in found if b.id != judged.id], baseline)
        line = [fixed, *(b for b in line if not _before(b, fixed) and b.id != fixed.id)]
    order = list({b.id: b for b in (*line, *mine, judged)}.values())[-WINDOW:]
    if baseline and order[0].id != fixed.id:
        order = [fixed, *order[1:]]
    trend = load(db, order)
    level = levels(trend.times, trend.of, len(order), floor)
    steps = shifts(level, floor)
    if baseline:
        slower, faster = _fixed(trend, level, steps, floor)
        words = f"{_name(fixed)} ({_revision(fixed)})" if baseline in fixed.labels else _revision(fixed)
    else:
        slower, faster = _rolling(trend, steps, floor)
        words = f"the previous {plural(len(order) - 1, 'build')}" + (f" on {base}" if against else "")
    for m in slower:
        m["failing"] = m["change"] > threshold
    over = _over(trend, budgets or {})
    doc: Gate = {
        "schema": SCHEMA,
        "kind": "gate",
        "scope": judged.key.scope,
        "device": judged.key.device,
        "build": named(judged),
        "against": words,
        "builds": len(order),
        "runs": len(trend.of),
        "visible": _visible(level, floor),
        "slower": slower,
        "faster": faster,
        "cannot_tell": _unsure(trend, level, {tuple(m["marker"]) for m in (*slower, *faster)}, threshold),
        "over_budget": over,
        "notes": _notes(order, trend, level, slower),
        "failed": [],
    }
    doc["failed"] = _failed(doc)
    return doc


def _before(b: Build, judged: Build) -> bool:
    return (b.at, b.id) <= (judged.at, judged.id)


def named(b: Build) -> Named:
    """A build as plain data."""
    return {
        "revision": b.key.revision,
        "branch": b.key.branch,
        "at": b.at,
        "labels": list(b.labels),
        "runs": len(b.runs),
    }


def _name(b: Build) -> str:
    return b.labels[0] if b.labels else _revision(b)


def _revision(b: Build) -> str:
    return b.key.revision[:12]


def _rolling(trend: Trend, steps: Sequence[Shift], floor: float) -> tuple[list[Moved], list[Moved]]:
    """Lasting changes of the last builds."""
    last = len(trend.builds)
    out: tuple[list[Moved], list[Moved]] = ([], [])
    for s in steps:
        if s.at < last - OPEN:
            continue
        mine = [o for o in steps if o.marker == s.marker]
        start = max((o.at for o in mine if o.at < s.at), default=0)
        now = max(o.at for o in mine)
        before, after = trend.middle(s.marker, start, s.at), trend.middle(s.marker, now, last)
        # taken back since, by another build: nothing to act on
        if abs(math.log(after / before)) <= math.log1p(floor) or (after > before) != (s.change > 0):
            continue
        out[0 if s.change > 0 else 1].append(moved(trend, s, start))
    return tuple(sorted(side, key=_weight) for side in out)  # type: ignore[return-value]


def _weight(m: Moved) -> tuple[bool, float, list[str]]:
    # a marker says more than the frame it stands in
    return m["marker"] == [FRAME], -abs((m["after_ns"] or 0) - (m["before_ns"] or 0)), m["marker"]


def moved(trend: Trend, s: Shift, start: int) -> Moved:
    """A step as plain data. start: first build of the level before it."""
    b = trend.builds
    cause, was = trend.cause_of(s.marker, s.at, s.until), trend.cause_of(s.marker, start, s.at)
    return {
        "marker": trend.markers[s.marker].split(SEP),
        "verdict": "slower" if s.change > 0 else "faster",
        "before_ns": number(trend.middle(s.marker, start, s.at), 1),
        "after_ns": number(trend.middle(s.marker, s.at, s.until), 1),
        "change": round(s.change, 6),
        "interval": [round(s.low, 6), round(s.high, 6)],
        "by": named(b[s.at]),
        "between": [b[i].key.revision for i in range(s.first, s.last + 1)],
        "seen": b[s.seen].key.revision,
        "cause": cause[0] if cause else None,
        "title": cause[1] if cause else None,
        "was": was[0] if was else None,
        "failing": False,
    }


def _fixed(trend: Trend, level: Levels, steps: Sequence[Shift], floor: float) -> tuple[list[Moved], list[Moved]]:
    """The last build against the first: what stepped in between, and what these two alone can tell."""
    far, last = limit(level), len(trend.builds) - 1
    out: tuple[list[Moved], list[Moved]] = ([], [])
    for m in range(len(trend.markers)):
        mine = [s for s in steps if s.marker == m]
        if mine:
            before, after = trend.middle(m, 0, mine[0].at), trend.middle(m, mine[-1].at, last + 1)
            gap = math.log(after / before)
            half = math.sqrt(sum((math.log1p(s.high) - math.log1p(s.change)) ** 2 for s in mine))
        else:
            gap = float(level.mean[last, m] - level.mean[0, m])
            half = float(far[m]) * math.sqrt(float(level.variance[last, m] + level.variance[0, m]))
        if not abs(gap) > max(half, math.log1p(floor)):  # also where it did not run on one side
            continue
        best = max((s for s in mine if (s.change > 0) == (gap > 0)), key=lambda s: abs(s.change), default=None)
        # no single step: it crept in, or there are too few runs to say where
        where = (best.at, best.seen, best.first, best.last, best.until) if best else (last, last, 1, last, last + 1)
        step = Shift(m, *where[:4], math.expm1(gap), math.expm1(gap - half), math.expm1(gap + half), where[4])
        start = max((s.at for s in mine if s.at < step.at), default=0)
        out[0 if gap > 0 else 1].append(moved(trend, step, start))
    return tuple(sorted(side, key=_weight) for side in out)  # type: ignore[return-value]


def _unsure(trend: Trend, level: Levels, told: set[tuple[str, ...]], threshold: float) -> list[Unsure]:
    """Markers of the last build that look slower, inconclusively."""
    last = len(trend.builds) - 1
    if last < 1:
        return []
    far = limit(level)
    with np.errstate(all="ignore"):
        weight = np.where(np.isfinite(level.mean[:last]), 1 / level.variance[:last], 0.0)
        before = (weight * np.nan_to_num(level.mean[:last])).sum(axis=0) / weight.sum(axis=0)
        gap = level.mean[last] - before
        error = np.sqrt(level.variance[last] + 1 / weight.sum(axis=0))
        suspect = np.flatnonzero((gap > np.log1p(max(threshold, 2 * FLOOR))) & (gap > _SUSPECT * error))
    out: list[Unsure] = []
    for m in suspect.tolist():
        marker = trend.markers[m].split(SEP)
        if tuple(marker) in told:
            continue
        runs, half = len(trend.builds[last].runs), float(far[m] * error[m])
        rest = 1 / float(weight[:, m].sum())
        # how many runs in all would bring the limit below what is seen
        room = (float(gap[m]) / float(far[m])) ** 2 - rest
        needs = math.ceil(float(level.variance[last, m]) * runs / room) - runs if room > 0 else None
        low, high = math.expm1(float(gap[m]) - half), math.expm1(float(gap[m]) + half)
        if needs is not None and needs < 1:
            needs = 1
        out.append(
            {
                "marker": marker,
                "change": round(math.expm1(float(gap[m])), 6),
                "interval": [round(low, 6), round(high, 6)],
                "needs": None if needs is None or needs > MOST else needs,
            }
        )
    return out


def _over(trend: Trend, budgets: Mapping[str, float]) -> list[Over]:
    """Markers of the last build over their budgets; a budget holds for all markers below it together."""
    last = len(trend.builds) - 1
    out: list[Over] = []
    for glob, most in budgets.items():
        mine = [m for m, name in enumerate(trend.markers) if matches(name, glob)]
        rows = trend.times[trend.of == last][:, mine]
        if not mine or not np.isfinite(rows).any():
            continue
        ns = float(np.median(np.nansum(rows, axis=1)))
        if ns > most:
            out.append({"marker": [glob], "budget": glob, "allowed_ns": most, "ns": round(ns, 1)})
    return out


def matches(marker: str, glob: str) -> bool:
    """Does a glob name this marker (levels joined by SEP)? The frame is `frame`."""
    if marker == FRAME:
        return glob.lower() in ("frame", FRAME)
    return named_by(marker.split(SEP), glob)


def _visible(level: Levels, floor: float) -> float | None:
    """Detectable change of a typical marker in the last build alone, a share; None with one build."""
    if len(level.mean) < 2:
        return None
    with np.errstate(all="ignore"):
        weight = np.where(np.isfinite(level.mean[:-1]), 1 / level.variance[:-1], 0.0).sum(axis=0)
        half = limit(level) * np.sqrt(level.variance[-1] + 1 / weight)
    half = half[np.isfinite(half)]
    return number(max(floor, math.expm1(float(np.median(half))))) if len(half) else None


def _notes(order: Sequence[Build], trend: Trend, level: Levels, slower: Sequence[Moved]) -> list[str]:
    out = []
    if len(order) < 2:
        out.append("first build: nothing to compare with")
    elif not level.free.any():
        out.append("noise not measured: no build has repeats; add three runs per build")
    for revision in dict.fromkeys(m["by"]["revision"] for m in slower):
        mine = [m for m in slower if m["by"]["revision"] == revision]
        middle = float(np.median([m["change"] for m in mine]))
        alike = sum(abs(m["change"] - middle) < 0.5 * middle for m in mine)
        if len(mine) >= 5 and len(mine) > 0.5 * len(trend.markers) and 5 * alike > 4 * len(mine):
            out.append(
                f"{len(mine)} of {len(trend.markers)} markers slowed alike in {revision[:12]}: suspect clocks, driver or machine first"
            )
    return out


def _failed(doc: Gate) -> list[str]:
    over = [f"{o['budget']}: {time(o['ns'])}, over its budget of {time(o['allowed_ns'])}" for o in doc["over_budget"]]
    return [line(m) for m in doc["slower"] if m["failing"]] + over


def line(m: Moved) -> str:
    """`3f2a91c: Frame / Lighting 6.1 % slower (5.2 to 7.0 %). New top cause: register spilling`."""
    low, high = (abs(x) * 100 for x in sorted(m["interval"], key=abs))
    others = [r[:12] for r in m["between"] if r != m["by"]["revision"]]
    doubt = f" (or {', '.join(others[:3])})" if others else ""
    why = ""
    if m["title"]:
        top = "New top cause" if m["was"] != m["cause"] else "Top cause unchanged"
        why = f". {top}: {lower_first(m['title'])}"
    change = f"{abs(m['change']) * 100:.1f} % {m['verdict']} ({low:.1f} to {high:.1f} %)"
    if m["change"] >= 1:
        change = f"{1 + m['change']:.3g}x the time ({1 + low / 100:.3g}x to {1 + high / 100:.3g}x)"
    return f"{m['by']['revision'][:12]}{doubt}: {shown(SEP.join(m['marker']))} {change}{why}"
