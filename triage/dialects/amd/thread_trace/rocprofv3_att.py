"""rocprofv3 --att: `stats_*.csv`, the cycles of each instruction in a thread trace, summed up per kernel."""

from __future__ import annotations

import numpy as np

from triage.capture.arrays import Masks
from triage.capture.capture import Column, Quality, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.amd.thread_trace.isa_listing import Instruction, Listing
from triage.dialects.amd.thread_trace.isa_places import Places, waiting, waiting_for_memory, waiting_for_scratch
from triage.dialects.tables import wide_table
from triage.ground.errors import BadCapture

NAME = "rocprofv3-att"
SIGN = ("hitcount",)
TELLS = {"work": "compute", "vendor": "amd", "api": "hip"}
MAY_LACK = ("Source",)
TITLE = "AMD rocprofv3 thread trace (stats_*.csv): cycles per instruction"
CAPTURE = """\
`rocprofv3 --att --kernel-include-regex KERNEL -d out -- ./app` writes `out/stats_*.csv`: cycles, stalls and executions of each \
instruction of the waves on one compute unit. Compile with `-gline-tables-only`, and places name source lines.

The file holds no kernel times; for these, and for counters: `rocprofv3 --kernel-trace --pmc SQ_WAVES VALUBusy -f csv -- ./app`.
"""
MAX_CYCLES = 1e15  # days of a GPU
_ROLES = {
    "address": "Vaddr",
    "text": "Instruction",
    "hits": "Hitcount",
    "latency": "Latency",
    "stall": "Stall",
    "idle": "Idle",
}
_METRICS = {
    "waves.dependency_wait": ("sum of Stall at s_wait* and s_barrier / sum of Latency and Idle", waiting),
    "waves.memory_wait": (
        "sum of Stall at waits for vmcnt, loadcnt, storecnt / sum of Latency and Idle",
        waiting_for_memory,
    ),
}

SCRATCH_WAIT = "sum of Stall at waits for scratch_load / sum of Latency and Idle"


def names() -> dict[str, list[str]]:
    """The waits, as shares of the waves' cycles."""
    return {metric: ["Stall"] for metric in (*_METRICS, "waves.scratch_wait")}


def recognise(source: Source) -> Match | None:
    """The header of the listing."""
    line, headers = wide_table.header(source)
    if not line or any(wide_table.find(headers, h) < 0 for h in _ROLES.values()):
        return None
    return Match(0.92, f"cycles per instruction (Vaddr, Instruction, Hitcount, Latency, Stall, Idle) on line {line}")


def read(source: Source, options: Options) -> Table:
    """One row per kernel with executed instructions; raises BadCapture where none was executed."""
    found, remarks = _listings(source)
    kernels = [k for k in found if any(r.hits for r in k.rows)]
    if not kernels:
        raise BadCapture(
            f"{source.path}: no instruction was executed", "trace a kernel that runs on the traced compute unit"
        )
    names, lines = np.array([k.name for k in kernels], dtype=object), np.array([k.line for k in kernels])
    table = Table(NAME, [source], names, {}, lines=lines)
    table.kinds = np.full(len(kernels), "compute", dtype=object)
    whole = np.array([sum(r.latency + r.idle for r in k.rows) for k in kernels])
    for metric, (formula, weight) in _METRICS.items():
        part = np.array([sum(map(weight, k.rows)) for k in kernels])
        share = np.divide(part, whole, out=np.full(len(kernels), np.nan), where=whole > 0)
        table.columns[metric] = Column.computed(share, formula)
    waits = [waiting_for_scratch(k) for k in kernels]
    share = np.divide(waits, whole, out=np.full(len(kernels), np.nan), where=whole > 0)
    table.columns["waves.scratch_wait"] = Column.computed(share, SCRATCH_WAIT)
    table.locate = Places(kernels)
    table.quality += remarks
    return table


def _listings(source: Source) -> tuple[list[Listing], list[Quality]]:
    """Kernels in file order, each begun by a comment with its name; and remarks on rows that were left out."""
    line, headers = wide_table.header(source)
    at = {role: wide_table.find(headers, h) for role, h in _ROLES.items()}
    where = wide_table.find(headers, "Source")
    numeric = [c for role, c in at.items() if role != "text"]
    texts = [at["text"], *([where] if where >= 0 else [])]
    wide = wide_table.read(source, line, headers, numeric, texts, empty="trace a kernel that runs")
    numbers = {role: wide.numbers[c] for role, c in at.items() if role != "text"}
    every = np.array(list(numbers.values()))
    possible = (np.isfinite(every) & (every >= 0) & (every <= MAX_CYCLES)).all(axis=0)
    good = possible & (numbers["stall"] <= numbers["latency"])
    out: list[Listing] = []
    for i, cell in enumerate(wide.texts[at["text"]].tolist()):
        text = str(cell).strip()
        if text.startswith(";") or not out:
            name = text.lstrip("; ")[:4096] if text.startswith(";") else ""
            out.append(Listing(name or source.name, wide.line(i)))
        if text and good[i] and not text.startswith(";"):
            n = {role: float(v[i]) for role, v in numbers.items()}
            place = str(wide.texts[where][i])[:4096] if where >= 0 else ""
            cycles = n["latency"], n["stall"], n["idle"]
            out[-1].rows.append(Instruction(int(n["address"]), text[:400], n["hits"], *cycles, place))
    return out, [*wide.quality, *_left_out(wide, good)]


def _left_out(wide: wide_table.Wide, good: Masks) -> list[Quality]:
    count = int((~good).sum())
    if not count:
        return []
    first = wide.line(int(np.argmin(good)))
    text = f"{count} rows hold no cycles, some below 0 or above {MAX_CYCLES:.0e}, or more stall than latency; they were left out"
    return [Quality("impossible-value", f"{text} (first: line {first})")]
