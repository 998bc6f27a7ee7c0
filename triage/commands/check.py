"""`triage check`: test rule files."""

from __future__ import annotations

from pathlib import Path

import click

from triage.commands import _types
from triage.commands._stdout import say


@click.command()
@click.argument("paths", type=_types.Captures(), callback=_types.flat, nargs=-1, metavar="[PATH...]")
@click.option("--coverage", is_flag=True, help="Also list rules that fire on no sample, and thresholds without effect.")
def command(paths: tuple[str, ...], coverage: bool) -> int:
    """Check rule and cause files: format, references, embedded and edge tests, P3 cases. Exit with 1 on failure.

    PATH: rule files, cause files or folders, checked beside the bundled ones; without PATH, all bundled ones.
    """
    from triage.products.rule_checks.checking import run_checks

    checked = run_checks([Path(p) for p in paths])
    for line in checked.failures:
        say(line)
    say(checked.summary)
    if coverage:
        from triage.products.rule_checks.coverage import report

        say(report(checked.book))
    return 1 if checked.failures else 0
