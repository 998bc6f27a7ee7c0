"""`triage tile`: what a neighbourhood filter pays for the border of its tile."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import click

from triage.commands import _completion, _types
from triage.commands.occupancy import console, text_of, write
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.occupancy.tile import Tile


@click.command("tile")
@click.argument("size", metavar="WxH[xD]")
@click.option("--border", type=int, default=1, show_default=True, metavar="N", help="Elements needed on every side.")
@click.option("--bytes", "element", type=int, default=4, show_default=True, metavar="N", help="Bytes per element.")
@click.option(
    "--arch",
    type=_types.Text(_completion.architectures),
    metavar="NAME",
    help="Check shared memory and group size against this architecture.",
)
@click.option(
    "-f",
    "--format",
    "form",
    default="terminal",
    show_default=True,
    type=click.Choice(["terminal", "markdown", "json"]),
)
@click.option("-o", "--output", type=_types.Place(), metavar="PATH", help="Write here, not to stdout.")
def command(size: str, border: int, element: int, arch: str | None, form: str, output: str | None) -> None:
    """Halo overhead of a tile: loads, shared memory, thread groups that fit.

    \b
    triage tile 16x16 --border 1
    triage tile 8x8x8 --border 1 --bytes 8 --arch gfx906
    """
    from triage.occupancy.tile import tile

    if not 1 <= element <= 1024:
        raise TriageError(f"--bytes {element}: must be 1 to 1,024")
    found = tile(size, border)
    room, threads, wave, name = _machine(arch)
    if form == "json":
        limit = room if name else None
        data = {"schema": "triage-tile/1", **found.to_dict(element, threads), "arch": name, "shared_limit": limit}
        write(json.dumps(data, indent=2), output)
        return
    facts = _facts(found, element, room, name)
    groups = _groups(found, threads, wave)
    if form == "markdown":
        write(_markdown(found, facts, groups), output)
    else:
        write(_terminal(found, facts, groups, output is not None), output)


def _machine(arch: str | None) -> tuple[int, int, int, str]:
    """Shared memory per group, threads per group, warp size and name of the architecture asked for."""
    if arch is None:
        return 0, 1024, 32, ""
    from triage.devices import limits_of
    from triage.occupancy.model import model_for

    model = model_for(limits_of(arch))
    return model.cap("shared"), model.cap("threads"), model.wave_size, model.limits.arch


def _facts(tile: Tile, element: int, room: int, name: str) -> list[tuple[str, str]]:
    need = tile.shared_bytes(element)
    fits = ""
    if name:
        verdict = f"{room // need} tiles fit" if need <= room else "does not fit"
        fits = f"; {name} has {room:,} B per group: {verdict}"
    spread = f"{tile.neighbours} per element"
    return [
        ("payload", f"{tile.payload:,} elements"),
        ("border", f"{tile.border_elements:,} elements, {tile.total:,} with the payload"),
        ("loads with shared memory", f"{tile.total:,}"),
        ("loads without", f"{tile.loads_without:,} ({spread}), {tile.reduction:.2f} times as many"),
        (
            "overhead over payload",
            f"{100 * tile.over_payload:.1f} % (border / payload: loads per useful element)",
        ),
        ("overhead over total", f"{100 * tile.over_total:.1f} % (border / all loads: share wasted)"),
        ("shared memory", f"{need:,} B at {element} B per element{fits}"),
    ]


def _groups(tile: Tile, threads: int, wave: int) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for group in tile.groups(threads):
        idle = -group.threads % wave
        fit = "yes" if group.fits else f"no, over {threads:,} threads"
        shape = "x".join(map(str, group.shape))
        rows.append((shape, f"{group.threads:,}", str(group.per_thread), str(group.loads), str(idle), fit))
    return rows


_HEAD = ("group", "threads", "results each", "loads each", "idle lanes", "fits")


def _title(tile: Tile) -> str:
    return f"Tile {'x'.join(map(str, tile.size))} with a border of {tile.border}"


def _markdown(tile: Tile, facts: list[tuple[str, str]], groups: list[tuple[str, ...]]) -> str:
    out = [f"# {_title(tile)}", "", *(f"- {name}: {text}" for name, text in facts), ""]
    out += [f"| {' | '.join(_HEAD)} |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    return "\n".join([*out, *(f"| {' | '.join(row)} |" for row in groups)])


def _terminal(tile: Tile, facts: list[tuple[str, str]], groups: list[tuple[str, ...]], to_file: bool) -> str:
    from rich.table import Table
    from rich.text import Text

    page = io.StringIO()
    out = console(page, to_file)
    out.print(Text(_title(tile), style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, text in facts:
        table.add_row(name, Text(text))
    out.print(table)
    out.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in _HEAD:
        table.add_column(head, justify="left" if head in ("group", "fits") else "right")
    for row in groups:
        table.add_row(*(Text(cell) for cell in row))
    out.print(table)
    return text_of(page)
