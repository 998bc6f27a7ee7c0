"""`triage facts`: what was read from an export, with units and origins - and what was not understood."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.ground.errors import UnknownDialect

if TYPE_CHECKING:
    from triage.products.settings import Settings


@click.command()
@click.argument("file", type=_types.Capture())
@click.option("--metric", default="*", metavar="GLOB", help="Only metrics whose id matches.")
@click.option(
    "-f",
    "--format",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@click.option("--all", "everything", is_flag=True, help="Every workload; the table shows twenty otherwise.")
@_common.settings(_common.reading)
def command(file: str, metric: str, format: str, everything: bool, settings: Settings) -> int:
    """Show what was read from an export: dialect and why, every value with unit, line, column and text as exported."""
    from triage.commands import _factsheet
    from triage.files import plain_json, writing

    try:
        capture = settings.read(file)
    except UnknownDialect:
        with writing.sink(None) as write:
            # the error alone would leave people without the columns they could map
            write(_factsheet.unknown(file))
        raise
    wanted = [m for m in capture.facts if fnmatch.fnmatchcase(m, metric)]
    with writing.sink(None) as write:
        if format == "json":
            write(plain_json.dumps(_factsheet.as_json(capture, wanted), indent=1) + "\n")
        elif format == "csv":
            _factsheet.write_csv(capture, wanted, write)
        else:
            write(_factsheet.table(capture, wanted, None if everything else 20))
    return 0
