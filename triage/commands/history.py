"""`triage history`: runs of many builds, their trend, and a gate."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from triage.commands import _common, _types
from triage.commands._stdout import say
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.products.history.store import Build
    from triage.products.settings import Settings

DEFAULT = "triage-history.sqlite"

place = click.option(
    "--history", type=_types.Place(), default=DEFAULT, show_default=True, metavar="FILE", help="The history."
)
which = _common.stack(
    place,
    click.option("--branch", default="", metavar="NAME", help="Only builds of this branch."),
    click.option("--scope", default=None, metavar="NAME", help="Only this scope; default that of the newest build."),
    click.option("--device-name", "device", default=None, metavar="NAME", help="Only this GPU; default the newest's."),
)


@click.group()
def command() -> None:
    """Keep the runs of every build in one file; show trends, and fail when a build made something slower.

    \b
    triage history add run1.csv run2.csv run3.csv     # after each build; commit and branch are git's or your CI's
    triage history gate                               # exit 1 and one line that names the build
    triage history show Lighting
    """


@command.command("add")
@click.argument("files", type=_types.Captures(), callback=_types.flat, nargs=-1, required=True, metavar="FILE...")
@place
@click.option("--commit", default="", metavar="ID", help="The build; default what CI or git say.")
@click.option("--branch", default="", metavar="NAME", help="Its branch; default what CI or git say, else main.")
@click.option(
    "--scope", default="", metavar="NAME", help="What was captured, such as the game's name; default its root marker."
)
@click.option("--at", type=_types.When(), metavar="TIME", help="When it was made; default the commit's date, or now.")
@click.option("--label", default="", metavar="NAME", help="A name for the build, such as a release.")
@_common.settings(_common.reading, _common.knowledge)
def add(
    files: tuple[str, ...], history: str, commit: str, branch: str, at: int | None, label: str,
    settings: Settings,
) -> int:  # fmt: skip
    """Diagnose captures and keep them as runs of one build. FILE is one run; the same file twice is one run."""
    from triage.commands._stderr import complain
    from triage.findings import assembling
    from triage.findings.identity import scope as scope_of
    from triage.products.history import origin, store
    from triage.products.history.record import Key, record

    now = int(time.time())
    build = origin.of(commit, branch, os.environ, at, now)
    doctor = settings.diagnoser()
    bad = 0
    with store.opened(history, create=True) as db:
        for path in files:
            try:
                capture = settings.read(path)
                d = doctor.diagnose([capture])
                run = record(d, assembling.bundle(d, ways=False))
            except TriageError as e:
                complain(str(e))
                bad += 1
                continue
            device = capture.device.name if capture.device else capture.table.device or ""
            key = Key(build.branch, build.revision, settings.scope or scope_of(capture), device)
            added = store.add(db, key, build.at, run, now, label)
            say(f"{build.revision[:12]}  {path}  {'added' if added else 'there already'}")
    return 2 if bad else 0


@command.command("list")
@which
def list_(history: str, branch: str, scope: str | None, device: str | None) -> int:
    """List builds, oldest first: date, branch, runs, frame time."""
    import numpy as np

    from triage.ground.phrasing import plural
    from triage.products.history import store
    from triage.products.history.history_report import date
    from triage.rendering.phrases import time as shown

    with store.opened(history) as db:
        frames: dict[int, Any] = dict(db.rows("SELECT id, frame_ns FROM run", (int, float)))
        for b in store.builds(db, branch=branch, scope=scope, device=device):
            known = [frames[r] for r in b.runs if frames[r]]
            ns = shown(float(np.median(known))) if known else "–"
            key = b.key
            names = f"  ({', '.join(b.labels)})" if b.labels else ""
            where = "  ".join(x for x in (key.scope, key.device) if x)
            say(
                f"{date(b.at)}  {key.revision[:12]:12}  {key.branch:12}  {plural(len(b.runs), 'run'):>7}  {ns:>8}  {where}{names}"
            )
    return 0


def _builds(db: object, branch: str, scope: str | None, device: str | None) -> tuple[list[Build], Build]:
    """(builds of one scope and device, the newest of them on the branch)."""
    from triage.products.history import store
    from triage.products.history.gate import choose

    everything = store.builds(db, scope=scope, device=device)  # type: ignore[arg-type]
    newest = choose([b for b in everything if not branch or b.key.branch == branch])
    alike = [b for b in everything if (b.key.scope, b.key.device) == (newest.key.scope, newest.key.device)]
    return alike, newest


@command.command("show")
@click.argument("what", default="", metavar="[MARKER|CAUSE]")
@which
@click.option(
    "-f", "--format", type=click.Choice(["terminal", "html", "json"]),
    help="Report format; default terminal, or what -o ends in.",
)  # fmt: skip
@click.option("-o", "--output", type=_types.Place(), metavar="PATH", help="Write to a file instead of stdout.")
@click.option(
    "--last", type=click.IntRange(1), default=365, show_default=True, metavar="N", help="Newest builds shown."
)
@click.option("--full", is_flag=True, help="Every step.")
def show(
    what: str, history: str, branch: str, scope: str | None, device: str | None, format: str | None, output: str | None,
    last: int, full: bool,
) -> int:  # fmt: skip
    """Draw the trend of the frame, of markers (a glob: their sum) or of a cause, with the builds that moved it."""
    from triage.files import writing as out
    from triage.products.history import history_report, store, trend_series

    with store.opened(history) as db:
        alike, newest = _builds(db, branch, scope, device)
        order = [b for b in alike if b.key.branch == newest.key.branch][-last:]
        doc = trend_series.trend_of(db, order, what)
    with out.sink(output) as write:
        write(history_report.trend(doc, _common.implied(format, output, ("terminal", "html", "json")), full))
    return 0


@command.command("gate")
@which
@click.option("--build", default="", metavar="ID", help="The build to judge; default the newest.")
@click.option("--against", default="", metavar="BRANCH", help="The builds of this branch are the baseline.")
@click.option(
    "--baseline", default="", metavar="ID", help="Compare with this build, a commit or a label; default rolling."
)
@click.option(
    "--fail-on-regression", "threshold", type=_types.Share(), default=0.0, metavar="SHARE",
    help="Least slow-down that fails; default any that is more than noise (and 1%).",
)  # fmt: skip
@click.option(
    "-f", "--format", type=click.Choice(["terminal", "markdown", "json", "junit"]), default="terminal",
    show_default=True, help="Report format.",
)  # fmt: skip
@click.option("-o", "--output", type=_types.Place(), metavar="PATH", help="Write to a file instead of stdout.")
@click.option("--full", is_flag=True, help="Every marker that moved.")
def gate(
    history: str, branch: str, scope: str | None, device: str | None, build: str, against: str, baseline: str,
    threshold: float, format: str, output: str | None, full: bool,
) -> int:  # fmt: skip
    """Exit with 1 when a marker or the frame became slower, and name the build and the cause.

    The baseline is what the builds before tell (rolling), of this branch or of --against; or one build (--baseline).
    """
    from triage.commands._stderr import complain
    from triage.files import writing as out
    from triage.products import project
    from triage.products.history import history_report, store
    from triage.products.history.gate import choose
    from triage.products.history.gate import gate as judge

    with store.opened(history) as db:
        alike, newest = _builds(db, branch, scope, device)
        judged = choose([b for b in alike if not branch or b.key.branch == branch], build) if build else newest
        budgets = dict(project.load(datetime.now(UTC).date()).budgets)
        doc = judge(db, alike, judged, against=against, baseline=baseline, threshold=threshold, budgets=budgets)
    with out.sink(output) as write:
        write(history_report.gate(doc, format, full))
    if not doc["failed"]:
        return 0
    more = len(doc["failed"]) - 1
    complain(f"failed on history: {doc['failed'][0]}" + (f"; and {more} more" if more else ""))
    return 1
