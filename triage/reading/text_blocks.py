"""The tables of a text file as they stand, whatever a dialect makes of them: cells, headers, line numbers."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from triage.capture.capture import Table
from triage.capture.cells import Block
from triage.capture.source import Source
from triage.ground.errors import CaptureError

LARGEST = 256 << 10  # bytes of a file whose cells are looked at
NUMBER = re.compile(r"[+-]?(?:\d[\d,.]*|\.\d+)(?:[eE][+-]?\d+)?%?", re.ASCII)
Column = tuple[str, ...]


def small(table: Table) -> dict[int, list[Block]]:
    """File -> its tables, of all text files of a table that are no larger than their head, which is at hand."""
    return {
        n: of(file)
        for n, file in enumerate(table.files)
        if file.size <= LARGEST and is_text(file) and file.head[:1] not in b"{["  # JSON has no columns
    }


def is_text(source: Source) -> bool:
    """Was it read as lines of text, rather than as a database, a report or a folder? Text may hold bytes of zero."""
    if source.is_folder or source.record != "line":
        return False
    try:
        return bool(source.encoding)
    except CaptureError:  # binary
        return False


def of(file: Source) -> list[Block]:
    """The tables in the head of a text file; those whose header stands there again are one."""
    out: list[Block] = []
    places: dict[tuple[str, ...], int] = {}
    for block, titled in _runs(file):
        place = places.setdefault(tuple(block.head), len(out)) if titled else len(out)
        if place < len(out):
            first = out[place]
            out[place] = Block(first.head, [*first.rows, *block.rows], [*first.lines, *block.lines])
        else:
            out.append(block)
    return out


def _runs(file: Source) -> Iterator[tuple[Block, bool]]:
    """Rows of one width, one below the other, and whether their header is among them."""
    rows, lines = _records(file)
    heads: dict[int, Sequence[str]] = {}
    full = list(map(_has_figure, rows))
    for width, run in itertools.groupby(range(len(rows)), key=lambda i: len(rows[i])):
        at = list(run)
        top = next((i for i in at if full[i]), at[-1] + 1)
        if width > 3 and top > at[-1] and all(rows[at[0]]):  # a header above rows of another width
            heads.setdefault(width, rows[at[0]])
        if width < 2 or top > at[-1]:
            continue
        if top > at[0]:  # the header, rather than the units below it
            heads[width] = max(rows[at[0] : top], key=_words) if top > at[0] + 1 else rows[at[0]]
        body = [i for i in range(top, at[-1] + 1) if full[i]]  # some logs end in their header
        # rows may lack the last cells, as those of Nsight Compute's details
        head = heads.get(width) or next((h[:width] for wide, h in heads.items() if wide > width), ())
        yield Block(head, [list(map(str.strip, rows[i])) for i in body], [lines[i] for i in body]), top > at[0]


def _records(file: Source) -> tuple[list[list[str]], list[int]]:
    rows: list[list[str]] = []
    ends = [0]  # the last line of each row
    quoting: Literal[0, 3] = csv.QUOTE_NONE if file.delimiter == "\t" else csv.QUOTE_MINIMAL
    text = iter(file.head_text.splitlines(keepends=True))
    reader = csv.reader(text, delimiter=file.delimiter, skipinitialspace=file.skip_space, quoting=quoting)
    try:
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
    except csv.Error:  # a cell beyond all measure
        return [], []
    return rows, [end + 1 for end in ends[:-1]]


def _words(row: Sequence[str]) -> int:
    return sum(len(c) >= 3 for c in row)


def _has_figure(row: Sequence[str]) -> bool:
    return any(map(NUMBER.fullmatch, map(str.strip, reversed(row))))
