"""Words that reports, docs and help no longer use, and what they say instead (retired_words.toml beside this file)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_suffix(".toml")


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    entries = tomllib.loads(_FILE.read_text("utf-8")).items()
    return tuple((re.compile(rf"\b(?:{p})\b", re.IGNORECASE), instead) for p, instead in entries)


def retired(text: str) -> Iterator[tuple[str, str]]:
    """(words found in a text, what to write instead), each once."""
    found = ((m[0], instead) for pattern, instead in _patterns() for m in pattern.finditer(text))
    yield from dict.fromkeys(found)
