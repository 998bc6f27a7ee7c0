"""Rows that a line end cuts within a number: both pieces look whole, one like a row and the other like no row at all."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from triage.capture.source import Source

Fits: TypeAlias = Callable[[Sequence[str]], bool]  # has a row of these cells as many as it should?
GOES_ON = "the number at its end goes on in the next line"
LONGEST_NUMBER = 100  # characters of a cell with a number, or with sizes along three axes
_FIGURES = re.compile(r"[\s.,;:(){}x%+-]*\d[\d\s.,;:(){}xeE%+-]*")


def cells_of(text: str, source: Source, by: str = "") -> list[str]:
    """Cells of a record of a source, divided `by` something else than its delimiter; none where its quotes are damaged."""
    try:
        return next(csv.reader([text], delimiter=by or source.delimiter, skipinitialspace=source.skip_space), [])
    except csv.Error:
        return []


def begins_with_figures(cells: Sequence[str]) -> bool:
    """True if the first cell of a line holds nothing else."""
    return bool(cells) and len(cells[0]) <= LONGEST_NUMBER and bool(_FIGURES.fullmatch(cells[0]))


def goes_on_in(text: str, row: Sequence[str], below: Sequence[str], fits: Fits) -> bool:
    """May a line that seems whole have been cut within its last number? Then the line below begins with figures, and fits with it.

    text, row: the line and its cells; where its last cell is quoted, it is whole.
    """
    whole = text.rstrip().endswith('"')
    return not whole and fits(row) and fits([*row, *below[1:]]) and begins_with_figures(below)


def cut_within(source: Source, below: Mapping[int, Sequence[str]], fits: Fits) -> Iterator[int]:
    """Lines with a row whose last number goes on in the line below. below: lines of other text and their cells."""
    rests = {line: cells for line, cells in below.items() if begins_with_figures(cells)}
    last = max(rests, default=0)
    for line, text in source.numbered(min(rests) - 1) if rests else ():
        if line >= last:
            break
        if line + 1 in rests and goes_on_in(text, cells_of(text, source), rests[line + 1], fits):
            yield line
