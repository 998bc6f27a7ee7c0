"""Root causes -> tickets: a title a lead understands, one screen of text, attachments, a fingerprint that stays.

A fingerprint is made of the cause and of what was captured (the root marker, or --scope), never of numbers or of the
set of workloads: the same problem tomorrow, a little stronger here and weaker there, is the same ticket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from triage.document import summary
from triage.document.bundle import Bundle, ById
from triage.findings.identity import of_item
from triage.ground.terminology import speaking
from triage.products.settings import matches
from triage.products.tickets.states import NEW
from triage.products.tickets.text import body, full_names, title

LEAST = 0.01  # share of the frame below which a root cause gets no ticket: nobody would work on it
CLEAR = 0.05  # a value closer to its threshold than this part of it may be across it tomorrow
KEEP = 0.5  # a ticket of the last run stays down to this part of LEAST, so that noise does not close and reopen it
UNTIMED = 0.05  # without times: the fraction of a workload that its best finding must save


@dataclass(slots=True)
class Ticket:
    """One root cause. cause: as summary.causes gives it. saved_ns: None without times. files: relative to the folder.

    scope: what was captured. whose: in whose words (voice.Voice.names), item: what a workload is called. state: one of states.STATES; was_ns: what the last run said, where that was much else.
    """

    fingerprint: str
    title: str
    rule: str
    workloads: list[str]
    saved_ns: float | None
    cause: dict[str, Any]
    doc: dict[str, Any]
    scope: str = ""
    state: str = NEW
    was_ns: float | None = None
    files: list[str] = field(default_factory=list)
    owner: str = ""
    whose: tuple[str, ...] = ()
    item: str = "marker"

    def listing(self) -> dict[str, Any]:
        """The entry of tickets.json."""
        c = self.cause
        return {
            "fingerprint": self.fingerprint,
            "title": self.title,
            "rule": self.rule,
            "cause": self.cause["cause"],
            "scope": self.scope,
            "state": self.state,
            "workloads": self.workloads,
            "owner": self.owner or None,
            "saved_ns": self.saved_ns,
            "was_ns": self.was_ns,
            "files": self.files,
            "share": c["share"],
            "level": c["level"],
            "confidence": c["confidence"],
        }

    def body(self, markup: str, limit: int, attached: bool = False) -> str:
        """The text in `markdown` or `jira` markup, at most `limit` characters: detail gives way, tables stay whole."""
        with speaking(self.item, self.whose):
            return body(self, markup, limit, attached)

    def evidence(self) -> dict[str, Any]:
        """Everything behind the ticket: its findings with their cells, what was ruled out, the captures."""
        ids = set(self.cause["workloads"])
        return {
            "schema": "triage-tickets/1",
            "fingerprint": self.fingerprint,
            "title": self.title,
            "tool": self.doc["tool"],
            "captures": self.doc["captures"],
            "findings": [f for f in self.doc["findings"] if f["cause"] == self.cause["cause"] and f["workload"] in ids],
            "ruled_out": [r for r in self.doc["ruled_out"] if r["workload"] in ids],
        }


def make(
    b: Bundle,
    scope: str = "",
    least: float = LEAST,
    old: Sequence[dict[str, Any]] = (),
    owners: Sequence[tuple[str, str]] = (),
) -> list[Ticket]:
    """Tickets of a diagnosis, largest saving first. scope: replaces the captured root. old: last run's entries.

    least: share of the frame (0-1) a root cause must give back, counting only what stands clear of its thresholds; one
    that had a ticket keeps it down to half of that. owners: (glob over markers, owner); a ticket belongs to the owner of
    the workload that matters most.
    """
    known = {t.get("fingerprint") for t in old}
    out: dict[str, Ticket] = {}
    for root, numbers, todo in b.scopes:
        part = _cut(b.view, numbers) if len(b.scopes) > 1 else b.view
        by_id = ById(part["workloads"])
        for c in summary.causes(todo, part):
            mark = of_item(c["cause"], scope or root)
            # under --scope several roots share a fingerprint: one ticket is filed
            if mark in out or not _worth(c, part, least, mark in known):
                continue
            out[mark] = Ticket(mark, title(c), c["rule"], full_names(c, part), c["saved_ns"], c, part, scope or root)
            out[mark].whose, out[mark].item = b.whose, b.item
            first = [by_id[w] for w in c["workloads"] if w in by_id][:1]
            out[mark].owner = next(
                (who for glob, who in owners for w in first if matches([*w["path"], w["name"]], glob)), ""
            )
    return sorted(out.values(), key=lambda t: (-(t.saved_ns or 0.0), t.rule, t.fingerprint))


def _cut(doc: dict[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
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


def _worth(c: dict[str, Any], doc: dict[str, Any], least: float, known: bool) -> bool:
    """Does a root cause deserve a ticket? A new one must stand clear of its thresholds, a known one may waver."""
    ranks = set(c["findings"])
    found = [f for f in doc["findings"] if f["rank"] in ranks and (known or _clear_cut(f))]
    if known:
        least *= KEEP
    gains = [f["gain"] for f in found if f["gain"]]
    total = doc["frame"]["duration_ns"]
    if not gains or not total:
        # `least` is a share of the frame; without times it scales the fraction that is asked for instead
        return any((g["fraction"] or 0.0) >= UNTIMED * least / LEAST for g in gains)
    # what the item itself gives back, too: alone a finding may promise what items above it have taken already
    return bool(min(sum(g["saved_ns"] or 0.0 for g in gains), c["saved_ns"] or 0.0) >= least * total)


def _clear_cut(f: dict[str, Any]) -> bool:
    return all(
        # a threshold of 0 has no part of itself to be clear of
        e["margin"] is None or not e["threshold"] or abs(e["margin"]) >= CLEAR * abs(e["threshold"])
        for e in f["evidence"]
        if e["op"] in ("<", "<=", ">", ">=")
    )
