"""Lines on stdout outside of reports, and notes and errors on stderr; without control characters."""

from __future__ import annotations

import click


def say(text: str) -> None:
    """Print lines of text."""
    from triage.files.writing import tame

    click.echo(tame(text, colours=False))


def complain(message: str) -> None:
    """Print one line on stderr, without commands of CI services."""
    from triage.files.writing import tame

    text = "".join(c if c.isprintable() else "?" for c in " ".join(message.split()))
    click.echo(tame(f"triage: {text[:1000]}"), err=True)
