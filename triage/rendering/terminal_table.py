"""A table of any report in columns of a terminal."""

from __future__ import annotations

from rich.table import Table

from triage.rendering.escape import clean, short
from triage.rendering.text_table import TextTable


def table_of(t: TextTable, wide: int, split: int = -1) -> Table:
    """A table over the whole width; the first column and the one at `split` share what the others leave."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    widest = [max(len(row[i]) for row in [[h for h, _ in t.headers], *t.rows]) for i in range(len(t.headers))]
    split %= len(widest)
    room = max(20, wide - sum(widest[1:]) + widest[split] - len(widest))
    first = min(widest[0], max(room - max(12, widest[split]), room * 3 // 5))
    for i, (header, right) in enumerate(t.headers):
        size = first if i == 0 else room - first if i == split else widest[i]
        table.add_column(
            header,
            width=size,
            justify="right" if right else "left",
            no_wrap=True,
            overflow="ellipsis",
            header_style="bright_black",
        )
    for row in t.rows:
        table.add_row(short(row[0], first), *(clean(cell) for cell in row[1:]))
    return table
