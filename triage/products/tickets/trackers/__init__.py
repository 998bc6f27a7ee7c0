"""Issue trackers: file a ticket once, update it ever after.

A ticket is found again by its fingerprint, which stands in a label (GitHub, GitLab, Jira) or in the subject (Redmine):
these can be listed exactly, where a full-text search lags behind. Two runs that file the same ticket at one time both
look again after creating; the oldest stays, younger ones are marked as its duplicates, now or by the next run.

Tokens come from the environment only and are never printed.
"""

from __future__ import annotations

import base64
import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Protocol
from urllib.parse import quote, quote_plus

from triage.ground.errors import TriageError, install
from triage.products.tickets import http_client
from triage.products.tickets.text import ATTACHED, NOWHERE, body
from triage.products.tickets.ticket import REOPENED, Ticket

TOKENS = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN", "jira": "JIRA_TOKEN", "redmine": "REDMINE_API_KEY"}
MARKUP = {"github": "markdown", "gitlab": "markdown", "jira": "jira", "redmine": "markdown"}
LIMITS = {"github": 65_536, "gitlab": 1_048_576, "jira": 32_767, "redmine": 65_535}  # characters of a body
ATTACHING = ("jira", "redmine")  # those whose API takes files
HOMES = {"github": "https://api.github.com", "gitlab": "https://gitlab.com"}  # where --url says nothing
LABEL = "gpu-triage"


class Tracker(Protocol):
    """One project of a tracker. Keys are what the tracker calls a ticket; `find` lists the oldest first.

    home: the address that the token is for.
    """

    name: str
    home: str
    markup: str
    attaches: bool

    def find(self, fingerprint: str) -> list[str]:
        """Keys of the tickets with a fingerprint, closed ones included."""

    def carries(self, key: str, fingerprint: str) -> bool:
        """True if this ticket carries the marker. Reads the ticket itself, since a search may lag behind."""

    def create(self, fingerprint: str, title: str, body: str) -> str:
        """File a ticket; returns its key."""

    def update(self, key: str, fingerprint: str, title: str, body: str) -> None:
        """Replace title and body; status, assignee and comments stay as people left them."""

    def duplicate(self, key: str, of: str) -> None:
        """Mark a ticket as a duplicate, so that `find` no longer lists it."""

    def comment(self, key: str, text: str) -> None:
        """Add a comment."""

    def attach(self, key: str, files: list[Path]) -> None:
        """Attach files; one of the same name is replaced."""


def marker(fingerprint: str) -> str:
    """The label or subject part by which a ticket is found again."""
    if not re.fullmatch(r"[0-9a-f]{16}", fingerprint):
        raise TriageError(f"{fingerprint!r}: not a fingerprint", "use a tickets.json that triage wrote")
    return f"triage-{fingerprint}"


def connect(name: str, project: str, url: str = "", markup: str | None = None) -> Tracker:
    """A tracker's project; raises TriageError without project, token or client library."""
    if not project:
        raise TriageError(
            f"--post {name} needs --project", "add OWNER/REPO, a group/project path, a key or an identifier"
        )
    token, home = token_of(name), home_of(name, url)
    with errors(name, home):
        tracker: Tracker = importlib.import_module(f"{__name__}.{name}").connect(project, url, token)
    tracker.markup, tracker.home = markup or MARKUP[name], home
    return tracker


def token_of(name: str) -> str:
    """The token for a tracker; raises TriageError where it is not set."""
    if token := os.environ.get(TOKENS[name], ""):
        return token
    raise TriageError(f"{TOKENS[name]} is not set", "set it in the environment")


def home_of(name: str, url: str) -> str:
    """The address that the token is for; raises TriageError for one that it must not be sent to."""
    http_client.check_address(url)
    home = url or HOMES.get(name, "")
    if not home:
        raise TriageError(f"--post {name} needs --url", f"add it, such as https://{name}.example.org")
    return home


@contextmanager
def errors(name: str, home: str) -> Iterator[None]:
    """Whatever is raised, as one line without the token; the token goes to `home` alone, no answer is endless."""
    try:
        with http_client.answers(home):
            yield
    except ImportError as e:
        raise TriageError(f"--post {name} needs its client library ({e.name})", install("trackers")) from e
    except TriageError as e:
        raise TriageError(_hidden(e.message), e.hint) from e
    except Exception as e:
        answer = getattr(e, "text", "") or str(e)  # the jira library's str() prints whole responses
        text = " ".join(f"{type(e).__name__}: {answer}".split())
        raise TriageError(f"{name}: {_hidden(text)[:300]}", "check --url, --project and the token's rights") from e


def _hidden(text: str) -> str:
    """A text without the tokens, also as they stand in addresses and in the headers that some trackers show."""
    for variable in TOKENS.values():
        if secret := os.environ.get(variable):
            named = f"{os.environ.get('JIRA_USER', '')}:{secret}".encode()
            for form in (base64.b64encode(named).decode(), secret, quote(secret, safe=""), quote_plus(secret)):
                text = text.replace(form, "***")
    return text


def preview(t: Ticket, name: str, project: str, markup: str | None = None) -> str:
    """What would be sent, as text."""
    text = body(t, markup or MARKUP[name], LIMITS[name], ATTACHED if name in ATTACHING else NOWHERE)
    head = f"--- {name} {project or '(no --project)'}: create, or update the ticket marked {marker(t.fingerprint)}"
    return (
        f"{head}\ntitle: {t.title}\nlabels: {LABEL}, {marker(t.fingerprint)}\nbody: {len(text):,} characters\n\n{text}"
    )


def sync(tracker: Tracker, t: Ticket, out: Path) -> str:
    """File or update one ticket; returns what was done, in words. Raises TriageError for whatever the tracker says."""
    text = body(t, tracker.markup, LIMITS[tracker.name], ATTACHED if tracker.attaches else NOWHERE)
    with errors(tracker.name, tracker.home):
        found = _found(tracker, t.fingerprint)
        word = "updated" if found else "created"
        if not found:
            (mine,) = _keys(tracker, [tracker.create(t.fingerprint, t.title, text)])
            # without the right to set labels GitHub files the issue and drops them without a word;
            # left unmarked it would be filed again by every run
            if not tracker.carries(mine, t.fingerprint):
                raise TriageError(
                    f"{tracker.name}: {mine} was created without its label {marker(t.fingerprint)}",
                    "allow the token to set labels",
                )
            # its own key as well: the list may lag behind what was just created
            found = sorted({mine, *_found(tracker, t.fingerprint)}, key=number)
        key, *younger = found
        # what was created a moment ago says all of it already
        if word == "updated" or younger:
            tracker.update(key, t.fingerprint, t.title, text)
        for other in younger:  # two runs filed it at one time
            tracker.duplicate(other, key)
            word = f"updated ({other} was its duplicate)"
        if word == "updated" and t.state == REOPENED:
            tracker.comment(key, "Reopened: found again in the latest capture. Reopen this ticket if it is closed.")
            word = "updated and reopened"
        # what people open: the page, and the cells behind this ticket
        if tracker.attaches:
            tracker.attach(key, [out / name for name in t.files if name.endswith((".html", "evidence.json"))])
    return f"{word} {key}"


def _found(tracker: Tracker, fingerprint: str) -> list[str]:
    return _keys(tracker, tracker.find(fingerprint))


def _keys(tracker: Tracker, keys: list[str]) -> list[str]:
    """Keys as they are; raises TriageError for what cannot be one: it would be updated, and printed."""
    for key in keys:
        if not re.fullmatch(r"(#|[A-Za-z]\w{0,31}-)[1-9][0-9]{0,15}", key, re.ASCII):
            raise TriageError(f"{tracker.name}: {key[:60]!r} is not a ticket number", "check --url")
    return keys


def farewell(tracker: Tracker, fingerprint: str) -> str:
    """Say in its ticket that a problem is gone; people close it. Returns what was done, "" without a ticket.

    Raises TriageError for whatever the tracker says.
    """
    with errors(tracker.name, tracker.home):
        found = _found(tracker, fingerprint)
        if not found:
            return ""
        tracker.comment(
            found[0],
            "Fixed: the latest capture of this scope holds these workloads and no longer shows this cause. Close it if that was intended.",
        )
    return f"commented {found[0]}: fixed"


def number(key: str) -> int:
    """`#12` or `GPU-12` -> 12."""
    return int(re.search(r"\d*\Z", key)[0] or 0)  # type: ignore[index]


def client(module: str) -> ModuleType:
    """A client library, imported only when used."""
    return importlib.import_module(module)
