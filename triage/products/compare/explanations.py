"""What a counter's change means beside the time.

The duration decides; a counter only explains it. The readings follow the article's three experiments
(NVIDIA, The Peak-Performance-Percentage Analysis Method, Nov 2018, tables 1 to 3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from triage import schema
from triage.products.compare.item import SHAPE
from triage.products.noise import FASTER, SLOWER

Sense = str  # "good", "bad" or "" when the movement is neither by itself
POINTS = 0.01  # a ratio that moves by less than one point has not moved
TIME = "gpu.time"
SHARE = 0.02  # nor has another counter that moves by less than this part of itself
OCCUPANCY = frozenset(
    "sm.active_warps sm.occupancy sm.occupancy_elapsed sm.warps_cs sm.warps_ps sm.warps_vtg occupancy.compute "
    "occupancy.fragment occupancy.vertex eu.occupancy warp.active_per_scheduler".split()
)
ISSUE = frozenset(
    "sm.issue_per_active sm.issue_per_elapsed sm.throughput_active sm.ipc_active sm.ipc_elapsed sm.busy sm.inst_per_elapsed".split()
)


class Move(Struct, frozen=True):
    """One counter before and after (canonical units), with the verdict on time and all counters of both sides."""

    metric: str
    before: float
    after: float
    verdict: str
    first: Mapping[str, float]
    second: Mapping[str, float]

    @property
    def up(self) -> bool:
        """Did it rise?"""
        return self.after > self.before

    @property
    def timed(self) -> bool:
        """Are the times of both sides known?"""
        return TIME in self.first and TIME in self.second


def moved(metric: str, before: float, after: float, noise: float = 0.0) -> bool:
    """True if the change exceeds the noise. noise: relative spread of the repeats."""
    ratio = schema.known(metric) and schema.get(metric).unit == "ratio"
    if ratio and abs(after - before) < POINTS:
        return False
    return abs(after - before) > max(noise, 0.0 if ratio else SHARE) * max(abs(before), abs(after))


def reading(move: Move, noise: float = 0.0) -> tuple[str, Sense]:
    """(sentence, sense) for one counter."""
    if not moved(move.metric, move.before, move.after, noise):
        return "unchanged", ""
    for kind, function in _READINGS:
        if kind(move.metric):
            return function(move)
    return _by_schema(move)


def _time(m: Move) -> tuple[str, Sense]:
    return {FASTER: ("less time", "good"), SLOWER: ("more time", "bad")}.get(m.verdict, ("within noise", ""))


def _occupancy(m: Move) -> tuple[str, Sense]:
    if not m.up and m.verdict == FASTER:
        return "not a regression: fewer warps, yet faster", ""
    if not m.up:
        return "fewer warps to hide latency", "bad" if m.verdict == SLOWER else ""
    if m.verdict == SLOWER:
        return "more warps, yet slower: occupancy alone is not speed", ""
    if m.verdict == FASTER:
        return "more warps hide more latency", "good"
    return "more warps, no effect on the time", ""


def _issue(m: Move) -> tuple[str, Sense]:
    # a rate per cycle: beside another clock or other idle SMs it says nothing of the number of instructions
    risen = {FASTER: ("fewer idle issue slots", "good"), SLOWER: ("higher, yet slower", "")}
    fallen = {FASTER: ("lower, yet faster", ""), SLOWER: ("more idle issue slots", "bad")}
    return risen.get(m.verdict, ("higher", "")) if m.up else fallen.get(m.verdict, ("lower", ""))


def _throughput(m: Move) -> tuple[str, Sense]:
    if m.verdict == FASTER:
        return ("closer to its peak", "good") if m.up else ("less work for this unit", "good")
    if m.verdict == SLOWER:
        return ("more work for this unit", "bad") if m.up else ("lower only because the time rose", "")
    return "busier" if m.up else "less busy", ""


def _hit_rate(m: Move) -> tuple[str, Sense]:
    if m.up:
        share = "a smaller share of requests reaches slower memory"
        return ("higher, yet slower", "") if m.verdict == SLOWER else (share, "good")
    if m.verdict == FASTER:
        return "not a regression: fewer hits, yet faster", ""
    return "a larger share of requests reaches slower memory", "bad" if m.timed else ""


def _stall(m: Move) -> tuple[str, Sense]:
    if m.up:
        return ("larger share of fewer stalls", "") if m.verdict == FASTER else ("more stalls for this reason", "bad")
    return ("smaller share of more stalls", "") if m.verdict == SLOWER else ("fewer stalls for this reason", "good")


def _shape(m: Move) -> tuple[str, Sense]:
    both = [(m.first.get(x), m.second.get(x)) for x in SHAPE]
    if m.metric in SHAPE:
        return "different launch shape", ""
    if all(b and b == a for b, a in both):
        return f"{'more' if m.up else 'less'}, at the same grid and block", ""
    return "different launch shape or build", ""


def _by_schema(m: Move) -> tuple[str, Sense]:
    better = schema.get(m.metric).better if schema.known(m.metric) else ""
    word = "higher" if m.up else "lower"
    if not better:
        return "", ""  # neither good nor bad by itself
    if better == "high" and 0 in (m.before, m.after):
        return f"nothing counted {'before' if m.up else 'after'}", ""  # no such operation: no low value
    if (better == "high") == m.up:
        return (f"{word}, yet slower", "") if m.verdict == SLOWER else (f"{word} (better)", "good")
    if m.verdict == FASTER:
        return f"{word}, but faster: not a regression", ""
    return f"{word} (worse)", "bad"


def _is(*names: str) -> Callable[[str], bool]:
    return lambda metric: metric in names


def _ends(*tails: str) -> Callable[[str], bool]:
    return lambda metric: metric.endswith(tails)


# The first that knows a metric reads it; what none knows is read by its schema.
_READINGS: tuple[tuple[Callable[[str], bool], Callable[[Move], tuple[str, Sense]]], ...] = (
    (_is(TIME), _time),
    (_is(*OCCUPANCY), _occupancy),
    (_is(*ISSUE), _issue),
    (_ends(".hit_rate"), _hit_rate),
    (_ends("throughput"), _throughput),
    (lambda metric: metric.startswith(("stall.", "stall_cycles.")), _stall),
    (lambda metric: metric.startswith(("launch.", "occupancy.")), _shape),
)
