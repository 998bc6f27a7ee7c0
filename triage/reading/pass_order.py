"""Roles of passes, by their names (pass_roles.toml), and which of them could be reordered.

An export seldom says which pass reads what. Passes that are not known to be independent are not offered for overlap.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence, Set
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct

from triage.capture.capture import SEP


class Role(Struct, frozen=True):
    """Names of one kind of pass and what it reads. layer: how they draw, "opaque" or "blended"; "" where it differs.

    short: words that are found as whole words only, `ui` is no part of `build`; words: those that may be part of another.
    """

    id: str
    short: re.Pattern[str]
    words: tuple[str, ...]
    reads: frozenset[str]
    layer: str


class Fences(Struct, frozen=True):
    """Which pass is moved, where it starts and is waited for: positions in the order of the frame, -1 for none."""

    moved: int
    after: int
    before: int


@cache
def roles() -> tuple[Role, ...]:
    """All roles, in the order in which they are tried."""
    text = Path(__file__).with_name("pass_roles.toml").read_text(encoding="utf-8")
    return tuple(
        Role(r["id"], *_words(r["words"]), frozenset(r["reads"]), r.get("layer", ""))
        for r in tomllib.loads(text)["role"]
    )


def _words(words: Sequence[str]) -> tuple[re.Pattern[str], tuple[str, ...]]:
    short = [re.escape(word.strip()) for word in words if len(word.strip()) < 5]
    found = re.compile(rf"\b(?:{'|'.join(short)})\b" if short else r"(?!)")
    return found, tuple(word for word in words if len(word.strip()) >= 5)


@lru_cache(16_384)
def role(name: str) -> Role | None:
    """Role of a pass by its name; None if unknown."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    plain = re.sub(r"[^a-z0-9 -]+", " ", plain)
    tight = plain.replace(" ", "")
    found = (r for r in roles() if r.short.search(plain) or any(w in plain or w in tight for w in r.words))
    return next(found, None)


def layer(path: str, name: str) -> str:
    """How a pass draws, "opaque" or "blended", by its own name, else by the nearest marker around it; "" where none says."""
    found = (r.layer for level in (name, *reversed(path.split(SEP))) if (r := role(level)) and r.layer)
    return next(found, "")


def movable(
    order: Sequence[Role | None],
    compute: int,
    beside: int,
    barriers: Sequence[float] | None = None,
    groups: Sequence[int] = (),
) -> Fences | None:
    """Where the compute pass at a position could run beside another one; None where it could not, or that is unknown.

    order: roles of all passes in the order of the frame. The compute pass passes nothing it needs and nothing that needs it;
    the other one stays where it is, for it may draw. barriers: how many stand before each pass, None where the export lists
    none: what no barrier parts needs nothing of each other, whatever the names say. groups: the marker of each pass, -1 for
    none: what one marker holds stays in its order.
    """
    if barriers is not None and not any(barriers[min(compute, beside) + 1 : max(compute, beside) + 1]):
        return _within_barriers(barriers, compute)
    guest, host = order[compute], order[beside]
    if guest is None or _reads(guest, host) or _reads(host, guest):
        return None
    written = guest.reads & {r.id for r in order[:compute] if r is not None}
    # what the name of the host does not say is known only where everything the guest reads is accounted for
    if (guest.reads and not written) or (host is None and written < guest.reads):
        return None
    # the guest is started and awaited around the other one
    siblings = {i for i, group in enumerate(groups) if group >= 0 and group == groups[compute]}
    mine = _window(order, compute, guest, siblings)
    return mine if mine.after < beside and (mine.before < 0 or mine.before > beside) else None


def _window(order: Sequence[Role | None], at: int, own: Role, siblings: Set[int]) -> Fences:
    """Between the last pass that a pass reads and the first that reads it."""
    after = max((i for i in range(at) if i in siblings or _reads(own, order[i])), default=-1)
    before = min((i for i in range(at + 1, len(order)) if i in siblings or _reads(order[i], own)), default=-1)
    return Fences(at, after, before)


def _within_barriers(barriers: Sequence[float], compute: int) -> Fences:
    """Between the last barrier before a pass and the first behind it: there it may start, there it is waited for."""
    own = next((i for i in range(compute, 0, -1) if barriers[i]), 0)
    behind = next((i for i in range(compute + 1, len(barriers)) if barriers[i]), -1)
    return Fences(compute, own - 1, behind)


def _reads(reader: Role | None, writer: Role | None) -> bool:
    return reader is not None and writer is not None and writer.id in reader.reads
