"""`triage compare`: did the change pay?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _places, _types
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.diagnosis.diagnosing import Diagnoser
    from triage.diagnosis.diagnosis_result import Diagnosis
    from triage.products.settings import Settings

FORMATS = ("terminal", "markdown", "html", "json", "junit")


class _Sides(click.Command):
    """`--before A B --after C D`: an option takes every word up to the next one, as a shell writes a glob out."""

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
            # the option itself comes back with each of its words; without any, click says what is missing
            if not side or i + 1 == len(args) or args[i + 1].startswith("--"):
                out.append(arg)
        else:
            out += [side, arg] if side else [arg]
    return out


@click.command(cls=_Sides)
@click.argument("sides", type=_types.Place(), nargs=-1, metavar="[BEFORE AFTER]")
@click.option(
    "--before", "first", type=_types.Place(), multiple=True, metavar="FILE...", help="Captures before, all repeats."
)
@click.option(
    "--after", "second", type=_types.Place(), multiple=True, metavar="FILE...", help="Captures after, all repeats."
)
@click.option("-f", "--format", type=click.Choice(FORMATS), help="Report format; default terminal, or what -o ends in.")
@click.option("-o", "--output", type=_types.Place(), metavar="PATH", help="Write to a file instead of stdout.")
@click.option(
    "--fail-on-regression",
    "threshold",
    type=_types.Share(),
    metavar="SHARE",
    help="Exit with 1 when a workload takes longer by more than this, such as 5%.",
)
@click.option(
    "--noise",
    type=_types.Share(),
    default="1%",
    show_default=True,
    metavar="SHARE",
    help="Least difference that counts; repeats may raise it.",
)
@click.option(
    "--margin",
    type=_types.Share(),
    metavar="SHARE",
    help="What the verdict `same` excludes; default the limit of --fail-on-regression, or 5%.",
)
@click.option("--full", is_flag=True, help="Every pair, however many, and every counter.")
@_common.settings(_common.reading, _common.knowledge)
def command(
    sides: tuple[str, ...],
    first: tuple[str, ...],
    second: tuple[str, ...],
    format: str | None,
    output: str | None,
    threshold: float | None,
    noise: float,
    margin: float | None,
    settings: Settings,
) -> int:
    """Compare captures before and after a change: by duration, with every counter's movement explained.

    \b
    triage compare before.csv after.csv
    triage compare --before old-*.csv --after new-*.csv --fail-on-regression 5%

    Several captures of one side (also a,b,c or a folder) are repeats. From their spread comes the interval of each
    difference and the verdict: faster, slower, same, or cannot tell, with the number of runs that would.
    """
    from triage.commands._stderr import complain
    from triage.files import writing as out
    from triage.products.compare import compare_report, comparing

    before, after = _named(sides, first, second)
    form = _common.implied(format, output, FORMATS)
    doctor = settings.diagnoser()
    old, new = (_side(texts, doctor, settings) for texts in (before, after))
    doc = comparing.compare(old, new, noise, threshold, margin, settings.full)
    with out.sink(output) as write:
        write(compare_report.render(doc, form, settings.full))
    # the terminal's report begins with the warnings
    warned = doc["warnings"] if output or form != "terminal" else []
    for said in (*warned, compare_report.failed(doc), compare_report.open_questions(doc)):
        if said:
            complain(said)
    return 1 if doc["regressions"] else 0


def _named(sides: Sequence[str], first: Sequence[str], second: Sequence[str]) -> tuple[list[str], list[str]]:
    """The captures of both sides, however they were named."""
    if first and second and not sides:
        return list(first), list(second)
    if len(sides) == 2 and not first and not second:
        return [sides[0]], [sides[1]]
    raise TriageError(
        f"{len(sides)} captures named without a side, {len(first)} with --before, {len(second)} with --after",
        "write BEFORE AFTER, or --before FILE... --after FILE...",
    )


def _side(texts: Sequence[str], doctor: Diagnoser, settings: Settings) -> Diagnosis:
    from triage.products.batch import find

    paths: list[str] = []
    for text in texts:
        # what exists is one capture, commas in its name or not
        given = [text] if text == "-" or os.path.exists(text) else [t for t in text.split(",") if t]
        found = ["-"] if text == "-" else [c.path for c in find.gather([*map(_places.spelled, given)]).captures]
        if not found:
            raise TriageError(f"{text}: no captures in it", "name files, or a folder of repeats")
        paths += [p for p in found if p not in paths]
    return doctor.diagnose([settings.read(p) for p in paths])
