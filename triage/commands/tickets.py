"""`triage tickets`: one ticket per root cause, in a folder or a tracker."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.commands._help import Command
from triage.commands._lines import complain, say
from triage.ground.errors import TriageError
from triage.ground.phrasing import either, lower_first
from triage.rendering.escape import clean

if TYPE_CHECKING:
    from triage.document.bundle import Entry
    from triage.products.settings import Settings
    from triage.products.tickets.ticket import Ticket

TRACKERS = ("github", "gitlab", "jira", "redmine")


@click.command(cls=Command)
@click.argument("files", type=_types.Captures(), callback=_types.flat, nargs=-1, required=True, metavar="FILE...")
@_common.folder("Folder for the tickets and their attachments.")
@click.option(
    "--since",
    type=_types.PathType(),
    metavar="FILE",
    help="tickets.json of the last run: marks tickets as new, changed, fixed or back; ignores changes within noise.",
)
@click.option(
    "--report-url",
    default="",
    metavar="BASE",
    help="Address under which the folder of tickets is served: texts link to the report and the evidence there.",
)
@click.option("--scope", default="", metavar="NAME", help="Application or scene; default: root marker of the capture.")
@click.option(
    "--min-saving",
    type=_types.Share(),
    default="1%",
    show_default=True,
    help="Minimum saving of a root cause to get a ticket, as a share of the frame.",
)
@click.option("--post", type=_types.Choice(TRACKERS), help="Create or update the tickets in a tracker, by fingerprint.")
@click.option("--project", default="", metavar="NAME", help="OWNER/REPO, or project path, key or identifier.")
@click.option("--url", default="", metavar="URL", help="Address of the tracker, if not the public one.")
@click.option(
    "--markup", type=_types.Choice(["markdown", "jira"]), help="Text markup, if not the default of the tracker."
)
@click.option("--send/--dry-run", default=False, show_default="dry-run", help="Post the tickets; otherwise print them.")
@_common.settings(_common.reading, _common.knowledge)
def command(
    files: tuple[str, ...],
    output: str,
    since: str | None,
    report_url: str,
    min_saving: float,
    post: str | None,
    project: str,
    url: str,
    markup: str | None,
    send: bool,
    settings: Settings,
) -> int:
    """Write one ticket per root cause: title, one screen of text, evidence, attachments.

    A problem keeps its fingerprint from capture to capture. Tokens for --post --send come from the environment:
    GITHUB_TOKEN, GITLAB_TOKEN, JIRA_TOKEN (with JIRA_USER for Jira Cloud), REDMINE_API_KEY.
    """
    from triage.files import writing
    from triage.findings import assembling
    from triage.products import accepted, budgets
    from triage.products.tickets import compose, ticket_folder
    from triage.products.tickets.ticket import FIXED
    from triage.reading import join
    from triage.rendering import phrases

    if post and not settings.scope:
        hint = "add the name of the application, such as --scope 'our game'"
        raise TriageError("--post needs --scope, which separates the tickets of several applications", hint)
    if send and not post:
        raise TriageError("--send needs --post", f"choose {either(TRACKERS)}")
    if report_url and not re.fullmatch(r"https?://[^\s<>\[\]|`]+", report_url):
        raise TriageError(f"--report-url {report_url!r}: expected an address such as https://builds.example.org/42")
    # before any work, so that a wrong file is reported at once
    writing.in_reach(Path(output).parent)
    old = ticket_folder.read_old(Path(since)) if since else []
    doctor = settings.diagnoser()
    captures, skipped = [], 0
    for path in files:
        try:
            captures.append(settings.read(path))
        except TriageError as e:
            complain(str(e))
            skipped += 1
    if not captures:
        return 2
    d = doctor.diagnose(join.joined(captures, settings.marker))
    for note in d.notes:
        complain(f"note: {note}")
    bundle = accepted.apply(assembling.bundle(d), settings.accepted, settings.project_note)
    bundle = budgets.apply(bundle, settings.budgets, settings.owners)
    found = compose.make(bundle, settings.scope, min_saving, old, settings.owners)
    for t in found:
        t.report_url = report_url
    missing = ticket_folder.write(found, bundle, Path(output), old, settings.scope, bool(settings.marker), min_saving)
    for t in found:
        was = f" (was {phrases.time(t.was_ns)})" if t.was_ns else ""
        say(f"{t.fingerprint}  {t.state:8}  {t.title}{was}")
    for m in missing:
        why = f" ({m['why']})" if m["why"] else ""
        say(f"{m['fingerprint']}  {m['state']:8}  {m['title']}{why}")
    for item in ticket_folder.left_out(found, bundle, min_saving):
        saved = f", {phrases.time(item['saved_ns'])}" if item["saved_ns"] else ""
        complain(f"note: no ticket for {lower_first(item['title'])}{saved} ({item['why']})")
    # tickets fixed before this run were reported by an earlier one
    reported = {o["fingerprint"] for o in old if o.get("state") == FIXED}
    gone = [m for m in missing if m["state"] == FIXED and m["fingerprint"] not in reported]
    if post:
        _post(found, gone, Path(output), post, project, url, markup, send)
    return 2 if skipped else 0


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
