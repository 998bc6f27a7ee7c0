"""`triage check`: test rule files and project settings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from triage.commands import _types
from triage.commands._lines import say
from triage.ground.phrasing import plural


@click.command()
@click.argument("paths", type=_types.Captures(), callback=_types.flat, nargs=-1, metavar="[PATH...]")
@click.option("--coverage", is_flag=True, help="Also list rules that fire on no sample, and thresholds without effect.")
def command(paths: tuple[str, ...], coverage: bool) -> int:
    """Check rule and cause files: format, references, embedded and edge tests, P3 cases. Exit with 1 on failure.

    PATH: rule files, cause files or folders, checked beside the bundled ones; without PATH, all bundled ones. A
    triage.toml, or a pyproject.toml with [tool.triage], is checked too.
    """
    from triage.products.rule_checks.checking import mistakes, run_checks

    settings = [p for p in paths if p.endswith(".toml")]
    wrong = [line for p in settings for line in mistakes(Path(p), datetime.now(UTC).date())]
    for line in wrong:
        say(line)
    if settings:
        say(f"{plural(len(settings), 'settings file')}: {plural(len(wrong), 'failure')}")
    paths = tuple(p for p in paths if p not in settings)
    if settings and not paths:
        return 1 if wrong else 0
    checked = run_checks([Path(p) for p in paths])
    for line in checked.failures:
        say(line)
    say(checked.summary)
    if coverage:
        from triage.products.rule_checks.coverage import report

        say(report(checked.book))
    return 1 if checked.failures or wrong else 0
