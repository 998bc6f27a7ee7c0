"""Commands whose --help lists the shared options in sections of their own, and groups that name the likely command."""

from __future__ import annotations

import difflib
from typing import ClassVar

import click

from triage.ground.errors import TriageError
from triage.ground.phrasing import did_you_mean, either

OWN = "Options"  # section of the options that only one command has


class ReadingOption(click.Option):
    """An option on how files are read."""

    section = "Reading options"


class RuleOption(click.Option):
    """An option on the rules in force."""

    section = "Rule options"


class Command(click.Command):
    """A command with its own options first, then one section per kind of shared options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and tell errors of single options their command: click does not always."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as e:
            e.ctx = e.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section per kind of option, in the order of declaration."""
        sections: dict[str, list[tuple[str, str]]] = {OWN: []}
        for param in self.get_params(ctx):
            if not isinstance(param, click.Argument) and (row := param.get_help_record(ctx)) is not None:
                sections.setdefault(getattr(param, "section", OWN), []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class Group(click.Group):
    """A group of commands; errors name the likely one, and the new spelling of one that moved."""

    command_class = Command
    moved: ClassVar[dict[str, str]] = {}  # old command -> new spelling

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; raises TriageError for an unknown one."""
        name = args[0]
        if ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        known = self.list_commands(ctx)
        full = " ".join([*ctx.command_path.split()[1:], name])
        hint = did_you_mean(difflib.get_close_matches(name, known, 1), f"see: {ctx.command_path} --help")
        if name in self.moved:
            hint = f"now: {ctx.command_path} {self.moved[name]}"
        raise TriageError(f"unknown command {full!r}", hint)


def usage(e: click.ClickException) -> str:
    """A usage error of click as one line in the form of all errors: what is wrong - what to do."""
    ctx = e.ctx if isinstance(e, click.UsageError) else None
    see = f"see: {ctx.command_path if ctx else 'triage'} --help"
    text = e.format_message().strip().rstrip(".")
    if isinstance(e, click.NoSuchOption):
        return f"unknown option {e.option_name!r} - {did_you_mean(e.possibilities or (), see)}"
    if isinstance(e, click.MissingParameter) and e.param is not None:
        name = e.param.opts[0] if isinstance(e.param, click.Option) else e.param.human_readable_name
        return f"missing {e.param.param_type_name} {name} - {see}"
    if isinstance(e, click.BadOptionUsage):
        flags = {name for p in (ctx.command.params if ctx else ()) if getattr(p, "is_flag", False) for name in p.opts}
        return f"{e.option_name}: {'takes no value' if e.option_name in flags else 'missing value'} - {see}"
    if ctx is not None and isinstance(ctx.command, click.Group):
        return f"missing command - choose {either(ctx.command.list_commands(ctx))}"
    if text.startswith("Got unexpected extra argument"):
        return f"unexpected argument {text.partition('(')[2].rstrip(')')!r} - {see}"
    return f"{text[:1].lower()}{text[1:]} - {see}"
