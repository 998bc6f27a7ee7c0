"""Diagnosis -> Bundle: everything fetched, every cell read back and every error raised here, before anything is written.

No timestamps, no paths beyond what the user typed: the same input gives the same bytes. Numbers that are not known
are null.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from triage import dialects
from triage.capture.arrays import distinct
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.outcomes import Outcomes
from triage.document.bundle import Bundle
from triage.document.entries import SCHEMA, BlindSpotEntry, Head
from triage.document.page_entries import RooflineEntry
from triage.findings import frame_entries, pass_entries, reference_entries
from triage.findings.cause_chains import Causes
from triage.findings.decision_paths import Ways
from triage.findings.finding_types import Finding
from triage.findings.reasons import ruled_out
from triage.findings.roofline import roofline, with_flops
from triage.findings.shown_findings import findings
from triage.findings.todo_entries import groups, todo_lists
from triage.findings.weighing import Weighed
from triage.findings.workloads import ShownWorkloads
from triage.ground.terminology import names_of, speaking
from triage.inference.rule_context import gpu_facts


class Listing(Struct, frozen=True):
    """What a report lists. outcomes: one per capture. items: the findings on the worst workloads of the to-do items, of all
    captures and of each scope."""

    outcomes: Sequence[Outcomes]
    causes: Causes
    findings: list[Finding]
    items: list[Finding]


def listing(d: Diagnosis) -> Listing:
    """The findings that a report lists. Raises BadCapture when an input changed since it was read."""
    with speaking(names=terminology_of(d)):
        outcomes = [Outcomes(d, part) for part in d.parts]
        items = [i for _, _, some in groups(d) for i in some]
        places = {(p, int(d.parts[p].firings.workload[k])) for p, k in d.order} | {i.workloads[0] for i in items}
        causes = Causes(d, outcomes, places)
        return Listing(outcomes, causes, *findings(d, items, causes))


def bundle(d: Diagnosis, made: Listing | None = None, *, ways: bool = True) -> Bundle:
    """All that a report shows, as plain data. made: `listing(d)`, where it is there already.

    ways: also the decision path of each workload and its roofline; formats that show neither leave them away, which
    matters from 100,000 workloads on. Raises what `listing` raises.
    """
    made = made or listing(d)
    with speaking(names=terminology_of(d)):
        return _bundle(d, made, ways)


def terminology_of(d: Diagnosis) -> tuple[str, ...]:
    """Vendor terms that fit all captures (terminology.Voice.names); empty where their GPUs are of several vendors."""
    found = {names_of(gpu_facts(p.view)) for p in d.parts}
    return found.pop() if len(found) == 1 else ()


def _item(d: Diagnosis) -> str:
    """What a row of all captures is called: as their dialects say, and a kernel in custom tables of nothing else."""
    named = dialects.noun(p.capture.input.dialect for p in d.parts)
    return "kernel" if named == "marker" and all(gpu_facts(p.view).get("work") == "compute" for p in d.parts) else named


def _bundle(d: Diagnosis, made: Listing, ways: bool) -> Bundle:
    outcomes, causes = made.outcomes, made.causes
    lists = todo_lists(d, made.findings, made.items, causes)
    todo, listed = lists[0][2], [f.entry for f in made.findings]
    excluded = [(o.ids[r.row], r) for o in outcomes for r in ruled_out(o)]
    head: Head = {
        "schema": SCHEMA,
        "tool": {"name": "sol-triage", "version": d.version, "rules_sha256": d.book.sha256, "method": d.method},
        "captures": [frame_entries.capture(part, d.many) for part in d.parts],
        "frame": frame_entries.frame(d, outcomes),
    }
    return Bundle(
        head=head,
        workloads=ShownWorkloads(d, outcomes, made.findings, causes),
        findings=listed,
        todo=todo,
        scopes=lists[1:],
        passes=pass_entries.entries(d),
        excluded=excluded,
        blind_spots=_blind_spots(d, outcomes),
        quality=frame_entries.quality(d),
        rows=[f.row for f in made.findings],
        ways=Ways(d, outcomes) if ways else None,
        weighed=Weighed(outcomes),
        rooflines=_rooflines(outcomes) if ways else {},
        rules=reference_entries.rules(d, {f["rule"] for f in listed} | {r.rule for _, r in excluded}),
        causes=reference_entries.causes(d, {f["cause"] for f in listed} | {i["cause"] for i in todo} | _leading(d)),
        cause_of=_cause_of(d),
        chosen=d.top is not None,
        item=_item(d),
        whose=terminology_of(d),
    )


def _leading(d: Diagnosis) -> set[str]:
    """Root causes of the shown workloads, whose titles tables print even where no finding is listed."""
    seen = {k for p, part in enumerate(d.parts) for k in distinct(part.leaders.cause[d.shown(p)])}
    seen |= {one.root for part in d.parts for w, one in part.wholes.items() if w >= 0}
    seen |= {k for part in d.parts for k in part.claims | part.spans}
    return {d.cause_index.names[k] for k in seen if k >= 0}


def _rooflines(outcomes: Sequence[Outcomes]) -> dict[str, RooflineEntry]:
    known = ((o.ids[int(o.rows[i])], roofline(o.view, i)) for o in outcomes for i in with_flops(o.view).tolist())
    return {name: roof for name, roof in known if roof is not None}


def _blind_spots(d: Diagnosis, outcomes: Sequence[Outcomes]) -> list[BlindSpotEntry]:
    """Blind spots of all captures; `workloads` names the first, `count` is all."""
    cause_of = _cause_of(d)
    return [
        {
            "missing": list(s.missing),
            "rules": list(s.rules),
            "causes": sorted({cause_of[r] for r in s.rules if cause_of[r]}),
            "workloads": [o.ids[w] for w in s.workloads],
            "count": s.count,
            "collect": s.collect,
        }
        for o in outcomes
        for s in o.blind_spots
    ]


def _cause_of(d: Diagnosis) -> dict[str, str]:
    """Rule id -> id of the cause that it names, "" for none."""
    return {r.id: r.cause for r in d.book.rules}
