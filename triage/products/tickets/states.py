"""States of tickets since the last run.

A ticket is fixed only where a capture of the same scope holds its workloads and its cause was evaluated and not found.
Another capture, a part of one, one without the counters or without the rule, or a higher minimum leaves it `not checked`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triage.document.bundle import Bundle
from triage.document.todo_items import is_accepted
from triage.products.tickets.ticket import CHANGED, FIXED, NEW, OPEN, REOPENED, UNSEEN, Ticket
from triage.rendering import phrases

CHANGED_SHARE = 0.25  # heuristic: a saving that moves by less is run-to-run noise


def assign_states(
    found: Sequence[Ticket], old: Sequence[dict[str, Any]], b: Bundle, scope: str = "", part: bool = False
) -> list[dict[str, Any]]:
    """Set the state of each ticket; returns the old ones that are gone, as `fixed` or `not checked` with a reason.

    part: the bundle is of some workloads of the capture only (--marker).
    """
    before = {o["fingerprint"]: o for o in old}
    for t in found:
        o = before.get(t.fingerprint)
        if o is None:
            t.state = NEW
        elif o.get("state") == FIXED:
            t.state = REOPENED
        else:
            was, now = o.get("saved_ns"), t.saved_ns
            moved = bool(was and now and abs(now - was) > CHANGED_SHARE * was)
            t.state, t.was_ns = (CHANGED, was) if moved else (OPEN, None)
    here = {t.fingerprint for t in found}
    return [_missing(o, b, scope, part) for o in old if o["fingerprint"] not in here]


def _missing(o: dict[str, Any], b: Bundle, scope: str, part: bool) -> dict[str, Any]:
    kept = {
        k: o.get(k)
        for k in ("fingerprint", "title", "rule", "cause", "scope", "workloads", "saved_ns", "share", "level")
    }
    why = _unseen(o, b, scope, part)
    # fixed once is fixed until it is seen again
    state = FIXED if not why or o.get("state") == FIXED else UNSEEN
    return {**kept, "state": state, "why": why if state == UNSEEN else ""}


def _unseen(o: dict[str, Any], b: Bundle, scope: str, part: bool) -> str:
    """Why this run cannot judge a ticket; "" where it can."""
    if any(i["cause"] == o.get("cause") and is_accepted(i) for i in b.todo):
        return "accepted by the project"
    if b.cause_of and o.get("rule") not in b.cause_of:
        return "rule not evaluated"
    if "scope" in o and o["scope"] not in {scope} | ({root for root, _, _ in b.scopes} if not scope else set()):
        return "different scope"
    mine, whole = set(o.get("workloads") or ()), "frame" in (o.get("workloads") or ())
    present = [w for w in b.workloads if phrases.path(w, 120) in mine]
    if mine and not present and not whole:
        return "workloads not in this capture"
    if whole and part:
        return "only a part of the capture"
    if now := _still(o, b):
        return f"still saves {phrases.time(now)}, below the minimum"
    ids = {w["id"] for w in present}
    blind = [s for s in b.blind_spots if o.get("cause") in s["causes"] or o.get("rule") in s["rules"]]
    speak = {r for s in blind for r in s["rules"]}
    # not judged where no rule of the cause was evaluated; that one of many lacks a counter is the usual case.
    # a blind spot names only the first of very many workloads: it may hold these too
    here = [s for s in blind if whole or ids & set(s["workloads"]) or s["count"] > len(s["workloads"])]
    if o.get("rule") in speak and any(o.get("rule") in s["rules"] for s in here):
        return "counters missing"
    return ""


def _still(o: dict[str, Any], b: Bundle) -> float:
    """What the cause of a gone ticket saves yet, where that is about as much as before; else 0."""
    now = max((i["saved_ns"] or 0.0 for i in b.todo if i["cause"] == o.get("cause")), default=0.0)
    return now if now >= (1 - CHANGED_SHARE) * (o.get("saved_ns") or float("inf")) else 0.0
