"""Lines on stdout outside of reports."""

from __future__ import annotations

import click

from triage.files.writing import tame


def say(text: str) -> None:
    """Print lines of text, without control characters."""
    click.echo(tame(text, colours=False))
