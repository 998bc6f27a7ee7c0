"""Where a row of a custom table stands in the tree: by a path, a parent's name, a level, or the blanks before its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np

from triage.capture.arrays import Floats, Masks, Names
from triage.capture.capture import DEEPEST, SEP
from triage.ground.errors import BadCapture

MIN_COVERED = 0.5  # of a marker's time, what its rows cover at least
MAX_ROUNDING = 0.02  # of it, by what printed sums may be off
_INDENT = r"[\s\u00a0]+|(?:[.\-+>] ?)+(?=\w)"
_INDENTED_RE = re.compile(r"\n[\s\u00a0.\-+>]")  # with one name per line
SEPARATORS = ("/", "\\", " > ", ">", "|", "::", "»", "→")  # of levels, the most common first


def by_path(names: Names, paths: Names, named: bool) -> tuple[Names, Names]:
    """Leaf names and parent paths; a path may or may not repeat the workload's name as its last level, or stand for it."""
    between = next((s for s in SEPARATORS if any(s in str(p) for p in paths)), "/")
    leaf, parent = names.copy(), np.empty(len(names), dtype=object)

    @cache
    def cut(text: str) -> tuple[str, str, str]:
        levels = [level for part in text.split(between) if (level := part.strip())]
        return SEP.join(levels), SEP.join(levels[:-1]), levels[-1] if levels else ""

    for i, (path, given) in enumerate(zip(paths.tolist(), names.tolist(), strict=True)):
        text, name = str(path), str(given).strip()
        parent[i], above, last = cut(text)
        if last and (not named or not name or last == name):
            parent[i], leaf[i] = above, last
        elif named and between in name and text.endswith(name):  # a name may itself hold what separates levels
            parent[i] = cut(text[: -len(name)])[0]
    return leaf, parent


def by_names(names: Names) -> tuple[Names, Names] | None:
    """Leaf names and parent paths of names that are indented, or are paths themselves; None where they are neither."""
    joined = "\n".join(["", *names.tolist()])  # a million names are searched as one text in a tenth of the time
    if _INDENTED_RE.search(joined) and (levels := indents(names)):
        own = bare(names)
        return own, by_level(own, levels)
    separators = [tight for between in SEPARATORS if (tight := between.strip()) in joined]
    return _within(names, separators) if separators else None


def _within(names: Names, separators: Sequence[str]) -> tuple[Names, Names] | None:
    """Leaf names and parent paths of names that are paths: those where one row's name is how another's begins; else None."""
    texts = [str(n).strip() for n in names]
    whole = set(texts)
    for tight in separators:
        if sum(text.rpartition(tight)[0].strip() in whole for text in texts if tight in text) >= 2:
            paths = names.copy()
            paths[:] = [SEP.join(level for part in text.split(tight) if (level := part.strip())) for text in texts]
            parent = np.array([SEP.join(str(path).split(SEP)[:-1]) for path in paths], dtype=object)
            return np.array([str(path).split(SEP)[-1] for path in paths], dtype=object), parent
    return None


def by_sums(heads: Masks, times: Floats) -> list[int] | None:
    """Levels where some rows head those below them, each at least as long as these together; None where that does not hold.

    heads: rows that are called a frame or a marker. A list of markers alone, or of frames alone, is flat.
    """
    at = np.flatnonzero(heads)
    if not len(at) or at[0] != 0 or heads.all():
        return None
    for first, end in zip(at, [*at[1:], len(heads)], strict=True):
        below = float(np.nansum(times[first + 1 : end]))
        if not MIN_COVERED * times[first] <= below <= (1 + MAX_ROUNDING) * times[first]:
            return None
    return [0 if head else 1 for head in heads]


def under_first(paths: Names, name: str, times: Floats) -> Names:
    """The paths, all below the first row where it takes the time of the others that stand at the top; else as they are.

    name: of the first row, which is called a frame and has nothing below it by the table's own columns.
    """
    top = np.array([path == "" for path in paths])
    below = float(np.nansum(times[1:][top[1:]]))
    if not top[0] or top.sum() < 2 or not MIN_COVERED * times[0] <= below <= (1 + MAX_ROUNDING) * times[0]:
        return paths
    if any(str(path).split(SEP)[0] == name for path in paths):
        return paths
    out = paths.copy()
    out[1:] = [f"{name}{SEP}{path}" if path else name for path in paths[1:]]
    return out


def by_parent(names: Names, parents: Names, ids: Names | None) -> Names:
    """Parent paths where a column names each row's parent, by its name or by its number; "" in a circle of parents."""
    above = _rows_above(names, parents, ids)
    out = np.full(len(names), None, dtype=object)
    for i in range(len(names)):
        chain: dict[int, None] = {}  # rows on the way up whose own path is not known yet
        at = i
        while at >= 0 and out[at] is None and at not in chain:
            chain[at] = None
            at = above[at]
        circle = at in chain  # whose rows stand under nothing
        for row in reversed(chain):
            up = above[row]
            out[row] = "" if circle or up < 0 else f"{out[up]}{SEP}{names[up]}" if out[up] else str(names[up])
            circle = circle and row != at
            _bounded(str(names[row]), out[row].count(SEP))
    return out


def _rows_above(names: Names, parents: Names, ids: Names | None) -> list[int]:
    """The parent of each row, -1 for none: the nearest row above of that name or number, else the first below."""
    above: list[int] = []
    seen: dict[str, int] = {}
    last = {str(key): i for keys in (names, ids) if keys is not None for i, key in reversed(list(enumerate(keys)))}
    for i, parent in enumerate(map(str, parents)):
        if parent not in last:  # a path, of which the last level is a row's name
            parent = max((parent.rpartition(tight.strip())[2].strip() for tight in SEPARATORS), key=lambda leaf: leaf in last)  # fmt: skip
        above.append(seen.get(parent, last.get(parent, -1)) if parent.strip() else -1)
        seen[str(names[i])] = i
        if ids is not None:
            seen[str(ids[i])] = i
    return above


def _bounded(name: str, depth: int) -> None:
    if depth > DEEPEST:
        raise BadCapture(f"{name[:80]}: nested within more than {DEEPEST:,} markers", "reduce the nesting")


def by_level(names: Names, levels: Sequence[int]) -> Names:
    """Parent paths where each row states how deep it stands: under the last row above that is less deep."""
    out = np.empty(len(names), dtype=object)
    open_rows: list[tuple[int, str]] = []
    for i, level in enumerate(levels):
        while open_rows and open_rows[-1][0] >= level:
            open_rows.pop()
        _bounded(str(names[i]), len(open_rows))
        out[i] = SEP.join(name for _, name in open_rows)
        open_rows.append((level, str(names[i])))
    return out


def whole(texts: Names) -> list[int] | None:
    """Levels as integers; None where any cell is no small whole number, so that the column means something else."""
    found = [re.fullmatch(r"\s*(\d{1,2})(?:\.0+)?\s*", str(t)) for t in texts]
    return [int(m[1]) for m in found if m] if found and all(found) else None


def indents(names: Names) -> list[int] | None:
    """Levels by the blanks, dots or dashes before each name; None where the names are not indented."""
    widths = [len(m[0].expandtabs(4)) if (m := re.match(_INDENT, str(n))) else 0 for n in names]
    return widths if any(widths) and widths[0] == 0 else None


def bare(names: Names) -> Names:
    """Names without their indent."""
    return np.array([re.sub(f"^(?:{_INDENT})", "", str(n)) for n in names], dtype=object)
