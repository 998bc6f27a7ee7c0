"""What stands twice in an export: the whole file, its rows, and a row that is the sum of the others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from triage.capture.arrays import Floats, Masks
from triage.capture.capture import Quality, Table
from triage.capture.source import Source
from triage.ground.errors import BadCapture

TIMES = (2, 3, 4)  # a file that is so many times the same bytes was appended to itself
LEAST = 64  # bytes of one of them
DISTINCT = 4  # figures that rows and their repetition must hold before they can be no chance
CLOSE = 0.02  # what rounding may take from a sum
_TOTAL = re.compile(r"(?:(?:grand|sub|frame|gpu)[ _-]?)?(?:total|sum|average|avg|mean|overall)s?(?:[ _-](?:time|frame|gpu))?|whole frame", re.IGNORECASE)  # fmt: skip


def refuse(files: Iterable[Source]) -> None:
    """Raise BadCapture for a file that holds the same bytes several times over, one after the other."""
    for file in files:
        if file.is_folder or file.path == "-" or not Path(file.path).is_file():
            continue
        for times in TIMES:
            if _repeats(Path(file.path), times):
                raise BadCapture(
                    f"{file.path}: the file holds the same export {times} times, one behind the other",
                    "it was appended to itself; export again",
                )


def _repeats(path: Path, times: int) -> bool:
    size = path.stat().st_size
    part = size // times
    if size % times or part < LEAST:
        return False
    with path.open("rb") as f:
        first = f.read(min(part, 4096))
        for i in range(1, times):
            f.seek(i * part)
            if f.read(len(first)) != first:
                return False
        f.seek(0)
        whole = f.read(part)
        return all(f.read(part) == whole for _ in range(1, times))


def rows(table: Table) -> list[Quality]:
    """A remark where every row of a table stands several times, figure for figure."""
    # what a reader makes of several rows may differ where the rows do not
    columns = [c.values for c in (*table.columns.values(), *table.raw.values()) if c.column]
    if table.trace is not None:
        columns.append(table.trace.operations.start[: len(table)].astype(np.float64))
    if len(table) < 2 or not _enough(columns):
        return []
    like = np.arange(1, len(table))  # rows that are the first once more
    for values in columns:
        first, others = values[0], values[like] if len(like) < len(table) - 1 else values[1:]
        like = like[others == first if first == first else others != others]
        if not len(like):
            return []
    if not any(table.names[i] == table.names[0] for i in like.tolist()):
        return []
    whole = pd.DataFrame({-1: table.names, **dict(enumerate(columns))})
    if not whole.duplicated(keep=False).all():
        return []
    again = int(np.argmax(whole.duplicated().to_numpy()))
    said = (
        f"every row stands more than once, figure for figure (first again on line {table.line(again)}): if the export was "
        "appended to itself, its times count double"
    )
    return [Quality("repeated-rows", said, doubt=True)]


def _enough(columns: Iterable[Floats]) -> bool:
    """Do they hold so many figures that rows which are alike in all of them are no chance?"""
    found: set[float] = set()
    for values in columns:
        found.update(f for f in values[:100].tolist() if f == f and f not in (0, 1))
        if len(found) >= DISTINCT:
            return True
    return False


def totals(table: Table) -> dict[int, str]:
    """Line -> name of rows that are no workload, but the sum or the mean of all others, by name and by figure."""
    column = table.columns.get("gpu.time")
    if column is None or len(table) < 3 or table.trace is not None:
        return {}
    ends = {*range(3), *range(len(table) - 3, len(table))}  # where such rows stand
    named = [i for i in sorted(ends) if _TOTAL.fullmatch(str(table.names[i]).strip())]
    flat = table.paths is None or not any(table.paths[i] for i in named)
    others: Masks = np.ones(len(table), dtype=bool)
    others[named] = False
    rest = column.values[others]
    rest = rest[np.isfinite(rest)]
    if not named or not flat or len(rest) < 2:
        return {}
    return {
        table.line(i): str(table.names[i]).strip()
        for i in named
        if any(abs(column.values[i] - f) <= CLOSE * f for f in (float(rest.sum()), float(rest.mean())))
    }
