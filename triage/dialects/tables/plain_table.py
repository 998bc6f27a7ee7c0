"""A small, plain table of UTF-8 text -> columns, without pandas, whose import takes longer than all of a small diagnosis.

Only what leaves no room for judgement: every line has the header's number of cells, nothing is quoted, each number is a plain
decimal that any parser reads as the same float. Anything else is the parser's (csv_parser), and so is what is large.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from triage.capture.arrays import Floats, Names
from triage.capture.source import HEAD, Source

# up to fifteen digits are exact whoever reads them, and zero has one sign; a possessive part is never cut in two ways
_NUMBERS = re.compile(r"(?:(?:(?:-(?=[0.]*+[1-9]))?(?=[0-9.]{1,16}\n)[0-9]++(?:\.[0-9]++)?)?\n)*+")


@dataclass(slots=True)
class Plain:
    """Columns by 0-based position over the lines below the header, the first of which is `first`."""

    numbers: dict[int, Floats]
    texts: dict[int, Names]


def read(
    source: Source, header_line: int, width: int, numeric: Sequence[int], text: Sequence[int], end_line: int | None
) -> Plain | None:
    """The columns of all lines below the header up to end_line; None where the table is not small and plain."""
    if not source.plain_path or source.size >= HEAD or source.skip_space:
        return None
    if source.encoding not in ("utf-8", "utf-8-sig") or b"\r" in source.head or b"\0" in source.head:
        return None
    lines = source.head_lines[header_line:end_line]
    if lines and not lines[-1] and len(source.head_lines) == header_line + len(lines):  # behind the last line end
        del lines[-1]
    rows = [line.split(source.delimiter) for line in lines]
    if not rows or '"' in source.head_text or "\ufffd" in source.head_text or any(len(row) != width for row in rows):
        return None
    columns = list(zip(*rows, strict=True))
    numbers = {c: _floats(columns[c]) for c in numeric}
    texts = {c: np.array(columns[c], dtype=object) for c in text}
    if any(values is None for values in numbers.values()):
        return None
    # a row without any cell is none, and which those are is decided in one place
    filled = [columns[c] for c in {*numeric, *text}]
    if any(not any(cells) for cells in zip(*filled, strict=True)):
        return None
    return Plain({c: values for c, values in numbers.items() if values is not None}, texts)


def _floats(cells: Sequence[str]) -> Floats | None:
    if not _NUMBERS.fullmatch("\n".join(cells) + "\n"):
        return None
    return np.array([float(c) if c else np.nan for c in cells])
