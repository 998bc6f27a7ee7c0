"""Advice about kernels that the user cannot edit: about the call, the operation, the compiler (owner_advice.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from triage.ground.kernel_owners import owner_of

_FILE = Path(__file__).with_suffix(".toml")


@cache
def table() -> Mapping[str, Mapping[str, Mapping[str, object]]]:
    """owner -> family ("" for all others) -> advice and source."""
    return tomllib.loads(_FILE.read_text("utf-8"))


def owner_advice(kernel: str) -> list[str]:
    """What to do about a kernel that the user cannot change; [] for the user's own and for work that is set aside."""
    owner = owner_of(kernel)
    if owner is None or owner.is_aside:
        return []
    families = table().get(owner.owner, {})
    entry = families.get(owner.family) or families.get("")
    lines = entry["advice"] if entry else []
    assert isinstance(lines, list)
    return [*lines[:1], *_tile(owner.tile), *lines[1:]]


def _tile(tile: tuple[int, int]) -> list[str]:
    return (
        [f"Its name tells an output tile of {tile[0]} x {tile[1]}: rows and columns in multiples of it waste nothing."]
        if all(tile)
        else []
    )
