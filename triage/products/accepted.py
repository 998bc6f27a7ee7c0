"""Root causes that a project has accepted: still shown, counted and dated, but no longer things to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from triage.document.bundle import Bundle
from triage.document.entries import FrameEntry, ItemEntry
from triage.document.todo_items import is_accepted
from triage.ground.phrasing import lower_first, plural
from triage.products.project import Accepted
from triage.products.settings import matches
from triage.rendering import phrases

GROWN = 1.25  # heuristic: a quarter more than was accepted is another matter


def apply(b: Bundle, accepted: Sequence[Accepted], project: str = "") -> Bundle:
    """The bundle with `accepted` on the items that a project has accepted, and a note that counts them.

    project: what else the project's settings change, a note as well.

    An acceptance for a marker covers an item only where all its workloads are below that marker. An expired one, or
    one whose item has grown, is noted and covers nothing.
    """
    if not accepted and not project:
        return b
    paths = {w["id"]: [*w["path"], w["name"]] for w in b.workloads}
    todo = [_item(i, accepted, paths) for i in b.todo]
    scopes = [(name, mine, [_item(i, accepted, paths) for i in items]) for name, mine, items in b.scopes]
    notes = [*([project] if project else []), *_notes(todo)]
    if not notes:
        return replace(b, todo=todo, scopes=scopes)
    frame: FrameEntry = {**b.frame, "notes": [*b.frame["notes"], *notes]}
    return replace(b, todo=todo, scopes=scopes, head={**b.head, "frame": frame})


def _item(i: ItemEntry, accepted: Sequence[Accepted], paths: Mapping[str, Sequence[str]]) -> ItemEntry:
    for a in accepted:
        inside = all(w in paths and matches(paths[w], a.marker) for w in i["workloads"]) if a.marker else True
        if a.cause != i["cause"] or not inside:
            continue
        grown = a.saves_ns is not None and (i["saved_ns"] or 0.0) > GROWN * a.saves_ns
        state = "expired" if a.expired else "grown" if grown else "accepted"
        return {**i, "accepted": {"state": state, "reason": a.reason, "owner": a.owner, "expires": a.expires}}
    return i


def _notes(todo: Sequence[ItemEntry]) -> list[str]:
    known = [i for i in todo if "accepted" in i]
    out = []
    if quiet := [i for i in known if i["accepted"]["state"] == "accepted"]:
        total = sum(i["saved_ns"] or 0.0 for i in quiet)
        each = "; ".join(f"{lower_first(i['title'])}: {_terms(i)}" for i in quiet)
        out.append(f"{plural(len(quiet), 'root cause')} accepted ({phrases.time(total)} of recoverable time): {each}")
    for i in known:
        if (state := i["accepted"]["state"]) != "accepted":
            became = "expired" if state == "expired" else "outgrown"
            out.append(f"acceptance {became}: {lower_first(i['title'])}: {_terms(i)}")
    return out


def _terms(i: ItemEntry) -> str:
    a = i["accepted"]
    return f"{a['reason']} ({a['owner']}, until {a['expires']})"


def standing(todo: Sequence[ItemEntry]) -> list[ItemEntry]:
    """Items that are still to do."""
    return [i for i in todo if not is_accepted(i)]
