"""Options that several commands share; a command receives them as one Settings."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

import click

from triage.capture.compression import BYTES
from triage.commands import _completion, _types
from triage.commands._help import ReadingOption, RuleOption
from triage.ground.method import LATEST, REVISIONS
from triage.rendering.formats import by_ending

Function = Callable[..., object]
Decorator = Callable[[Function], Function]


def stack(*options: Decorator) -> Decorator:
    """Several click options as one decorator, in this order in --help."""

    def apply(f: Function) -> Function:
        # decorators apply from the bottom up
        for option in reversed(options):
            f = option(f)
        return f

    return apply


output = click.option(
    "-o", "--output", type=_types.PathType(), metavar="PATH", help="Write to a file instead of stdout."
)
min_gain = click.option(
    "--min-gain", type=_types.Share(), default=0.0, help="Minimum saving to list an item, as a share of the frame (2%)."
)
report_formats = click.option(
    "-f",
    "--format",
    "formats",
    type=_types.Reports(),
    callback=_types.flat,
    multiple=True,
    default=("html",),
    help="Report format (repeatable); default html.",
)


def report_format(choices: Sequence[str]) -> Decorator:
    """--format of a command with one report; see implied()."""
    text = "Report format; default: from the suffix of -o, else terminal."
    return click.option("-f", "--format", "form", type=_types.Choice(choices), help=text)


def table_format(choices: Sequence[str]) -> Decorator:
    """--format of a command that prints a table."""
    kind = _types.Choice(choices)
    return click.option("-f", "--format", "form", type=kind, default="table", show_default=True, help="Output format.")


def folder(text: str) -> Decorator:
    """--output of a command that writes a folder."""
    return click.option("-o", "--output", type=_types.PathType("dir"), required=True, metavar="DIR", help=text)


def top(text: str) -> Decorator:
    """--top, a number of items."""
    return click.option("--top", type=_types.Whole(0), help=text)


# folders of the user's, as `list` takes them too
DIALECTS: dict[str, Any] = {
    "type": _types.PathType("dir"),
    "multiple": True,
    "metavar": "DIR",
    "help": "Add input formats: a folder of modules, whose code is run (repeatable).",
}
RULES: dict[str, Any] = DIALECTS | {"metavar": "PATH", "help": "Add rule files: a file or a folder (repeatable)."}


def _reading(*names: str, **how: Any) -> Decorator:
    return click.option(*names, cls=ReadingOption, **how)


def _rules(*names: str, **how: Any) -> Decorator:
    return click.option(*names, cls=RuleOption, **how)


reading = stack(
    _reading(
        "--dialect",
        type=_types.Text(_completion.dialects),
        default="",
        metavar="NAME",
        help="Read as this format (see: triage list dialects).",
    ),
    _reading("--dialects", **DIALECTS),
    _reading(
        "--device",
        type=_types.Text(_completion.devices),
        default="",
        metavar="NAME",
        help="GPU of the capture (name, or sm_86 / gfx90a), where the file does not name it.",
    ),
    _reading("--marker", default="", metavar="GLOB", help="Only markers or kernels whose name or path matches."),
    _reading(
        "--needs",
        type=_types.Need(),
        multiple=True,
        help="Bytes that a kernel must move per launch, inputs and outputs once, or its FLOP: NAME=537MB, NAME=137GFLOP (repeatable).",
    ),
    _reading("--unfold", is_flag=True, help="Keep repeated markers and launches apart."),
    _reading(
        "--map",
        "mapping",
        type=_types.Mapped(),
        multiple=True,
        help="Read a column of a custom table as this metric (repeatable).",
    ),
    _reading(
        "--events",
        type=_types.ExistingFile(),
        default="",
        metavar="FILE",
        help="RenderDoc: event tree of the counters.",
    ),
    _reading("--decimal", type=_types.Choice(["point", "comma"]), help="Decimal mark, where the file leaves it open."),
    _reading(
        "--max-unpacked",
        type=_types.Size(),
        help=f"Maximum size of a decompressed file, such as 2G (default {BYTES >> 30}G).",
    ),
)
config = _reading(
    "--config",
    type=_types.PathType("file"),
    default="",
    metavar="FILE",
    help="Project settings (default: triage.toml here or above, within the repository); off: none.",
)


def _chosen(option: str, text: str) -> Decorator:
    kind = _types.TokenList(_completion.rules)
    return _rules(option, type=kind, callback=_types.flat, multiple=True, metavar="ID,PACK", help=text)


knowledge = stack(
    _rules(
        "--method", type=_types.Choice(REVISIONS), default=LATEST, show_default=True, help="Revision of the P3 method."
    ),
    _chosen("--select", "Report only these rules or packs."),
    _chosen("--ignore", "Do not report these rules or packs."),
    _rules(
        "--set",
        "sets",
        type=_types.Text(_completion.thresholds),
        multiple=True,
        metavar="RULE.threshold=VALUE",
        help="Change a threshold (repeatable).",
    ),
    _rules("--rules", **RULES),
    _rules("--experimental", is_flag=True, help="Include experimental rules."),
    _rules(
        "--engine",
        type=_types.Choice(["durable", "clips"]),
        help="Inference engine (default: durable, or clips where it is not installed).",
    ),
)


def implied(given: str | None, output: str | None, known: Iterable[str] = ()) -> str:
    """The given format, else the one that the output's name ends in, else terminal. known: formats of this command."""
    return given or by_ending(output or "", known)


class Window(TypedDict):
    """Layout of a report for people: columns, and whether to use colours."""

    width: int
    color: bool


def window(output: str | None) -> Window:
    """Width and colours of the terminal where the report goes to one; else 80 columns without colours."""
    live = output in (None, "-") and sys.stdout.isatty()
    width = shutil.get_terminal_size((80, 24)).columns if live else 80
    return {"width": width, "color": live and os.environ.get("TERM") != "dumb"}


def settings(*groups: Decorator) -> Decorator:
    """Add these groups of options to a command; they, and its own that Settings has, arrive as one `settings`."""

    def apply(f: Function) -> Function:
        @functools.wraps(f)
        def command(**given: Any) -> object:  # each value is what its option's type parsed
            from triage.commands._stderr import complain
            from triage.products import project
            from triage.products.settings import Settings

            named = given.pop("config")
            for line in project.passed_over(Path.cwd(), named=named):
                complain(f"note: {line}")
            known = project.load(datetime.now(UTC).date(), named=named)
            pairs = dict(known.columns) | dict(given.pop("mapping", ()))  # the command line overrides files
            values = {name: given.pop(name) for name in Settings.__struct_fields__ if name in given}
            values = {name: value for name, value in values.items() if value is not None}
            if "rules" in values:
                values["rules"] = (*known.rules, *values["rules"])
                # of two values for one threshold the later applies: the command line's
                values["sets"] = (*known.sets, *values["sets"])
            values["needs"] = (*values.get("needs", ()), *known.needs)
            values["scope"] = values.get("scope") or known.scope
            values["project_note"] = known.changes()
            for name in ("budgets", "owners", "accepted"):
                values[name] = getattr(known, name)
            chosen = Settings(mapping=tuple(pairs.items()), **values)
            chosen.add_dialects()
            return f(**given, settings=chosen)

        return stack(*groups, config)(command)

    return apply
