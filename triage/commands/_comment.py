"""`triage history comment`: one comment on a pull request, kept up to date."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from triage.commands import _types
from triage.commands._lines import say
from triage.files import bounded
from triage.ground.errors import TriageError
from triage.products.tickets import comments

MAX_REPORT = 16 << 20  # bytes; services take a tenth


@click.command("comment")
@click.argument("file", type=_types.Capture(), metavar="FILE")
@click.option("--post", type=_types.Choice(comments.SERVICES), required=True, help="Service.")
@click.option("--project", default="", metavar="NAME", help="OWNER/REPO or group/project.")
@click.option("--number", type=_types.Whole(1), required=True, help="Pull or merge request.")
@click.option("--key", default="gate", show_default=True, metavar="NAME", help="Comment to update: one per key.")
@click.option("--url", default="", metavar="URL", help="Address of the service, if not the public one.")
@click.option("--send/--dry-run", default=False, show_default="dry-run", help="Post the comment; otherwise print it.")
def command(file: str, post: str, project: str, number: int, key: str, url: str, send: bool) -> int:
    """Post a Markdown report (- for stdin) as a comment on a pull request; the next run updates the same comment.

    The token comes from the environment: GITHUB_TOKEN or GITLAB_TOKEN.
    """
    try:
        raw = sys.stdin.buffer.read(MAX_REPORT) if file == "-" else bounded.read(Path(file), MAX_REPORT)
        text = raw.decode("utf-8").replace("\r\n", "\n")
    except (OSError, ValueError) as e:
        raise TriageError(f"{file}: cannot be read ({e})", "name a Markdown report") from e
    if not send:
        click.echo(comments.body(text, key), nl=False)
        return 0
    say(comments.post(post, project, number, key, text, url))
    return 0
