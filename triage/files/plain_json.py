"""JSON as files of this project hold it: read with bounds, written without anything that a terminal would obey."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from triage.files import bounded

DEEPEST = 60  # levels; what this project writes has a dozen
LARGEST = 256 << 20  # bytes
# raw C1 controls and direction controls are good JSON, and are obeyed by whoever prints it
_SENT = re.compile("[\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON text; characters that UTF-8 has no place for become `?`. Raises ValueError for nan and infinity."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return plain(text.encode("utf-8", "replace").decode("utf-8"))


def plain(text: str) -> str:
    """JSON text whose invisible characters are escaped: the same JSON."""
    return text if text.isascii() and "\x7f" not in text else _SENT.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def load(path: Path) -> Any:
    """Value of a JSON file; raises OSError, and ValueError for what is no JSON, too large or nested too deeply."""
    data = bounded.read(path, LARGEST)
    level = 0
    if data.count(b"[") + data.count(b"{") > DEEPEST:
        for m in _BRACKETS.finditer(data):
            level += 1 if m[0] in b"[{" else -1 if m[0] in b"]}" else 0
            if level > DEEPEST:
                raise ValueError(f"nested more than {DEEPEST} levels deep")
    return json.loads(data.decode("utf-8"))
