"""`triage compare`: captures before and after a change."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _inputs, _types
from triage.commands._help import Command
from triage.commands._lines import complain
from triage.ground.errors import TriageError
from triage.products.noise import FLOOR, MARGIN

if TYPE_CHECKING:
    from triage.diagnosis.diagnosing import Diagnoser
    from triage.diagnosis.diagnosis_result import Diagnosis
    from triage.products.settings import Settings

FORMATS = ("terminal", "markdown", "html", "json", "junit")


class _Sides(Command):
    """`--before A B --after C D`: an option takes all words up to the next one, such as those of a glob."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See click.Command."""
        return super().parse_args(ctx, _spread(args))


def _spread(args: Sequence[str]) -> list[str]:
    """`--before A B` -> `--before A --before B`."""
    out: list[str] = []
    side = ""
    for i, arg in enumerate(args):
        if arg == "--":
            return [*out, *args[i:]]
        if arg.startswith("-") and arg != "-":
            side = arg if arg in ("--before", "--after") else ""
            # repeat the option before each of its words; without any, click reports the missing value
            if not side or i + 1 == len(args) or args[i + 1].startswith("--"):
                out.append(arg)
        else:
            out += [side, arg] if side else [arg]
    return out


def _captures(name: str, parameter: str) -> _common.Decorator:
    words = f"Captures {name.lstrip('-')}; several are repeats."
    return click.option(name, parameter, type=_types.PathType(), multiple=True, metavar="FILE...", help=words)


@click.command(cls=_Sides)
@click.argument("sides", type=_types.PathType(), nargs=-1, metavar="[BEFORE AFTER]")
@_captures("--before", "first")
@_captures("--after", "second")
@_common.report_format(FORMATS)
@_common.output
@click.option(
    "--fail-on-regression",
    "threshold",
    type=_types.Share(),
    help="Exit with 1 if a marker or kernel is slower by more than this, such as 5%.",
)
@click.option(
    "--noise",
    type=_types.Share(),
    default=f"{FLOOR:.0%}",
    show_default=True,
    help="Smallest difference that counts between repeats; between single runs, three times this.",
)
@click.option(
    "--margin",
    type=_types.Share(),
    help=f"Difference excluded by the verdict `unchanged`; default: --fail-on-regression, else {MARGIN:.0%}.",
)
@click.option("--full", is_flag=True, help="List all pairs and all counters.")
@_common.settings(_common.reading, _common.knowledge)
def command(
    sides: tuple[str, ...],
    first: tuple[str, ...],
    second: tuple[str, ...],
    form: str | None,
    output: str | None,
    threshold: float | None,
    noise: float,
    margin: float | None,
    settings: Settings,
) -> int:
    """Compare captures before and after a change: durations, and the counters that explain them.

    \b
    triage compare before.csv after.csv
    triage compare --before old-*.csv --after new-*.csv --fail-on-regression 5%

    Several captures of one side (also a,b,c or a folder) are repeats. Their noise gives the interval of each difference
    and the verdict: faster, slower, unchanged or inconclusive, with the number of runs needed.
    """
    from triage.files import writing as out
    from triage.products.compare import compare_report, comparing

    before, after = _named(sides, first, second)
    form = _common.implied(form, output, FORMATS)
    doctor = settings.diagnoser()
    old, new = (_side(texts, doctor, settings) for texts in (before, after))
    doc = comparing.compare(old, new, noise, threshold, margin, settings.full)
    with out.sink(output) as write:
        write(compare_report.render(doc, form, settings.full))
    # the terminal's report begins with the warnings
    warned = doc["warnings"] if output or form != "terminal" else []
    for line in (*warned, compare_report.failed(doc), compare_report.open_questions(doc)):
        if line:
            complain(line)
    return 1 if doc["regressions"] else 0


def _named(sides: Sequence[str], first: Sequence[str], second: Sequence[str]) -> tuple[list[str], list[str]]:
    """The captures of both sides, in either spelling; raises TriageError."""
    if first and second and not sides:
        return list(first), list(second)
    if len(sides) == 2 and not first and not second:
        return [sides[0]], [sides[1]]
    options = f"{len(first)} before, {len(second)} after, {len(sides)} neither"
    got = options if first or second else f"{len(sides)}"
    hint = "write: triage compare BEFORE AFTER, or --before FILE... --after FILE..."
    raise TriageError(f"need one capture before and one after (got {got})", hint)


def _side(texts: Sequence[str], doctor: Diagnoser, settings: Settings) -> Diagnosis:
    from triage.products.batch import find

    paths: list[str] = []
    for text in texts:
        # an existing path is one capture, even with commas in its name
        given = [text] if text == "-" or os.path.exists(text) else [t for t in text.split(",") if t]
        named = ["-"] if text == "-" else [c.path for c in find.gather([*map(_inputs.spelled, given)]).captures]
        if not named:
            raise TriageError(f"{text}: no captures found", "name files, or a folder of repeats")
        paths += [p for p in named if p not in paths]
    return doctor.diagnose([settings.read(p) for p in paths])
