"""A table of any report in columns of a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.table import Table

from triage.document.disambiguate import Place, apart
from triage.document.markers_by_time import MarkerRow
from triage.rendering import phrases
from triage.rendering.escape import clean, distinct, short
from triage.rendering.labels import HEADS
from triage.rendering.text_table import TextTable


def table_of(t: TextTable, wide: int, split: int = -1) -> Table:
    """A table over the whole width; the first column and the one at `split` share what the others leave."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    widest = [max(len(row[i]) for row in [[h for h, _ in t.headers], *t.rows]) for i in range(len(t.headers))]
    split %= len(widest)
    room = max(20, wide - sum(widest[1:]) + widest[split] - len(widest))
    first = min(widest[0], max(room - max(12, widest[split]), room * 3 // 5))
    widths = [first if i == 0 else room - first if i == split else widest[i] for i in range(len(widest))]
    for (header, right), width in zip(t.headers, widths, strict=True):
        add_column(table, header, width, right)
    whole = [header == HEADS.root_cause for header, _ in t.headers[1:]]
    for row in t.rows:
        cells = zip(row[1:], widths[1:], whole, strict=True)
        table.add_row(
            short(row[0], first), *(wrapped(cell, wide) if all_ else clean(cell) for cell, wide, all_ in cells)
        )
    return table


def wrapped(text: str, width: int) -> str:
    """A cell that is read whole, broken at blanks and hyphens."""
    return "\n".join(textwrap.wrap(clean(text), width))


def add_column(table: Table, header: str, width: int, right: bool = False) -> None:
    """A column that is cut, never wrapped."""
    table.add_column(
        header, width=width, justify="right" if right else "left", no_wrap=True, header_style="bright_black"
    )


def busiest_units(rows: Sequence[MarkerRow]) -> list[str]:
    """`Encoder 0 + 1 more: LLC 23 %, L1 23 %`: markers of equal figures together; [] where no unit was measured."""
    alike: dict[str, list[str]] = {}
    for w in (m["workload"] for m in rows if m["workload"]["sol"]):
        alike.setdefault(phrases.sol(w), []).append(w["name"])
    return [f"{short(names[0], 40)}{phrases.and_more(len(names) - 1)}: {units}" for units, names in alike.items()]


def numbered_names(places: Sequence[Place], room: int, after: Sequence[str]) -> list[str]:
    """A label per place in `room` characters less what is written after it; those that no cut tells apart are numbered."""
    taken = [len(text) for text in after]
    labels = distinct(apart(places, {}), room, taken)
    again = [label for label in labels if labels.count(label) > 1]
    out = []
    for i, label in enumerate(labels):
        number = f" ({labels[: i + 1].count(label)})" if label in again else ""
        out.append(short(places[i][0], room - taken[i] - len(number)) + number if number else label)
    return out
