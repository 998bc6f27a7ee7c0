"""Blind spots by the command that fills them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypedDict

from triage.document.entries import BlindSpotEntry, Result, WorkloadEntry
from triage.ground.method import DRAM_REACHED

METRICS_PER_COMMAND = 10  # more is unreadable and takes the profiler many passes


class CollectEntry(TypedDict):
    """One command, the metrics it collects, the rules that can then be evaluated, and on how many workloads."""

    collect: str
    missing: list[str]
    rules: list[str]
    workloads: int


def missing_counters(doc: Result) -> list[CollectEntry]:
    """Blind spots that one command or step fills, together, most rules first; none that the run of the capture asked for.

    Commands that differ only in the metrics they ask for are one, of at most METRICS_PER_COMMAND: what lets most rules be
    evaluated first. Commands of a tool that splits counters into passes are one: that of the whole frame.
    """
    whole = doc["frame"]["collect_all"] or ""
    groups: dict[tuple[str, str, int], _Collect] = {}
    turn: Counter[tuple[str, str]] = Counter()
    for spot in sorted(_useful(doc), key=lambda spot: -len(spot["rules"])):
        asks = _ASKS.fullmatch(spot["collect"]) or _COLUMNS.fullmatch(spot["collect"])
        same = (asks[1], asks[3]) if asks else (spot["collect"], "")
        if not asks and (tool := _tool(whole)) and tool == _tool(spot["collect"]):
            same = (whole, "")
        # columns are no command: they are asked for in one sentence, however many
        if asks and asks.re is _ASKS and (*same, turn[same]) in groups and groups[(*same, turn[same])].is_full:
            turn[same] += 1
        groups.setdefault((*same, turn[same]), _Collect()).add(spot, re.split(", ?", asks[2]) if asks else ())
    out = [g.entry(before, after) for (before, after, _), g in groups.items()]
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
    """Blind spots that one command fills. asks: its metrics as the profiler names them."""

    def __init__(self) -> None:
        self.asks: dict[str, None] = {}
        self.missing: set[str] = set()
        self.rules: set[str] = set()
        self.workloads = 0

    @property
    def is_full(self) -> bool:
        """True if the command asks for as many metrics as it may."""
        return len(self.asks) >= METRICS_PER_COMMAND

    def add(self, spot: BlindSpotEntry, asks: Sequence[str]) -> None:
        """One more blind spot."""
        self.asks |= dict.fromkeys(asks)
        self.missing.update(spot["missing"])
        self.rules.update(spot["rules"])
        self.workloads = max(self.workloads, spot["count"])

    def entry(self, before: str, after: str) -> CollectEntry:
        """What reports show. before, after: the command around its metrics."""
        return {
            "collect": _merged_command(before, list(self.asks)) + after,
            "missing": sorted(self.missing),
            "rules": sorted(self.rules),
            "workloads": self.workloads,
        }


# tools whose commands hold counters in passes, or sets of them
_TOOL = re.compile(r"(?:\A|; |\bdo )(rocprofv3|rocprof|unitrace)(?= )")


def _tool(command: str) -> str:
    """The tool that a command runs, "" for others."""
    found = _TOOL.search(command)
    return found[1] if found else ""


# `ncu --metrics a,b --csv ...`, or a menu path: what stands before the metrics, the metrics, what stands behind them
_ASKS = re.compile(r"(.*--metrics |add to .+: )(\S+(?:, \S+)*)(| .*)")
_COLUMNS = re.compile(r"(add columns: )(.+)()")


def _merged_command(before: str, asks: list[str]) -> str:
    """A command with its metrics, or the columns that most checks wait for and how many more there are."""
    if not _COLUMNS.fullmatch(before + "x"):
        return before + ("," if before.endswith("--metrics ") else ", ").join(asks)
    more = f" + {len(asks) - METRICS_PER_COMMAND} more (triage list metrics)" if len(asks) > METRICS_PER_COMMAND else ""
    return before + ", ".join(asks[:METRICS_PER_COMMAND]) + more
