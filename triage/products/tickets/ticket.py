"""One ticket: the root cause it is about, what its listing and its attachment hold, and its states."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct, field

from triage.document.entries import Result
from triage.document.todo_items import TodoItem

SCHEMA = "triage-tickets/1"
STATES = NEW, OPEN, CHANGED, REOPENED, FIXED, UNSEEN = "new", "open", "changed", "reopened", "fixed", "not checked"


class Ticket(Struct):
    """One root cause. cause: its item of the to-do list. saved_ns: None without times. files: relative to the folder.

    scope: what was captured. report_url: where the folder of tickets is served, "" if nowhere. whose: whose terms the text uses (terminology), item: what a workload is called. state: one
    of STATES. was_ns: saving that the last run stated, where it differed by more than CHANGED_SHARE.
    """

    fingerprint: str
    title: str
    rule: str
    workloads: list[str]
    saved_ns: float | None
    cause: TodoItem
    doc: Result
    scope: str = ""
    state: str = NEW
    was_ns: float | None = None
    files: list[str] = field(default_factory=list)
    owner: str = ""
    whose: tuple[str, ...] = ()
    item: str = "marker"
    report_url: str = ""

    @property
    def folder(self) -> str:
        """Name of its folder: for people, and cut; the fingerprint keeps the folders of two tickets apart."""
        return f"{re.sub(r'[^a-z0-9-]', '-', self.cause['cause'])[:60]}-{self.fingerprint[:8]}"

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

    def evidence(self) -> dict[str, Any]:
        """Everything behind the ticket: its findings with their cells, what was ruled out, the captures."""
        ids = set(self.cause["workloads"])
        return {
            "schema": SCHEMA,
            "fingerprint": self.fingerprint,
            "title": self.title,
            "tool": self.doc["tool"],
            "captures": self.doc["captures"],
            "findings": [f for f in self.doc["findings"] if f["cause"] == self.cause["cause"] and f["workload"] in ids],
            "ruled_out": [r for r in self.doc["ruled_out"] if r["workload"] in ids],
        }
