"""One comment on a pull or merge request that every run updates, found again by its first line.

The line is a Markdown comment, which no page shows. Texts are cut at a whole line to what every service takes.
"""

from __future__ import annotations

import os
import re
from typing import Any

from triage.ground.errors import TriageError, install
from triage.products.tickets import http_client
from triage.products.tickets.trackers import TOKENS, client, errors, home_of

SERVICES = ("github", "gitlab")
MAX_COMMENT_BYTES = 64_000  # bytes; GitHub takes 65,536 characters
_CUT = "\n\n(cut here; the whole report is with the run)\n"


def first_line(key: str) -> str:
    """The line a comment is found by. key: letters, digits, `.`, `_` and `-`; one comment per key."""
    if not re.fullmatch(r"[\w.-]{1,80}", key, re.ASCII):
        raise TriageError(f"--key {key!r}: expected letters, digits, . _ -", "write it as frame-4k")
    return f"<!-- sol-triage {key} -->"


def body(text: str, key: str) -> str:
    """What is posted: the line, the text, at most MAX_COMMENT_BYTES bytes; tables end with a whole row."""
    whole = f"{first_line(key)}\n{text}"
    if len(whole.encode()) <= MAX_COMMENT_BYTES:
        return whole
    kept = whole.encode()[: MAX_COMMENT_BYTES - len(_CUT.encode())].decode("utf-8", "ignore")
    return kept.rpartition("\n")[0] + _CUT


def post(service: str, project: str, number: int, key: str, text: str, url: str = "") -> str:
    """Create or update the comment; returns what was done. Raises TriageError for whatever the service says."""
    if not project:
        raise TriageError(f"--post {service} needs --project", "add OWNER/REPO or group/project")
    token = os.environ.get(TOKENS[service], "")
    if not token:
        raise TriageError(f"{TOKENS[service]} is not set", "set it in the environment")
    try:
        with errors(service, home_of(service, url)):
            send = _github if service == "github" else _gitlab
            word = send(project, number, first_line(key), body(text, key), url, token)
    except ImportError as e:
        raise TriageError(f"--post {service} needs its client library ({e.name})", install("trackers")) from e
    return f"{word} the comment on {project} {number}"


def _github(project: str, number: int, line: str, text: str, url: str, token: str) -> str:
    github: Any = client("github")
    options = {"base_url": url.rstrip("/")} if url else {}
    issue = (
        github.Github(auth=github.Auth.Token(token), timeout=http_client.TIMEOUT, retry=None, **options)
        .get_repo(project, lazy=True)
        .get_issue(number)
    )
    # pages and pages on a long discussion: all of them, or the second run would write a second comment
    for comment in issue.get_comments():
        if (comment.body or "").startswith(line):
            comment.edit(text)
            return "updated"
    issue.create_comment(text)
    return "created"


def _gitlab(project: str, number: int, line: str, text: str, url: str, token: str) -> str:
    server = client("gitlab").Gitlab(url or "https://gitlab.com", private_token=token, timeout=http_client.TIMEOUT)
    notes = server.projects.get(project, lazy=True).mergerequests.get(number, lazy=True).notes
    for note in notes.list(get_all=True):
        if (note.body or "").startswith(line):
            notes.update(note.id, {"body": text})
            return "updated"
    notes.create({"body": text})
    return "created"
