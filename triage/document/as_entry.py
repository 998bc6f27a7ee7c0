"""Entries of the result from objects whose fields have the names of its keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

Entry = TypeVar("Entry")


def as_entry(kind: Callable[..., Entry], source: object, **own: object) -> Entry:
    """An entry of a kind: `own` values, then the fields of the source; a text that may be null is null where it is empty."""
    entry: Any = {}
    for key, is_optional in _keys(kind).items():
        value = own[key] if key in own else getattr(source, key)
        entry[key] = None if value == "" and is_optional else value
    return entry  # type: ignore[no-any-return]


@cache
def _keys(kind: Any) -> dict[str, bool]:
    """Keys of a kind of entry in order; True where null is allowed."""
    return {key: type(None) in get_args(hint) for key, hint in get_type_hints(kind).items()}
