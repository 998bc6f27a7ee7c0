"""Options that several verbs share; they arrive at a verb as one Settings."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypedDict

import click

from triage.commands import _known, _types
from triage.ground.method import LATEST, REVISIONS

Command = Callable[..., object]
Decorator = Callable[[Command], Command]


def stack(*options: Decorator) -> Decorator:
    """Several click options as one decorator, shown in this order."""

    def apply(f: Command) -> Command:
        # decorators apply from the bottom up
        for option in reversed(options):
            f = option(f)
        return f

    return apply


reading = stack(
    click.option(
        "--dialect",
        type=_types.Text(_known.dialects),
        default="",
        metavar="NAME",
        help="Read as this dialect instead of detecting it.",
    ),
    click.option(
        "--dialects",
        type=_types.Place("dir"),
        multiple=True,
        metavar="DIR",
        help="Further dialect modules; their code runs (repeatable).",
    ),
    click.option(
        "--device",
        type=_types.Text(_known.devices),
        default="",
        metavar="NAME",
        help="GPU (name or sm_86 / gfx90a) for exports that do not say.",
    ),
    click.option("--marker", default="", metavar="GLOB", help="Only workloads whose name or path matches."),
    click.option("--unfold", is_flag=True, help="Keep repeated markers and launches apart instead of grouping them."),
    click.option(
        "--map",
        "mapping",
        type=_types.Mapped(),
        multiple=True,
        metavar="COLUMN=METRIC",
        help="Map a foreign column to a canonical metric (repeatable).",
    ),
    click.option(
        "--map-file",
        type=_types.MapFile(),
        metavar="YAML",
        help="The same mappings kept in a file, one `Column: metric` per line.",
    ),
    click.option(
        "--events", type=_types.Place(), default="", metavar="FILE", help="RenderDoc event tree beside the counters."
    ),
    click.option(
        "--decimal",
        type=click.Choice(["", "point", "comma"]),
        default="",
        help="Number style, where the file leaves it open.",
    ),
    click.option(
        "--max-unpacked", type=_types.Size(), metavar="SIZE", help="Largest size a .gz may unpack to, such as 2G."
    ),
)


def _chosen(option: str, help: str) -> Decorator:
    kind = _types.Words(_known.rules)
    return click.option(option, type=kind, callback=_types.flat, multiple=True, metavar="ID,PACK", help=help)


knowledge = stack(
    click.option(
        "--method", type=click.Choice(REVISIONS), default=LATEST, show_default=True, help="Revision of the P3 method."
    ),
    _chosen("--select", "Report these rules or packs only."),
    _chosen("--ignore", "Do not report these rules or packs."),
    click.option(
        "--set",
        "sets",
        type=_types.Text(_known.thresholds),
        multiple=True,
        metavar="RULE.threshold=VALUE",
        help="Change a threshold (repeatable).",
    ),
    click.option(
        "--rules", type=_types.Place("dir"), multiple=True, metavar="DIR", help="Further rule files (repeatable)."
    ),
    click.option("--experimental", is_flag=True, help="Include rules of status experimental."),
    click.option(
        "--engine",
        type=click.Choice(["", "durable", "clips"]),
        default="",
        help="Inference engine; default durable, else clips.",
    ),
)


ENDINGS = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".markdown": "markdown", ".csv": "csv",
           ".xml": "junit", ".jira": "jira", ".txt": "terminal"}  # fmt: skip


def implied(format: str | None, output: str | None, known: Iterable[str] = ()) -> str:
    """The format asked for, else what the output's name ends in, else terminal. known: formats of this command."""
    if format:
        return format
    ending = os.path.splitext(output or "")[1].lower()
    found = "jira" if (output or "").lower().endswith(".jira.txt") else ENDINGS.get(ending, "terminal")
    return found if not known or found in known else "terminal"


class Window(TypedDict):
    """How a report for people is laid out."""

    width: int
    color: bool


def window(output: str | None) -> Window:
    """Width and colour of the terminal where the report goes to one; 80 columns and none elsewhere."""
    live = output in (None, "-") and sys.stdout.isatty()
    width = shutil.get_terminal_size((80, 24)).columns if live else 80
    return {"width": width, "color": live and os.environ.get("TERM") != "dumb"}


def settings(*groups: Decorator) -> Decorator:
    """The options of these groups, and the verb's own that Settings knows by name, reach it as one `settings`."""

    def apply(f: Command) -> Command:
        @functools.wraps(f)
        def command(**given: Any) -> object:  # each value is what its option's type made of the text
            from dataclasses import fields

            from triage.products import project
            from triage.products.settings import Settings

            known = project.load(datetime.now(UTC).date())
            # what is said on the command line itself goes before what a file says
            pairs = dict(given.pop("map_file", None) or ()) | dict(given.pop("mapping", ()))
            said = {field.name: given.pop(field.name) for field in fields(Settings) if field.name in given}
            if "rules" in said:
                said["rules"] = (*known.rules, *said["rules"])
                # of two values for one threshold the later holds: the command line's
                said["sets"] = (*known.sets, *said["sets"])
            said["scope"] = said.get("scope") or known.scope
            for name in ("budgets", "owners", "accepted"):
                said[name] = getattr(known, name)
            chosen = Settings(mapping=tuple(pairs.items()), **said)
            chosen.add_dialects()
            return f(**given, settings=chosen)

        return stack(*groups)(command)

    return apply
