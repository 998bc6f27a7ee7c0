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
    """Check rule files: format, embedded tests, generated edge tests, published P3 cases. Exit with 1 on failure.

    PATH: rule files or folders, checked beside the bundled rules; without PATH, all bundled packs.
    """
    from triage.ground.errors import RuleError
    from triage.products.proof import check, published
    from triage.rulebook import packs, rulefile

    failures: list[str] = []
    rules = []
    folders = [Path(p) for p in paths]
    files = packs.files(folders)
    asked = {file.resolve() for folder in folders for file in packs.below(folder)}
    for file in files:
        try:
            rules.append(rulefile.read(file))
        except RuleError as e:
            failures.append(str(e))
    try:
        book = packs.build(rules)
    except RuleError as e:
        failures.append(str(e))
        book = packs.Rulebook(tuple(rules))
    chosen = [r for r in book.rules if not asked or Path(r.file).resolve() in asked]
    failures += [str(f) for f in check.check(chosen)]
    ran = 0
    if published.applicable(book):
        for case, problems in published.run(book):
            ran += 1
            failures += [f"{case.label} ({case.method}): {problem}" for problem in problems]
    for line in failures:
        say(line)
    say(check.summary(chosen, failures, ran))
    if coverage:
        from triage.products.proof.coverage import report

        say(report(book))
    return 1 if failures else 0
