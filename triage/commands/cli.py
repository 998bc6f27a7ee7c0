"""The command line. Verbs live in triage/commands, one file each, and are imported only when used.

Exit codes: 0 done, 1 a --fail-on level or regression was reached or a check failed, 2 could not do it.
stdout carries the report and nothing else; notes and errors go to stderr, one line each.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import sys

import click

from triage import __version__
from triage.commands._interrupted import Interruption
from triage.commands._stderr import complain
from triage.ground.errors import OUT_OF_MEMORY, TriageError, out_of_memory

VERBS = {
    # verb -> (module, one line of help); the help stands here so that `triage --help` imports nothing
    "diagnose": "Rank what to fix in one or more profiler exports.",
    "batch": "Diagnose many captures; one report each, an index over all.",
    "compare": "Compare captures before and after a change.",
    "agree": "Hold the profiler's own rule results against the diagnosis.",
    "history": "Keep the runs of every build: add, list, show, gate.",
    "tickets": "Write one ticket per root cause.",
    "watch": "Diagnose new captures of a folder as they are complete.",
    "mcp": "Serve diagnoses to agents and editors (Model Context Protocol).",
    "comment": "Keep one comment on a pull request up to date.",
    "occupancy": "Theoretical occupancy, its limiter and the nearest steps.",
    "tile": "Halo overhead of a neighbourhood filter's tile.",
    "demo": "Diagnose the bundled demo frame; --open shows its page.",
    "facts": "Show what was read from an export, with units and origins.",
    "explain": "Explain a rule, metric or term; with --on FILE: why, or all of a marker.",
    "list": "List rules, metrics, dialects, formats or devices.",
    "check": "Check rule files: format, tests, edges, the published cases.",
}


class Verbs(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of a user's day."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one verb."""
        if name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"triage.commands.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Help without importing any verb."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A known verb, or an error that names the likely one."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], VERBS, 1)
            hint = f" - did you mean {close[0]!r}?" if close else " - see: triage --help"
            raise click.UsageError(f"no command is called {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="triage")
def triage() -> None:
    """GPU performance triage: profiler exports in, a ranked and evidenced list of what to fix out."""


def main() -> None:
    """Entry point: every expected failure is one line on stderr and exit code 2."""
    gc.set_threshold(1_000_000, 20, 50)  # results are trees of plain data, and nothing in them goes round in circles
    # else NumPy starts threads for linear algebra, which none of this is
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stdout is None:  # started with stdout closed
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    interruption = Interruption()
    try:
        interruption.prepare()
        # nothing at all is a question, too
        code = triage.main(["--help"] if len(sys.argv) < 2 else None, prog_name="triage", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as e:
        complain(e.format_message())
        code = 2
    except TriageError as e:
        complain(str(e))
        code = 2
    except (KeyboardInterrupt, click.Abort):
        interruption.told = True
        complain("interrupted")
        code = 130
    except BrokenPipeError:
        code = _nobody_reads()
    except SystemExit as e:
        code = 143 if e.code == 143 else _nobody_reads()  # click itself ends so when the pipe is closed
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
        # Python up to 3.11 wraps what a signal handler raises while a class is being made, as imports do
        if not isinstance(e.__cause__, KeyboardInterrupt | SystemExit):
            raise
        code = 130 if isinstance(e.__cause__, KeyboardInterrupt) else 143
    _leave(code if isinstance(code, int) else 0)


def _leave(code: int) -> None:
    """End at once: taking modules and a million names apart one by one would cost a fifth of a short run."""
    watched = sys.gettrace() or sys.getprofile() or "coverage" in sys.modules
    if code > 2 or watched:  # interrupted: whoever still works beside this one is ended in good order
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # full, closed or never there: said already
            stream.flush()
    os._exit(code)


def _nobody_reads() -> int:
    """The reader of a pipe went away (`| head -1`): it has what it wanted."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
