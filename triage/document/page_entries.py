"""Entries that reports show beside the result: pages of rules and causes, rooflines, decision paths."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Struct

from triage.document.entries import CiteEntry

STATES = ("limits", "passes", "not measured", "noted")  # of a step: what its number says about the workload


class ThresholdEntry(TypedDict):
    """A threshold in force. heuristic: without a source."""

    name: str
    value: float
    unit: str
    why: str
    heuristic: bool


class RuleEntry(TypedDict):
    """A rule that fired or is ruled out, as its page in a report shows it. gain: how its saving is modelled."""

    id: str
    name: str
    title: str
    summary: str
    gain: str
    thresholds: list[ThresholdEntry]
    cites: list[CiteEntry]


class LookalikeEntry(TypedDict):
    """A cause that looks the same, and how to tell it apart."""

    title: str
    how: str


class CauseEntry(TypedDict):
    """A cause, as its page in a report shows it. explains: titles of its effects."""

    id: str
    title: str
    meaning: str
    explains: list[str]
    confused_with: list[LookalikeEntry]
    rules: list[str]
    cites: list[CiteEntry]


class RooflineEntry(TypedDict):
    """A workload under the roofs of its GPU. intensity: FLOP/byte. rate, peak: FLOP/s of the precision with the higher rate.
    bandwidth: byte/s. None: unknown."""

    intensity: float
    rate: float
    precision: str
    peak: float | None
    bandwidth: float | None


class StepEntry(TypedDict):
    """One question of a decision path: the metric asked about ("" for none), its value and the edge in words, the answer."""

    ask: str
    metric: str
    value: str
    edge: str
    answer: str
    state: Annotated[str, STATES]


class NumberEntry(TypedDict):
    """One number of a workload, in canonical units. formula: how it was computed, "" for an exported one."""

    metric: str
    value: float
    unit: str
    formula: str


class NearEntry(TypedDict):
    """A cause whose rule failed one comparison by little."""

    cause: str
    rule: str
    why: str


class OpenEntry(TypedDict):
    """A cause that no rule could test, and the metrics that the easiest of them lacks."""

    cause: str
    missing: list[str]


class LikeEntry(TypedDict):
    """A cause that looks like the root cause, and how to tell them apart."""

    cause: str
    how: str


class WeighedEntry(TypedDict):
    """What a reader needs to weigh a verdict. counts: absolute; ratios: that decide; stalls: largest first. lacking: groups of
    metrics without which silence means nothing."""

    counts: list[NumberEntry]
    ratios: list[NumberEntry]
    stalls: list[NumberEntry]
    near: list[NearEntry]
    open: list[OpenEntry]
    alike: list[LikeEntry]
    lacking: list[str]


class RuledOut(Struct, frozen=True, order=True):
    """A cause that does not hold on one workload, a row of its capture. covered: another finding explains its numbers."""

    rule: str
    row: int
    title: str
    reason: str
    covered: bool = False

    @property
    def why(self) -> str:
        """Its title and the reason, as reports print them."""
        return f"{self.title}: {self.reason}"
