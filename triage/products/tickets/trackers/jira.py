"""Jira issues through the jira library: Cloud with JIRA_USER and an API token, Data Center with a personal token."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from triage.ground.errors import TriageError
from triage.products.tickets import http_client
from triage.products.tickets.trackers import LABEL, client, marker

if TYPE_CHECKING:
    from jira import JIRA


class Jira:
    """One project's issues."""

    name, markup, attaches = "jira", "jira", True
    home = ""

    def __init__(self, server: JIRA, project: str) -> None:
        self.server, self.project = server, project

    def find(self, fingerprint: str) -> list[str]:
        """Issues with the label, in the order they were filed."""
        query = f'project = "{self.project}" AND labels = "{marker(fingerprint)}"'
        found = self.server.search_issues(query, maxResults=50, fields="key")
        # by number: GPU-9 is older than GPU-10
        return sorted((str(i.key) for i in found), key=lambda k: int(k.rpartition("-")[2]))

    def carries(self, key: str, fingerprint: str) -> bool:
        """True if it has the label. Jira Cloud's search may not know a new issue for some seconds."""
        return marker(fingerprint) in self.server.issue(key).fields.labels

    def create(self, fingerprint: str, title: str, body: str) -> str:
        """A new issue of type JIRA_ISSUE_TYPE, else Task."""
        kind = os.environ.get("JIRA_ISSUE_TYPE", "Task")
        fields = {
            "project": {"key": self.project},
            "issuetype": {"name": kind},
            "summary": title,
            "description": body,
            "labels": [LABEL, marker(fingerprint)],
        }
        return str(self.server.create_issue(fields=fields).key)

    def update(self, key: str, fingerprint: str, title: str, body: str) -> None:
        """Summary and description."""
        self.server.issue(key).update(fields={"summary": title, "description": body})

    def duplicate(self, key: str, of: str) -> None:
        """Without the marking label; which transition closes it differs from project to project, so people do that."""
        self.comment(key, f"Duplicate of {of}")
        self.server.issue(key).update(fields={"labels": [LABEL, "duplicate"]})

    def comment(self, key: str, text: str) -> None:
        """A comment."""
        self.server.add_comment(key, text)

    def attach(self, key: str, files: list[Path]) -> None:
        """Attachments; one of the same name is replaced."""
        names = {f.name for f in files}
        # a field that a project hides is missing, not empty
        for old in getattr(self.server.issue(key).fields, "attachment", None) or []:
            if old.filename in names:
                old.delete()
        for f in files:
            with f.open("rb") as data:
                self.server.add_attachment(key, data, f.name)


def connect(project: str, url: str, token: str) -> Jira:
    """A project key; url: the site's address. Raises TriageError for a key that could change the query."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,31}", project):
        raise TriageError(f"--project {project!r}: not a Jira project key", "write it as GPU")
    # Cloud takes an address and an API token, Data Center a personal token alone
    user = os.environ.get("JIRA_USER", "")
    access: dict[str, object] = {"basic_auth": (user, token)} if user else {"token_auth": token}
    return Jira(
        client("jira").JIRA(server=url.rstrip("/"), max_retries=0, timeout=http_client.TIMEOUT, **access), project
    )
