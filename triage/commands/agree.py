"""`triage agree`: the profiler's own rules beside this diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types

if TYPE_CHECKING:
    from triage.products.settings import Settings


@click.command()
@click.argument("files", type=_types.Captures(), callback=_types.flat, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-f", "--format", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True, help="Format."
)
@click.option("--all", "every", is_flag=True, help="Every workload; the terminal shows five of each kind otherwise.")
@click.option(
    "--least",
    type=_types.Share(),
    default="5%",
    show_default=True,
    metavar="SHARE",
    help="Estimates up to this are not held against the diagnosis.",
)
@_common.settings(_common.reading, _common.knowledge)
def command(files: tuple[str, ...], format: str, every: bool, least: float, settings: Settings) -> int:
    """Hold the rule results that Nsight Compute wrote into an export against this diagnosis, workload by workload.

    Same root, both named, only theirs (ruled out, not measured, or not seen here), only ours; each with both figures and
    why they differ.
    """
    from triage.files import writing
    from triage.products import agreement

    d = settings.diagnoser().diagnose([settings.read(f) for f in files])
    found = agreement.agreement(d, least)
    with writing.sink(None) as write:
        write(agreement.as_json(found) if format == "json" else agreement.text(found, every))
    return 0
