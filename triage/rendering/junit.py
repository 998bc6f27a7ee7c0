"""JUnit XML: one test case per workload, a failure where its to-do item reaches the priority asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from triage.capture.capture import SEP
from triage.document.budget_entries import BudgetEntry
from triage.document.bundle import Bundle
from triage.document.entries import FindingEntry, ItemEntry
from triage.document.todo_items import is_accepted, item_title
from triage.ground.limiters import LEVELS
from triage.ground.phrasing import plural
from triage.ground.terminology import voice
from triage.rendering import phrases, verdict_phrases
from triage.rendering.escape import short
from triage.rendering.findings_csv import Write
from triage.rendering.junit_xml import Case, Failure, Suite, junit_xml
from triage.rendering.labels import HEADS

MAX_NAME_CHARS = 1_000  # characters of a name: whole C++ names of 20 kB make test viewers unusable


def junit(b: Bundle, write: Write, fail_on: str = "") -> None:
    """Write one suite per capture. Without fail_on only exceeded budgets fail, and findings go to system-out."""
    by: dict[str, list[FindingEntry]] = {}
    for f in b.findings:
        by.setdefault(f["workload"], []).append(f)
    # beyond the last level: no finding reaches it
    least = LEVELS.index(fail_on) if fail_on else len(LEVELS)
    bad = {i["cause"]: i for i in b.todo if not is_accepted(i) and LEVELS.index(i["level"]) >= least}
    captures = b.head["captures"]
    works = [_Work(*fields) for fields in zip(*map(b.workloads.field, _Work._fields), strict=True)]
    suites = []
    for number, capture in enumerate(captures):
        # ids carry the capture's number only where there are several
        prefix = f"{number + 1}:" if len(captures) > 1 else ""
        mine = [w for w in works if w.id.startswith(prefix)]
        cases = [
            _case(w, name, by.get(w.id, []), [bad[c] for c in w.chain[:1] if c in bad])
            for w, name in zip(mine, _names(mine), strict=True)
        ]
        if found := by.get(f"{prefix}frame"):
            whole = _Work(
                f"{prefix}frame", "frame", "", None, None, f"Findings about the whole {voice().whole}.", "", []
            )
            wide = [i for i in bad.values() if whole.id in i["workloads"]]
            cases.append(_case(whole, "frame", found, wide))
        if number == 0:
            cases += [_budget(e) for e in b.frame.get("budgets", [])]
        # exclusive times: a marker within another is not counted twice
        seconds = sum(w.self_ns or 0 for w in mine) / 1e9
        # of filters, what they left out
        suites.append(
            Suite(short(capture["path"], MAX_NAME_CHARS), cases, seconds, b.frame["notes"] if number == 0 else ())
        )
    for piece in junit_xml("triage", suites):
        write(piece)


class _Work(NamedTuple):
    """Fields of a workload that its case shows. paths: its levels joined with SEP."""

    id: str
    name: str
    paths: str
    duration_ns: float | None
    self_ns: float | None
    verdict: str
    verdict_class: str
    chain: Sequence[str]


def _names(works: Sequence[_Work]) -> Iterator[str]:
    """The name of each one's case, the same in tomorrow's capture: no ids, repeated names are counted."""
    seen: dict[tuple[str, str], int] = {}
    for w in works:
        nth = seen[w.paths, w.name] = seen.get((w.paths, w.name), 0) + 1
        yield short(w.name, MAX_NAME_CHARS) + (f" #{nth}" if nth > 1 else "")


def _case(w: _Work, name: str, found: Sequence[FindingEntry], items: Sequence[ItemEntry]) -> Case:
    causes = {i["cause"] for i in items}
    bad = [f for f in found if f["cause"] in causes]
    failure = None
    if items:
        first = items[0]
        why = f"{plural(len(items), 'item')}; first: {item_title(first)} - {first['action']}"
        failure = Failure(short(why, MAX_NAME_CHARS), first["level"], list(_lines(bad)))
    passed = [f for f in found if f not in bad]
    return Case(
        group=short(w.paths.replace(SEP, ".") or "frame", MAX_NAME_CHARS),
        name=name,
        seconds=(w.duration_ns or 0) / 1e9,
        failure=failure,
        out=[*_verdict(w), *_lines(passed)],
    )


def _budget(e: BudgetEntry) -> Case:
    """A case per budget, which fails where it is exceeded."""
    text = f"{phrases.time(e['ns'])} of {phrases.time(e['allowed_ns'])}: {phrases.budget(e)}"
    failure = Failure(text, "budget", [text]) if e["over_ns"] else None
    return Case("budget", short(e["marker"], MAX_NAME_CHARS), e["ns"] / 1e9, failure, [] if failure else [text])


def _verdict(w: _Work) -> Iterator[str]:
    if w.verdict_class:
        yield f"{HEADS.verdict}: {verdict_phrases.verdict(w.verdict_class).lower()}."
    yield w.verdict


def _lines(found: Sequence[FindingEntry]) -> Iterator[str]:
    for f in found:
        yield f"{f['level']}: {f['rule']} {f['title']}: {f['message']} {HEADS.saves} {phrases.gain(f)}."
        for e in f["evidence"]:
            yield f"  {phrases.check(e)}: {phrases.origin_of(e)}"
        yield from (f"  {HEADS.fix.lower()}: {a}" for a in f["advice"][:1])
