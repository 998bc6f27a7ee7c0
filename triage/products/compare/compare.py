"""Before and after: matched workloads, a verdict by duration, every counter's movement explained (triage-compare/1).

Several captures on a side are repeats: what they can tell, and what not, is said by `triage.products.noise`.
Reports speak of the change of the time, after / before - 1: -20 % takes a fifth less. `speedup` is before / after, and
the `gain` that some quote is speedup - 1; both stay in the document for those who read them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from triage import schema
from triage.capture.capture import SEP, Capture
from triage.derive.vendor import of_kernels
from triage.diagnosis.gain import fractions
from triage.diagnosis.judged import Diagnosis
from triage.diagnosis.outcomes import Outcomes
from triage.document.numbers import number
from triage.ground.units import display
from triage.ground.voice import names_of, said, speaking
from triage.inference.evaluate import FIRED, OVERRULED, SILENT
from triage.inference.setting import setting
from triage.products.compare import factors, fairness
from triage.products.compare.match import Item, Pair, match
from triage.products.compare.meanings import Move, moved, reading
from triage.products.compare.promise import promised
from triage.products.compare.result import SCHEMA, Alone, Change, Comparison, Input, Judged, Outside, Paired
from triage.products.compare.timeline import timeline
from triage.products.compare.verdict import Limits, change, judge, middle, regressed
from triage.products.noise import FASTER, FLOOR, MARGIN

SHAPE = ("launch.grid_size", "launch.block_size")


def compare(
    before: Diagnosis,
    after: Diagnosis,
    floor: float = FLOOR,
    threshold: float | None = None,
    margin: float | None = None,
) -> Comparison:
    """The comparison as plain data. floor: least relative difference that counts. threshold: of a regression (0-1).

    margin: what `same` excludes; None for the threshold, or 5 % without one.

    Every capture of a Diagnosis is one repeat; diagnose both sides without `top`, so that no outcome is left out. Raises
    TriageError where the sides have no workload and no timeline in common.
    """
    found = {names_of(setting(p.capture)) for d in (before, after) for p in d.parts}
    with speaking(names=found.pop() if len(found) == 1 else ()):
        return _compared(before, after, floor, threshold, margin)


def _compared(
    before: Diagnosis, after: Diagnosis, floor: float, threshold: float | None, margin: float | None
) -> Comparison:
    """The comparison in the words of the GPU that all captures come from."""
    looked = [[Outcomes(d, part) for part in d.parts] for d in (before, after)]
    # of 300 rules a few speak of two captures; what the others do not say of each workload tells nothing
    speak = [i for i in range(len(before.book.rules)) if any(_fires(o, i) for o in (*looked[0], *looked[1]))]
    pairs, gone, new = match(side(before, looked[0], speak), side(after, looked[1], speak))
    rows = timeline(before, after)
    noun = "kernel" if all(of_kernels(p.capture.input.tells) for d in (before, after) for p in d.parts) else "workload"
    if not rows:
        fairness.refuse(pairs, gone, new, noun)
    limits = Limits(floor, (threshold or MARGIN) if margin is None else margin)
    # many verdicts are given at once: together they may be wrong as seldom as the one about the frame
    each = replace(limits, tests=sum(bool(p.before.times and p.after.times) for p in pairs))
    listed = [_pair(p, each) for p in pairs]
    frame = judge(_frames(before), _frames(after), limits)
    bad = [p["name"] for p in listed if threshold is not None and regressed(p, threshold)]
    if threshold is not None and regressed(frame, threshold) and not bad:
        # many regressions below the threshold can add up to one of the frame
        bad.append("the whole frame")
    named = sorted({r for p in listed for r in (*p["fixed"], *p["remaining"], *p["new"], *p["unknown"])})
    # titles stand in the document, so that a renderer needs no rulebook
    rules = {r.id: r for r in before.book.rules}
    return {
        "schema": SCHEMA,
        "tool": {
            "name": "sol-triage",
            "version": before.version,
            "rules_sha256": before.book.sha256,
            "method": before.method,
        },
        "before": _inputs(before),
        "after": _inputs(after),
        "noise_floor": floor,
        "margin": limits.margin,
        "threshold": threshold,
        "warnings": fairness.warnings((before, after), pairs, (gone, new), noun),
        "frame": frame,
        "outside": _outside(before, after, limits),
        "pairs": listed,
        "unmatched": [_alone("before", i) for i in gone] + [_alone("after", i) for i in new],
        "timeline": rows,
        "regressions": bad,
        "rules": {r: {"name": rules[r].name, "title": said(rules[r].title)} for r in named},
    }


def _fires(o: Outcomes, index: int) -> bool:
    rule = o.d.book.rules[index]
    return not rule.is_concept and rule.scope == "workload" and bool((o.outcome(index) == FIRED).any())


def side(d: Diagnosis, looked: Sequence[Outcomes], speak: Sequence[int]) -> list[Item]:
    """The workloads of one side, its repeats folded together. speak: rules, by their place in the rulebook, to ask."""
    found: dict[tuple[str, str, str, str, int], Item] = {}
    for part, outcomes in zip(d.parts, looked, strict=True):
        c = part.capture
        seen: dict[tuple[str, str, str, str], int] = {}
        items = []
        for w in range(len(c)):
            # the launch shape is part of who it is: the same kernel on another grid is other work
            who = (str(c.paths[w]), str(c.names[w]), str(c.kinds[w]), _shape(c, w))
            nth = seen[who] = seen.get(who, -1) + 1
            item = found.setdefault((*who, nth), Item(*who, nth, w / max(1, len(c) - 1)))
            if np.isfinite(c.duration_ns[w]) and c.duration_ns[w] > 0:
                item.times.append(float(c.duration_ns[w]))
            item.calls.append(float(c.calls[w]))
            item.noise = max(item.noise, _within(c, w))
            items.append(item)
        for metric, values in c.facts.items():
            for w in np.flatnonzero(np.isfinite(values)).tolist():
                items[w].values.setdefault(metric, []).append(float(values[w]))
        factors.enter(items, outcomes.view)
        _outcomes(outcomes, speak, items)
    for item in found.values():  # of repeats that disagree, the majority counts
        item.rules = {r: "fired" if 2 * sum(v) >= len(v) else "absent" for r, v in item.votes.items()}
    return list(found.values())


def _shape(c: Capture, w: int) -> str:
    return ",".join(f"{c.facts[m][w]:g}" for m in SHAPE if m in c.facts and c.facts[m][w] == c.facts[m][w])


def _within(c: Capture, w: int) -> float:
    """Noise of the mean of equal launches inside one capture: two standard errors, as a part of the mean."""
    # the spread of two launches says nothing, and that of several shapes something else
    if c.calls[w] < 3 or not _shape(c, w):
        return 0.0
    times = np.asarray(c.times(w), dtype=float)
    times = times[np.isfinite(times)]
    if len(times) < 3 or times.mean() <= 0:
        return 0.0
    return float(2 * times.std(ddof=1) / np.sqrt(len(times)) / times.mean())


def _outcomes(outcomes: Outcomes, speak: Sequence[int], items: Sequence[Item]) -> None:
    """What those rules said of every workload, and what they promised where they fired."""
    for index in speak:
        rule, outcome = outcomes.d.book.rules[index], outcomes.outcome(index)
        fired = np.flatnonzero(outcome == FIRED).tolist()
        if fired and rule.gain is not None:
            low, likely, bound = fractions(rule, outcomes.lookup(index), np.array(fired))
            for k, w in enumerate(fired):
                # NaN: it fired, but the workload has no time to give back
                if likely[k] == likely[k]:
                    items[w].gains[rule.id] = (float(low[k]), float(likely[k]), float(bound[k]))
        for w in fired:
            items[w].votes.setdefault(rule.id, []).append(True)
        for w in np.flatnonzero((outcome == SILENT) | (outcome == OVERRULED)).tolist():
            items[w].votes.setdefault(rule.id, []).append(False)


def _frames(d: Diagnosis) -> list[float]:
    return [p.capture.frame_ns for p in d.parts if p.capture.frame_ns > 0]


def _outside(before: Diagnosis, after: Diagnosis, limits: Limits) -> Outside | None:
    """What lies under no workload, told apart from the work: its change is no change of any workload."""
    sides = [[p.capture for p in d.parts if p.capture.frame_ns > 0] for d in (before, after)]
    if not all(sides) or any(c.timeline for side in sides for c in side):
        return None
    left = [[c.uncovered_ns for c in side] for side in sides]
    if not any(any(side) for side in left):
        return None
    # a frame whose workloads carry no times has nothing to be told apart
    b, a = ([t for c in side if (t := c.frame_ns - c.uncovered_ns) > 0] for side in sides)
    return (
        {"before_ns": middle(left[0]), "after_ns": middle(left[1]), "workloads": judge(b, a, limits)}
        if b and a
        else None
    )


def _pair(p: Pair, limits: Limits) -> Paired:
    b, a = p.before, p.after
    judged = judge(b.times, a.times, limits, max(b.noise, a.noise))
    verdict = judged["verdict"]
    judged["remarks"] += factors.remarks(b, a)
    # what was blind on one side can be neither fixed nor new there
    known = b.rules.keys() & a.rules.keys()
    fixed = sorted(r for r in known if b.rules[r] == "fired" and a.rules[r] == "absent")
    fired = sorted(r for r in b.rules if b.rules[r] == "fired")
    predicted = promised(b, fixed, fired, judged)
    changes = _changes(b, a, verdict)
    return {
        "name": a.name,
        "path": _path(a),
        "kind": a.kind or b.kind or None,
        **judged,
        "was": None if b.full == a.full else {"name": b.name, "path": _path(b)},
        "matched": p.how,
        "calls": [number(median(b.calls)), number(median(a.calls))],
        "repeats": [len(b.times), len(a.times)],
        "reading": _sentence(judged, changes, b, a),
        "changes": changes,
        "fixed": fixed,
        "remaining": sorted(r for r in known if b.rules[r] == a.rules[r] == "fired"),
        "new": sorted(r for r in known if b.rules[r] == "absent" and a.rules[r] == "fired"),
        "unknown": sorted(r for r in b.rules.keys() ^ a.rules.keys() if "fired" in (b.rules.get(r), a.rules.get(r))),
        "predicted": predicted,
    }


def _path(i: Item) -> list[str]:
    return i.path.split(SEP) if i.path else []


def _changes(b: Item, a: Item, verdict: str) -> list[Change]:
    first = {m: median(v) for m, v in b.values.items()}
    second = {m: median(v) for m, v in a.values.items()}
    out: list[Change] = []
    for metric in [m for m in schema.all_metrics() if m in first and m in second]:
        x, y = first[metric], second[metric]
        noise = max(_relative(b.values[metric]), _relative(a.values[metric]))
        text, sense = reading(Move(metric, x, y, verdict, first, second), noise)
        unit = schema.get(metric).unit
        shown_x, shown_unit = display(x, unit)
        out.append(
            {
                "metric": metric,
                "label": said(schema.get(metric).label),
                "before": number(shown_x),
                "after": number(display(y, unit)[0]),
                "unit": shown_unit,
                "ratio": number(y / x, 4) if x else None,
                "reading": said(text),
                "sense": sense or "neutral",
                "moved": moved(metric, x, y, noise),
            }
        )
    out.sort(key=lambda c: (c["metric"] != "gpu.time", not c["moved"], -_weight(c)))
    return out


def _relative(values: Sequence[float]) -> float:
    middle = abs(median(values))
    return (max(values) - min(values)) / middle if len(values) > 1 and middle else 0.0


def _weight(c: Change) -> float:
    """How far a counter moved, so that the largest movements stand first: points for percentages, else parts."""
    before, after = c["before"] or 0.0, c["after"] or 0.0
    gap = float(abs(after - before))
    return gap / 100 if c["unit"] == "%" else min(0.5, gap / max(abs(before), abs(after), 1e-12))


def _sentence(judged: Judged, changes: Sequence[Change], b: Item, a: Item) -> str:
    if judged["speedup"] is None:
        return "No duration on both sides: no verdict."
    word = change(judged)
    if median(b.calls) != median(a.calls):
        word += f"; {median(b.calls):g} calls before, {median(a.calls):g} after, totals are compared"
    # excused only where the time fell: a counter that fell with it is nothing to worry about
    told = [c for c in changes if c["moved"] and c["metric"] != "gpu.time" and "not a regression" in c["reading"]]
    if judged["verdict"] == FASTER and told:
        names = " and ".join(f"{_moved(c)} {c['label']}" for c in told[:2])
        word += f"; {names} {'is' if len(told[:2]) == 1 else 'are'} not a regression"
    return f"{word[0].upper()}{word[1:]}."


def _moved(c: Change) -> str:
    return "higher" if (c["after"] or 0.0) > (c["before"] or 0.0) else "lower"


def _alone(which: str, i: Item) -> Alone:
    kind, time = i.kind or None, middle(i.times)
    return {"side": which, "name": i.name, "path": _path(i), "kind": kind, "duration_ns": time}


def _inputs(d: Diagnosis) -> list[Input]:
    return [
        {
            "path": p.capture.input.path,
            "sha256": p.capture.sha256,
            "dialect": p.capture.input.dialect,
            "setting": setting(p.capture),
        }
        for p in d.parts
    ]
