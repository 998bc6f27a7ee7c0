"""`triage compare`: did the change pay?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnostician
    from triage.diagnosis.judged import Diagnosis
    from triage.products.settings import Settings

FORMATS = ("terminal", "markdown", "html", "json", "junit")


@click.command()
@click.argument("before", type=_types.Place(), metavar="BEFORE")
@click.argument("after", type=_types.Place(), metavar="AFTER")
@click.option(
    "-f", "--format", type=click.Choice(FORMATS), default="terminal", show_default=True, help="Report format."
)
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
@click.option("--full", is_flag=True, help="Every pair and counter.")
@_common.settings(_common.reading, _common.knowledge)
def command(
    before: str, after: str, format: str, output: str | None, threshold: float | None, noise: float, settings: Settings
) -> int:
    """Compare captures before and after a change: by duration, with every counter's movement explained.

    BEFORE and AFTER are captures; several of one side (a,b,c or a folder of them) are repeats: medians are compared
    and their spread is the noise that a difference must exceed.
    """
    from triage.files import writing as out
    from triage.products.compare import compare, report

    doctor = settings.diagnostician()
    doc = compare.compare(_side(before, doctor, settings), _side(after, doctor, settings), noise, threshold)
    with out.sink(output) as write:
        write(report.render(doc, format, settings.full))
    return 1 if doc["regressions"] else 0


def _side(text: str, doctor: Diagnostician, settings: Settings) -> Diagnosis:
    from triage.products.batch import find

    if text == "-":
        paths = ["-"]
    else:
        # what exists is one capture, commas in its name or not
        given = [text] if os.path.exists(text) else [t for t in text.split(",") if t]
        paths = [c.path for c in find.gather(given).captures]
    if not paths:
        raise TriageError(f"{text}: no captures in it", "name files, or a folder of repeats")
    return doctor.diagnose([settings.read(p) for p in paths])
