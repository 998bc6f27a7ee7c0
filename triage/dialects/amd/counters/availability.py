"""Which counters a GPU has, and which hardware counters a derived one takes: by AMD's own definitions.

The table counters_by_gpu.csv lists what rocprofiler-sdk defines, of the names that triage asks for; an unknown name ends a run, so
that no command may hold one.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

# GPUs that have no definitions of their own: the longest of these beginnings that fits names the family that has
_FAMILIES = ("gfx115", "gfx10", "gfx11", "gfx12", "gfx908", "gfx90a", "gfx94", "gfx950", "gfx906", "gfx9")
_SPELLED = {"gfx94": "gfx942", "gfx9": "gfx900"}
INSTINCT = ("gfx90a", "gfx942", "gfx950")  # what a command for an unknown GPU must run on


@cache
def _table() -> dict[str, dict[str, tuple[str, ...]]]:
    """Counter -> family of GPUs -> the hardware counters behind it."""
    out: dict[str, dict[str, tuple[str, ...]]] = {}
    with (Path(__file__).parent / "counters_by_gpu.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for name in row["counters"].split():
                behind = tuple(row["behind"].split()) or (name.removesuffix("_sum"),)
                out.setdefault(name, {}).update(dict.fromkeys(row["gpus"].split(), behind))
    return out


def families(arch: str) -> tuple[str, ...]:
    """The families whose definitions hold for a gfx name: one, or those of the Instinct GPUs where it is not known."""
    if arch == "gfx1":  # an RDNA GPU, whichever
        return ("gfx10", "gfx11", "gfx115", "gfx12")
    begins = [f for f in _FAMILIES if arch.startswith(f) and not arch.startswith("gfx125")]
    longest = max(begins, key=len, default="")
    return (_SPELLED.get(longest, longest),) if longest else INSTINCT


def spelled(name: str, arch: str) -> str:
    """The name as the GPU's definitions have it, "" where they have none: some sum over instances under the bare name only."""
    known = _table()
    for spelling in (name, name.removesuffix("_sum")):
        if all(f in known.get(spelling, ()) for f in families(arch)):
            return spelling
    return ""


def behind(name: str, arch: str = "") -> tuple[str, ...]:
    """Hardware counters of a name as the tools take it: a sum over instances is the counter itself."""
    known = _table().get(name, {})
    return next((known[f] for f in families(arch) if f in known), (name.removesuffix("_sum"),))
