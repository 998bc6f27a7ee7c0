"""The rule by which a damaged export looks right: nobody could tell it from a whole one without a second figure.

It knows nothing of the reader. Same rows, same cells, and what changed is one of these:
- header: names in place of names, none blank, invisible or a spreadsheet's own (mislabelled columns, other units)
- column: most figures of one column, or all that have decimals, together, by figures or by nothing (scaled, rounded, sorted, zeroed, not measured)
- figure: figures of one row, none further beyond the others of its column than ten times (a hundred times, where no other row has its
  texts) or the square of what lies between these; or with three others or fewer to be held against; a 0 where the others are not alike
- name: a name in place of a name, neither blank nor a number
- row: rows are gone, two halves of rows are one that fits, or one of several equal rows stands there once more
- gap: a cell is empty in a row, or a column, that has other empty cells
"""

import itertools
import re

from tests.helpers.sheets import Sheet, cut

PEERS, FAR, FARTHEST, ALIKE = 3, 10.0, 100.0, 2.0
_BLANK = frozenset(("", "-", "--", "–", "null", "NULL", "None", "N/A", "n/a", "NA", "<na>", "?", "."))
_PLAIN = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?%?", re.ASCII)
_FOREIGN_HEAD = re.compile(r"|Column\d+|Unnamed.*")
_Changed = list[tuple[int, int, str, str]]  # row, column, before, after


def why(old: list[str], new: Sheet) -> str:
    """Which of the kinds above it is, "" for none. old: the lines of the whole export."""
    now = [line.rstrip("\r") for line in new.lines]
    before = [line.rstrip("\r") for line in old]
    if len(now) != len(before):
        return _gone(now, before, new)
    rows = [
        (i, _cells(a, new.sep), _cells(b, new.sep)) for i, (a, b) in enumerate(zip(before, now, strict=True)) if a != b
    ]
    if any(len(a) != len(b) for _, a, b in rows):
        return ""
    changed = [(i, at, x, y) for i, a, b in rows for at, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    if {i for i, *_ in changed} == {new.head}:
        return "" if any(_FOREIGN_HEAD.fullmatch(y) or not y.isascii() for *_, y in changed) else "header"
    grid = [_cells(before[i], new.sep) for i in new.body]
    if len({at for _, at, *_ in changed}) == 1 and len(changed) > 1:
        moved = sorted(x for *_, x, _ in changed) == sorted(y for *_, y in changed)
        plain = all(_number(y) is not None or y in _BLANK for *_, y in changed)
        rounded = all(
            (a := _number(x)) is not None and (b := _number(y)) is not None and abs(a - b) <= 0.5
            for *_, x, y in changed
        )
        at, lines = changed[0][1], {i for i, *_ in changed}
        rest = [row[at] for i, row in zip(new.body, grid, strict=True) if i not in lines and at < len(row)]
        nothing = all(c in _BLANK or _number(c) == 0 for c in rest)  # but what is 0 whatever it is multiplied by
        return "column" if plain and (moved or rounded or nothing or 2 * len(changed) >= len(grid)) else ""
    if len({i for i, *_ in changed}) != 1:
        return ""
    return _row(changed, grid, new)


def _row(changed: _Changed, grid: list[list[str]], new: Sheet) -> str:
    kinds = set()
    for line, at, x, y in changed:
        own = new.body.index(line) if line in new.body else -1
        others = [row[at] for i, row in enumerate(grid) if i != own and at < len(row)]
        row = grid[own] if own >= 0 else []
        if y in _BLANK:
            kinds.add("gap" if any(c in _BLANK for c in (*others, *(c for k, c in enumerate(row) if k != at))) else "")
        elif _number(x) is None and not (x in _BLANK and _number(y) is not None):
            kinds.add("name" if _number(y) is None and x and y.isascii() and y.split() == y.split(" ") else "")
        else:
            kinds.add("figure" if _fits(y, others, _least(grid, own)) else "")
    return "" if "" in kinds else kinds.pop() if len(kinds) == 1 else "figure" if kinds else ""


def _least(grid: list[list[str]], own: int) -> float:
    """By what a figure must depart to be seen: less, where another row has the same texts."""
    texts = [[c for c in row if _number(c) is None] for row in grid]
    return FAR if own >= 0 and texts.count(texts[own]) > PEERS else FARTHEST


def _gone(now: list[str], before: list[str], new: Sheet) -> str:
    if len(now) > len(before):
        more = [at for at, line in enumerate(now) if before[at : at + 1] != [line]][:1]
        repeat = any(a == b for a, b in itertools.pairwise(before[i] for i in new.body if i < len(before)))
        return "row" if repeat and more and now[more[0]] in now[more[0] - 1 : more[0]] and _within(before, now) else ""
    if _within(now, before):
        return "row"
    for at, line in enumerate(now):
        if line not in before and _within([*now[:at], *now[at + 1 :]], before):
            row, cells = _cells(line, new.sep), [_cells(b, new.sep) for b in before]
            columns = zip(row, *(c for c in cells if len(c) == new.width), strict=False)
            fit = all(_fits(c, others, FARTHEST) for c, *others in columns if _number(c) is not None)
            return "row" if fit and len(row) == new.width else ""
    return ""


def _fits(cell: str, others: list[str], least: float) -> bool:
    value, peers = _number(cell), [v for c in others if (v := _number(c)) is not None]
    if value is None or value < 0 <= min(peers, default=0):
        return False
    if len(peers) <= PEERS:
        return True
    low, high = min(peers), max(peers)
    if not high:  # the only figure in a column of zeros
        return True
    if not value:
        return low == 0 or high > ALIKE * low or least == FARTHEST
    bottom = min((p for p in peers if p > 0), default=value)
    room = max(least, (high / bottom) ** 2)
    return bottom / room <= value <= high * room


def _within(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(line in rest for line in few)


def _cells(line: str, sep: str) -> list[str]:
    return [c.strip().strip('"') for c in cut(line, sep)]


def _number(cell: str) -> float | None:
    plain = cell.strip().replace(",", "")
    return float(plain.rstrip("%")) if _PLAIN.fullmatch(plain) else None
