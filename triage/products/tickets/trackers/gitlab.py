"""GitLab issues through python-gitlab."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from triage.products.tickets import http_client
from triage.products.tickets.trackers import HOMES, LABEL, client, marker, number

if TYPE_CHECKING:
    from gitlab.v4.objects import Project


class GitLab:
    """One project's issues."""

    name, markup, attaches = "gitlab", "markdown", False
    home = ""

    def __init__(self, project: Project) -> None:
        self.project, self.issues = project, project.issues

    def find(self, fingerprint: str) -> list[str]:
        """Issues with the label."""
        # all pages, or the list ends after twenty;
        # closed ones too: people closed them, and a new one would overrule them
        found = self.issues.list(labels=[marker(fingerprint)], state="all", get_all=True)
        # iid is the number within the project, which people see; id is the server's
        return [f"#{n}" for n in sorted(i.iid for i in found)]

    def carries(self, key: str, fingerprint: str) -> bool:
        """True if it has the label."""
        return marker(fingerprint) in self.issues.get(number(key)).labels

    def create(self, fingerprint: str, title: str, body: str) -> str:
        """A new issue."""
        issue = self.issues.create({"title": title, "description": body, "labels": f"{LABEL},{marker(fingerprint)}"})
        return f"#{issue.iid}"

    def update(self, key: str, fingerprint: str, title: str, body: str) -> None:
        """Title and description."""
        self.issues.update(number(key), {"title": title, "description": body})

    def duplicate(self, key: str, of: str) -> None:
        """Closed, without the marking label."""
        self.comment(key, f"Duplicate of {of}")
        self.issues.update(number(key), {"labels": LABEL, "state_event": "close"})

    def comment(self, key: str, text: str) -> None:
        """A note."""
        # lazy: a note needs no look at the issue
        self.issues.get(number(key), lazy=True).notes.create({"body": text})

    def attach(self, key: str, files: list[Path]) -> None:
        """Nothing: an upload is a link in the text, and every update would leave another behind."""


def connect(project: str, url: str, token: str) -> GitLab:
    """A project path such as group/name; url: the server's address."""
    server = client("gitlab").Gitlab(url or HOMES["gitlab"], private_token=token, timeout=http_client.TIMEOUT)
    return GitLab(server.projects.get(project, lazy=True))
