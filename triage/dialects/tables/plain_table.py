"""A small, plain table of UTF-8 text -> columns, without pandas, whose import takes longer than all of a small diagnosis.

Only what leaves no room for judgement: every line has the header's number of cells, each whole or none of it in quotes. A
column is one of plain decimals, which any parser reads as the same float, or one with a cell that none reads as a
number. Anything else is the parser's (csv_parser), and so is what is large.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from triage.capture.arrays import Floats, Masks, Names
from triage.capture.source import HEAD, Source
from triage.dialects.tables.csv_parser import MISSING

# A whole number up to 2**53, times or by a power of ten up to the 22nd, is the same float whoever reads it: it is rounded
# once. The fast parser of pandas looks at 17 digits, and zero must have one sign.
MAX_WHOLE, MAX_POWER, MAX_DIGITS = 1 << 53, 22, 17
# one cell a line, most of all columns; a possessive part is never cut in two ways
_NUMBERS = re.compile(r"(?:(?:(?:-(?=[0.]*+[1-9]))?(?=[0-9.]{1,16}\n)[0-9]++(?:\.[0-9]++)?)?\n)*+")
_NUMBER = re.compile(r"-?([0-9]++)(?:\.([0-9]++))?(?:[eE]([+-]?[0-9]{1,2}))?")
_MISSING = frozenset(MISSING)
_TEXT = re.compile(r"[^0-9eE+. -]")  # is in no number, but in words for one
_WORDS = re.compile(r"\s*[+-]?(?:nan|inf(?:inity)?|true|false)\s*", re.IGNORECASE)


def read(
    source: Source, header_line: int, width: int, numeric: Sequence[int], text: Sequence[int], end_line: int | None
) -> tuple[dict[int, Floats | Names], Masks] | None:
    """Columns by 0-based position of all lines below the header up to end_line, and which lines have nothing in any of them.

    A numeric column with words is one of objects: its cells, NaN for missing ones. None where the table is not small and plain.
    """
    if source.is_folder or len(source.head) >= HEAD or {*numeric} & {*text}:
        return None
    if source.encoding.startswith("utf-16") or not source.plain_ends or b"\0" in source.head:
        return None
    lines = source.head_lines[header_line:end_line]
    if lines and not lines[-1] and len(source.head_lines) == header_line + len(lines):  # behind the last line end
        del lines[-1]
    rows = None if "\ufffd" in source.head_text else _rows(lines, source)
    if not rows or any(len(row) != width for row in rows):
        return None
    cells = list(zip(*rows, strict=True))
    figures = {c: _shown(cells[c]) for c in numeric}
    columns: dict[int, Floats | Names] = {c: np.array(cells[c], dtype=object) for c in text}
    for c, shown in figures.items():
        if (values := _values(shown)) is None:
            return None
        columns[c] = values
    filled = [*figures.values(), *(cells[c] for c in text)]
    return columns, np.array([not any(row) for row in zip(*filled, strict=True)], dtype=bool)


def _rows(lines: Sequence[str], source: Source) -> list[list[str]] | None:
    delimiter = source.delimiter
    if delimiter == "\t":  # tools that write tabs do not quote
        return [line.split(delimiter) for line in lines]
    if not all(map(_regular(delimiter, source.skip_space).fullmatch, lines)):
        return None
    return list(csv.reader(lines, delimiter=delimiter, skipinitialspace=source.skip_space))


@lru_cache(8)
def _regular(delimiter: str, skip_space: bool) -> re.Pattern[str]:
    """A line whose cells stand in quotes as a whole, or hold none."""
    cell = rf'{" *+" * skip_space}(?:"(?:[^"]|"")*+"|[^"{delimiter}]*+)'
    return re.compile(rf"{cell}(?:{re.escape(delimiter)}{cell})*+")


def _shown(cells: Sequence[str]) -> Sequence[str]:
    """Cells without the words that stand for no figure."""
    return [c if c not in _MISSING else "" for c in cells]


def _values(cells: Sequence[str]) -> Floats | Names | None:
    if _NUMBERS.fullmatch("\n".join(cells) + "\n") or all(not c or _exact(c) for c in cells):
        return np.array([float(c) if c else np.nan for c in cells])
    if any(_TEXT.search(c) and not _WORDS.fullmatch(c) for c in cells):
        return np.array([c or np.nan for c in cells], dtype=object)
    return None


def _exact(cell: str) -> bool:
    found = _NUMBER.fullmatch(cell)
    if found is None:
        return False
    fraction, power = found[2] or "", int(found[3] or 0)
    digits = found[1] + fraction
    if len(digits) > MAX_DIGITS or int(digits) > MAX_WHOLE or abs(power - len(fraction)) > MAX_POWER:
        return False
    return int(digits) > 0 or not cell.startswith("-")
