"""The one way to say something on stderr."""

from __future__ import annotations

import click


def complain(message: str) -> None:
    """One line on stderr, without anything a terminal would obey."""
    text = "".join(c if c.isprintable() else "?" for c in " ".join(message.split()))
    click.echo(f"triage: {text[:1000]}", err=True)
