"""The way a workload took through the method's tree: each question, the number on the edge, the branch taken.

The rules decide; this retells, for people, the questions they asked in the order of the P3 method. Every limit on an
edge is a rule's own (--set included), so the edges never disagree with the findings.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from triage import schema
from triage.diagnosis.judged import Diagnosis
from triage.diagnosis.limiter import grade, unit_names
from triage.diagnosis.outcomes import Outcomes
from triage.diagnosis.sentences import FIELDS
from triage.ground.method import CLUSTER, GOOD_HIT_RATE, GREAT_HIT_RATE
from triage.ground.units import show
from triage.ground.wording import points, whole_percent

# state of a step: what the number says about the workload
LIMITS, PASSES, OPEN, NOTED = STATES = ("limits", "passes", "not measured", "noted")
_WORKING = ("sm", "l1tex", "l2", "vram")
_MEANS = {"long scoreboard": "data from L1/TEX", "barrier": "their group at barriers"}  # stalls with a plainer name
_FLIP = {">": "≤", "<": "≥"}


class Step(TypedDict):
    """One question of the way: the metric asked about ("" for none), its value and the edge in words, the answer."""

    ask: str
    metric: str
    value: str
    edge: str
    answer: str
    state: str


class Decisions:
    """Ways of the workloads that some outcomes are about."""

    def __init__(self, d: Diagnosis, outcomes: Outcomes) -> None:
        self.d, self.view = d, outcomes.view
        self.clusters = outcomes.limits.clusters
        self.v1 = d.method == "v1"
        self.high, self.low = self.limit("high-sol", "high"), self.limit("busy-top-unit", "busy")

    def at(self, metric: str, i: int) -> float:
        """A metric of the i-th workload; NaN when missing."""
        values = self.view[metric]
        return float(values[i]) if np.ndim(values) else float(values)

    def limit(self, rule: str, name: str) -> float:
        """A rule's threshold in force. A rule that is not reported (--select, --ignore) still holds it.

        NaN, which no value crosses, in a rulebook that lacks the rule altogether. Raises KeyError where the rule has no
        threshold of that name.
        """
        found = self.d.book.by_name.get(rule)
        return float("nan") if found is None else found.threshold(name, self.d.method)

    def between(self) -> str:
        """The edge of the middle band."""
        return f"{whole_percent(self.low)} to {whole_percent(self.high)}"

    def steps(self, i: int) -> list[Step]:
        """The way of the i-th workload."""
        c = self.clusters
        top = float(c.top[i]) if len(c.names) else float("nan")
        if top != top:
            answer = "not measured: the tree starts with the SOL of two units at least"
            return [_step("Top SOL", "sol.top", "", "", answer, OPEN)]
        primary, secondary = unit_names(c, c.primary, i), unit_names(c, c.secondary, i)
        out = [self._top(i, top)]
        behind = f"next: {' + '.join(secondary)}" if secondary else "nothing close behind"
        out.append(_step(f"Limiters within {points(CLUSTER)}", "sol.top", " + ".join(primary), "", behind, NOTED))
        if not top > self.high:
            out += self._pathologies(i)
        leading = {u for k, u in enumerate(c.names) if c.primary[k, i]}
        if leading & set(_WORKING):
            out += self._sm(i, top)
        else:
            ask = "Is the SM, or the memory it waits for, on top?"
            out.append(_step(ask, "", " + ".join(primary), "", "no: a fixed-function unit leads", NOTED))
        out += self._caches(i, leading | {u for k, u in enumerate(c.names) if c.secondary[k, i]})
        return out

    def _top(self, i: int, top: float) -> Step:
        value = f"{FIELDS['top_unit'](self.view, i)} {show(top, 'ratio')}"
        if top > self.high:
            return _step(
                "Top SOL", "sol.top", value, f"> {show(self.high, 'ratio')}", "A: remove work from the top unit", LIMITS
            )
        if top < self.low:
            answer = "B: raise the SOL, something keeps the units waiting"
            return _step("Top SOL", "sol.top", value, f"< {show(self.low, 'ratio')}", answer, NOTED)
        return _step("Top SOL", "sol.top", value, self.between(), "A and B: remove work and raise the SOL", LIMITS)

    def _question(self, ask: str, metric: str, i: int, bad: str, limit: float, yes: str, no: str) -> Step:
        value = self.at(metric, i)
        if value != value:
            return _step(ask, metric, "", "", "not measured", OPEN)
        hit = value > limit if bad == ">" else value < limit
        edge = f"{bad if hit else _FLIP[bad]} {show(limit, 'ratio')}"
        return _step(
            ask, metric, show(value, schema.get(metric).unit), edge, yes if hit else no, LIMITS if hit else PASSES
        )

    def _pathologies(self, i: int) -> list[Step]:
        strict = self.at("kind.fullscreen", i) == 1 or self.at("kind.compute", i) == 1
        floor = self.limit("idle-sms", "screen_floor" if strict else "geometry_floor")
        idle = self.limit("cpu-bound-workload", "idle")
        return [
            self._question("GPU idle?", "gpu.idle", i, ">", idle, "the CPU does not feed it", "not CPU-bound"),
            self._question(
                "SMs active?",
                "sm.active",
                i,
                "<",
                floor,
                "SMs idle: imbalance, small dispatches or drains",
                "SMs have work",
            ),
        ]

    def _sm(self, i: int, top: float) -> list[Step]:
        pair = ("sm.throughput_active", "sm.issue_per_active")  # the second revision's metric, then the first's
        order = pair[::-1] if self.v1 else pair
        metric = next((m for m in order if self.at(m, i) == self.at(m, i)), order[0])
        value, saturated = self.at(metric, i), self.limit("issue-saturated", "saturated")
        ask = "How busy is the SM while active?"
        if value != value:
            return [_step(ask, metric, "", "", "not measured: case C and D cannot be told apart", OPEN)]
        shown = show(value, "ratio")
        if value > saturated:
            text = "C: issue-limited; more warps would not help"
            return [_step(ask, metric, shown, f"> {show(saturated, 'ratio')}", text, LIMITS), *self._interface(i)]
        if value < self.low:
            edge, text = f"< {show(self.low, 'ratio')}", "D: latency shows; more warps or fewer stalls"
        else:
            edge, text = self.between(), "C and D: trim work, and hide latency"
        steps = [_step(ask, metric, shown, edge, text, LIMITS)]
        if top <= self.high:
            full = self.limit("low-occupancy-sm", "full")
            steps.append(
                self._question(
                    "D1: warp slots used?",
                    "sm.occupancy",
                    i,
                    "<",
                    full,
                    "too few warps to hide latency",
                    "occupancy is not it",
                )
            )
        return [*steps, *self._stalls(i)]

    def _interface(self, i: int) -> list[Step]:
        """Equal SOL of SM and TEX means the path between them, but only where both are high."""
        gap = self.at("sol.sm_tex_gap", i)
        if gap != gap or min(self.at("sm.throughput", i), self.at("l1tex.throughput", i)) <= self.high:
            return []
        equal = self.limit("sm-tex-interface", "equal")
        near = gap <= equal
        edge = f"{'≤' if near else '>'} {points(equal)}"
        answer = "the SM-TEX interface" if near else "no"
        return [
            _step(
                "SM and TEX equally high?",
                "sol.sm_tex_gap",
                f"{gap * 100:.1f} points",
                edge,
                answer,
                LIMITS if near else PASSES,
            )
        ]

    def _stalls(self, i: int) -> list[Step]:
        ask = "D2: what do warps wait for?"
        share, notable = self.at("stall.top_share", i), self.limit("issue-stalls", "notable")
        if share != share:
            return [_step(ask, "stall.top_share", "", "", "not measured", OPEN)]
        reason = FIELDS["top_stall"](self.view, i)
        hit = share > notable
        answer = f"they wait for {_MEANS.get(reason, reason)}" if hit else "no stall stands out"
        edge = f"{'>' if hit else '≤'} {show(notable, 'ratio')}"
        metric = f"stall.{reason.replace(' ', '_')}"
        return [_step(ask, metric, f"{reason} {show(share, 'ratio')}", edge, answer, LIMITS if hit else PASSES)]

    def _caches(self, i: int, involved: set[str]) -> list[Step]:
        out = []
        poor, great = GOOD_HIT_RATE[self.d.method], GREAT_HIT_RATE
        edges = {
            "great": f"> {show(great, 'ratio')}",
            "good": f"{whole_percent(poor)} to {whole_percent(great)}",
            "poor": f"< {show(poor, 'ratio')}",
        }
        for name, metric, units in (
            ("TEX", "l1tex.hit_rate", {"l1tex", "l2", "vram"}),
            ("L2", "l2.hit_rate", {"l2", "vram"}),
        ):
            rate = self.at(metric, i)
            if rate != rate or not involved & units:
                continue
            g = grade(rate, self.d.method)
            answer = "poor: the access pattern is a suspect" if g == "poor" else g
            out.append(
                _step(
                    f"{name} hit rate?",
                    metric,
                    show(rate, "ratio"),
                    edges[g],
                    answer,
                    LIMITS if g == "poor" else PASSES,
                )
            )
        return out


def _step(ask: str, metric: str, value: str, edge: str, answer: str, state: str) -> Step:
    return {"ask": ask, "metric": metric, "value": value, "edge": edge, "answer": answer, "state": state}
