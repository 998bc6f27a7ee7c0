"""How far the profiler's own rules and this diagnosis agree, launch by launch."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triage.capture.capture import Opinion
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.outcomes import Outcomes
from triage.files import plain_json
from triage.findings.profiler_rules import BLIND_TO, NAMED, ROOT, RULED_OUT, ComparedOpinion, SecondOpinion, best
from triage.ground.phrasing import plural, whole_percent
from triage.ground.units import show

LEAST = 0.05  # an estimate up to which nobody would act
WIDTH = 100
SHOWN = 5  # launches listed per row unless all are asked for
# rows of the answer, from agreement to silence
SAME, BOTH, EXCUSED, UNMEASURED, THEIRS, OURS, NEITHER = KINDS = (
    "same root",
    "both named",
    "only theirs, ruled out here",
    "only theirs, not measured here",
    "only theirs",
    "only ours",
    "neither",
)
_KIND = {ROOT: SAME, NAMED: BOTH, RULED_OUT: EXCUSED, BLIND_TO: UNMEASURED}


@dataclass(frozen=True, slots=True)
class Launch:
    """One workload: theirs is the most promising rule result that names a cause, None without one; lead: our root, ""
    for none, likely: what it would give back, a fraction."""

    id: str
    name: str
    time_ns: float
    kind: str
    theirs: ComparedOpinion | None
    lead: str
    likely: float
    heard: tuple[ComparedOpinion, ...]


def agreement(d: Diagnosis, least: float = LEAST) -> list[Launch]:
    """Every workload about which the profiler's rules said anything; longest first.

    least: estimates of the whole workload up to this fraction are not held against us; results without an estimate, as old
    versions print them, always are.
    """
    out = [launch for part in d.parts for launch in _of(d, part.number, least)]
    return sorted(out, key=lambda launch: -np.nan_to_num(launch.time_ns))


def _of(d: Diagnosis, number: int, least: float) -> list[Launch]:
    part = d.parts[number]
    c = part.capture
    owners = c.owners([o.row for o in c.table.opinions])
    said: dict[int, list[Opinion]] = {}
    for o, w in zip(c.table.opinions, owners, strict=True):
        mine = said.setdefault(int(w), [])
        if not any((o.rule, o.text) == (x.rule, x.text) for x in mine):
            mine.append(o)
    judge = SecondOpinion(Outcomes(d, part, np.array(sorted(said), dtype=np.int64)))
    return [_launch(d, number, w, [judge.compare(o, w) for o in opinions], least) for w, opinions in said.items()]


def _launch(d: Diagnosis, number: int, w: int, heard: list[ComparedOpinion], least: float) -> Launch:
    part = d.parts[number]
    leader = int(part.leaders.cause[w])
    lead = d.cause_index.names[leader] if leader >= 0 else ""
    theirs = best(heard)
    if theirs is not None and (theirs.opinion.speedup or 0.0) <= least:
        theirs = None
    if theirs is None:  # without estimates the one that agrees least speaks: an old version warns of everything alike
        plain = [h for h in heard if h.causes and h.opinion.speedup is None and h.opinion.type in ("WRN", "OPT")]
        theirs = max(plain, key=lambda h: KINDS.index(_KIND.get(h.verdict, THEIRS)), default=None)
    kind = _KIND.get(theirs.verdict, THEIRS) if theirs else OURS if lead else NEITHER
    return Launch(
        part.workload_id(w, d.many),
        str(part.capture.names[w]),
        float(part.capture.self_ns[w]),
        kind,
        theirs,
        lead,
        float(part.leaders.likely[w]) if lead else 0.0,
        tuple(heard),
    )


def text(launches: Sequence[Launch], every: bool = False) -> str:
    """The answer for people: counts, then the launches of each row with both figures and why they differ."""
    if not launches:
        return "The profiler's own rules said nothing about any workload of this export.\n"
    mine = {kind: [x for x in launches if x.kind == kind] for kind in KINDS}
    out = [f"{plural(len(launches), 'workload')} with results of the profiler's own rules", ""]
    out += [f"{len(found):6}  {kind}" for kind, found in mine.items() if found]
    judged = [x for x in launches if x.theirs is not None]
    if judged:
        answered = sum(x.kind in (SAME, BOTH, EXCUSED) for x in judged)
        out.append(f"\nTheir most promising cause is named or ruled out here in {answered} of {len(judged)}.")
    for kind, found in mine.items():
        if kind in (NEITHER,) or not found:
            continue
        out += ["", kind[0].upper() + kind[1:]]
        for x in found if every else found[:SHOWN]:
            out += _lines(x)
        if len(found) > SHOWN and not every:
            out.append(f"  {len(found) - SHOWN} more; --all lists them")
    return "\n".join(out) + "\n"


def _lines(x: Launch) -> list[str]:
    time = f"  {show(x.time_ns, 'ns')}" if x.time_ns == x.time_ns else ""
    lines = [f"  {x.id}  {_cut(x.name, 70)}{time}"]
    if x.theirs is not None:
        o = x.theirs.opinion
        figure = f" {whole_percent(o.speedup)}{' ' + o.scope if o.scope else ''}" if o.speedup is not None else ""
        lines.append(f"    theirs  {o.rule}{figure}")
    ours = f"{x.lead} {whole_percent(x.likely)}" if x.lead else "nothing leads"
    if x.theirs is not None and x.theirs.cause and x.theirs.cause != x.lead:
        ours += f", and {x.theirs.cause}" + (f" {whole_percent(x.theirs.ours)}" if x.theirs.ours else "")
    lines.append(f"    ours    {ours}")
    if x.theirs is not None and x.theirs.why:
        lines += textwrap.wrap(
            f"why     {x.theirs.why}", WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 12, break_long_words=False
        )
    return lines


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def as_json(launches: Sequence[Launch]) -> str:
    """The same as data: counts, and every workload with every rule result."""
    counts = {kind: sum(x.kind == kind for x in launches) for kind in KINDS}
    rows = [
        {
            "id": x.id,
            "name": x.name,
            "time_ns": None if x.time_ns != x.time_ns else x.time_ns,
            "kind": x.kind,
            "lead": x.lead or None,
            "likely": round(x.likely, 6) if x.lead else None,
            "theirs": None if x.theirs is None else _heard(x.theirs),
            "rules": [_heard(h) for h in x.heard],
        }
        for x in launches
    ]
    return plain_json.dumps({"counts": counts, "workloads": rows}, indent=1) + "\n"


def _heard(h: ComparedOpinion) -> dict[str, object]:
    o = h.opinion
    return {
        "rule": o.rule,
        "type": o.type,
        "estimate": o.speedup,
        "scope": o.scope or None,
        "causes": list(h.causes),
        "cause": h.cause or None,
        "verdict": h.verdict,
        "ours": None if h.ours is None else round(h.ours, 6),
        "why": h.why or None,
    }
