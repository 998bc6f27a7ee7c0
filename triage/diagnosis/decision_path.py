"""The way a workload took through the method's tree: each question, the number on the edge, the branch taken.

The rules decide; this retells, for people, the questions they asked in the order of the P3 method. Thresholds are the
rules' own (--set included), so the edges never disagree with the findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from triage import schema
from triage.diagnosis.limiter import GREAT, HIGH, LOW, grade, unit_names
from triage.diagnosis.sentences import label
from triage.ground.units import show

if TYPE_CHECKING:
    from triage.diagnosis.diagnose import Diagnosis
    from triage.diagnosis.outcomes import Details

# state of a step: what the number says about the workload
BAD, GOOD, OPEN, INFO = "limits", "passes", "not measured", "noted"
_WORKING = ("sm", "l1tex", "l2", "vram")


class Path:
    """Decision paths of the shown workloads of one part."""

    def __init__(self, d: Diagnosis, details: Details) -> None:
        self.d, self.details, self.view = d, details, details.view
        self.v1 = d.method == "v1"

    def at(self, metric: str, i: int) -> float:
        """A metric of the i-th shown workload; NaN when missing."""
        values = self.view[metric]
        return float(values[i]) if np.ndim(values) else float(values)

    def limit(self, rule: str, name: str, fallback: float) -> float:
        """A threshold in force, or the published number when that rule is deselected."""
        found = self.d.book.by_name.get(rule)
        if found is None or name not in found.thresholds:
            return fallback
        return found.threshold(name, self.d.method)

    def steps(self, i: int) -> list[dict[str, Any]]:
        """The path of the i-th shown workload."""
        c = self.details.verdict.clusters
        top = float(c.top[i]) if len(c.names) else float("nan")
        if top != top:
            return [
                _step(
                    "Top SOL",
                    "sol.top",
                    "",
                    "",
                    "not measured: the tree starts with the SOL of two units at least",
                    OPEN,
                )
            ]
        primary, secondary = unit_names(c, c.primary, i), unit_names(c, c.secondary, i)
        case = "A" if top > HIGH else "B" if top < LOW else "A + B"
        edge = (
            f"> {show(HIGH, 'ratio')}" if case == "A" else f"< {show(LOW, 'ratio')}" if case == "B" else "60 % to 80 %"
        )
        does = {
            "A": "A: remove work from the top unit",
            "B": "B: raise the SOL, something keeps the units waiting",
            "A + B": "A and B: remove work and raise the SOL",
        }[case]
        out = [
            _step("Top SOL", "sol.top", f"{label('top_unit', self.view, i)} {show(top, 'ratio')}", edge, does, BAD if case != "B" else INFO),
            _step("Limiters within 10 points", "sol.top", " + ".join(primary), "", f"next: {' + '.join(secondary)}" if secondary else "nothing close behind", INFO),
        ]  # fmt: skip
        if case != "A":
            out += self._pathologies(i)
        names = {u for k, u in enumerate(c.names) if c.primary[k, i]}
        if names & set(_WORKING):
            out += self._sm(i, top)
        else:
            out.append(
                _step(
                    "Is the SM, or the memory it waits for, on top?",
                    "",
                    " + ".join(primary),
                    "",
                    "no: a fixed-function unit leads",
                    INFO,
                )
            )
        out += self._caches(i, {u for k, u in enumerate(c.names) if c.primary[k, i] or c.secondary[k, i]})
        return out

    def _question(self, ask: str, metric: str, i: int, bad: str, limit: float, yes: str, no: str) -> dict[str, Any]:
        value = self.at(metric, i)
        if value != value:
            return _step(ask, metric, "", "", "not measured", OPEN)
        flip = {">": "≤", "<": "≥"}
        hit = value > limit if bad == ">" else value < limit
        return _step(
            ask,
            metric,
            show(value, schema.get(metric).unit),
            f"{bad if hit else flip[bad]} {show(limit, 'ratio')}",
            yes if hit else no,
            BAD if hit else GOOD,
        )

    def _pathologies(self, i: int) -> list[dict[str, Any]]:
        strict = self.at("kind.fullscreen", i) == 1 or self.at("kind.compute", i) == 1
        floor = (
            self.limit("idle-sms", "screen_floor", 0.95)
            if strict
            else self.limit("idle-sms", "geometry_floor", 0.95 if self.v1 else 0.90)
        )
        return [
            self._question(
                "GPU idle?",
                "gpu.idle",
                i,
                ">",
                self.limit("cpu-bound-workload", "idle", 0.01),
                "the CPU does not feed it",
                "not CPU-bound",
            ),
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

    def _sm(self, i: int, top: float) -> list[dict[str, Any]]:
        pair = (
            ("sm.issue_per_active", "sm.throughput_active")
            if self.v1
            else ("sm.throughput_active", "sm.issue_per_active")
        )
        metric = next((m for m in pair if self.at(m, i) == self.at(m, i)), pair[0])
        value, saturated = self.at(metric, i), self.limit("issue-saturated", "saturated", HIGH)
        ask = "How busy is the SM while active?"
        if value != value:
            return [_step(ask, metric, "", "", "not measured: case C and D cannot be told apart", OPEN)]
        shown = show(value, "ratio")
        if value > saturated:
            text = "C: issue-limited; more warps would not help"
            steps = [_step(ask, metric, shown, f"> {show(saturated, 'ratio')}", text, BAD)]
            gap = self.at("sol.sm_tex_gap", i)
            if gap == gap and min(self.at("sm.throughput", i), self.at("l1tex.throughput", i)) > HIGH:
                equal = self.limit("sm-tex-interface", "equal", 0.02)
                near = gap <= equal
                steps.append(_step("SM and TEX equally high?", "sol.sm_tex_gap", f"{gap * 100:.1f} points", f"{'≤' if near else '>'} {equal * 100:.0f} points",
                                   "the SM-TEX interface" if near else "no", BAD if near else GOOD))  # fmt: skip
            return steps
        low = value < LOW
        edge = f"< {show(LOW, 'ratio')}" if low else "60 % to 80 %"
        steps = [
            _step(
                ask,
                metric,
                shown,
                edge,
                "D: latency shows; more warps or fewer stalls" if low else "C and D: trim work, and hide latency",
                BAD,
            )
        ]
        if top <= HIGH:
            full = self.limit("low-occupancy-sm", "full", 0.90)
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

    def _stalls(self, i: int) -> list[dict[str, Any]]:
        share, notable = self.at("stall.top_share", i), self.limit("issue-stalls", "notable", 0.10)
        if share != share:
            return [_step("D2: what do warps wait for?", "stall.top_share", "", "", "not measured", OPEN)]
        reason = label("top_stall", self.view, i)
        hit = share > notable
        meaning = {"long scoreboard": "data from L1/TEX", "barrier": "their group at barriers"}.get(reason, reason)
        return [_step("D2: what do warps wait for?", f"stall.{reason.replace(' ', '_')}", f"{reason} {show(share, 'ratio')}",
                      f"{'>' if hit else '≤'} {show(notable, 'ratio')}", f"they wait for {meaning}" if hit else "no stall stands out", BAD if hit else GOOD)]  # fmt: skip

    def _caches(self, i: int, involved: set[str]) -> list[dict[str, Any]]:
        out = []
        for name, metric, units in (
            ("TEX", "l1tex.hit_rate", {"l1tex", "l2", "vram"}),
            ("L2", "l2.hit_rate", {"l2", "vram"}),
        ):
            rate = self.at(metric, i)
            if rate != rate or not involved & units:
                continue
            g = grade(rate, self.d.method)
            poor = 0.80 if self.v1 else 0.70
            edge = {
                "great": f"> {show(GREAT, 'ratio')}",
                "poor": f"< {show(poor, 'ratio')}",
                "good": f"{poor * 100:.0f} % to {GREAT * 100:.0f} %",
            }[g]
            answer = {"great": "great", "good": "good", "poor": "poor: the access pattern is a suspect"}[g]
            out.append(
                _step(f"{name} hit rate?", metric, show(rate, "ratio"), edge, answer, BAD if g == "poor" else GOOD)
            )
        return out


def _step(ask: str, metric: str, value: str, edge: str, answer: str, state: str) -> dict[str, Any]:
    return {"ask": ask, "metric": metric, "value": value, "edge": edge, "answer": answer, "state": state}


def decisions(d: Diagnosis) -> dict[str, list[dict[str, Any]]]:
    """workload id -> its steps, for the shown workloads."""
    out = {}
    for part, details in zip(d.parts, d.details, strict=True):
        path = Path(d, details)
        for i, w in enumerate(details.rows):
            out[part.workload_id(int(w), d.many)] = path.steps(i)
    return out


def rooflines(d: Diagnosis) -> dict[str, dict[str, Any]]:
    """workload id -> intensity, rate and the roofs over it, where FLOPs and bytes are known."""
    out: dict[str, dict[str, Any]] = {}
    for part, details in zip(d.parts, d.details, strict=True):
        view = details.view
        names = {"intensity": "roofline.intensity", "fp32": "flop.rate_fp32", "fp64": "flop.rate_fp64", "peak32": "flop.fp32_peak",
                 "peak64": "flop.fp64_peak", "bandwidth": "vram.peak_bandwidth", "moved": "vram.bandwidth"}  # fmt: skip
        columns: dict[str, Any] = {k: view[m] if schema.known(m) else np.nan for k, m in names.items()}
        for i, w in enumerate(details.rows):
            row = {k: float(v[i]) if np.ndim(v) else float(v) for k, v in columns.items()}
            rate = float(np.nansum([row["fp32"], row["fp64"]]))
            if row["intensity"] != row["intensity"] and rate > 0 and row["moved"] > 0:
                row["intensity"] = rate / row["moved"]
            if not (row["intensity"] > 0 and rate > 0):
                continue
            doubles = row["fp64"] > (row["fp32"] if row["fp32"] == row["fp32"] else 0)
            peak = row["peak64"] if doubles else row["peak32"]
            out[part.workload_id(int(w), d.many)] = {
                "intensity": float(f"{row['intensity']:.4g}"), "rate": float(f"{rate:.4g}"), "precision": "FP64" if doubles else "FP32",
                "peak": float(f"{peak:.4g}") if peak == peak else None,
                "bandwidth": float(f"{row['bandwidth']:.4g}") if row["bandwidth"] == row["bandwidth"] else None,
            }  # fmt: skip
    return out
