"""What a gate and a trend say, as plain data (triage-history/1). Times are ns, shares 0-1, dates seconds since 1970."""

from __future__ import annotations

from typing import TypedDict

SCHEMA = "triage-history/1"


class Named(TypedDict):
    """A build."""

    revision: str
    branch: str
    at: int
    labels: list[str]
    runs: int


class Moved(TypedDict):
    """A marker whose level moved. by: the build that brought it; between: all that may have; seen: since when it is known.

    now_ns: the level of the judged build. cause: the root cause that leads it now (id and title), was: the one before; None where
    none is known.
    """

    marker: list[str]
    verdict: str
    before_ns: float | None
    after_ns: float | None
    now_ns: float | None
    change: float
    interval: list[float]
    by: Named
    between: list[str]
    seen: str
    cause: str | None
    title: str | None
    was: str | None
    failing: bool


class Unsure(TypedDict):
    """A marker of the judged build that looks slower, within noise. needs: further runs of the build. measured: the noise is."""

    marker: list[str]
    change: float
    interval: list[float]
    needs: int | None
    measured: bool


class Over(TypedDict):
    """A marker over its budget in the judged build; budget: as triage.toml names it."""

    marker: list[str]
    budget: str
    allowed_ns: float
    ns: float


class Part(TypedDict):
    """What a marker adds to a change of the frame, ns."""

    marker: list[str]
    adds_ns: float


class Added(Part):
    """A part of the frame's change since the build before the first that is left. by: build that brought it. came: new, gone or ""."""

    by: str
    came: str


class Gate(TypedDict):
    """The verdict on a build. against: what it was held against, in words. failed: lines that name what failed.

    since, parts: the last build before the frame's change, "" without one, and what adds most to it.
    of: the scope where it names the whole, "" where it is the first of a flat list. visible: no slow-down above it is
    missed in any marker, a share; noisiest: the marker that sets it; typical: the same of the median marker.
    """

    schema: str
    kind: str
    scope: str
    of: str
    device: str
    build: Named
    against: str
    builds: int
    runs: int
    visible: float | None
    typical: float | None
    noisiest: list[str]
    slower: list[Moved]
    faster: list[Moved]
    since: str
    parts: list[Added]
    cannot_tell: list[Unsure]
    over_budget: list[Over]
    notes: list[str]
    failed: list[str]


class Point(TypedDict):
    """One build of a trend; low, high: its shortest and longest run; runs: each, ns."""

    build: Named
    ns: float
    low: float
    high: float
    runs: list[float]


class Line(TypedDict):
    """The trend of the frame, of markers together, or of a cause (its saving). parts: per change of the frame, its largest.

    new: True if builds before its first one ran without it.
    """

    schema: str
    kind: str
    what: str
    of: str
    scope: str
    device: str
    new: bool
    points: list[Point]
    moved: list[Moved]
    parts: list[list[Part]]
