"""JSON as files of this project hold it: read with bounds, written without anything that a terminal would obey."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from triage.files import bounded

DEEPEST = 60  # levels; what this project writes has a dozen
LARGEST = 256 << 20  # bytes
# raw C1 controls and direction controls are good JSON, and are obeyed by whoever prints it
_SENT = re.compile("[\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKET = bytes(set(range(256)) - set(b"[]{}"))


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON text; characters that UTF-8 has no place for become `?`. Raises ValueError for nan and infinity."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return plain(text.encode("utf-8", "replace").decode("utf-8"))


def entries(value: Mapping[str, Any]) -> Iterator[str]:
    """What `dumps` gives of an object with an indent of 1, an entry of its lists at a time: the encoder's pieces of a whole take eight
    times the memory of its text.
    """
    for n, (key, inside) in enumerate(value.items()):
        yield f"{',' if n else '{'}\n {dumps(key)}: "
        if not isinstance(inside, list) or not inside:
            yield _deeper(inside, 1)
            continue
        for k, entry in enumerate(inside):
            yield f"{',' if k else '['}\n  {_deeper(entry, 2)}"
        yield "\n ]"
    yield "\n}" if value else "{}"


def _deeper(value: Any, by: int) -> str:
    # no text of JSON holds a line break
    return dumps(value, indent=1).replace("\n", "\n" + " " * by)


def plain(text: str) -> str:
    """JSON text whose invisible characters are escaped: the same JSON."""
    return text if text.isascii() and "\x7f" not in text else _SENT.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def load(path: Path) -> Any:
    """Value of a JSON file; raises OSError, and ValueError for what is no JSON, too large or nested too deeply."""
    value = orjson.loads(bounded.read(path, LARGEST))  # gives up at 1,024 levels
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        level = [x for v in level for x in (v.values() if isinstance(v, dict) else v) if isinstance(x, dict | list)]
        if not level:
            return value
    raise ValueError(f"nested more than {DEEPEST} levels deep")


def deep(data: bytes) -> bool:
    """True if JSON is nested more than `DEEPEST` levels deep, or leaves so many brackets open. Does not parse it."""
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return False
    left = _STRING.sub(b"", data).translate(_ALIKE, _NO_BRACKET)
    for _ in range(DEEPEST):  # the innermost level goes each time
        left = left.replace(b"[]", b"")
    return bool(left)
