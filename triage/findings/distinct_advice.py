"""Each measure once: a rule's advice and its cause's often say the same in other words."""

from __future__ import annotations

import re
from collections.abc import Iterable

SAME = (
    0.6  # share of the shorter line's words from which on two lines are the same measure (judged on the samples' lists)
)
MIN_SHARED_WORDS = 3  # words that they share at least
_WORD = re.compile(r"[a-z_]{4,}")
_COMMON = frozenset(
    "also each from have into instead less more only than that them then they this when where which with".split()
)


def distinct(lines: Iterable[str]) -> list[str]:
    """The lines without those that repeat an earlier one."""
    out: list[str] = []
    known: list[frozenset[str]] = []
    for line in lines:
        words = _words(line)
        if line not in out and not any(_alike(words, k) for k in known):
            out.append(line)
            known.append(words)
    return out


def _words(line: str) -> frozenset[str]:
    # a plural is no other word
    return frozenset(w.rstrip("s") for w in _WORD.findall(line.lower())) - _COMMON


def _alike(a: frozenset[str], b: frozenset[str]) -> bool:
    both = len(a & b)
    return both >= MIN_SHARED_WORDS and both >= SAME * min(len(a), len(b))
