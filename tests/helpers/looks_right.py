"""The rule by which a damaged export looks right: nobody could tell it from a whole one without a second figure.

It knows nothing of the reader. Same rows, same cells, and what changed is one of these:
- header: names in place of names, none blank, invisible or a spreadsheet's own (mislabelled columns, other units)
- column: most figures of one column together, by figures or by nothing (scaled, rounded, sorted, zeroed, not measured)
- figure: figures of one row, each of its column's style (whole or not) and no further than ten times beyond the others of its
  column, or with three others or fewer to be held against; a 0 where the others are not alike
- name: a name in place of a name, neither blank nor a number
- row: rows are gone
- gap: a cell is empty in a row, or a column, that has other empty cells
"""

from __future__ import annotations

import re

from tests.helpers.sheets import Sheet, cut

PEERS, FAR, ALIKE = 3, 10.0, 2.0
_PLAIN = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?%?")
_FOREIGN_HEAD = re.compile(r"|Column\d+|Unnamed.*")
_Changed = list[tuple[int, int, str, str]]  # row, column, before, after


def why(old: list[str], new: Sheet) -> str:
    """Which of the kinds above it is, "" for none. old: the lines of the whole export."""
    now = [line.rstrip("\r") for line in new.lines]
    before = [line.rstrip("\r") for line in old]
    if len(now) != len(before):
        return "row" if _within(now, before) else ""
    rows = [
        (i, _cells(a, new.sep), _cells(b, new.sep)) for i, (a, b) in enumerate(zip(before, now, strict=True)) if a != b
    ]
    if any(len(a) != len(b) for _, a, b in rows):
        return ""
    changed = [(i, at, x, y) for i, a, b in rows for at, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    if {i for i, *_ in changed} == {new.head}:
        return "" if any(_FOREIGN_HEAD.fullmatch(y) or not y.isascii() for *_, y in changed) else "header"
    grid = [_cells(before[i], new.sep) for i in new.body]
    if len({at for _, at, *_ in changed}) == 1 and 2 * len(changed) > len(grid) > 1:
        return "column" if all(_number(y) is not None or not y for *_, y in changed) else ""
    if len({i for i, *_ in changed}) != 1:
        return ""
    return _row(changed, grid, new)


def _row(changed: _Changed, grid: list[list[str]], new: Sheet) -> str:
    kinds = set()
    for line, at, x, y in changed:
        own = new.body.index(line) if line in new.body else -1
        others = [row[at] for i, row in enumerate(grid) if i != own and at < len(row)]
        row = grid[own] if own >= 0 else []
        if not y:
            kinds.add("gap" if any(not c for c in (*others, *(c for k, c in enumerate(row) if k != at))) else "")
        elif _number(x) is None:
            kinds.add("name" if _number(y) is None and x and y.isascii() and y.split() == y.split(" ") else "")
        else:
            kinds.add("figure" if _fits(y, others) else "")
    return "" if "" in kinds else kinds.pop() if len(kinds) == 1 else "figure" if kinds else ""


def _fits(cell: str, others: list[str]) -> bool:
    value, peers = _number(cell), [v for c in others if (v := _number(c)) is not None]
    if value is None or value < 0 <= min(peers, default=0):
        return False
    if len(peers) <= PEERS:
        return True
    low, high = min(peers), max(peers)
    return low / FAR <= value <= high * FAR if value else low == 0 or high > ALIKE * low


def _within(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(line in rest for line in few)


def _cells(line: str, sep: str) -> list[str]:
    return [c.strip().strip('"') for c in cut(line, sep)]


def _number(cell: str) -> float | None:
    return float(cell.rstrip("%")) if _PLAIN.fullmatch(cell.strip()) else None
