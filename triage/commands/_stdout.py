"""The one way to print lines on stdout that no report is made of."""

from __future__ import annotations

import click

from triage.files.writing import tame


def say(text: str) -> None:
    """Lines of text, without anything a terminal would obey."""
    click.echo(tame(text, colours=False))
