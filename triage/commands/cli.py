"""The command line. Each command is a module of triage/commands, imported when it is used.

Exit codes: 0 done; 1 a --fail-on priority or a regression was reached, or a check failed; 2 error.
stdout carries the report alone; notes and errors go to stderr, one line each.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING, ClassVar

import click

from triage.commands._help import Group, usage
from triage.commands._interrupted import Interruption
from triage.commands._lines import complain
from triage.ground.errors import OUT_OF_MEMORY, TriageError, out_of_memory

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VERBS = {
    # command -> its line of help, kept here so that `triage --help` imports no command
    "diagnose": "Rank what to fix in one or more captures.",
    "batch": "Diagnose many captures: one report each, and an index.",
    "compare": "Compare captures before and after a change.",
    "history": "Track builds: add, list, show, gate, comment.",
    "tickets": "Write one ticket per root cause.",
    "watch": "Diagnose new captures of a folder as they arrive.",
    "mcp": "Serve diagnoses to agents and editors (Model Context Protocol).",
    "occupancy": "Calculate occupancy, its limits and the nearest steps; --tile: halo overhead.",
    "demo": "Diagnose a bundled frame, kernel or trace; --open shows its page.",
    "facts": "Show the values read from a capture, with units and source cells.",
    "explain": "Explain a rule, cause, metric or term; --on FILE: with a capture's values.",
    "list": "List rules, causes, metrics, dialects, formats, devices or terms.",
    "check": "Check rule files (format, tests, edges, published cases) and triage.toml.",
}


class Verbs(Group):
    """The commands, imported on use; a path in place of a command is diagnosed."""

    moved: ClassVar[dict[str, str]] = {
        "agree": "diagnose --opinions",
        "tile": "occupancy --tile",
        "comment": "history comment",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of a user's day."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command."""
        if name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"triage.commands.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`triage FILE...` is `triage diagnose FILE...`."""
        if args[0] not in VERBS and args[0] not in self.moved and _is_path(args[0]):
            args = ["diagnose", *args]
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands, and files where no command begins so."""
        from click.shell_completion import CompletionItem

        return super().shell_complete(ctx, incomplete) or [CompletionItem(incomplete, type="file")]


def _is_path(text: str) -> bool:
    """True for stdin, for what exists, and for text with a dot, a separator or a pattern in it."""
    if text.startswith("-"):
        return text == "-"
    return any(c in text for c in "./\\*?~") or os.path.lexists(text)


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print the version and exit. --verbose is eager, so it is parsed by now."""
    if asked and not ctx.resilient_parsing:
        from triage.commands import _version

        click.echo("\n".join(_version.long()) if ctx.params.get("verbose") else _version.short())
        ctx.exit()


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version", is_flag=True, expose_value=False, callback=_version, help="Show version and commit, then exit."
)
@click.option("--verbose", is_flag=True, is_eager=True, help="With --version: also the engine and optional packages.")
def triage(verbose: bool) -> None:
    """GPU performance triage: profiler exports in, a ranked list of what to fix out, with evidence.

    `triage FILE...` is short for `triage diagnose FILE...`.
    """
    if verbose:
        raise TriageError("--verbose: prints nothing for a command", "write: triage --version --verbose")


def main() -> None:
    """Entry point: every expected failure is one line on stderr and exit code 2."""
    gc.set_threshold(1_000_000, 20, 50)  # results are trees without reference cycles
    # NumPy would start threads for linear algebra, which is not used
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stdout is None:  # started with stdout closed
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    interruption = Interruption()
    try:
        interruption.prepare()
        # without arguments: help
        code = triage.main(["--help"] if len(sys.argv) < 2 else None, prog_name="triage", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as e:
        complain(usage(e))
        code = 2
    except TriageError as e:
        complain(str(e))
        code = 2
    except (KeyboardInterrupt, click.Abort):
        interruption.reported = True
        complain("interrupted")
        code = 130
    except BrokenPipeError:
        code = _pipe_closed()
    except SystemExit as e:
        code = 143 if e.code == 143 else _pipe_closed()  # click exits so when the pipe is closed
    except OUT_OF_MEMORY as e:
        if not out_of_memory(e):
            raise
        complain(f"not enough memory for this input ({type(e).__name__}) - split the export, or use --top")
        code = 2
    except OSError as e:
        limit = e.errno in (errno.EMFILE, errno.ENFILE)
        hint = "raise the limit of open files (ulimit -n)" if limit else "check space and permissions"
        complain(f"{e.filename or 'output'}: {e.strerror or e} - {hint}")
        code = 2
    except RuntimeError as e:
        if "new thread" in str(e):
            complain("no more threads can be started - raise the limits of processes and memory")
            _leave(2)
        # Python up to 3.11 wraps what a signal handler raises while a class is created, as imports do
        if not isinstance(e.__cause__, KeyboardInterrupt | SystemExit):
            raise
        code = 130 if isinstance(e.__cause__, KeyboardInterrupt) else 143
    _leave(code if isinstance(code, int) else 0)


def _leave(code: int) -> None:
    """Exit without cleaning up: freeing modules and a million names takes a fifth of a short run."""
    watched = sys.gettrace() or sys.getprofile() or "coverage" in sys.modules
    if code > 2 or watched:  # after an interruption other threads and processes end in order
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # full, closed or missing: reported already
            stream.flush()
    os._exit(code)


def _pipe_closed() -> int:
    """Send the rest of the output nowhere and return 0: the reader of the pipe (`| head -1`) has ended."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
