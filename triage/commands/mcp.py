"""`triage mcp`: diagnoses for agents and editors, over the Model Context Protocol."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from triage.commands import _common, _types
from triage.commands._help import Command
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.products.settings import Settings

TOOLS = ("brief", "diagnose", "explain", "compare", "facts", "occupancy", "next_capture")
ABOUT = (
    "GPU performance triage: reads profiler exports and ranks what to fix, with the time each fix saves. "
    "Start with brief: verdicts, deciding numbers, counts; diagnose has the to-do list with fixes. Call next_capture when much was not measured; after a change call compare with repeats on both sides."
)


@click.command(cls=Command)
@click.argument("folders", type=_types.Captures("dir"), callback=_types.flat, nargs=-1, metavar="[FOLDER...]")
@_common.settings(_common.knowledge)
def command(folders: tuple[str, ...], settings: Settings) -> int:
    """Serve brief, diagnose, explain, compare, facts, occupancy and next_capture to an agent, over stdin and stdout.

    Reads files below FOLDER alone (default: the current one; links are resolved first) and writes nothing. Setup of
    agents and editors: docs/agents.md.
    """
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as e:
        raise TriageError(
            "missing the Model Context Protocol SDK", "install it: pip install '.[mcp]' in a checkout"
        ) from e
    from triage import __version__
    from triage.commands._agent import Tools

    real = [Path(os.path.realpath(f)) for f in folders or (".",)]
    for given, folder in zip(folders, real, strict=False):
        if not folder.is_dir():
            raise TriageError(f"{given}: no such folder", "check the path")
    tools = Tools(real, settings)
    server = MCPServer("triage", instructions=ABOUT, version=__version__, log_level="ERROR")
    for name in TOOLS:
        server.tool(name)(_with_errors(getattr(tools, name), ToolError))
    server.run("stdio")
    return 0


def _with_errors(tool: Callable[..., Any], error: type[Exception]) -> Callable[..., Any]:
    """The tool, raising triage's errors as `error`, in one line."""

    @functools.wraps(tool)
    def call(*args: Any, **given: Any) -> Any:
        try:
            return tool(*args, **given)
        except (TriageError, OSError) as e:
            raise error(str(e)) from None

    return call
