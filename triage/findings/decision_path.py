"""Decision path of a workload through the P3 method: each question, its number and threshold, the branch taken.

The rules decide; this lists their questions in the order of the P3 method. Every threshold on the way belongs to a rule,
which names its step under `path:` (--set included), so the way never disagrees with the findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from triage.capture.arrays import Floats, Indices, Masks, distinct
from triage.derive.sm_activity import losses
from triage.diagnosis.diagnosis_result import Diagnosis
from triage.diagnosis.outcomes import Outcomes
from triage.document.bundle import Question
from triage.document.page_entries import STATES, StepEntry
from triage.ground.method import CLUSTER, GOOD_HIT_RATE, GREAT_HIT_RATE
from triage.ground.phrasing import points, whole_percent
from triage.ground.terminology import localize
from triage.ground.units import show
from triage.schema.derived import HARDWARE_UNITS

LIMITS, PASSES, OPEN, NOTED = STATES
_WORKING = ("sm", "l1tex", "l2", "vram")
_FLIP = {">": "≤", "<": "≥"}
HOLE = "{}"
PERCENT, POINTS = f"{HOLE} %", f"{HOLE} points"


class Shape(NamedTuple):
    """A step in words, whose number stands where `value` has HOLE."""

    ask: str
    metric: str
    value: str
    edge: str
    answer: str
    state: str

    def step(self, number: str = HOLE) -> StepEntry:
        """The step with its number written in."""
        return {
            "ask": self.ask,
            "metric": self.metric,
            "value": self.value.replace(HOLE, number),
            "edge": self.edge,
            "answer": self.answer,
            "state": self.state,
        }


# where, metric, value, edge, answer, state: the first that holds is a workload's
Branch = tuple[Masks, str, str, str, str, str]


class Decisions:
    """Decision paths of the workloads of some outcomes, question by question."""

    def __init__(self, d: Diagnosis, outcomes: Outcomes) -> None:
        self.d, self.view = d, outcomes.view
        self.clusters = outcomes.limits.clusters
        self.v1 = d.method == "v1"
        self.high, self.low = self.limit("high"), self.limit("low")
        self._known: dict[Shape, int] = {}

    def at(self, metric: str) -> Floats:
        """A metric of every workload; NaN when missing."""
        out: Floats = np.broadcast_to(self.view[metric], self.view.size)
        return out

    def limit(self, step: str) -> float:
        """The threshold in force of the rule that owns a step of PATH; one that is not reported (--select) still owns it.

        NaN, which no value crosses, in a rulebook without such a rule.
        """
        rule = self.d.book.path.get(step)
        return float("nan") if rule is None else rule.threshold(rule.path[step], self.d.method)

    def steps(self, i: int) -> list[StepEntry]:
        """The decision path of the i-th workload."""
        asked = [(q.shape[i], q.number[i]) for q in self.questions if q.shape[i] >= 0]
        return [_step(self.shapes[k], float(n)) for k, n in asked]

    @cached_property
    def shapes(self) -> list[Shape]:
        """The steps that occur."""
        self.questions  # noqa: B018  asking makes them
        return list(self._known)

    @property
    def templates(self) -> list[StepEntry]:
        """The steps that occur, HOLE where each has its number."""
        return [s.step() for s in self.shapes]

    @cached_property
    def questions(self) -> list[Question]:
        """Every question of the tree in its order; the same ones whatever is asked."""
        c = self.clusters
        with np.errstate(invalid="ignore"):
            known = np.isfinite(c.top) if len(c.names) else np.zeros(self.view.size, dtype=bool)
            open_ = known & ~(c.top > self.high)
            working = known & self._involves(c.primary, _WORKING)
            return [
                self._top(known),
                self._near(known),
                *self._pathologies(open_),
                self._fixed(known & ~working),
                *self._sm(working, open_),
                *self._caches(known),
            ]

    def _ask(self, ask: str, number: Floats, branches: Iterable[Branch]) -> Question:
        out = np.full(self.view.size, -1, dtype=np.int64)
        for where, *words in branches:
            free = where & (out < 0)
            if free.any():
                metric, *texts = words
                shape = Shape(localize(ask), metric, *map(localize, texts))
                out[free] = self._known.setdefault(shape, len(self._known))
        return Question(out, np.asarray(number, dtype=np.float64))

    def _involves(self, flags: Masks, units: Iterable[str]) -> Masks:
        rows = [flags[k] for k, u in enumerate(self.clusters.names) if u in units]
        return np.logical_or.reduce(rows) if rows else np.zeros(self.view.size, dtype=bool)

    def _top(self, known: Masks) -> Question:
        top, index = self.clusters.top, self.clusters.top_index
        above, below = f"> {show(self.high, 'ratio')}", f"< {show(self.low, 'ratio')}"
        between = f"{whole_percent(self.low)} to {whole_percent(self.high)}"
        blind = "not measured: needs % of peak of two units or more"
        branches: list[Branch] = [(~known, "sol.top", "", "", blind, OPEN)]
        for k, u in enumerate(self.clusters.names):
            mine, value = known & (index == k), f"{HARDWARE_UNITS[u]} {PERCENT}"
            branches += [
                (mine & (top > self.high), "sol.top", value, above, "A: cut work of the top unit", LIMITS),
                (mine & (top < self.low), "sol.top", value, below, "B: raise throughput, the units wait", NOTED),
                (mine, "sol.top", value, between, "between A and B: cut work and raise throughput", LIMITS),
            ]  # fmt: skip
        return self._ask("Top SOL", top, branches)

    def _near(self, known: Masks) -> Question:
        def answer(first: str, second: str) -> tuple[str, ...]:
            return "sol.top", first, "", f"next: {second}" if second else "no other unit close", NOTED

        return self._of_clusters(f"Top units within {points(CLUSTER)}", known, answer)

    def _fixed(self, where: Masks) -> Question:
        def answer(first: str, _: str) -> tuple[str, ...]:
            return "", first, "", "no: a fixed-function unit is on top", NOTED

        return self._of_clusters("SM or its memory path on top?", where, answer)

    def _of_clusters(self, ask: str, where: Masks, answer: Callable[[str, str], tuple[str, ...]]) -> Question:
        """A question whose answer the clusters are. Of these there may be hundreds: each workload looks its own up."""
        codes, clusters = self._clusters
        of = np.full(len(clusters), -1, dtype=np.int64)
        for k in distinct(codes[where]):
            metric, *words = answer(*clusters[k])
            of[k] = self._known.setdefault(Shape(localize(ask), metric, *map(localize, words)), len(self._known))
        return Question(np.where(where, of[codes], -1), self._none)

    @cached_property
    def _none(self) -> Floats:
        return np.full(self.view.size, np.nan)

    @cached_property
    def _clusters(self) -> tuple[Indices, list[tuple[str, str]]]:
        """First and second cluster of units: a number per workload, and the unit names of each number."""
        c = self.clusters
        codes = np.zeros(self.view.size, dtype=np.int64)
        names: list[tuple[list[str], list[str]]] = [([], [])]
        # ties in the order of the hardware table
        for rank in np.argsort(-c.sol, axis=0, kind="stable"):
            at = np.arange(self.view.size)
            role = np.where(c.primary[rank, at], 1, np.where(c.secondary[rank, at], 2, 0))
            step = np.where(role > 0, rank * 3 + role, 0)
            if not step.any():
                break
            # numbered afresh after each unit, so that numbers stay as few as what occurs
            wide = 3 * len(c.names) + 3
            seen, codes = np.unique(codes * wide + step, return_inverse=True)
            grown = []
            for before, more in (divmod(int(s), wide) for s in seen):
                first, second = (list(n) for n in names[before])
                if more:
                    unit, which = divmod(more, 3)
                    (first if which == 1 else second).append(HARDWARE_UNITS[c.names[unit]])
                grown.append((first, second))
            names = grown
        return codes, [(" + ".join(first), " + ".join(second)) for first, second in names]

    def _branches(self, where: Masks, metric: str, bad: str, limit: float, yes: str, no: str) -> list[Branch]:
        """Branches of a question about one metric and one limit."""
        value, edge = self.at(metric), show(limit, "ratio")
        hit = value > limit if bad == ">" else value < limit
        return [
            (where & np.isnan(value), metric, "", "", "not measured", OPEN),
            (where & hit, metric, PERCENT, f"{bad} {edge}", yes, LIMITS),
            (where, metric, PERCENT, f"{_FLIP[bad]} {edge}", no, PASSES),
        ]

    def _pathologies(self, where: Masks) -> list[Question]:
        strict = (self.at("kind.fullscreen") == 1) | (self.at("kind.compute") == 1)
        idle = self.limit("gpu-idle")
        yes, no = "SMs idle: imbalance, small dispatches or pipeline drains", "SMs have work"
        screen, geometry = self.limit("sm-active-screen"), self.limit("sm-active-geometry")
        return [
            self._ask("GPU idle?", self.at("gpu.idle"), self._branches(where, "gpu.idle", ">", idle, "CPU-bound", "not CPU-bound")),
            self._ask("SMs active?", self.at("sm.active"), [
                *self._branches(where & strict, "sm.active", "<", screen, yes, no),
                *self._branches(where & ~strict, "sm.active", "<", geometry, yes, no),
            ]),
        ]  # fmt: skip

    def _sm(self, where: Masks, open_: Masks) -> list[Question]:
        pair = ("sm.throughput_active", "sm.issue_per_active")  # the second revision's metric, then the first's
        order = pair[::-1] if self.v1 else pair
        saturated = self.limit("issue")
        blind = "not measured: case C or D"
        branches: list[Branch] = []
        value = self._none
        for metric in order:
            mine = self.at(metric)
            here = where & np.isnan(value) & np.isfinite(mine)
            value = np.where(np.isnan(value), mine, value)
            branches += [
                (here & (value > saturated), metric, PERCENT, f"> {show(saturated, 'ratio')}", "C: issue-bound; more warps do not help", LIMITS),
                (here & (value < self.low), metric, PERCENT, f"< {show(self.low, 'ratio')}", "D: latency-bound; more warps or fewer stalls", LIMITS),
                (here, metric, PERCENT, f"{whole_percent(self.low)} to {whole_percent(self.high)}", "between C and D: cut work and hide latency", LIMITS),
            ]  # fmt: skip
        branches.append((where, order[0], "", "", blind, OPEN))
        full = where & (value > saturated)
        waits = where & np.isfinite(value) & ~full
        low = self.limit("occupancy")
        slots = self._branches(
            waits & open_, "sm.occupancy", "<", low, "too few warps to hide latency", "occupancy is not the limit"
        )
        return [
            self._ask("SM throughput while active?", value, branches),
            self._interface(full),
            self._ask("D1: warp slots used?", self.at("sm.occupancy"), slots),
            self._stalls(waits),
        ]

    def _interface(self, where: Masks) -> Question:
        """Equal SOL of SM and TEX means the path between them, but only where both are high."""
        gap, equal = self.at("sol.sm_tex_gap"), self.limit("sm-tex-gap")
        both = np.minimum(self.at("sm.throughput"), self.at("l1tex.throughput"))
        asked = where & np.isfinite(gap) & ~(both <= self.high)
        return self._ask(
            "SM and TEX equally high?",
            gap,
            [
                (asked & (gap <= equal), "sol.sm_tex_gap", POINTS, f"≤ {points(equal)}", "the SM-TEX interface", LIMITS),
                (asked, "sol.sm_tex_gap", POINTS, f"> {points(equal)}", "no", PASSES),
            ],
        )  # fmt: skip

    def _stalls(self, where: Masks) -> Question:
        share, notable = self.at("stall.top_share"), self.limit("stall")
        have, stack = losses(self.view)
        top = stack.argmax(axis=0) if have else np.zeros(self.view.size, dtype=np.int64)
        some = stack.max(axis=0) >= 0 if have else np.zeros(self.view.size, dtype=bool)
        branches: list[Branch] = [(where & np.isnan(share), "stall.top_share", "", "", "not measured", OPEN)]
        for k, name in enumerate((*have, "unknown")):
            mine = where & (~some if k == len(have) else some & (top == k))
            reason = name.replace("_", " ")
            metric, value = f"stall.{reason.replace(' ', '_')}", f"{reason} {PERCENT}"
            branches += [
                (mine & (share > notable), metric, value, f"> {show(notable, 'ratio')}", "top stall", LIMITS),
                (mine, metric, value, f"≤ {show(notable, 'ratio')}", "no dominant stall", PASSES),
            ]
        return self._ask("D2: top stall reason?", share, branches)

    def _caches(self, known: Masks) -> list[Question]:
        involved = self.clusters.primary | self.clusters.secondary
        poor, great = GOOD_HIT_RATE[self.d.method], GREAT_HIT_RATE
        out = []
        for name, metric, units in (
            ("TEX", "l1tex.hit_rate", ("l1tex", "l2", "vram")),
            ("L2", "l2.hit_rate", ("l2", "vram")),
        ):
            rate = self.at(metric)
            asked = known & self._involves(involved, units) & np.isfinite(rate)
            branches: list[Branch] = [
                (asked & (rate > great), metric, PERCENT, f"> {show(great, 'ratio')}", "great", PASSES),
                (asked & (rate < poor), metric, PERCENT, f"< {show(poor, 'ratio')}", "poor: check the access pattern", LIMITS),
                (asked, metric, PERCENT, f"{whole_percent(poor)} to {whole_percent(great)}", "good", PASSES),
            ]  # fmt: skip
            out.append(self._ask(f"{name} hit rate?", rate, branches))
        return out


def _step(s: Shape, number: float) -> StepEntry:
    tenths = f"{number * 100:.1f}"
    return s.step(
        "100" if tenths == "100.0" else tenths
    )  # the latter looks like a measurement; it is a limit or a whole
