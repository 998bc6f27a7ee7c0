"""The profiler's rule results beside triage's root causes, kernel by kernel."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from triage.capture.capture import Opinion
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.outcomes import Outcomes
from triage.files import plain_json
from triage.findings.profiler_rules import BLIND_TO, NAMED, ROOT, RULED_OUT, ComparedOpinion, SecondOpinion, best
from triage.ground.phrasing import plural, upper_first, whole_percent
from triage.ground.units import show
from triage.rendering.escape import short

MIN_ESTIMATE = 0.05  # fraction; smaller estimates are not worth acting on
WIDTH = 100
MAX_LISTED = 5  # kernels per row, without --full
# rows from agreement to neither; ids in JSON, TITLES in text, as JSON names them
SAME, BOTH, EXCUSED, UNMEASURED, THEIRS, OURS, NEITHER = KINDS = (
    "same root",
    "both named",
    "only theirs, ruled out here",
    "only theirs, not measured here",
    "only theirs",
    "only ours",
    "neither",
)
_TITLES = {
    SAME: "same root cause",
    BOTH: "both found",
    EXCUSED: "profiler only, ruled out by triage",
    UNMEASURED: "profiler only, not evaluated (missing counters)",
    THEIRS: "profiler only",
    OURS: "triage only",
    NEITHER: "neither",
}
_KIND = {ROOT: SAME, NAMED: BOTH, RULED_OUT: EXCUSED, BLIND_TO: UNMEASURED}


class Launch(Struct, frozen=True):
    """One workload. theirs: the profiler's result with the largest estimate that names a cause, or None. lead: triage's
    root cause or ""; likely: its saving, a fraction."""

    id: str
    name: str
    time_ns: float
    kind: str
    theirs: ComparedOpinion | None
    lead: str
    likely: float
    heard: tuple[ComparedOpinion, ...]


def agreement(d: Diagnosis, least: float = MIN_ESTIMATE) -> list[Launch]:
    """Workloads with results of the profiler's rules, longest first.

    least: estimates up to this fraction of the workload do not count; results without an estimate (old versions) do.
    """
    out = [launch for part in d.parts for launch in _launches(d, part.number, least)]
    return sorted(out, key=lambda launch: -np.nan_to_num(launch.time_ns))


def _launches(d: Diagnosis, number: int, least: float) -> list[Launch]:
    part = d.parts[number]
    c = part.capture
    owners = c.owners([o.row for o in c.table.opinions])
    opinions: dict[int, list[Opinion]] = {}
    for o, w in zip(c.table.opinions, owners, strict=True):
        mine = opinions.setdefault(int(w), [])
        if not any((o.rule, o.text) == (x.rule, x.text) for x in mine):
            mine.append(o)
    judge = SecondOpinion(Outcomes(d, part, np.array(sorted(opinions), dtype=np.int64)))
    return [_launch(d, number, w, [judge.compare(o, w) for o in heard], least) for w, heard in opinions.items()]


def _launch(d: Diagnosis, number: int, w: int, heard: list[ComparedOpinion], least: float) -> Launch:
    part = d.parts[number]
    leader = int(part.leaders.cause[w])
    lead = d.cause_index.names[leader] if leader >= 0 else ""
    theirs = best(heard)
    if theirs is not None and (theirs.opinion.speedup or 0.0) <= least:
        theirs = None
    if theirs is None:  # without estimates take the one that agrees least: old versions warn of everything alike
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
    """The comparison for people: counts, then the kernels of each row with both estimates and why they differ."""
    if not launches:
        return "No rule results of the profiler in this capture.\n"
    mine = {kind: [x for x in launches if x.kind == kind] for kind in KINDS}
    out = [f"{plural(len(launches), 'kernel')} with rule results of the profiler", ""]
    out += [f"{len(rows):6}  {_TITLES[kind]}" for kind, rows in mine.items() if rows]
    judged = [x for x in launches if x.theirs is not None]
    if judged:
        answered = sum(x.kind in (SAME, BOTH, EXCUSED) for x in judged)
        out.append(f"\nThe profiler's top result is found or ruled out by triage in {answered} of {len(judged)}.")
    for kind, rows in mine.items():
        if kind == NEITHER or not rows:
            continue
        out += ["", upper_first(_TITLES[kind])]
        for x in rows if every else rows[:MAX_LISTED]:
            out += _lines(x)
        if len(rows) > MAX_LISTED and not every:
            out.append(f"  {len(rows) - MAX_LISTED} more: --full")
    return "\n".join(out) + "\n"


def _lines(x: Launch) -> list[str]:
    time = f"  {show(x.time_ns, 'ns')}" if x.time_ns == x.time_ns else ""
    lines = [f"  {x.id}  {short(x.name, 70)}{time}"]
    if x.theirs is not None:
        o = x.theirs.opinion
        figure = f" {whole_percent(o.speedup)}{' ' + o.scope if o.scope else ''}" if o.speedup is not None else ""
        lines.append(f"    profiler  {o.rule}{figure}")
    ours = f"{x.lead} {whole_percent(x.likely)}" if x.lead else "no root cause"
    if x.theirs is not None and x.theirs.cause and x.theirs.cause != x.lead:
        ours += f", and {x.theirs.cause}" + (f" {whole_percent(x.theirs.ours)}" if x.theirs.ours else "")
    lines.append(f"    triage    {ours}")
    if x.theirs is not None and x.theirs.why:
        lines += textwrap.wrap(
            f"why       {x.theirs.why}",
            WIDTH,
            initial_indent=" " * 4,
            subsequent_indent=" " * 14,
            break_long_words=False,
        )
    return lines


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
