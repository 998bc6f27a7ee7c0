"""Who can change a kernel, by its name: the user, a library, a framework, a compiler (kernel_owners.toml beside this file)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct

_FILE = Path(__file__).with_suffix(".toml")
_ANONYMOUS_RE = re.compile(r"\(anonymous namespace\)|<unnamed>|\(anonymous\)")
MAX_NAME = 4096  # characters; a longer name has no owner


class Owner(Struct, frozen=True):
    """owner: library, framework, compiler ...; family: gemm, elementwise ...; is_aside: no work that a report should lead with.

    tile: rows and columns of the output block that a matrix product's name tells, (0, 0) where it does not. language: what it
    was written in, "" for CUDA and its like. is_once: moves each byte once, by the kind of its work.
    """

    id: str
    owner: str
    family: str
    is_aside: bool
    tile: tuple[int, int] = (0, 0)
    language: str = ""
    is_once: bool = False


class Pattern(Struct, frozen=True):
    """One pattern of the table. reads_template: the template arguments are searched too. example: a name it finds."""

    id: str
    regex: str
    reads_template: bool
    owner: str
    family: str
    is_aside: bool
    language: str
    is_once: bool
    example: str


@cache
def patterns() -> tuple[Pattern, ...]:
    """The table, in the order in which patterns are tried."""
    entries = tomllib.loads(_FILE.read_text("utf-8")).items()
    return tuple(
        Pattern(
            name,
            e["pattern"],
            e.get("template", False),
            e["owner"],
            e["family"],
            e.get("aside", False),
            e.get("language", ""),
            e.get("once", False),
            e["example"],
        )
        for name, e in entries
    )


@cache
def _compiled() -> tuple[tuple[Pattern, re.Pattern[str]], ...]:
    return tuple((p, re.compile(p.regex)) for p in patterns())


@lru_cache(maxsize=65_536)
def owner_of(kernel: str) -> Owner | None:
    """The owner of a kernel; None for the user's own and for names that tell nothing.

    Of a C++ name the function is read, its template arguments only for patterns that say so, its parameters never.
    """
    if len(kernel) > MAX_NAME:
        return None
    whole, function = _read(kernel)
    for p, regex in _compiled():
        if (m := regex.search(whole if p.reads_template else function)) is not None:
            found = m.groupdict()
            tile = (int(found.get("tm") or 0), int(found.get("tn") or 0))
            return Owner(p.id, p.owner, p.family, p.is_aside, tile, p.language, p.is_once)
    return None


@lru_cache(maxsize=65_536)
def may_have_owner(alike: str) -> bool:
    """False if no name has an owner that differs from this one in its digits alone; alike: with 0 for every digit.

    Of a million launches that a counter tells apart one name is looked at.
    """
    if len(alike) > MAX_NAME:
        return False
    whole, function = _read(alike)
    return any(regex.search(whole if reads_template else function) for regex, reads_template in _without_digits())


@cache
def _without_digits() -> tuple[tuple[re.Pattern[str], bool], ...]:
    """The patterns with 0 for every digit they ask for, but for counts in braces; whether they read the template."""
    return tuple((re.compile(re.sub(r"(?<!\{)\d", "0", p.regex)), p.reads_template) for p in patterns())


def _read(kernel: str) -> tuple[str, str]:
    """(name without parameters, its function without template arguments)."""
    whole = _without_parameters(_ANONYMOUS_RE.sub("anon", kernel).removeprefix("void "))
    return whole, whole.partition("<")[0]


def language_of(kernel: str, files: Iterable[str | None] = ()) -> str:
    """What a kernel was written in, where CUDA's and HIP's words are of no use to its author; "" elsewhere."""
    owner = owner_of(kernel)
    return "triton" if is_triton(kernel, files) else owner.language if owner is not None else ""


def is_triton(kernel: str, files: Iterable[str | None]) -> bool:
    """True for kernels that Triton compiled: by their name, or the user's own with source lines in Python files.

    Triton's symbols are plain C names; Numba and CuTe DSL, whose lines lie in Python files too, mangle theirs.
    """
    owner = owner_of(kernel)
    if owner is not None and (owner.language or owner.owner != "own"):
        return owner.language == "triton"
    return kernel.isidentifier() and any((f or "").endswith(".py") for f in files)


def _without_parameters(name: str) -> str:
    """The name before its parameter list; a cast in template arguments, such as `(int)4`, is no list."""
    depth = 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">" and name[i - 1 : i] != "-")
        if c == "(" and depth <= 0 and i:
            return name[:i]
    return name
