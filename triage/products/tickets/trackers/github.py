"""GitHub issues through PyGithub. GitHub takes no attachments over its API: they stay beside the ticket's text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from triage.products.tickets import http_client
from triage.products.tickets.trackers import LABEL, client, marker, number

if TYPE_CHECKING:
    from github.Repository import Repository


class GitHub:
    """One repository's issues."""

    name, markup, attaches = "github", "markdown", False
    home = ""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    def find(self, fingerprint: str) -> list[str]:
        """Issues with the label, pull requests left out."""
        # closed ones too: people closed it, and a new one would overrule them. Pull requests are issues here.
        found = self.repository.get_issues(state="all", labels=[marker(fingerprint)])
        return [f"#{n}" for n in sorted(i.number for i in found if i.pull_request is None)]

    def carries(self, key: str, fingerprint: str) -> bool:
        """True if it has the label."""
        return marker(fingerprint) in [label.name for label in self.repository.get_issue(number(key)).labels]

    def create(self, fingerprint: str, title: str, body: str) -> str:
        """A new issue."""
        issue = self.repository.create_issue(title=title, body=body, labels=[LABEL, marker(fingerprint)])
        return f"#{issue.number}"

    def update(self, key: str, fingerprint: str, title: str, body: str) -> None:
        """Title and body."""
        self.repository.get_issue(number(key)).edit(title=title, body=body)

    def duplicate(self, key: str, of: str) -> None:
        """Closed, without the marking label."""
        issue = self.repository.get_issue(number(key))
        issue.create_comment(f"Duplicate of {of}")
        # without the marking label `find` never sees it again, whoever reopens it
        issue.edit(state="closed", state_reason="not_planned", labels=[LABEL])

    def comment(self, key: str, text: str) -> None:
        """A comment."""
        self.repository.get_issue(number(key)).create_comment(text)

    def attach(self, key: str, files: list[Path]) -> None:
        """Nothing: there is no such call."""


def connect(project: str, url: str, token: str) -> GitHub:
    """A repository OWNER/NAME; url: the API's address of a GitHub Enterprise server."""
    github = client("github")
    # lazy: the repository itself is never looked at, only its issues
    options = {"base_url": url.rstrip("/")} if url else {}
    return GitHub(
        github.Github(auth=github.Auth.Token(token), timeout=http_client.TIMEOUT, retry=None, **options).get_repo(
            project, lazy=True
        )
    )
