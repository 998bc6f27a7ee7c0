"""Counters into passes that the hardware can hold, and the input file with one line per pass.

A GPU counts a few events per hardware block at once; a run that asks for more is refused or, worse, silently incomplete.
The limits stand in counter_limits.csv with their source; derived metrics count by what they are computed from.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

# derived metric as the tools print it -> the counters behind it (ROCm, derived counters of MI200 and MI300)
_BEHIND: dict[str, tuple[str, ...]] = {
    "VALUBusy": ("SQ_ACTIVE_INST_VALU", "GRBM_GUI_ACTIVE"),
    "SALUBusy": ("SQ_INST_CYCLES_SALU", "GRBM_GUI_ACTIVE"),
    "VALUUtilization": ("SQ_THREAD_CYCLES_VALU", "SQ_ACTIVE_INST_VALU"),
    "VALUThreadUtilization": ("SQ_THREAD_CYCLES_VALU", "SQ_ACTIVE_INST_VALU"),
    "MfmaUtil": ("SQ_VALU_MFMA_BUSY_CYCLES", "GRBM_GUI_ACTIVE"),
    "MemUnitBusy": ("TA_TA_BUSY", "GRBM_GUI_ACTIVE"),
    "MemUnitStalled": ("TCP_TCP_TA_DATA_STALL_CYCLES", "GRBM_GUI_ACTIVE"),
    "WriteUnitStalled": ("TCC_EA_WRREQ_STALL", "GRBM_GUI_ACTIVE"),
    "LDSBankConflict": ("SQ_LDS_BANK_CONFLICT", "GRBM_GUI_ACTIVE"),
    "ALUStalledByLDS": ("SQ_WAIT_INST_LDS", "SQ_WAVES", "GRBM_GUI_ACTIVE"),
    "L2CacheHit": ("TCC_HIT", "TCC_MISS"),
    "GPUBusy": ("GRBM_GUI_ACTIVE", "GRBM_COUNT"),
    "GPU_UTIL": ("GRBM_GUI_ACTIVE", "GRBM_COUNT"),
    "OccupancyPercent": ("SQ_LEVEL_WAVES", "SQ_ACCUM_PREV_HIRES", "GRBM_GUI_ACTIVE"),
    "MeanOccupancyPerCU": ("SQ_LEVEL_WAVES", "SQ_ACCUM_PREV_HIRES", "GRBM_GUI_ACTIVE"),
    "MeanOccupancyPerActiveCU": ("SQ_LEVEL_WAVES", "SQ_ACCUM_PREV_HIRES", "SQ_BUSY_CYCLES"),
    "FetchSize": ("TCC_EA_RDREQ", "TCC_EA_RDREQ_32B", "TCC_BUBBLE"),
    "FETCH_SIZE": ("TCC_EA_RDREQ", "TCC_EA_RDREQ_32B", "TCC_BUBBLE"),
    "WriteSize": ("TCC_EA_WRREQ", "TCC_EA_WRREQ_64B"),
    "WRITE_SIZE": ("TCC_EA_WRREQ", "TCC_EA_WRREQ_64B"),
    "Wavefronts": ("SQ_WAVES",),
    "VFetchInsts": ("SQ_INSTS_VMEM_RD", "SQ_WAVES"),
    "VWriteInsts": ("SQ_INSTS_VMEM_WR", "SQ_WAVES"),
    "FlatVMemInsts": ("SQ_INSTS_FLAT", "SQ_WAVES"),
}
_SAME = {"GL2C": "TCC"}  # RDNA's name of L2


@cache
def limits() -> dict[str, int]:
    """Hardware block -> counters that one pass holds of it; a block that is counted with another has its entry too."""
    out: dict[str, int] = {}
    with (Path(__file__).parent / "counter_limits.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            out[row["block"]] = int(row["counters"])
    return out


@cache
def _partner() -> dict[str, str]:
    with (Path(__file__).parent / "counter_limits.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {also: row["block"] for row in rows for also in row["blocks_counted_with"].split()} | _SAME


def block(counter: str) -> str:
    """The hardware block whose registers a counter takes: `SQC_ICACHE_HITS` -> `SQ`."""
    first = counter.partition("_")[0]
    return _partner().get(first, first)


def behind(name: str) -> tuple[str, ...]:
    """Hardware counters of a name as the tools take it: a sum over instances is the counter itself."""
    return tuple(c.removesuffix("_sum") for c in _BEHIND.get(name, (name,)))


def split(names: Iterable[str]) -> list[list[str]]:
    """The names in passes, each within the limits; in order, each name in the first pass that has room for it."""
    passes: list[tuple[list[str], set[str]]] = []
    for name in dict.fromkeys(names):
        asked = set(behind(name))
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
