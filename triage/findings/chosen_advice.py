"""Advice for one kernel: of its owner where the user cannot edit it, in the words of its language, each measure once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from triage.ground.kernel_owners import owner_of

SAME = (
    0.6  # share of the shorter line's words from which on two lines are the same measure (judged on the samples' lists)
)
MIN_SHARED_WORDS = 3  # words that they share at least
_WORD = re.compile(r"[a-z_]{4,}")
_COMMON = frozenset(
    "also each from have into instead less more only than that them then they this when where which with".split()
)


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


def distinct(lines: Iterable[str]) -> list[str]:
    """The lines without those that repeat an earlier one: a rule's advice and its cause's often say the same in other words."""
    known: dict[str, frozenset[str]] = {}
    for line in lines:
        # a plural is no other word
        words = frozenset(w.rstrip("s") for w in _WORD.findall(line.lower())) - _COMMON
        if line not in known and not any(_alike(words, k) for k in known.values()):
            known[line] = words
    return list(known)


def _alike(a: frozenset[str], b: frozenset[str]) -> bool:
    both = len(a & b)
    return both >= MIN_SHARED_WORDS and both >= SAME * min(len(a), len(b))
