"""A name that a rule or cause file writes for something defined elsewhere: where it stands, and what was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path


def meant(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` for the closest known name; "" where none is close."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]!r}?" if close else ""


def line_of(file: str, key: str, name: str = "") -> int:
    """Line of `name` in the block of a top-level key; that of the key where it is not written there, 1 without the key."""
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return 1
    first = next((n for n, line in enumerate(lines, 1) if line.startswith(f"{key}:")), 1)
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
    for n, line in enumerate(lines[first - 1 :], first):
        # the block ends where the next key begins at the margin
        if n > first and re.match(r"[^\s#-]", line):
            break
        if name and word.search(line.partition(":")[2] if n == first else line):
            return n
    return first
