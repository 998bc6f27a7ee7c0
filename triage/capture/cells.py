"""A line of a table cut into cells."""

from __future__ import annotations

import csv
import re

DELIMITERS = (",", ";", "\t", "|")


def delimiter(line: str) -> str:
    """The delimiter of a header line: the one that cuts it into most cells outside quotes."""
    bare = re.sub(r'"[^"]*"', "", line)  # names of kernels hold commas
    best = max(DELIMITERS, key=lambda d: bare.count(d))
    return best if bare.count(best) else ","


def cells(line: str, sep: str | None = None, skip_space: bool = False) -> list[str]:
    """One line cut into cells by the csv rules; sep: its delimiter where that is known."""
    return next(csv.reader([line], delimiter=sep or delimiter(line), skipinitialspace=skip_space), [])
