"""Advice for one kernel: of its owner where the user cannot edit it, in the words of its language."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from triage.ground.kernel_owners import owner_of


@cache
def table(name: str) -> Mapping[str, Mapping[str, Mapping[str, list[str]]]]:
    """`owner_advice`: owner -> family; `language_advice`: language -> cause ("" for all others) -> advice and source."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text("utf-8"))


def owner_advice(kernel: str) -> list[str]:
    """What to do about a kernel that the user cannot change; [] for the user's own and for work that is set aside."""
    owner = owner_of(kernel)
    if owner is None or owner.is_aside:
        return []
    families = table("owner_advice").get(owner.owner, {})
    lines = (families.get(owner.family) or families.get("") or {}).get("advice", [])
    m, n = owner.tile
    tile = f"Its name tells an output tile of {m} x {n}: rows and columns in multiples of it waste nothing."
    return [*lines[:1], *([tile] if m and n else []), *lines[1:]]


def language_advice(language: str, cause: str) -> list[str]:
    """What to do about a cause in a language's words, "" for any; [] where it has none of its own."""
    return list(table("language_advice").get(language, {}).get(cause, {}).get("advice", []))
