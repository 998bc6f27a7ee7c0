"""Facts of rule scope `frame` that passes carry: of the frame as a whole, and of each marker by itself.

A rule that one marker fulfils alone is a finding of that marker; what only adds up over small ones stays with the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from triage.capture.arrays import Facts
from triage.ground.phrasing import first_of

_NAMED = 3
MAX_PLACES = 20  # markers judged by themselves, longest first


class Spot(Struct, frozen=True):
    """Where something was found. place: the marker's workload, -1 for none. parts: fact -> part of its time.

    origin: the cells that were counted, "" where `text` says all.
    """

    place: int
    time_ns: float
    text: str
    parts: Mapping[str, float] = field(default_factory=dict)
    origin: str = ""


class PassFacts(Struct, frozen=True):
    """Facts of the frame, and of its markers by workload. origins: fact -> marker -> the cells that were counted."""

    whole: Facts = field(default_factory=dict)
    placed: dict[int, Facts] = field(default_factory=dict)
    origins: dict[str, dict[int, str]] = field(default_factory=dict)


def share_facts(share: str, spots: Iterable[Spot], total: float, none: str, parts: Sequence[str] = ()) -> PassFacts:
    """Facts named `share` (time in the spots / total) and `parts` (their mean over that time). none: the text without spots."""
    found = sorted(spots, key=lambda s: -s.time_ns)
    if not found:
        return PassFacts(dict.fromkeys((share, *parts), (0.0, none)))
    by_place: dict[int, list[Spot]] = {}
    for s in found:
        by_place.setdefault(s.place, []).append(s)
    longest = sorted(((w, own) for w, own in by_place.items() if w >= 0), key=lambda x: -sum(s.time_ns for s in x[1]))
    return PassFacts(
        _facts(share, found, total, parts),
        {w: _facts(share, own, total, parts) for w, own in longest[:MAX_PLACES]},
        {share: {w: own[0].origin for w, own in longest[:MAX_PLACES] if own[0].origin}},
    )


def _facts(share: str, spots: Sequence[Spot], total: float, parts: Sequence[str]) -> Facts:
    time, text = sum(s.time_ns for s in spots), first_of([s.text for s in spots], _NAMED)
    means = {name: (sum(s.time_ns * s.parts[name] for s in spots) / time, text) for name in parts}
    return {share: (time / total, text), **means}


def join(found: Iterable[PassFacts]) -> PassFacts:
    """All of them as one."""
    out = PassFacts()
    for one in found:
        out.whole.update(one.whole)
        out.origins.update(one.origins)
        for w, facts in one.placed.items():
            out.placed.setdefault(w, {}).update(facts)
    return out
