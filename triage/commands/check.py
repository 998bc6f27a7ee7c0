"""`triage check`: rules prove themselves before anyone relies on them."""

from __future__ import annotations

from pathlib import Path

import click

from triage.commands import _types
from triage.commands._stdout import say


@click.command()
@click.argument("paths", type=_types.Captures(), callback=_types.flat, nargs=-1, metavar="[PATH...]")
@click.option(
    "--coverage", is_flag=True, help="Also list rules that never fire on a sample and thresholds that decide nothing."
)
def command(paths: tuple[str, ...], coverage: bool) -> int:
    """Check rule files: format, embedded tests, generated edges, the published P3 cases. Exit 1 on any failure.

    PATH: rule files or folders to check, bundled or of your own, beside all bundled rules; without any, every bundled
    pack is checked.
    """
    from triage.ground.errors import RuleError
    from triage.products.rule_checks import published, rule_tests, wording_check
    from triage.rulebook import cause_reader, packs, rulefile

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
    failures += [str(f) for f in rule_tests.check(chosen)]
    vocabulary = () if asked else cause_reader.load(packs.cause_files()).values()
    failures += [str(f) for f in wording_check.check(chosen, vocabulary)]
    ran = 0
    if published.applicable(book):
        for case, wrong in published.run(book):
            ran += 1
            failures += [f"{case.label} ({case.method}): {w}" for w in wrong]
    for line in failures:
        say(line)
    say(rule_tests.summary(chosen, failures, ran))
    if coverage:
        from triage.products.rule_checks.coverage import report

        say(report(book))
    return 1 if failures else 0
