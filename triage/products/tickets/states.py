"""What became of tickets since the last run.

A problem is fixed only where a capture of the same thing holds the workloads it was about, and its cause was looked for
there and not found. Another capture, or one without the counters, says nothing about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from triage.document.bundle import Bundle
from triage.rendering import phrases

if TYPE_CHECKING:
    from triage.products.tickets.compose import Ticket

STATES = NEW, OPEN, CHANGED, REOPENED, FIXED, UNSEEN = "new", "open", "changed", "reopened", "fixed", "not seen"
MUCH = 0.25  # house judgement: a saving that moves by less than this part is the same, with another number


def settle(found: Sequence[Ticket], old: Sequence[dict[str, Any]], b: Bundle, scope: str = "") -> list[dict[str, Any]]:
    """Give each ticket its state; returns the old ones that are not found now, as `fixed` or `not seen` with a reason."""
    before = {o["fingerprint"]: o for o in old}
    for t in found:
        o = before.get(t.fingerprint)
        if o is None:
            t.state = NEW
        elif o.get("state") == FIXED:
            t.state = REOPENED
        else:
            was, now = o.get("saved_ns"), t.saved_ns
            moved = bool(was and now and abs(now - was) > MUCH * was)
            t.state, t.was_ns = (CHANGED, was) if moved else (OPEN, None)
    here = {t.fingerprint for t in found}
    return [_missing(o, b, scope) for o in old if o["fingerprint"] not in here]


def _missing(o: dict[str, Any], b: Bundle, scope: str) -> dict[str, Any]:
    kept = {
        k: o.get(k)
        for k in ("fingerprint", "title", "rule", "cause", "scope", "workloads", "saved_ns", "share", "level")
    }
    why = _unseen(o, b, scope)
    # fixed once is fixed until it is seen again
    state = FIXED if not why or o.get("state") == FIXED else UNSEEN
    return {**kept, "state": state, "why": why if state == UNSEEN else ""}


def _unseen(o: dict[str, Any], b: Bundle, scope: str) -> str:
    """Why this run says nothing about a ticket; "" where it does."""
    if "scope" in o and o["scope"] not in {scope} | ({root for root, _, _ in b.scopes} if not scope else set()):
        return "another scope was captured"
    mine, whole = set(o.get("workloads") or ()), "frame" in (o.get("workloads") or ())
    present = [w for w in b.workloads if phrases.path(w, 120) in mine]
    if mine and not present and not whole:
        return "none of its workloads was captured"
    ids = {w["id"] for w in present}
    blind = [s for s in b.blind_spots if o.get("cause") in s["causes"] or o.get("rule") in s["rules"]]
    speak = {r for s in blind for r in s["rules"]}
    # blind for every rule that gave evidence is not judged; that one of many rules is blind is the usual case
    # of a blind spot on very many workloads only the first are named: it may hold these too
    here = [s for s in blind if whole or ids & set(s["workloads"]) or s["count"] > len(s["workloads"])]
    if o.get("rule") in speak and any(o.get("rule") in s["rules"] for s in here):
        return "what would show it was not collected"
    return ""
