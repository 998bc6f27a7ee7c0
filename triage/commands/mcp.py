"""`triage mcp`: diagnoses for agents and editors, over the Model Context Protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from triage.commands import _common, _types
from triage.commands._help import Command
from triage.ground.errors import TriageError, install

if TYPE_CHECKING:
    from triage.products.settings import Settings


MAX_PORT = 65_535


@click.command(cls=Command)
@click.argument("folders", type=_types.Captures("dir"), callback=_types.flat, nargs=-1, metavar="[FOLDER...]")
@click.option("--http", type=_types.Whole(1), metavar="PORT", help="Serve http://127.0.0.1:PORT/mcp instead.")
@_common.settings(_common.knowledge)
def command(folders: tuple[str, ...], http: int | None, settings: Settings) -> int:
    """Serve brief, diagnose, explain, compare, facts, occupancy and next_capture to an agent, over stdin and stdout.

    Reads files below FOLDER alone (default: the current one; links are resolved first) and writes nothing. Setup of
    agents and editors: docs/agents.md.
    """
    from triage.commands import _mcp_server
    from triage.commands._agent import Tools

    if (http or 1) > MAX_PORT:
        raise TriageError(f"--http {http}: expected 1 to {MAX_PORT}")
    real = [Path(os.path.realpath(f)) for f in folders or (".",)]
    for given, folder in zip(folders, real, strict=False):
        if not folder.is_dir():
            raise TriageError(f"{given}: no such folder", "check the path")
    try:
        server = _mcp_server.server(Tools(real, settings))
    except ImportError as e:
        raise TriageError("missing the Model Context Protocol SDK", install("mcp")) from e
    if http is None:
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=http)
    return 0
