"""Notes and errors on stderr."""

from __future__ import annotations

import click


def complain(message: str) -> None:
    """Print one line on stderr, without control characters and commands of CI services."""
    from triage.files.writing import tame

    text = "".join(c if c.isprintable() else "?" for c in " ".join(message.split()))
    click.echo(tame(f"triage: {text[:1000]}"), err=True)
