"""Blind spots by the command that fills them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from triage.document.entries import BlindSpotEntry, Result, WorkloadEntry
from triage.ground.collect_command import Command
from triage.ground.method import DRAM_REACHED

MAX_NAMES_IN_A_STEP = 10  # more is unreadable, where a list has them all
IN_PASSES = ("rocprofv3", "rocprof", "unitrace")  # whose commands hold counters in passes, or sets of them


class CollectEntry(TypedDict):
    """One command, the metrics it collects, the rules that can then be evaluated, and on how many workloads."""

    collect: str
    missing: list[str]
    rules: list[str]
    workloads: int


def missing_counters(doc: Result) -> list[CollectEntry]:
    """Blind spots that one command or step fills, together, most rules first; none that the run of the capture asked for.

    Commands that differ only in the metrics they ask for are one. Commands of a tool that splits counters into passes are
    one: that of the whole frame.
    """
    whole = _command(doc["frame"]["collect_all"] or "")
    groups: dict[tuple[str, str], _Collect] = {}
    for spot in sorted(_useful(doc), key=lambda spot: -len(spot["rules"])):
        step = _command(spot["collect"])
        if step.program in IN_PASSES and step.program == whole.program:
            step = whole
        same = (step.before, step.after) if step.asks else (step, "")
        groups.setdefault(same, _Collect(step)).add(spot, step.asks)
    out = [g.entry() for g in groups.values()]
    return sorted(out, key=lambda g: (-len(g["rules"]), -g["workloads"], g["collect"]))


def _useful(doc: Result) -> list[BlindSpotEntry]:
    """Blind spots with a command, without those of work at its hardware limit.

    Where DRAM is at its limit and the need is open, what counts bytes alone is useful.
    """
    spots = [s for s in doc["blind_spots"] if s["collect"]]
    works = doc["workloads"]
    if not spots or len(works) > MAX_SETTLED:
        return spots
    verdict = {w["id"]: w["verdict_class"] for w in works}
    done = {i for i, v in verdict.items() if v == "at-limit"}
    full = {w["id"] for w in works if verdict[w["id"]] == "not-diagnosed" and _at_dram(w)}

    def useful(spot: BlindSpotEntry) -> bool:
        left = set(spot["workloads"]) - done
        return bool(left) and (left - full != set() or any(m.startswith(_OF_BYTES) for m in spot["missing"]))

    return [s for s in spots if s["count"] > len(s["workloads"]) or useful(s)]


def _at_dram(w: WorkloadEntry) -> bool:
    top = next((u for u in w["sol"] if u["pct"] is not None), None)
    return top is not None and top["unit"] == "VRAM" and (top["pct"] or 0.0) >= 100 * DRAM_REACHED[0]


MAX_SETTLED = 1_000  # workloads up to which those at their limit are left out of the counters to collect
_OF_BYTES = ("vram.", "l2.", "global_", "l1tex.")


class _Collect:
    """Blind spots that one command fills, as `step` has it. asks: its metrics as the profiler names them."""

    def __init__(self, step: Command) -> None:
        self.step = step
        self.asks: dict[str, None] = {}
        self.missing: set[str] = set()
        self.rules: set[str] = set()
        self.workloads = 0

    def add(self, spot: BlindSpotEntry, asks: Sequence[str]) -> None:
        """One more blind spot."""
        self.asks |= dict.fromkeys(asks)
        self.missing.update(spot["missing"])
        self.rules.update(spot["rules"])
        self.workloads = max(self.workloads, spot["count"])

    def entry(self) -> CollectEntry:
        """What reports show."""
        return {
            "collect": self._merged(),
            "missing": sorted(self.missing),
            "rules": sorted(self.rules),
            "workloads": self.workloads,
        }

    def _merged(self) -> Command:
        """The command with all its metrics, or the first of many that a list explains."""
        step, asks = self.step, list(self.asks)
        if not asks:
            return step
        left = len(asks) - MAX_NAMES_IN_A_STEP if step.lists else 0
        more = f" + {left} more ({step.lists})" if left > 0 else ""
        return step.with_asks(asks[:MAX_NAMES_IN_A_STEP] if more else asks, more)


def _command(text: str) -> Command:
    """What a tool is asked for; a sentence is a step as a whole."""
    return text if isinstance(text, Command) else Command(text)
