"""`triage history`: runs of many builds, their trend, a gate, and its comment on a pull request."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from triage.commands import _comment, _common, _types
from triage.commands._help import Group
from triage.commands._lines import complain, say
from triage.ground.errors import TriageError
from triage.ground.phrasing import plural
from triage.rendering.phrases import time as duration

if TYPE_CHECKING:
    from triage.products.history.store import Build
    from triage.products.settings import Settings

DEFAULT_FILE = "triage-history.sqlite"

file_option = click.option(
    "--history", type=_types.PathType(), default=DEFAULT_FILE, show_default=True, metavar="FILE", help="History file."
)
builds_options = _common.stack(
    file_option,
    click.option("--branch", default="", metavar="NAME", help="Only builds of this branch."),
    click.option("--scope", default=None, metavar="NAME", help="Only this scope; default: that of the latest build."),
    click.option(
        "--device-name",
        "device",
        default=None,
        metavar="NAME",
        help="Only this GPU; default: that of the latest build.",
    ),
)


@click.group(cls=Group)
def command() -> None:
    """Track the runs of every build in one file: trends, and a gate that fails on regressions.

    \b
    triage history add run1.csv run2.csv run3.csv     # after each build; commit and branch from git or CI
    triage history gate                               # exit 1 and the build that became slower
    triage history show Lighting
    triage history comment gate.md --post github --project OWNER/REPO --number 7
    """


command.add_command(_comment.command)


@command.command("add")
@click.argument("files", type=_types.Captures(), callback=_types.flat, nargs=-1, required=True, metavar="FILE...")
@file_option
@click.option("--commit", default="", metavar="ID", help="Build; default: from CI or git.")
@click.option("--branch", default="", metavar="NAME", help="Branch; default: from CI or git, else main.")
@click.option("--scope", default="", metavar="NAME", help="Application or scene; default: root marker of the capture.")
@click.option("--at", type=_types.When(), help="Date of the build; default: date of the commit, or now.")
@click.option("--label", default="", metavar="NAME", help="Name of the build, such as a release.")
@_common.settings(_common.reading, _common.knowledge)
def add(
    files: tuple[str, ...], history: str, commit: str, branch: str, at: int | None, label: str,
    settings: Settings,
) -> int:  # fmt: skip
    """Diagnose captures and add them as runs of one build. Each FILE is one run; the same file twice is one run."""
    from triage.findings import assembling
    from triage.findings.identity import scope as scope_of
    from triage.products.history import origin, store
    from triage.products.history.record import Key, record

    now = int(time.time())
    build = origin.of(commit, branch, os.environ, at, now)
    doctor = settings.diagnoser()
    skipped = 0
    with store.opened(history, create=True) as db:
        for path in files:
            try:
                capture = settings.read(path)
                d = doctor.diagnose([capture])
                run = record(d, assembling.bundle(d, ways=False))
            except TriageError as e:
                complain(str(e))
                skipped += 1
                continue
            device = capture.device_name
            key = Key(build.branch, build.revision, settings.scope or scope_of(capture), device)
            added = store.add(db, key, build.at, run, now, label)
            say(f"{build.revision[:12]}  {path}  {'added' if added else 'already in the history'}")
    return 2 if skipped else 0


@command.command("list")
@builds_options
def list_builds(history: str, branch: str, scope: str | None, device: str | None) -> int:
    """List builds, oldest first: date, branch, runs, frame time."""
    from triage.products.history import store
    from triage.products.history.history_chart import date

    with store.opened(history) as db:
        frames: dict[int, Any] = dict(db.rows("SELECT id, frame_ns FROM run", (int, float)))
        for b in store.builds(db, branch=branch, scope=scope, device=device):
            times = [frames[r] for r in b.runs if frames[r]]
            ns = duration(float(np.median(times)), 4) if times else "–"
            key = b.key
            names = f"  ({', '.join(b.labels)})" if b.labels else ""
            where = "  ".join(x for x in (key.scope, key.device) if x)
            say(
                f"{date(b.at)}  {key.revision[:12]:12}  {key.branch:12}  {plural(len(b.runs), 'run'):>7}  {ns:>8}  {where}{names}"
            )
    return 0


def _builds(db: object, branch: str, scope: str | None, device: str | None) -> tuple[list[Build], Build]:
    """(builds of one scope and device, the latest of them on the branch)."""
    from triage.products.history import store
    from triage.products.history.baseline import choose

    everything = store.builds(db, scope=scope, device=device)  # type: ignore[arg-type]
    newest = choose([b for b in everything if not branch or b.key.branch == branch])
    alike = [b for b in everything if (b.key.scope, b.key.device) == (newest.key.scope, newest.key.device)]
    return alike, newest


@command.command("show")
@click.argument("what", default="", metavar="[MARKER|CAUSE]")
@builds_options
@_common.report_format(["terminal", "html", "json", "openmetrics"])
@_common.output
@click.option("--last", type=_types.Whole(1), default=365, show_default=True, help="Show only the latest N builds.")
@click.option("--full", is_flag=True, help="List all changes.")
def show(
    what: str, history: str, branch: str, scope: str | None, device: str | None, form: str | None, output: str | None,
    last: int, full: bool,
) -> int:  # fmt: skip
    """Show the trend of the frame, of markers (a glob: their sum) or of a cause, with the builds that changed it."""
    from triage.files import writing as out
    from triage.products.history import history_report, store, trend_series

    with store.opened(history) as db:
        alike, newest = _builds(db, branch, scope, device)
        order = [b for b in alike if b.key.branch == newest.key.branch][-last:]
        doc = trend_series.trend_of(db, order, what)
    with out.sink(output) as write:
        form = _common.implied(form, output, ("terminal", "html", "json", "openmetrics"))
        write(history_report.trend(doc, form, full))
    return 0


@command.command("gate")
@builds_options
@click.option("--build", default="", metavar="ID", help="Build to check; default: the latest.")
@click.option("--against", default="", metavar="BRANCH", help="Baseline: the builds of this branch.")
@click.option("--baseline", default="", metavar="ID", help="Baseline: this build (commit or label).")
@click.option(
    "--fail-on-regression", "threshold", type=_types.Share(), default=0.0,
    help="Minimum slow-down to fail; default: any above noise.",
)  # fmt: skip
@_common.report_format(["terminal", "html", "markdown", "json", "junit"])
@_common.output
@click.option("--strict", is_flag=True, help="Exit with 1 on inconclusive markers, too.")
@click.option("--full", is_flag=True, help="List all changed markers.")
def gate(
    history: str, branch: str, scope: str | None, device: str | None, build: str, against: str, baseline: str,
    threshold: float, form: str | None, output: str | None, strict: bool, full: bool,
) -> int:  # fmt: skip
    """Exit with 1 if a marker or the frame became slower; print the build and the cause.

    Baseline: the preceding builds of this branch, or of --against, or one build (--baseline).
    """
    from triage.files import writing as out
    from triage.products import project
    from triage.products.history import history_report, store
    from triage.products.history.baseline import choose
    from triage.products.history.gate import gate as check

    with store.opened(history) as db:
        alike, newest = _builds(db, branch, scope, device)
        checked = choose([b for b in alike if not branch or b.key.branch == branch], build) if build else newest
        budgets = dict(project.load(datetime.now(UTC).date()).budgets)
        doc = check(
            db, alike, checked, against=against, baseline=baseline, threshold=threshold, budgets=budgets, strict=strict
        )
    with out.sink(output) as write:
        write(history_report.gate(doc, _common.implied(form, output, history_report.GATE), full))
    if not doc["failed"]:
        return 0
    more = len(doc["failed"]) - 1
    complain(f"failed on history: {doc['failed'][0]}" + (f"; and {more} more" if more else ""))
    return 1
