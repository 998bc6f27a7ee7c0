"""Findings as CSV that no spreadsheet takes for a program."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from triage.document.finding_rows import COLUMNS
from triage.rendering.escape import clean

if TYPE_CHECKING:
    from triage.document.bundle import Bundle

Write = Callable[[str], object]
T = TypeVar("T")
_FORMULA = tuple("=+-@\t\uff1d\uff0b\uff0d\uff20")  # the last four: full-width, taken alike in East Asia
_FORMULA_RE = re.compile(rf"(?:^|(?<=;))(?=[{re.escape(''.join(_FORMULA))}])")
CHUNK = 1 << 16  # characters handed on at once


def findings(b: Bundle, write: Write) -> None:
    """One row per finding under COLUMNS."""
    rows(write, [COLUMNS, *b.rows])


def rows(write: Write, table: Iterable[Sequence[object]]) -> None:
    """Rows as CSV (RFC 4180), every text inert."""
    buffer = io.StringIO()
    out = csv.writer(buffer, lineterminator="\r\n")
    for row in table:
        out.writerow([inert(v) for v in row])
        if buffer.tell() > CHUNK:
            write(buffer.getvalue())
            buffer.seek(0)
            buffer.truncate()
    write(buffer.getvalue())


def inert(value: T) -> T | str:
    """A cell that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    # cleaned first: a blank or an invisible character before `=` would hide it from the look at the first one
    text = clean(value)
    # spreadsheets take what follows an apostrophe for text; quotes alone do not keep a formula from running.
    # Where decimals have a comma, cells end at a semicolon, also within these quotes.
    return _FORMULA_RE.sub("'", text) if text.startswith(_FORMULA) or ";" in text else text
