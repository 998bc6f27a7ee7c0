"""`triage diagnose`: the main verb."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.ground.errors import TriageError
from triage.ground.limiters import LEVELS
from triage.ground.phrasing import plural
from triage.rendering import formats

if TYPE_CHECKING:
    from triage.document.bundle import Bundle, Entry
    from triage.products.settings import Settings


@click.command()
@click.argument("files", type=_types.Captures(), callback=_types.flat, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-f",
    "--format",
    type=_types.Report(),
    metavar="FORMAT",
    help=f"{', '.join(formats.formats())}, or a path to a .j2 template; default terminal, or what -o ends in.",
)
@click.option(
    "-o",
    "--output",
    type=_types.Place(),
    metavar="PATH",
    help="Write to a file instead of stdout; it appears whole or not at all.",
)
@click.option(
    "--top", type=click.IntRange(0), metavar="N", help="Keep the N best findings and the workloads they concern."
)
@click.option(
    "--min-gain",
    type=_types.Share(),
    default=0.0,
    metavar="SHARE",
    help="Least share of the frame a finding must give back, such as 2%.",
)
@click.option("--full", is_flag=True, help="Everything, where a format is short by default.")
@click.option(
    "--fail-on",
    type=click.Choice(LEVELS),
    help="Exit with 1 when a finding reaches this level.",
)
@_common.settings(_common.reading, _common.knowledge)
def command(
    files: tuple[str, ...], format: str | None, output: str | None, fail_on: str | None, settings: Settings
) -> int:
    """Rank what to fix in profiler exports, with the evidence and what it would give back.

    FILE is a CSV or text export of any known profiler, a folder that is one export, a .gz of these, a pattern, or - for
    stdin. `-o report.html` writes the page.
    """
    from triage.commands._progress import progress
    from triage.commands._stderr import complain
    from triage.files import writing as out
    from triage.findings import assembling
    from triage.products import accepted
    from triage.reading import join

    form = _common.implied(format, output)
    captures, bad = [], 0
    with progress() as at:
        with ThreadPoolExecutor(1) as pool:  # rules are compiled beside the parser, files hashed beside the inference
            compiling = pool.submit(settings.diagnoser)
            for path in files:
                at.say(f"reading {path}")
                try:
                    captures.append(settings.read(path))
                    pool.submit(getattr, captures[-1], "sha256")
                except TriageError as e:
                    complain(str(e))
                    bad += 1
            doctor = compiling.result()
            if not captures:
                return 2
            if len(captures) > 1:
                from triage.reading import duplicate_captures

                captures = duplicate_captures.distinct(captures)
            captures = join.joined(captures, settings.marker)
            at.say(f"judging {plural(sum(map(len, captures)), 'workload')}")
            diagnosis = doctor.diagnose(captures, top=settings.top, min_gain=settings.min_gain)
        at.say("looking up the evidence")
        bundle = accepted.apply(assembling.bundle(diagnosis, ways=formats.shows_ways(form)), settings.accepted)
        if output not in (None, "-"):
            at.say(f"writing {output}")
            with out.sink(output) as write:
                formats.render(bundle, form, write, full=settings.full, fail_on=fail_on or "")
    if doctor.workload.note:
        complain(f"note: {doctor.workload.note}")
    if output in (None, "-"):
        window = _common.window(output)
        with out.sink(output, colours=window["color"]) as write:
            formats.render(bundle, form, write, full=settings.full, fail_on=fail_on or "", **window)
    failed = [*_reached(accepted.standing(bundle.todo), fail_on), *_over(bundle, settings.budgets)]
    if fail_on and failed:
        complain(f"failed on {fail_on}: {failed[0]}" + (f"; and {len(failed) - 1} more" if len(failed) > 1 else ""))
    elif failed:
        complain(f"note: {'; '.join(failed)}")
    # a file that could not be read outweighs any finding: the answer is not whole
    if bad:
        return 2
    return 1 if fail_on and failed else 0


def _reached(todo: Sequence[Entry], fail_on: str | None) -> list[str]:
    """Items of the to-do list at the level asked for or above, in words."""
    from triage.rendering import phrases
    from triage.rendering.escape import short

    least = LEVELS.index(fail_on) if fail_on else len(LEVELS)
    return [
        f"{i['title']} ({i['level']}"
        + (f", {phrases.time(i['saved_ns'])}" if i["saved_ns"] else "")
        + f"): {', '.join(short(n, 40) for n in i['names'][:3])}"
        + (f" and {i['workload_count'] - 3} more" if i["workload_count"] > 3 else "")
        for i in todo
        if LEVELS.index(i["level"]) >= least
    ]


def _over(bundle: Bundle, budgets: Sequence[tuple[str, float]]) -> list[str]:
    """Markers and passes over their budget, in words."""
    from triage.products.settings import matches
    from triage.rendering import phrases

    if not budgets:
        return []
    own = [([*w["path"], w["name"]], w["self_ns"] or 0.0) for w in bundle.workloads]
    sums = [(glob, sum(ns for path, ns in own if matches(path, glob)), most) for glob, most in budgets]
    return [
        f"{glob} takes {phrases.time(ns)}, over its budget of {phrases.time(most)}"
        for glob, ns, most in sums
        if ns > most
    ]
