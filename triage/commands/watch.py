"""`triage watch`: diagnose captures as they arrive in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.commands._help import Command
from triage.commands._lines import complain
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.products.batch.batch_contents import Batch
    from triage.products.batch.workers import Outcome
    from triage.products.settings import Settings


@click.command(cls=Command)
@click.argument("folders", type=_types.Captures("dir"), callback=_types.flat, nargs=-1, required=True, metavar="DIR...")
@_common.folder("Folder for the reports.")
@_common.report_formats
@click.option(
    "--every", type=_types.Real(0.05, "seconds"), default=2.0, show_default=True, metavar="SECONDS",
    help="Interval; a capture is complete when two looks agree.",
)  # fmt: skip
@click.option("--jobs", type=_types.Whole(1), default=1, show_default=True, help="Number of processes.")
@click.option("--once", is_flag=True, help="Diagnose the captures that are complete now, then exit.")
@_common.top("List only the top N items of each capture.")
@_common.settings(_common.reading, _common.knowledge)
def command(folders: tuple[str, ...], output: str, every: float, jobs: int, once: bool, settings: Settings) -> int:
    """Watch folders and diagnose each new capture once it is complete; write reports and an index as `batch` does.

    Runs until interrupted; a restart continues where it stopped.
    """
    from triage.files import writing
    from triage.products import folder_watch

    writing.in_reach(Path(output).parent)
    for folder in folders:
        if not Path(folder).is_dir():
            raise TriageError(f"{folder}: no such folder", "check the path")

    def done(outcome: Outcome, _: int) -> None:
        if outcome.error:
            complain(outcome.error)
            return
        summary = outcome.summary
        first = summary["causes"][0]["title"] if summary and summary["causes"] else "no findings"
        complain(f"{outcome.found.path}: {first}")

    def report(batch: Batch) -> None:
        complain(f"{batch.line()} -> {output}")

    folder_watch.watch(
        folders,
        settings,
        Path(output),
        every=every,
        jobs=jobs,
        progress=done,
        report=report,
        rounds=2 if once else None,
    )
    return 0
