"""`triage compare`: did the change pay?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from triage.commands import _common
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis, Diagnostician

FORMATS = ("terminal", "markdown", "html", "json", "junit")


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option(
    "-f", "--format", type=click.Choice(FORMATS), default="terminal", show_default=True, help="Report format."
)
@click.option("-o", "--output", metavar="PATH", help="Write to a file instead of stdout.")
@click.option(
    "--fail-on-regression",
    metavar="SHARE",
    help="Exit with 1 when a workload takes longer by more than this, such as 5%.",
)
@click.option(
    "--noise",
    default="1%",
    show_default=True,
    metavar="SHARE",
    help="Least difference that counts; repeats may raise it.",
)
@click.option("--full", is_flag=True, help="Every pair and counter.")
@_common.reading
@_common.knowledge
def command(
    before: str,
    after: str,
    format: str,
    output: str | None,
    fail_on_regression: str | None,
    noise: str,
    full: bool,
    **o: Any,
) -> int:
    """Compare captures before and after a change: by duration, with every counter's movement explained.

    BEFORE and AFTER are captures; several of one side (a,b,c or a folder of them) are repeats: medians are compared
    and their spread is the noise that a difference must exceed.
    """
    from triage.files import writing as out
    from triage.products.compare import compare, report

    threshold = None if fail_on_regression is None else _common.percent(fail_on_regression)
    doctor = _common.diagnostician(o)
    doc = compare.compare(_side(before, doctor, o), _side(after, doctor, o), _common.percent(noise), threshold)
    with out.sink(output) as write:
        write(report.render(doc, format, full))
    return 1 if doc["regressions"] else 0


def _side(text: str, doctor: Diagnostician, o: dict[str, Any]) -> Diagnosis:
    from triage.products.batch import find

    if text == "-":
        paths = ["-"]
    else:
        given = [text] if os.path.exists(text) else [t for t in text.split(",") if t]
        paths = [c.path for c in find.gather(given).captures]
    if not paths:
        raise TriageError(f"{text}: no captures in it", "name files, or a folder of repeats")
    return doctor.diagnose([_common.capture(p, o) for p in paths])
