"""`triage diagnose`: rank what to fix."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.commands._help import Command
from triage.commands._lines import complain
from triage.ground.errors import CaptureError, TriageError
from triage.ground.limiters import LEVELS
from triage.ground.phrasing import plural
from triage.rendering import formats
from triage.rendering.escape import short

if TYPE_CHECKING:
    from triage.diagnosis.diagnosis_result import Diagnosis
    from triage.document.bundle import Entry
    from triage.products.settings import Settings

BUDGET = "budget"  # of --fail-on: no item fails, exceeded budgets do
OPINION_FORMATS = ("terminal", "json")


@click.command(cls=Command)
@click.argument("files", type=_types.Captures(), callback=_types.flat, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-f",
    "--format",
    "form",
    type=_types.Report(),
    help=f"{', '.join(formats.formats())}, or a path to a .j2 template; default: from the suffix of -o, else terminal.",
)
@_common.output
@_common.top("List only the top N items, with their findings, markers or kernels.")
@_common.min_gain
@click.option("--full", is_flag=True, help="List everything, in formats that are short by default.")
@click.option(
    "--fail-on",
    type=_types.Choice((*LEVELS, BUDGET)),
    help="Exit with 1 if an item has this priority or a higher one, or a budget is exceeded (budget: only then).",
)
@click.option("--target", type=_types.Duration(), help="Budget of the whole frame, such as 16.6ms (or 60fps).")
@click.option(
    "--opinions",
    is_flag=True,
    help="Compare the profiler's rule results (Nsight Compute) with triage's instead; as terminal or json.",
)
@_common.settings(_common.reading, _common.knowledge)
def command(
    files: tuple[str, ...],
    form: str | None,
    output: str | None,
    fail_on: str | None,
    opinions: bool,
    target: float | None,
    settings: Settings,
) -> int:
    """Rank what to fix in captures, with the evidence and the time each fix saves.

    FILE is an export of any known profiler (CSV or text; .gz too), a folder that is one export, a pattern, or - for
    stdin. `-o report.html` writes the page.

    With --opinions: per kernel, the profiler's rule and triage's root cause, both estimates, and why they differ.
    --min-gain: largest estimate that does not count; --full lists all kernels.
    """
    from triage.commands._progress import progress
    from triage.files import writing
    from triage.findings import assembling
    from triage.products import accepted, budgets
    from triage.reading import join

    form = _common.implied(form, output)
    level = "" if fail_on == BUDGET else fail_on or ""
    if opinions and fail_on:
        raise TriageError("--fail-on: not an option of --opinions", "remove one of them")
    if opinions and form not in OPINION_FORMATS:
        raise TriageError(f"--format {form!r}: choose terminal or json with --opinions")
    captures, skipped = [], 0
    with progress() as shown:
        with ThreadPoolExecutor(1) as pool:  # compile rules during reading, hash files during inference
            compiling = pool.submit(settings.diagnoser)
            for path in files:
                shown.step = f"reading {path}"
                try:
                    _refuse_many(path)
                    captures.append(settings.read(path))
                    pool.submit(getattr, captures[-1], "sha256")
                except TriageError as e:
                    complain(str(e))
                    skipped += 1
            doctor = compiling.result()
            if not captures:
                return 2
            if skipped:
                complain(f"note: {skipped} of {len(files)} files skipped")
            if len(captures) > 1:
                from triage.reading import duplicate_captures

                captures = duplicate_captures.distinct(captures)
            captures = join.joined(captures, settings.marker)
            shown.step = f"diagnosing {plural(sum(map(len, captures)), 'workload')}"
            diagnosis = doctor.diagnose(captures, top=settings.top, min_gain=settings.min_gain)
        if opinions:
            _opinions(diagnosis, form, output, settings)
            return 2 if skipped else 0
        shown.step = "looking up the evidence"
        bundle = assembling.bundle(diagnosis, ways=formats.shows_ways(form))
        bundle = accepted.apply(bundle, settings.accepted, settings.project_note)
        whole = [(budgets.WHOLE, target)] if target else []
        kept = [entry for entry in settings.budgets if not whole or entry[0].lower() != budgets.WHOLE]
        bundle = budgets.apply(bundle, [*whole, *kept], settings.owners)
        if output not in (None, "-"):
            shown.step = f"writing {output}"
            with writing.sink(output) as write:
                formats.render(bundle, form, write, full=settings.full, fail_on=level)
    if doctor.workload.note:
        complain(f"note: {doctor.workload.note}")
    if output in (None, "-"):
        window = _common.window(output)
        with writing.sink(output, window["color"], form == "github") as write:
            formats.render(bundle, form, write, full=settings.full, fail_on=level, **window)
    failed = [*_reached(accepted.standing(bundle.todo), level), *budgets.exceeded(bundle)]
    for remark in _remarks(form, bundle.frame["notes"], fail_on, failed):
        complain(remark)
    # a skipped file outweighs any finding: the result is incomplete
    if skipped:
        return 2
    return 1 if fail_on and failed else 0


def _refuse_many(path: str) -> None:
    """Raise CaptureError for a folder of several captures, of which a reader would take one."""
    from triage.products.batch import find

    if os.path.isdir(path) and (count := len(find.gather([path]).captures)) > 1:
        raise CaptureError(f"{path}: folder with {count} captures", f"use: triage batch {path} -o OUT")


def _remarks(form: str, notes: Sequence[str], fail_on: str | None, failed: Sequence[str]) -> Iterator[str]:
    """Notes beside the report: of a table, which has no place for it, what filters left out; what failed."""
    yield from (f"note: {n}" for n in notes if form == "csv")
    if fail_on and failed:
        yield f"failed on {fail_on}: {failed[0]}" + (f"; and {len(failed) - 1} more" if len(failed) > 1 else "")
    elif failed:
        yield f"note: {'; '.join(failed)}"


def _opinions(diagnosis: Diagnosis, form: str, output: str | None, settings: Settings) -> None:
    """Write the comparison with the profiler's rule results."""
    from triage.files import writing
    from triage.products import agreement

    launches = agreement.agreement(diagnosis, settings.min_gain or agreement.MIN_ESTIMATE)
    with writing.sink(output) as write:
        write(agreement.as_json(launches) if form == "json" else agreement.text(launches, settings.full))


def _reached(todo: Sequence[Entry], fail_on: str) -> list[str]:
    """To-do items of this priority or a higher one, a line each."""
    from triage.rendering import phrases

    least = LEVELS.index(fail_on) if fail_on else len(LEVELS)
    lines = []
    for i in todo:
        if LEVELS.index(i["level"]) >= least:
            saved = f", {phrases.time(i['saved_ns'])}" if i["saved_ns"] else ""
            names = ", ".join(short(n, 40) for n in i["names"][:3])
            more = f" and {i['workload_count'] - 3} more" if i["workload_count"] > 3 else ""
            lines.append(f"{i['title']} ({i['level']} priority{saved}): {names}{more}")
    return lines
