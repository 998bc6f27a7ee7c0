"""Files and lines that machines can open: of a to-do item its source lines, else the cell of the capture that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from triage.document.bundle import Bundle
from triage.document.entries import FindingEntry, ItemEntry
from triage.document.todo_items import is_accepted, item_title
from triage.ground.phrasing import percent
from triage.rendering import code_places, phrases
from triage.rendering.escape import clean

MAX_PLACES = 10  # of one item


class Place(NamedTuple):
    """A file as the capture names it, its line (0: unknown), and what happens there; "" for a cell of the capture."""

    file: str
    line: int
    text: str


def standing(b: Bundle) -> Iterator[tuple[ItemEntry, list[Place]]]:
    """The items that are still to do, each with its places, the one with the largest part first."""
    found = {f["rank"]: f for f in b.findings}
    captures = b.head["captures"]
    for item in b.todo:
        if not is_accepted(item):
            number, _, name = item["workloads"][0].partition(":")
            yield item, of(item, found, captures[int(number) - 1 if name else 0]["path"])


def of(item: ItemEntry, found: Mapping[int, FindingEntry], capture: str) -> list[Place]:
    """Places of an item; at least one. capture: path of its worst workload's capture."""
    mine = [found[rank] for rank in item["findings"] if rank in found]
    lines = [
        Place(x["file"], x["line"], code_places.location(x))
        for f in mine
        for x in f["locations"]
        if x["file"] and x["line"]
    ]
    if lines:
        return list(dict.fromkeys(lines))[:MAX_PLACES]
    cells = (c for f in mine for e in f["evidence"] for c in phrases.leaves(e["source"]) if "record" not in c)
    first = next(cells, None)
    return [Place(first["file"], first["line"], "") if first else Place(capture, 0, "")]


def sentence(item: ItemEntry) -> str:
    """`ROP-bound (colour): Particles + 4 more, saves 542 µs (3.8 %). CROP at ... Use smaller ...`, without control characters."""
    names = [n for n in dict.fromkeys(item["names"]) if n != "frame"]
    where = f": {names[0]}" if names else ""
    more = f" + {item['workload_count'] - 1:,} more" if names and item["workload_count"] > 1 else ""
    saving = phrases.item_saving(item)
    share = f" ({percent(item['share'])})" if item["share"] else ""
    return clean(f"{item_title(item)}{where}{more}, saves {saving}{share}. {item['message']} {item['action']}")
