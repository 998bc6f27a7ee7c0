"""A name that a rule or cause file writes for something defined elsewhere: where it stands, and what was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from triage import schema
from triage.ground.errors import RuleError
from triage.ground.phrasing import did_you_mean
from triage.rulebook.rule import Cite


def meant(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` for the closest known name; "" where none is close."""
    return did_you_mean(difflib.get_close_matches(name, list(known), 1))


def meant_metric(name: str) -> str:
    """The same for a metric's id or label; where none is close, where they are listed."""
    return did_you_mean(schema.close(name)[:1], "see: triage list metrics")


def cites_of(data: Mapping[str, Any], fail: Callable[[str, str], RuleError]) -> tuple[Cite, ...]:
    """The sources that a file names under `cites`; raises what `fail` makes of a key and a problem."""
    out = []
    for key, v in (data.get("cites") or {}).items():
        if not isinstance(v, dict) or not v.get("text"):
            raise fail("cites", f"cite {key!r} needs `text` (and `url` where there is one)")
        url = str(v.get("url") or "")
        # the page makes a link of it: javascript: and data: addresses would run
        if url and not re.match(r"https?://[^\s\"'<>]+\Z", url):
            raise fail("cites", f"cite {key!r}: {url!r} is not a web address")
        out.append(Cite(key, " ".join(str(v["text"]).split()), url))
    return tuple(out)


def line_of(file: str, key: str, name: str = "", after: int = 1) -> int:
    """Line of `name` in the block of a key, at the margin of line `after`; that of the key where it is not written there.

    A key that is missing from a section is looked up in the whole file; `after` where it is missing there too.
    """
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return 1
    margin = " " * (len(lines[after - 1]) - len(lines[after - 1].lstrip())) if after <= len(lines) else ""
    first = next((n for n, line in enumerate(lines[after - 1 :], after) if line.startswith(f"{margin}{key}:")), 0)
    if not first:
        return (margin and line_of(file, key, name)) or after
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
    for n, line in enumerate(lines[first - 1 :], first):
        # the block ends where the next key begins at the margin
        if n > first and re.match(rf"{margin}[^\s#-]", line):
            break
        if name and word.search(line.partition(":")[2] if n == first else line):
            return n
    return first
