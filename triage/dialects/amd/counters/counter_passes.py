"""Counters into passes that the hardware can hold, and the input file with one line per pass.

A GPU counts a few events per hardware block at once; a run that asks for more is refused or, worse, silently incomplete.
The limits stand in counter_limits.csv with their source; derived metrics count by the counters behind them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from triage.dialects.amd.counters import availability

_SAME = {"GL2C": "TCC"}  # RDNA's name of L2


@cache
def limits() -> dict[str, int]:
    """Hardware block -> counters that one pass holds of it; a block that is counted with another has its entry too."""
    return {row["block"]: int(row["counters"]) for row in _rows()}


@cache
def _partner() -> dict[str, str]:
    return {also: row["block"] for row in _rows() for also in row["blocks_counted_with"].split()} | _SAME


def _rows() -> list[dict[str, str]]:
    with (Path(__file__).parent / "counter_limits.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def block(counter: str) -> str:
    """The hardware block whose registers a counter takes: `SQC_ICACHE_HITS` -> `SQ`."""
    first = counter.partition("_")[0]
    return _partner().get(first, first)


def split(names: Iterable[str], arch: str = "") -> list[list[str]]:
    """The names in passes, each within the limits; in order, each name in the first pass that has room for it. arch: gfx name, "" for unknown."""
    passes: list[tuple[list[str], set[str]]] = []
    for name in dict.fromkeys(names):
        asked = set(availability.behind(name, arch))
        for held, counters in passes:
            if _fits(counters | asked):
                held.append(name)
                counters |= asked
                break
        else:
            passes.append(([name], asked))
    return [held for held, _ in passes]


def _fits(counters: set[str]) -> bool:
    used: dict[str, int] = {}
    for c in counters:
        used[block(c)] = used.get(block(c), 0) + 1
    return all(count <= limits().get(b, 2) for b, count in used.items())


def input_file(passes: Sequence[Sequence[str]]) -> str:
    """The shell command that writes counters.txt with one `pmc:` line per pass."""
    lines = " ".join(f"'pmc: {' '.join(p)}'" for p in passes)
    return f"printf '%s\\n' {lines} > counters.txt"
