"""Advice about a kernel in the words of the language it was written in (language_advice.toml), and none that it cannot express."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_suffix(".toml")
# words of CUDA's and HIP's own dialect of C++, and those that other kinds of C have as well
_DIALECT_RE = re.compile(
    r"(?<![A-Za-z_])__[a-z]\w+|\b(?:cuda|hip)[A-Z]\w+|\bthreadIdx\b|-Xptxas|-maxrregcount|\bCUTLASS\b"
)
_OF_C_RE = re.compile(r"\b(?:float|double|int)[248]\b|#pragma|\bfunction pointers?\b")
_KINDS_OF_C = ("sycl", "opencl", "kokkos")
_DIALECTS = ("", "cuda", "hip")


@cache
def by_language() -> Mapping[str, Mapping[str, Mapping[str, object]]]:
    """language -> cause ("" for all others) -> advice and source."""
    return tomllib.loads(_FILE.read_text("utf-8"))


def language_advice(language: str, cause: str) -> list[str]:
    """What to do about a cause in a language's words, "" for any; [] where it has none of its own."""
    entry = by_language().get(language, {}).get(cause)
    lines = entry["advice"] if entry else []
    assert isinstance(lines, list)
    return list(lines)


def can_express(language: str, advice: str) -> bool:
    """False for advice with words that a language, or an API other than CUDA and HIP, does not have; "" for an unknown one."""
    if language in _DIALECTS:
        return True
    return not (_DIALECT_RE.search(advice) or (language not in _KINDS_OF_C and _OF_C_RE.search(advice)))
