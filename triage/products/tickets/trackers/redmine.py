"""Redmine issues through python-redmine. Redmine has no labels, so the marker stands at the end of the subject."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from triage.products.tickets import http_client
from triage.products.tickets.trackers import client, marker, number
from triage.rendering.escape import short

if TYPE_CHECKING:
    from redminelib import Redmine as Server

SUBJECT = 255


class Redmine:
    """One project's issues."""

    name, markup, attaches = "redmine", "markdown", True
    home = ""

    def __init__(self, server: Server, project: str) -> None:
        self.server, self.project = server, project

    def find(self, fingerprint: str) -> list[str]:
        """Issues with the marker in their subject, closed ones included."""
        mark = f"[{marker(fingerprint)}]"
        found = self.server.issue.filter(project_id=self.project, status_id="*", subject=f"~{mark}")
        # `~` looks for parts of words, anywhere and in any case
        return [f"#{n}" for n in sorted(i.id for i in found if mark in i.subject)]

    def carries(self, key: str, fingerprint: str) -> bool:
        """True if the marker is in its subject."""
        return marker(fingerprint) in self.server.issue.get(number(key)).subject

    def create(self, fingerprint: str, title: str, body: str) -> str:
        """A new issue in the project's first tracker."""
        issue = self.server.issue.create(
            project_id=self.project, subject=_subject(title, fingerprint), description=body
        )
        return f"#{issue.id}"

    def update(self, key: str, fingerprint: str, title: str, body: str) -> None:
        """Subject and description."""
        self.server.issue.update(number(key), subject=_subject(title, fingerprint), description=body)

    def duplicate(self, key: str, of: str) -> None:
        """Closed where a status allows it, without the marker."""
        closed = next((s.id for s in self.server.issue_status.all() if getattr(s, "is_closed", False)), None)
        status = {"status_id": closed} if closed else {}
        self.server.issue.update(number(key), subject=f"Duplicate of {of}", notes=f"Duplicate of {of}", **status)

    def comment(self, key: str, text: str) -> None:
        """A note."""
        self.server.issue.update(number(key), notes=text)

    def attach(self, key: str, files: list[Path]) -> None:
        """Attachments; one of the same name is replaced."""
        names = {f.name for f in files}
        old = [
            a.id for a in self.server.issue.get(number(key), include=["attachments"]).attachments if a.filename in names
        ]
        # new ones first: where this breaks off there are two of a file, never none
        self.server.issue.update(number(key), uploads=[{"path": str(f), "filename": f.name} for f in files])
        for one in old:
            self.server.attachment.delete(one)


def _subject(title: str, fingerprint: str) -> str:
    # the title gives way, never the marker: without it the ticket would be filed again
    mark = f" [{marker(fingerprint)}]"
    return short(title, SUBJECT - len(mark)) + mark


def connect(project: str, url: str, token: str) -> Redmine:
    """A project identifier; url: the server's address."""
    return Redmine(
        client("redminelib").Redmine(url.rstrip("/"), key=token, requests={"timeout": http_client.TIMEOUT}), project
    )
