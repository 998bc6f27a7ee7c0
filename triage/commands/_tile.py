"""`triage occupancy --tile`: the extra loads that a neighbourhood filter makes for the border of its tile."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from triage.commands._console import console, plain_table, text_of
from triage.ground.errors import TriageError

if TYPE_CHECKING:
    from triage.occupancy.tile import Tile

FORMATS = ("terminal", "markdown", "json")
MAX_ELEMENT = 1024  # bytes


def report(size: str, border: int, element: int, arch: str | None, form: str, to_file: bool) -> str:
    """The report on a tile in one of FORMATS; raises TriageError. size: WxH[xD]; element: bytes."""
    from triage.occupancy.tile import tile

    if not 1 <= element <= MAX_ELEMENT:
        raise TriageError(f"--bytes {element}: expected 1 to {MAX_ELEMENT:,}")
    this = tile(size, border)
    room, threads, wave, name = _machine(arch)
    if form == "json":
        limit = room if name else None
        data = {"schema": "triage-tile/1", **this.to_dict(element, threads), "arch": name, "shared_limit": limit}
        return json.dumps(data, indent=2)
    facts = _facts(this, element, room, name)
    groups = _groups(this, threads, wave)
    return _markdown(this, facts, groups) if form == "markdown" else _terminal(this, facts, groups, to_file)


def _machine(arch: str | None) -> tuple[int, int, int, str]:
    """Shared memory per group, threads per group, warp size and name of an architecture; defaults without one."""
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
        ("overhead over payload", f"{100 * tile.over_payload:.1f} % (border / payload: loads per useful element)"),
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
    from rich.text import Text

    page = io.StringIO()
    out = console(page, to_file)
    out.print(Text(_title(tile), style="bold"))
    table = plain_table()
    for name, text in facts:
        table.add_row(name, Text(text))
    out.print(table)
    out.print()
    table = plain_table(head=True)
    for head in _HEAD:
        table.add_column(head, justify="left" if head in ("group", "fits") else "right")
    for row in groups:
        table.add_row(*(Text(cell) for cell in row))
    out.print(table)
    return text_of(page)
