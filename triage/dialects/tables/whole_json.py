"""JSON exports that are small enough to be held whole."""

from __future__ import annotations

from typing import Any

import orjson

from triage.capture.source import Source
from triage.ground.errors import BadCapture


def loads(source: Source, limit: int, tool: str, advice: str) -> Any:
    """The value of a file of at most `limit` bytes; raises BadCapture above it, and for damage with the advice."""
    try:
        return orjson.loads(source.text(limit).encode())
    except ValueError as e:
        raise BadCapture(f"{source.path}: damaged JSON of {tool} ({str(e)[:80]})", advice) from e
