"""Lines of a table cut into cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

DELIMITERS = (",", ";", "\t", "|")


def delimiter(line: str) -> str:
    """The delimiter of a header line: the one that cuts it into most cells outside quotes."""
    bare = re.sub(r'"[^"]*"', "", line)  # names of kernels hold commas
    best = max(DELIMITERS, key=lambda d: bare.count(d))
    return best if bare.count(best) else ","


def cells(line: str, sep: str | None = None, skip_space: bool = False) -> list[str]:
    """One line cut into cells by the csv rules; sep: its delimiter where that is known."""
    return next(csv.reader([line], delimiter=sep or delimiter(line), skipinitialspace=skip_space), [])


class Block(Struct, frozen=True):
    """Rows of one width below their header (() where none stands above), with the line on which each begins."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]

    def title(self, at: int) -> str:
        """The header of a column, "" for none."""
        return self.head[at].strip() if at < len(self.head) else ""

    def by_line(self) -> Mapping[int, Sequence[str]]:
        """Line -> its row."""
        return dict(zip(self.lines, self.rows, strict=True))
