"""What rows say of one another: rows of one record say the same of it, and a row points to one that is there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from triage.capture.redundancy import Heads, Record, References
from triage.reading.text_blocks import Block

MANY = 5  # rows of the other records, beside which a record of a single row is a damaged key
SURE = 3  # rows of a record that agree, against a single one
_Cells = tuple[str, ...]


def plain(header: str) -> str:
    """A header without blanks and underscores, in lower case."""
    return re.sub(r"[\s_]", "", header).lower()


def _rows(blocks: Sequence[Block], *columns: Heads) -> Iterator[tuple[int, _Cells]]:
    """(line, cells) of all rows below a header with these columns; a column that the header lacks is ""."""
    for block in blocks:
        heads = [plain(h) for h in block.head]
        at = [next((heads.index(h) for h in column if h in heads), -1) for column in columns]
        if at and at[0] >= 0:
            for line, row in zip(block.lines, block.rows, strict=True):
                yield line, tuple(row[i] if 0 <= i < len(row) else "" for i in at)


def unlike(one: Record, blocks: Sequence[Block]) -> dict[int, str]:
    """Line -> why, of single rows that say something else of a record than its others, or are alone in theirs."""
    keys = len(one.key)
    records: dict[_Cells, list[tuple[int, _Cells]]] = {}
    for line, cells in _rows(blocks, *one.key, *one.same):
        records.setdefault(cells[:keys], []).append((line, cells[keys:]))
    usual = (
        median(len(rows) for rows in records.values())
        if len(records) > 2
        else max(map(len, records.values()), default=0)
    )
    bad: dict[int, str] = {}
    for key, rows in records.items():
        if len(rows) == 1 and usual >= MANY:
            bad[rows[0][0]] = f"the only row of {_said(one.key, key)}, others have {usual:g}"
        count = Counter(said for _, said in rows)
        ((usually, times),) = count.most_common(1)
        for line, said in rows if times >= SURE else ():
            if said != usually and count[said] == 1:
                i = next(i for i, (a, b) in enumerate(zip(said, usually, strict=True)) if a != b)
                bad[line] = (
                    f"{one.same[i][0]} is {said[i][:40]!r}, in other rows of {_said(one.key, key)} {usually[i][:40]!r}"
                )
    return bad


def _said(heads: Sequence[Heads], key: _Cells) -> str:
    return ", ".join(f"{h[0]} {k[:40]}" for h, k in zip(heads, key, strict=True) if k)


def dangling(one: References, blocks: Sequence[Block]) -> dict[int, str]:
    """Line -> why, of rows whose number is none, or which point to a row that is not there."""
    rows = list(_rows(blocks, one.id, one.parent))
    there = {own for _, (own, _) in rows} | {one.none}
    bad: dict[int, str] = {}
    for line, (own, parent) in rows:
        if not own.isdigit():
            bad[line] = f"{one.id[0]} {own[:40]!r} is no number"
        elif parent not in there:
            bad[line] = f"{one.parent[0]} {parent[:40]!r} is the number of no row"
    return bad
