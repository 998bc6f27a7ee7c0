"""Root causes -> tickets: a title a lead understands, one screen of text, attachments, a fingerprint that stays.

A fingerprint is made of the cause and of what was captured (the root marker, or --scope), never of numbers or of the
set of workloads: the same problem tomorrow, a little stronger here and weaker there, is the same ticket.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triage.document.bundle import Bundle, ById
from triage.document.entries import ItemEntry, Result
from triage.document.todo_items import TodoItem, is_accepted, todo_items
from triage.findings.identity import of_item
from triage.ground.phrasing import percent
from triage.products.settings import matches
from triage.products.tickets.text import full_names, title
from triage.products.tickets.ticket import Ticket

MIN_TICKET_SHARE = 0.01  # of the frame: a root cause that saves less gets no ticket
KEPT_SHARE = 0.5  # of the minimum: a known ticket stays down to it, so that noise does not close and reopen it
MIN_UNTIMED_SAVING = 0.05  # without times: the fraction of a workload that its best finding must save


def make(
    b: Bundle,
    scope: str = "",
    least: float = MIN_TICKET_SHARE,
    old: Sequence[dict[str, Any]] = (),
    owners: Sequence[tuple[str, str]] = (),
) -> list[Ticket]:
    """Return the tickets of a diagnosis, largest saving first. scope: replaces the captured root. old: last run's entries.

    least: minimum saving as a share of the frame (0-1); a root cause that had a ticket keeps it down to half of that.
    owners: (glob over markers, owner), the first that fits; a cause whose workloads have several owners gets a ticket for each.
    """
    known = {t.get("fingerprint") for t in old}
    out: dict[str, Ticket] = {}
    for root, numbers, todo in b.scopes:
        part = _cut(b.view, numbers) if len(b.scopes) > 1 else b.view
        by_id = ById(part["workloads"])
        for c in todo_items(todo, part):
            shares = _by_owner(c, by_id, owners)
            for owner, own in shares:
                # one owner, or none: the fingerprint does not depend on who owns it
                mark = of_item(c["cause"], (scope or root) + (f"\0{owner}" if len(shares) > 1 else ""))
                # under --scope several roots share a fingerprint: one ticket is filed
                if mark in out or not _worth(own, part, least, mark in known) or _is_at_limit(own, by_id):
                    continue
                out[mark] = Ticket(
                    mark, title(own), c["rule"], full_names(own, part), own["saved_ns"], own, part, scope or root
                )
                out[mark].whose, out[mark].item, out[mark].owner = b.whose, b.item, owner
    return sorted(out.values(), key=lambda t: (-(t.saved_ns or 0.0), t.rule, t.fingerprint))


def _is_at_limit(c: TodoItem, by_id: ById) -> bool:
    """True if all named workloads are at a hardware limit: nothing is to be done there."""
    verdicts = {by_id[w]["verdict_class"] for w in c["workloads"] if w in by_id}
    return verdicts == {"at-limit"}


def _by_owner(c: TodoItem, by_id: ById, owners: Sequence[tuple[str, str]]) -> list[tuple[str, TodoItem]]:
    """(owner, the item's part in its markers), largest saving first; savings are shared out by the workloads' time."""
    whose: dict[str, list[int]] = {}
    for i, w in enumerate(c["workloads"]):
        path = [*by_id[w]["path"], by_id[w]["name"]] if w in by_id else []
        owner = next((who for glob, who in owners if path and matches(path, glob)), "")
        whose.setdefault(owner, []).append(i)
    if len(whose) < 2:
        return [(next(iter(whose), ""), c)]
    times = [(by_id[w]["self_ns"] or 0.0) if w in by_id else 0.0 for w in c["workloads"]]
    total = sum(times) or 1.0
    parts = [(owner, _part(c, places, sum(times[i] for i in places) / total)) for owner, places in whose.items()]
    return sorted(parts, key=lambda p: -(p[1]["saved_ns"] or 0.0))


def _part(c: TodoItem, places: Sequence[int], share: float) -> TodoItem:
    """The item in some of its workloads, with a share of its savings."""
    part: TodoItem = {**c}
    part["workloads"] = [c["workloads"][i] for i in places]
    part["names"] = [c["names"][i] for i in places if i < len(c["names"])]
    part["count"] = part["workload_count"] = len(places)
    for key in ("saved_ns", "share", "low_ns", "bound_ns", "alone_ns"):
        value = c[key]
        part[key] = None if value is None else value * share
    return part


def _cut(doc: Result, numbers: Sequence[int]) -> Result:
    """The document of some of its captures (numbered from 1)."""
    mine = tuple(f"{n}:" for n in numbers)
    workloads = [w for w in doc["workloads"] if w["id"].startswith(mine)]
    total = sum(w["self_ns"] or 0 for w in workloads)
    return {
        **doc,
        "captures": [doc["captures"][n - 1] for n in numbers],
        "workloads": workloads,
        "findings": [f for f in doc["findings"] if f["workload"].startswith(mine)],
        "frame": {**doc["frame"], "duration_ns": total or None},
    }


def _worth(c: TodoItem, doc: Result, least: float, known: bool) -> bool:
    """True if a root cause saves enough for a ticket."""
    if known:
        least *= KEPT_SHARE
    gains = [f["gain"] for f in doc["findings"] if f["rank"] in c["findings"] and f["gain"]]
    total = doc["frame"]["duration_ns"]
    if not gains or not total:
        # `least` is a share of the frame; without times it scales the fraction that is asked for instead
        return any((g["fraction"] or 0.0) >= MIN_UNTIMED_SAVING * least / MIN_TICKET_SHARE for g in gains)
    # and the item's own saving: a finding on its own may count time that items above it save already
    return bool(min(sum(g["saved_ns"] or 0.0 for g in gains), c["saved_ns"] or 0.0) >= least * total)


def why_left_out(c: ItemEntry, total_ns: float | None, least: float) -> str:
    """Why an item of the to-do list got no ticket; total_ns: of the capture. least: as `make` had it."""
    if is_accepted(c):
        return "accepted"
    if total_ns and (c["saved_ns"] or 0.0) < least * total_ns:
        return f"saves less than {percent(least)}: --min-saving"
    return "at hardware limit"
