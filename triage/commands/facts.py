"""`triage facts`: the values read from a capture, with units and source cells, and the unmapped columns."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.commands._help import Command
from triage.ground.errors import UnknownDialect

if TYPE_CHECKING:
    from triage.products.settings import Settings

MAX_LISTED = 20  # markers or kernels in the table, without --all


@click.command(cls=Command)
@click.argument("file", type=_types.Capture(), metavar="FILE")
@click.option("--metric", default="*", metavar="GLOB", help="Only metrics whose id matches.")
@_common.table_format(["table", "csv", "json"])
@click.option(
    "--all", "everything", is_flag=True, help=f"List all markers or kernels; default: {MAX_LISTED} in the table."
)
@_common.settings(_common.reading)
def command(file: str, metric: str, form: str, everything: bool, settings: Settings) -> int:
    """Show the values read from a capture: format, each value with unit, line, column and original text."""
    from triage.commands import _factsheet
    from triage.files import plain_json, writing

    try:
        capture = settings.read(file)
    except UnknownDialect:
        with writing.sink(None) as write:
            # the columns that could be mapped, before the error
            write(_factsheet.unknown(file))
        raise
    wanted = [m for m in capture.facts if fnmatch.fnmatchcase(m, metric)]
    with writing.sink(None) as write:
        if form == "json":
            write(plain_json.dumps(_factsheet.as_json(capture, wanted), indent=1) + "\n")
        elif form == "csv":
            _factsheet.write_csv(capture, wanted, write)
        else:
            write(_factsheet.table(capture, wanted, None if everything else MAX_LISTED))
    return 0
