"""Declarations of templates: a first line such as `{# escape: markdown #}`.

escape: how data is made harmless in this template, one of ESCAPES. suffix: ending of the report's file name where it
is not simply the template's own (`{# escape: jira; suffix: .jira.txt #}`).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from msgspec import Struct

from triage.files.bundled import share
from triage.ground.errors import ReportError

ESCAPES = ("html", "markdown", "jira", "text")
_FIRST = re.compile(r"\{#-?\s*escape:\s*(\w+)\s*(?:;\s*suffix:\s*([\w.-]+)\s*)?-?#\}")
# For user templates without a declaration of their own.
_BY_EXTENSION = {".html": "html", ".htm": "html", ".xml": "html", ".svg": "html", ".md": "markdown"}
_LONGEST = 200  # characters of a first line that are looked at


class Declared(Struct, frozen=True):
    """How a template escapes, and the suffix of files made with it."""

    escape: str
    suffix: str


@cache
def templates(product: str = "") -> dict[str, Path]:
    """format -> template of a product (a folder of reports/; "" is the diagnosis itself)."""
    found = sorted((share("reports") / product).glob("*.j2"))
    # up to the first dot: slack.txt.j2 is the format slack and makes .txt files
    return {p.name.split(".")[0]: p for p in found}


def read(path: Path, *, trusted: bool = True) -> Declared:
    """A template's declaration. Raises ReportError where it says nothing it can be held to.

    trusted: one of the project's own, which must declare itself; a user's may leave it to its extension.
    """
    own = path.name.removesuffix(".j2")
    suffix = f".{own.split('.', 1)[1]}" if "." in own else ".txt"
    # a user may name any file, an image of a gigabyte without one line end too: only its first characters are read
    with path.open(encoding="utf-8", errors="replace") as f:
        m = _FIRST.match(f.readline(_LONGEST))
    known = ", ".join(ESCAPES)
    if m is None:
        if trusted:
            raise ReportError(f"{path}:1: escaping not declared", f"begin with {{# escape: NAME #}} ({known})")
        return Declared(_BY_EXTENSION.get(Path(own).suffix.lower(), "text"), suffix)
    if m[1] not in ESCAPES:
        raise ReportError(f"{path}:1: unknown escaping {m[1]!r}", f"choose {known}")
    return Declared(m[1], m[2] or suffix)
