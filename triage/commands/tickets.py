"""`triage tickets`: file the bugs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.commands._stdout import say
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.document.bundle import Entry
    from triage.products.settings import Settings
    from triage.products.tickets.compose import Ticket

TRACKERS = ("github", "gitlab", "jira", "redmine")


@click.command()
@click.argument("files", type=_types.Captures(), callback=_types.flat, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    type=_types.Place("dir"),
    required=True,
    metavar="DIR",
    help="Folder for the tickets and their attachments.",
)
@click.option(
    "--since",
    type=_types.Place(),
    metavar="FILE",
    help="Last run's tickets.json: says what is new, changed, fixed or back; keeps what only wavers.",
)
@click.option(
    "--scope", default="", metavar="NAME", help="What was captured, such as the game's name; default its root marker."
)
@click.option(
    "--min-saving",
    type=_types.Share(),
    default="1%",
    show_default=True,
    metavar="SHARE",
    help="Least share of the frame a root cause must give back.",
)
@click.option("--post", type=click.Choice(TRACKERS), help="File or update the tickets in a tracker, by fingerprint.")
@click.option(
    "--project", default="", metavar="NAME", help="OWNER/REPO, project path, key or identifier in the tracker."
)
@click.option("--url", default="", metavar="URL", help="The tracker's address, where it is not the public one.")
@click.option(
    "--markup", type=click.Choice(["markdown", "jira"]), help="Text markup, where a tracker can be set to another."
)
@click.option(
    "--send/--dry-run", default=False, show_default="dry-run", help="Really post; otherwise print what would be sent."
)
@_common.settings(_common.reading, _common.knowledge)
def command(
    files: tuple[str, ...],
    output: str,
    since: str | None,
    min_saving: float,
    post: str | None,
    project: str,
    url: str,
    markup: str | None,
    send: bool,
    settings: Settings,
) -> int:
    """Write one ticket per root cause: title, one screen of text, evidence, attachments.

    The same problem in tomorrow's capture has the same fingerprint. Tokens for --post --send come from the environment
    only: GITHUB_TOKEN, GITLAB_TOKEN, JIRA_TOKEN (with JIRA_USER for Jira Cloud), REDMINE_API_KEY.
    """
    from triage.commands._stderr import complain
    from triage.findings import assembling
    from triage.products import accepted
    from triage.products.tickets import compose, ticket_folder
    from triage.products.tickets.states import FIXED
    from triage.reading import join
    from triage.rendering.phrases import time

    if post and not settings.scope:
        raise TriageError(
            "--post needs --scope",
            "name what was captured, such as --scope 'our game': tickets of several applications may share a tracker",
        )
    if send and not post:
        raise TriageError("--send needs --post", "say which tracker: --post github|gitlab|jira|redmine")
    # before any work: a wrong file is said at once
    old = ticket_folder.read_old(Path(since)) if since else []
    doctor = settings.diagnoser()
    captures, bad = [], 0
    for path in files:
        try:
            captures.append(settings.read(path))
        except TriageError as e:
            complain(str(e))
            bad += 1
    if not captures:
        return 2
    d = doctor.diagnose(join.joined(captures, settings.marker))
    for note in d.notes:
        complain(f"note: {note}")
    bundle = accepted.apply(assembling.bundle(d), settings.accepted)
    found = compose.make(bundle, settings.scope, min_saving, old, settings.owners)
    missing = ticket_folder.write(found, bundle, Path(output), old, settings.scope)
    for t in found:
        was = f" (was {time(t.was_ns)})" if t.was_ns else ""
        say(f"{t.fingerprint}  {t.state:8}  {t.title}{was}")
    for m in missing:
        why = f" ({m['why']})" if m["why"] else ""
        say(f"{m['fingerprint']}  {m['state']:8}  {m['title']}{why}")
    # what was fixed before this run has been said then
    said = {o["fingerprint"] for o in old if o.get("state") == FIXED}
    gone = [m for m in missing if m["state"] == FIXED and m["fingerprint"] not in said]
    if post:
        _post(found, gone, Path(output), post, project, url, markup, send)
    return 2 if bad else 0


def _post(
    found: list[Ticket],
    gone: Sequence[Entry],
    out: Path,
    post: str,
    project: str,
    url: str,
    markup: str | None,
    send: bool,
) -> None:
    from triage.products.tickets import trackers
    from triage.rendering.escape import clean

    if not send:
        for t in found:
            say(trackers.preview(t, post, project, markup))
        return
    tracker = trackers.connect(post, project, url, markup)
    for t in found:
        done = trackers.sync(tracker, t, out)
        say(f"{t.fingerprint}  {clean(done)}")
    for g in gone:
        if done := trackers.farewell(tracker, g["fingerprint"]):
            say(f"{g['fingerprint']}  {clean(done)}")
