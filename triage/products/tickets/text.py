"""The text of a ticket: one screen in Markdown or Jira markup, shortened by whole rows where a tracker takes less."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from triage.document.bundle import ById
from triage.document.entries import FindingEntry, Result, WorkloadEntry
from triage.document.timeline_summary import only_device, over_devices, timeline
from triage.document.todo_items import TodoItem
from triage.ground.errors import TriageError
from triage.ground.kernel_names import kernel
from triage.ground.phrasing import percent
from triage.ground.terminology import speaking, voice
from triage.products.noise import FLOOR, UNREPEATED
from triage.products.tickets.ticket import Ticket
from triage.rendering import code_places, declared, phrases, templates, verdict_phrases
from triage.rendering.escape import jira, markdown, short

BESIDE, ATTACHED, NOWHERE = "beside", "attached", ""  # files of a ticket, as the reader of its text has them
MAX_TITLE_CHARS = 80  # what a board or a list of tickets shows of a title
MIN_NAME_CHARS = 8  # of a place: a shorter piece names nothing
MAX_PLACE_CHARS = 80  # of a workload's name and the levels above it
WHOLE = "the whole capture"
MAX_PLACES = 5  # named in the text
# (rows of evidence, alternatives, caveats, references): the first that fits the tracker's limit is used
SIZES = ((3, 2, 2, 3), (3, 2, 1, 1), (2, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0))


def title(c: TodoItem) -> str:
    """`Small triangles: Cascade 2 + 5 more, 487 µs (3.4 %)`; without a place for the whole capture."""
    gain = f", {phrases.time(c['saved_ns'])} ({percent(c['share'])})" if c["saved_ns"] else ""
    more = f" + {c['count'] - 1} more" if c["count"] > 1 else ""
    if set(c["names"]) == {"frame"}:
        return short(f"{c['title']}{gain}", MAX_TITLE_CHARS)
    place, room = c["names"][0], MAX_TITLE_CHARS - len(f"{c['title']}: {more}{gain}")
    where = f": {short(place, room)}{more}" if room >= min(MIN_NAME_CHARS, len(place)) else ""
    return short(f"{c['title']}{where}{gain}", MAX_TITLE_CHARS)


def full_names(c: TodoItem, doc: Result) -> list[str]:
    """Path and name of each workload, largest saving first."""
    by_id = ById(doc["workloads"])
    return [phrases.path(by_id[w], 120) if w in by_id else "frame" for w in c["workloads"]]


def body(t: Ticket, markup: str, limit: int, files: str = BESIDE) -> str:
    """The text in `markdown` or `jira` markup, at most `limit` characters: rows are left out, tables stay whole.

    files: where the reader finds report and evidence: BESIDE the text, ATTACHED to it, or NOWHERE, and then only --report-url is
    named. Raises TriageError where nothing fits.
    """
    with speaking(t.item, t.whose):
        return _fitting(t, markup, limit, files)


def _fitting(t: Ticket, markup: str, limit: int, files: str) -> str:
    for k, size in enumerate(SIZES):
        text = templates.render(declared.templates("tickets")[markup], **_words(t, size, files, k > 0))
        # parts that are left out leave their empty lines behind
        text = re.sub(r"\n{3,}", "\n\n", text)
        text = neutralize_mentions(text) if markup == "markdown" else text
        # after `neutralize_mentions`: the project's own file may mention its owner
        text = "\n\n".join(filter(None, (_head(t, markup, files), text)))
        if len(text) <= limit:
            return text
    raise TriageError(f"ticket {t.fingerprint}: longer than {limit} characters", "see its attachment")


def _head(t: Ticket, markup: str, files: str) -> str:
    """Title, and the owner where one is set; a tracker has a title of its own."""
    title = f"# {neutralize_mentions(markdown(t.title))}" if markup == "markdown" else f"h2. {jira(t.title)}"
    owner = f"Owner: {t.owner}" if t.owner else ""
    return "\n\n".join(filter(None, (title if files == BESIDE else "", owner)))


def _words(t: Ticket, size: tuple[int, int, int, int], files: str, cut: bool) -> dict[str, Any]:
    rows, advice, caveats, cites = size
    c, doc = t.cause, t.doc
    found = {f["rank"]: f for f in doc["findings"]}
    evidence = [found[r] for r in c["findings"] if r in found]
    by_id = ById(doc["workloads"])
    budgets = [b for b in doc["frame"].get("budgets", ()) if c["rank"] in b["items"]]
    shown = _rows(evidence, by_id, doc["frame"]["duration_ns"], rows)
    return {
        "c": c,
        "item": voice().item,
        "tool": doc["tool"],
        "fingerprint": t.fingerprint,
        "report": _address(t, "diagnosis.html", files, f"#cause={c['cause']}"),
        "evidence": _address(t, f"{t.folder}/evidence.json", files),
        "linked": bool(t.report_url),
        "say_budget": phrases.budget,
        "budgets": budgets,
        "cut": cut,
        "state": t.state,
        "was_ns": t.was_ns,
        "total_ns": doc["frame"]["duration_ns"],
        "over": over_devices(doc["frame"]),
        "chain": c["chain"] if len(c["chain"]) > 1 else [],
        "shares": phrases.shares(c, "other tickets"),
        "places": [_place(w, by_id) for w in c["workloads"][:MAX_PLACES]] if c["scope"] != "frame" else [],
        "whole": c["scope"] == "frame",
        "captures": doc["captures"][:2],
        "more_captures": max(0, len(doc["captures"]) - 2),
        "rows": shown,
        "locations": list(dict.fromkeys(code_places.in_full(x) for f in evidence[:rows] for x in f["locations"]))[:3],
        "hidden": max(0, len(evidence) - rows),
        "action": short(c["action"], 500),
        "attempt": verdict_phrases.advised(c),
        "advice": [short(a, 500) for a in c["advice"][1 : 1 + advice]],
        "caveats": [short(x, 400) for x in c["caveats"][:caveats]],
        "cites": c["cites"][:cites],
        "goal": _goal(c, by_id, doc),
        "noise": UNREPEATED * FLOOR,
        "spread": phrases.range_(c["low_ns"], c["bound_ns"]),
    }


def _address(t: Ticket, path: str, files: str, place: str = "") -> str:
    """Where a file of the ticket's folder is to be found, "" where the reader has none."""
    if t.report_url:
        return f"{t.report_url.rstrip('/')}/{path}{place}"
    name = path.rpartition("/")[2]
    if files == BESIDE and "/" not in path:
        name = f"../{name}"  # one report for all tickets
    return f"{name}{place}{' (attached)' if files == ATTACHED else ''}" if files else ""


def _place(workload: str, by_id: ById) -> dict[str, Any]:
    w = by_id.get(workload)
    return {"name": _name(w), "saved_ns": w["saved_ns"] if w else None}


def _goal(c: TodoItem, by_id: ById, doc: Result) -> dict[str, Any] | None:
    """The places together, their time and what the likely saving leaves of it, in ns, and whether single runs hide it; None where not known.

    A suspect, right or wrong, saves its bound or nothing. Of several devices the trace: it falls by what the only one saves, else
    by what each saves on average.
    """
    works = [by_id[w] for w in c["workloads"] if w in by_id]
    suspect = c["action_kind"] == "try"
    alone = (c["bound_ns"] if suspect else c["alone_ns"]) or 0.0  # what its owner measures, whatever other tickets do
    saved = alone if c["count"] == len(works) else sum(w["saved_ns"] or 0.0 for w in works)
    own = sum((w["self_ns"] or w["duration_ns"] or 0.0) for w in works)
    if not works:
        own, saved = doc["frame"]["duration_ns"] or 0.0, alone
        if over_devices(doc["frame"]) and (t := timeline(doc["frame"])):
            own, saved = t["length_ns"], saved if only_device(c, doc) else saved / len(t["devices"])
    if not 0 < saved < own:
        return None
    return {
        "name": kernel(works[0]["name"]) if len(works) == 1 else "",
        "count": len(works),
        "own_ns": own,
        "left_ns": own - saved,
        "at_best": suspect and saved == alone,
        "hidden": saved < UNREPEATED * FLOOR * own,
    }


def _name(w: WorkloadEntry | None) -> str:
    return WHOLE if w is None else phrases.path(w, MAX_PLACE_CHARS)


def _rows(evidence: Sequence[FindingEntry], by_id: ById, total_ns: float | None, most: int) -> list[dict[str, Any]]:
    """Lines of evidence, without those whose comparisons an earlier one of the same place shows."""
    out: list[dict[str, Any]] = []
    shown: dict[str, set[str]] = {}
    for f in evidence:
        row, before = _row(f, by_id, total_ns), shown.setdefault(f["workload"], set())
        if len(out) < most and not before.issuperset(row["checks"]):
            out.append(row)
        before.update(row["checks"])
    return out


def _row(f: FindingEntry, by_id: ById, total_ns: float | None) -> dict[str, Any]:
    """A line of evidence: the comparisons with a number that decides, and the cell with line and column."""
    w = by_id.get(f["workload"])
    numbers = [e for e in f["evidence"] if e["op"] != "is" or e["threshold"] is None] or f["evidence"]
    # one threshold for each metric, above which the rule applies: another number says more than its upper end
    numbers = list({e["metric"]: e for e in reversed(numbers)}.values())[::-1]
    # what decides, then what the ticket's sentence says
    first = numbers[:1]
    numbers.sort(key=lambda e: e not in first and "stated" not in e)
    most = sum(e in first or "stated" in e for e in numbers)
    return {
        "name": _name(w),
        "own_ns": (w["self_ns"] or w["duration_ns"]) if w else total_ns,
        "checks": [short(phrases.check(e), 80) for e in numbers[: max(2, most)]] or [f["title"]],
        "cell": phrases.origin_of(numbers[0]) if numbers else "",
        "has_cells": bool(numbers) and any(True for _ in phrases.leaves(numbers[0]["source"])),
    }


def neutralize_mentions(text: str) -> str:
    """Markdown in which `@name` and `#1` outside code mention no person and no issue."""
    return _MENTION_RE.sub(lambda m: f"{m[3]}\u200b" if m[3] else m[0], text)


# a code span | a link in angle brackets | a mention
# trackers look for mentions after rendering, when a backslash is gone; the zero-width space stays
_MENTION_RE = re.compile(r"((?<!`)(`+)(?!`).*?(?<!`)\2(?!`)|<https?://[^>\s]+>)|([@#])(?=\w)")
