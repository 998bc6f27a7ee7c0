"""Before and after: matched workloads, a verdict by duration, every counter's movement explained (triage-compare/1).

Several captures on a side are repeats: `triage.products.noise` says what they can show and what not.
Reports speak of the change of the time, after / before - 1: -20 % takes a fifth less. `speedup` is before / after, and
the `gain` that some quote is speedup - 1; both stay in the document for those who read them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from statistics import median

import numpy as np
from msgspec.structs import replace

from triage import schema
from triage.capture.arrays import Masks
from triage.capture.capture import SEP
from triage.derive.vendor import of_kernels
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.document.numbers import number
from triage.ground.phrasing import plural
from triage.ground.terminology import localize, names_of, speaking
from triage.ground.units import display
from triage.inference.rule_context import gpu_facts, setting
from triage.products.compare import comparability, factors
from triage.products.compare.compare_result import (
    SCHEMA,
    Alone,
    Change,
    Comparison,
    Input,
    Judged,
    Name,
    Outside,
    Paired,
    Totals,
)
from triage.products.compare.explanations import Move, moved, reading
from triage.products.compare.item import ABSENT, FIRED, UNTOLD, Item, Who
from triage.products.compare.kinds import kinds
from triage.products.compare.match import Pairs, match
from triage.products.compare.predictions import eased, promised
from triage.products.compare.side import Side, fold
from triage.products.compare.timeline_changes import timeline
from triage.products.compare.timeline_launches import launches
from triage.products.compare.verdict import Limits, Verdicts, change, judge, middle, regressed
from triage.products.compare.work import equal, work
from triage.products.noise import FASTER, FLOOR, MARGIN, SLOWER, UNKNOWN, VERDICTS
from triage.rendering.phrases import number as figure
from triage.rendering.phrases import time

ALL, LISTED = 10_000, 1_000  # up to ALL pairs are all listed, of more the LISTED that matter most


def compare(
    before: Diagnosis,
    after: Diagnosis,
    floor: float = FLOOR,
    threshold: float | None = None,
    margin: float | None = None,
    full: bool = False,
) -> Comparison:
    """The comparison as plain data. floor: least relative difference that counts. threshold: of a regression (0-1).

    margin: what `same` excludes; None for the threshold, or 5 % without one. full: list every pair, however many there are.

    Every capture of a Diagnosis is one repeat; diagnose both sides without `top`, so that no outcome is left out. Raises
    TriageError where the sides have no workload and no timeline in common.
    """
    found = {names_of(gpu_facts(p.view)) for d in (before, after) for p in d.parts}
    with speaking(names=found.pop() if len(found) == 1 else ()):
        return _compared(before, after, floor, threshold, margin, full)


def _compared(
    before: Diagnosis, after: Diagnosis, floor: float, threshold: float | None, margin: float | None, full: bool
) -> Comparison:
    """The comparison in the words of the GPU that all captures come from."""
    parts = [*before.parts, *after.parts]
    # of 300 rules a few fire on two captures; the others' silence is no information, and a state is nothing to fix
    fired = sorted(frozenset().union(*(p.fired for p in parts)))
    index = before.cause_index
    speak = [i for i in fired if before.book.rules[i].scope == "workload" and not index.verdict[index.of_rule[i]]]
    launched = launches((before, after))
    sides = fold(before, speak, launched), fold(after, speak, launched)
    pairs, alone = match(sides[0].who, sides[1].who, (sides[0].items, sides[1].items))
    sides = sides[0].joined(pairs.joined[0]), sides[1].joined(pairs.joined[1])
    rows = timeline(before, after)
    noun = "kernel" if all(of_kernels(p.capture.input.tells) for p in parts) else "marker"
    if not rows:
        comparability.refuse(sides, pairs, noun)
    limits = Limits(floor, (threshold or MARGIN) if margin is None else margin)
    verdicts = _verdicts(sides, pairs, limits)
    done = work((before, after), sides, pairs, verdicts, limits)
    few = list(range(len(pairs)))
    if len(pairs) > ALL and not full:
        few = chosen(verdicts, _changed(sides, pairs), threshold)
    listed = _listed(sides, pairs, verdicts, few)
    frame = judge(_frames(before), _frames(after), limits)
    bad = [] if threshold is None else _regressions(sides[1], pairs, verdicts, threshold)
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
        "warnings": comparability.warnings(sides, pairs, alone, noun, equal(done["rows"]), bool(done["per_iteration"])),
        "kinds": kinds((before, after), sides, pairs, verdicts, alone, done, frame),
        "work": done,
        "frame": frame,
        "outside": _outside(before, after, limits),
        "totals": totals(verdicts, sum(map(len, alone)), threshold),
        "pairs": listed,
        "unmatched": _unmatched(sides, alone, full),
        "timeline": rows,
        "regressions": bad,
        "rules": {r: {"name": rules[r].name, "title": localize(rules[r].title)} for r in named},
    }


def _verdicts(sides: tuple[Side, Side], pairs: Pairs, limits: Limits) -> Verdicts:
    before, after = sides
    b, a = before.times.part(pairs.before), after.times.part(pairs.after)
    # other counts of the same work are no other speed
    calls = (before.calls.part(pairs.before).middle, after.calls.part(pairs.after).middle)
    each = np.isfinite(calls[0]) & np.isfinite(calls[1]) & (calls[0] != calls[1])
    b, a = b.where(each, before.each.part(pairs.before)), a.where(each, after.each.part(pairs.after))
    # many verdicts are given at once: together they may be wrong as seldom as the one about the frame
    tests = int(((b.count > 0) & (a.count > 0)).sum())
    within = np.maximum(before.noise[pairs.before], after.noise[pairs.after])
    tick = np.maximum(before.tick[pairs.before], after.tick[pairs.after])
    return Verdicts(b, a, replace(limits, tests=tests), within, each, tick)


def _changed(sides: tuple[Side, Side], pairs: Pairs) -> Masks:
    """Pairs for which a rule's outcome changed, where both sides are known."""
    first, second = sides[0].codes[:, pairs.before], sides[1].codes[:, pairs.after]
    changed: Masks = ((first != second) & (first != UNTOLD) & (second != UNTOLD)).any(axis=0)
    return changed


def _regressions(after: Side, pairs: Pairs, verdicts: Verdicts, threshold: float) -> list[str]:
    """Names of all pairs that are slower by more than the threshold, listed or not."""
    slower = verdicts.are(SLOWER) & verdicts.above(threshold)
    return [after.who[i].name for i in pairs.after[slower].tolist()]


def _frames(d: Diagnosis) -> list[float]:
    return [p.capture.frame_ns for p in d.parts if p.capture.frame_ns > 0]


def _outside(before: Diagnosis, after: Diagnosis, limits: Limits) -> Outside | None:
    """Time under no workload: its change is no change of any workload."""
    sides = [[p.capture for p in d.parts if p.capture.frame_ns > 0] for d in (before, after)]
    if not all(sides) or any(c.timeline for side in sides for c in side):
        return None
    left = [[c.uncovered_ns for c in side] for side in sides]
    if not any(any(side) for side in left):
        return None
    # a frame whose workloads carry no times has no such rest
    b, a = ([t for c in side if (t := c.frame_ns - c.uncovered_ns) > 0] for side in sides)
    if not b or not a:
        return None
    return {"before_ns": middle(left[0]), "after_ns": middle(left[1]), "workloads": judge(b, a, limits)}


def _listed(sides: tuple[Side, Side], pairs: Pairs, verdicts: Verdicts, few: Sequence[int]) -> list[Paired]:
    before, after = sides
    first = before.explained(pairs.before[few].tolist())
    both = zip(first, after.explained(pairs.after[few].tolist(), first), strict=True)
    own = before.own.middle[pairs.before[few]].tolist(), after.own.middle[pairs.after[few]].tolist()
    needs = {r.id: r.needs for r in before.d.book.rules}
    return [
        _pair(b, a, pairs.how[i], verdicts.at(i), bool(verdicts.per_call[i]), own, needs)
        for i, (b, a), own in zip(few, both, zip(*own, strict=True), strict=True)
    ]


def _pair(
    b: Item,
    a: Item,
    how: str,
    judged: Judged,
    per_call: bool,
    own: tuple[float, float],
    needs: Mapping[str, Sequence[str]],
) -> Paired:
    """One workload on both sides. needs: rule id -> the counters that it rests on."""
    chief, remarks = factors.remarks(b, a, judged["verdict"] in (FASTER, SLOWER))
    judged["remarks"] += remarks
    # what was blind on one side can be neither fixed nor new there
    fixed = _rules(b, a, (FIRED, ABSENT))
    predicted = promised(b, [*fixed, *eased(b, a)], [r for r, code in b.rules.items() if code == FIRED], judged)
    new = _rules(b, a, (ABSENT, FIRED))
    decide = {m for rule in (*fixed, *new) for m in needs[rule]}.union(factors.FACTORS)
    changes = _changes(b, a, judged["verdict"], decide)
    return {
        **_name(a.who),
        "kind": a.who.kind or b.who.kind or None,
        "shape": a.who.shape,
        **judged,
        "was": None if b.who.full == a.who.full else _name(b.who),
        "matched": how,
        "calls": [number(median(b.calls)), number(median(a.calls))],
        "per_call": per_call,
        "total_ns": [middle(b.times), middle(a.times)],
        "own_ns": [number(ns, 3) for ns in own],
        "repeats": [len(b.times), len(a.times)],
        "reading": _sentence(judged, b, a),
        "chief": chief,
        "changes": changes,
        "fixed": fixed,
        "gone": {r: a.silent[r] for r in fixed if a.silent.get(r)},
        "remaining": _rules(b, a, (FIRED, FIRED)),
        "new": new,
        "hidden": [r for r in new if r in b.hidden],
        "unknown": _rules(b, a, (FIRED, UNTOLD), (UNTOLD, FIRED)),
        "predicted": predicted,
    }


def _rules(b: Item, a: Item, *codes: tuple[int, int]) -> list[str]:
    """Rules with one of these (code before, code after)."""
    return sorted(r for r, code in b.rules.items() if (code, a.rules[r]) in codes)


def _name(who: Who) -> Name:
    return {"name": who.name, "path": who.path.split(SEP) if who.path else []}


def _changes(b: Item, a: Item, verdict: str, decide: Set[str]) -> list[Change]:
    """Counters of both sides, those that moved first. decide: counters of rules that came or went, and factors of the time."""
    first = {m: median(v) for m, v in b.values.items()}
    second = {m: median(v) for m, v in a.values.items()}
    out: list[Change] = []
    for metric in (m for m in first if m in second):
        x, y = first[metric], second[metric]
        noise = max(_relative(b.values[metric]), _relative(a.values[metric]))
        text, sense = reading(Move(metric, x, y, verdict, first, second), noise)
        unit = schema.get(metric).unit
        shown_x, shown_unit = display(x, unit)
        out.append(
            {
                "metric": metric,
                "label": localize(schema.get(metric).label),
                "before": number(shown_x),
                "after": number(display(y, unit)[0]),
                "unit": shown_unit,
                "ratio": number(y / x, 4) if x else None,
                "reading": localize(text),
                "sense": sense or "neutral",
                "moved": moved(metric, x, y, noise)
                and figure(shown_x, shown_unit) != figure(display(y, unit)[0], shown_unit),
            }
        )
    # what agrees with the time explains it
    agrees = {SLOWER: "bad", FASTER: "good"}.get(verdict)
    out.sort(
        key=lambda c: (
            c["metric"] != "gpu.time",
            not c["moved"],
            not c["metric"].startswith("launch."),  # what was changed stands before its effects
            c["metric"] not in decide,
            c["sense"] != agrees,
            -_weight(c),
        )
    )
    return out


def _relative(values: Sequence[float]) -> float:
    middle = abs(median(values))
    return (max(values) - min(values)) / middle if len(values) > 1 and middle else 0.0


def _weight(c: Change) -> float:
    """How far a counter moved, so that the largest movements stand first: points for percentages, else parts."""
    before, after = c["before"] or 0.0, c["after"] or 0.0
    gap = float(abs(after - before))
    return gap / 100 if c["unit"] == "%" else min(0.5, gap / max(abs(before), abs(after), 1e-12))


def _sentence(judged: Judged, b: Item, a: Item) -> str:
    if judged["speedup"] is None:
        return "No duration on both sides, no verdict."
    word = change(judged)
    if median(b.calls) != median(a.calls):
        whole = f"{time(median(b.times))} -> {time(median(a.times))}"
        word = f"per call {word}; {plural(round(median(b.calls)), 'call')} before, {median(a.calls):,.0f} after, total {whole}"
    return f"{word[0].upper()}{word[1:]}."


def _unmatched(sides: tuple[Side, Side], alone: tuple[list[int], list[int]], full: bool) -> list[Alone]:
    """Workloads without a partner; of very many the longest."""
    times = [(side.times.middle, side.own.middle) for side in sides]
    found: list[Alone] = [
        {
            "side": word,
            **_name(side.who[i]),
            "kind": side.who[i].kind or None,
            "duration_ns": number(float(ns[i]), 3),
            "own_ns": number(float(own[i]), 3),
        }
        for word, side, (ns, own), some in zip(("before", "after"), sides, times, alone, strict=True)
        for i in some
    ]
    if full or len(found) <= ALL:
        return found
    return sorted(found, key=lambda u: -(u["duration_ns"] or 0.0))[:LISTED]


def _inputs(d: Diagnosis) -> list[Input]:
    return [
        {
            "path": p.capture.input.path,
            "sha256": p.capture.sha256,
            "dialect": p.capture.input.dialect,
            "setting": setting(p.view),
        }
        for p in d.parts
    ]


def chosen(verdicts: Verdicts, changed: Masks, threshold: float | None) -> list[int]:
    """The pairs that matter most, in their order: regressions, slower and faster ones, those of which a rule says something
    else than before (changed), those of which the runs cannot tell; in each the largest change of the time first.
    """
    slower = verdicts.are(SLOWER)
    kinds = (slower & verdicts.above(threshold or 0.0), slower, verdicts.are(FASTER), changed, verdicts.are(UNKNOWN))
    gap = np.nan_to_num(np.abs(verdicts.after_ns - verdicts.before_ns))
    best = np.lexsort((-gap, np.select(kinds, range(len(kinds)), len(kinds))))
    return sorted(best[:LISTED].tolist())


def totals(verdicts: Verdicts, unmatched: int, threshold: float | None) -> Totals:
    """Totals over all pairs."""
    open_ = verdicts.are(UNKNOWN)
    needs = np.sort(verdicts.found.needs[open_ & (verdicts.found.needs > 0)])
    return {
        "pairs": len(verdicts),
        "unmatched": unmatched,
        "verdicts": {v: int(n) for v in VERDICTS if (n := verdicts.are(v).sum())},
        # the median: one noisy workload of hundreds shall not ask for a hundred runs of all of them
        "needs": int(needs[len(needs) // 2]) if len(needs) else None,
        "regressed": int((verdicts.are(SLOWER) & verdicts.above(threshold or 0.0)).sum()),
        "open": 0 if threshold is None else int((open_ & verdicts.above(threshold)).sum()),
    }
