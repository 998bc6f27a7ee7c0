"""`triage batch`: diagnose many captures."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from triage.commands import _common, _types
from triage.commands._help import Command
from triage.commands._lines import complain
from triage.ground.errors import CaptureError
from triage.ground.phrasing import plural
from triage.products.batch.workers import LISTED, Outcome
from triage.products.settings import Settings

EVERY = 5.0  # seconds between progress lines when stderr is no terminal


@click.command(cls=Command)
@click.argument("paths", type=_types.PathType(), nargs=-1, required=True, metavar="PATH...")
@_common.folder("Folder for the reports and the index.")
@_common.report_formats
@click.option("--jobs", type=_types.Whole(1), help="Number of processes; default: one per CPU core.")
@click.option("--resume", is_flag=True, help="Continue an interrupted batch.")
@click.option("--strict", is_flag=True, help="Exit with 2 if any file is skipped.")
@click.option("--dask", default="", metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
@_common.top("List only the top N items of each capture.")
@_common.min_gain
@click.option("--full", is_flag=True, help=f"List all findings; default: the top {LISTED} of each capture.")
@_common.settings(_common.reading, _common.knowledge)
def command(
    paths: tuple[str, ...], output: str, jobs: int | None, resume: bool, strict: bool, dask: str, settings: Settings
) -> int:
    """Diagnose many captures: one report each, an index, findings.csv and errors.csv.

    PATH is a file, a folder (searched; a folder that is one export is one capture), a glob, or an address that fsspec
    understands. Files that cannot be read are skipped and listed in errors.csv. Reports hold all markers or kernels and
    the whole to-do list.
    """
    from triage.files import writing
    from triage.products.batch import find, run

    writing.in_reach(Path(output).parent)
    gathered = find.gather(paths, output)
    if gathered.passed:
        complain(f"note: {plural(len(gathered.passed), 'file')} ignored: not a profiler export (reasons: errors.csv)")
    if not gathered.captures:
        ignored = f" (ignored: {'; '.join(f'{p}: {why}' for p, why in gathered.passed[:2])})" if gathered.passed else ""
        raise CaptureError(f"{', '.join(paths)}: no captures found{ignored}", "name files, or a folder with captures")
    # the cores of this process, which in a container are fewer than the machine's
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    show = _Bar if sys.stderr.isatty() else _Lines
    with show(len(gathered.captures)) as progress:
        done = run.run(
            gathered.captures,
            settings,
            Path(output),
            jobs=jobs or cores,
            resume=resume,
            dask=dask,
            progress=progress,
            passed=gathered.passed,
        )
    if done.errors and not done.captures:  # the error of each file is printed already
        if len(done.errors) > 1:
            complain(f"none of {len(done.errors)} captures could be read - see {output}/errors.csv")
        return 2
    complain(f"{done.line()} -> {output}")
    return 2 if strict and done.errors else 0


class _Lines:
    """Progress as plain lines, one every few seconds."""

    def __init__(self, total: int) -> None:
        self.total, self.skipped = total, 0
        self.start = self.last = time.monotonic()

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, outcome: Outcome, done: int) -> None:
        """Count one capture; print a line when one is due."""

        self.skipped += bool(outcome.error)
        if outcome.error:
            complain(outcome.error)
        now = time.monotonic()
        if now - self.last >= EVERY:
            self.last = now
            rate = done / (now - self.start)
            # the first capture includes the start of its process
            left = f", {(self.total - done) / rate:.0f} s left" if done > 1 else ""
            complain(f"{done} of {self.total} captures, {self.skipped} skipped, {rate:.1f} per second{left}")


class _Bar:
    """Progress as a bar with rate and remaining time, for a terminal."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        label, rate = TextColumn("{task.description}"), TextColumn("{task.fields[rate]}")
        columns = label, BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn()
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task("captures", total=total, rate="")
        self.start = time.monotonic()

    def __enter__(self) -> _Bar:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, outcome: Outcome, done: int) -> None:
        """Advance by one capture; print the error of a skipped one above the bar."""
        from rich.markup import escape

        if outcome.error:
            text = "".join(c if c.isprintable() else "?" for c in outcome.error)
            self.bar.console.print(escape(text), style="yellow", highlight=False)
        # a first capture can be done within the clock's resolution
        rate = done / max(time.monotonic() - self.start, 1e-6)
        self.bar.update(self.task, advance=1, rate=f"{rate:.1f}/s")
