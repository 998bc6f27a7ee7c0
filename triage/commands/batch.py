"""`triage batch`: last night's captures."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.ground.errors import CaptureError

if TYPE_CHECKING:
    from triage.products.batch.workers import Outcome
    from triage.products.settings import Settings

EVERY = 5.0  # seconds between progress lines when stderr is no terminal


@click.command()
@click.argument("paths", type=_types.Place(), nargs=-1, required=True, metavar="PATH...")
@click.option(
    "-o",
    "--output",
    type=_types.Place("dir"),
    required=True,
    metavar="DIR",
    help="Folder for the reports and the index.",
)
@click.option(
    "-f",
    "--format",
    "formats",
    type=_types.Reports(),
    callback=_types.flat,
    multiple=True,
    default=("html",),
    metavar="FORMAT",
    help="Report format (repeatable); default html.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes; default one per CPU core.")
@click.option("--resume", is_flag=True, help="Finish only what an interrupted batch left undone.")
@click.option("--strict", is_flag=True, help="Exit with 2 when any capture could not be read.")
@click.option("--dask", default="", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
@click.option(
    "--top",
    type=click.IntRange(0),
    metavar="N",
    help="Keep the N best findings of each capture, and what they concern.",
)
@click.option(
    "--min-gain",
    type=_types.Share(),
    default=0.0,
    metavar="SHARE",
    help="Least share of a frame a finding must give back.",
)
@click.option("--full", is_flag=True, help="Every finding, and everything where a format is short by default.")
@_common.settings(_common.reading, _common.knowledge)
def command(
    paths: tuple[str, ...], output: str, jobs: int | None, resume: bool, strict: bool, dask: str, settings: Settings
) -> int:
    """Diagnose many captures: a report for each, an index over all, findings.csv and errors.csv.

    PATH is a file, a folder (searched; a folder that is one export is one capture), a glob, or an address that fsspec
    understands. A file that cannot be read is one line of errors.csv; the others are done. Of each capture every
    workload and the whole to-do list are reported, and its 100 best findings; --full lists them all.
    """
    from triage.commands._stderr import complain
    from triage.products.batch import batch_contents, find, run

    found = find.gather(paths, output)
    if found.other:
        passed = (
            "1 file that is no profiler export was"
            if found.other == 1
            else f"{found.other:,} files that are no profiler exports were"
        )
        complain(f"note: {passed} passed over")
    if not found.captures:
        raise CaptureError(f"{', '.join(paths)}: no captures found", "name files, or a folder that holds exports")
    # what this process may use, which in a container is less than the machine has
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    show = _bar if sys.stderr.isatty() else _lines
    with show(len(found.captures)) as progress:
        done = run.run(
            found.captures, settings, Path(output), jobs=jobs or cores, resume=resume, dask=dask, progress=progress
        )
    complain(f"{done.line()} -> {output}")
    batch_contents.refuse(done)
    return 2 if strict and done.errors else 0


class _lines:
    """Progress as plain lines, a few per minute."""

    def __init__(self, total: int) -> None:
        self.total, self.bad = total, 0
        self.start = self.last = time.monotonic()

    def __enter__(self) -> _lines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, outcome: Outcome, done: int) -> None:
        """Count one capture; say so when it is time."""
        from triage.commands._stderr import complain

        self.bad += bool(outcome.error)
        if outcome.error:
            complain(outcome.error)
        now = time.monotonic()
        if now - self.last >= EVERY:
            self.last = now
            rate = done / (now - self.start)
            left = (self.total - done) / rate
            complain(f"{done} of {self.total} captures, {self.bad} bad, {rate:.1f} per second, {left:.0f} s left")


class _bar:
    """Progress as a bar with rate and time left, for a terminal."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        what, rate = TextColumn("{task.description}"), TextColumn("{task.fields[rate]}")
        columns = what, BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn()
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task("captures", total=total, rate="")
        self.start = time.monotonic()

    def __enter__(self) -> _bar:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, outcome: Outcome, done: int) -> None:
        """Advance by one capture; a bad one is named above the bar."""
        from rich.markup import escape

        if outcome.error:
            text = "".join(c if c.isprintable() else "?" for c in outcome.error)
            self.bar.console.print(escape(text), style="yellow", highlight=False)
        # a first capture can be done within the clock's resolution
        rate = done / max(time.monotonic() - self.start, 1e-6)
        self.bar.update(self.task, advance=1, rate=f"{rate:.1f}/s")
