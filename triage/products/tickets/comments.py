"""One comment on a pull or merge request that every run updates, found again by its first line.

The line is a Markdown comment, which no page shows. Texts are cut at a whole line to what every service takes.
"""

from __future__ import annotations

import re

from triage.ground.errors import TriageError
from triage.products.tickets.trackers import errors, github, gitlab, home_of, token_of

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
    token = token_of(service)
    with errors(service, home_of(service, url)):
        send = _github if service == "github" else _gitlab
        word = send(project, number, first_line(key), body(text, key), url, token)
    return f"{word} the comment on {project} {number}"


def _github(project: str, number: int, line: str, text: str, url: str, token: str) -> str:
    issue = github.connect(project, url, token).repository.get_issue(number)
    # pages and pages on a long discussion: all of them, or the second run would write a second comment
    for comment in issue.get_comments():
        if (comment.body or "").startswith(line):
            comment.edit(text)
            return "updated"
    issue.create_comment(text)
    return "created"


def _gitlab(project: str, number: int, line: str, text: str, url: str, token: str) -> str:
    notes = gitlab.connect(project, url, token).project.mergerequests.get(number, lazy=True).notes
    for note in notes.list(get_all=True):
        if (note.body or "").startswith(line):
            notes.update(note.id, {"body": text})
            return "updated"
    notes.create({"body": text})
    return "created"
