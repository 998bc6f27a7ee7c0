"""`triage watch`: captures are diagnosed as they arrive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.products.batch.batch_contents import Batch
    from triage.products.batch.workers import Outcome
    from triage.products.settings import Settings


@click.command()
@click.argument("folders", type=_types.Captures("dir"), callback=_types.flat, nargs=-1, required=True, metavar="DIR...")
@click.option("-o", "--output", type=_types.Place("dir"), required=True, metavar="DIR", help="Folder for the reports.")
@click.option(
    "-f", "--format", "formats", type=_types.Reports(), callback=_types.flat, multiple=True, default=("html",),
    metavar="FORMAT", help="Report format (repeatable); default html.",
)  # fmt: skip
@click.option(
    "--every", type=click.FloatRange(0.05), default=2.0, show_default=True, metavar="SECONDS",
    help="How often to look; a capture must look the same twice.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Processes.")
@click.option("--once", is_flag=True, help="Diagnose what is complete now, and end.")
@click.option("--top", type=click.IntRange(0), metavar="N", help="Keep the N best findings of each capture.")
@_common.settings(_common.reading, _common.knowledge)
def command(folders: tuple[str, ...], output: str, every: float, jobs: int, once: bool, settings: Settings) -> int:
    """Watch folders and diagnose each new capture once it is complete, into reports and an index as `batch` writes them.

    Runs until it is interrupted; started again, it goes on where it was.
    """
    from triage.commands._stderr import complain
    from triage.products import folder_watch

    for folder in folders:
        if not Path(folder).is_dir():
            raise TriageError(f"{folder}: no such folder", "name folders that captures arrive in")

    def done(outcome: Outcome, _: int) -> None:
        if outcome.error:
            complain(outcome.error)
            return
        summary = outcome.summary
        first = summary["causes"][0]["title"] if summary and summary["causes"] else "nothing found"
        complain(f"{outcome.found.path}: {first}")

    def told(batch: Batch) -> None:
        complain(f"{batch.line()} -> {output}")

    folder_watch.watch(
        folders, settings, Path(output), every=every, jobs=jobs, progress=done, told=told, rounds=2 if once else None
    )
    return 0
