"""Samples of program counters per kernel: shares of the waves' life by reason, and the places with most of them.

AMD, rocprofiler-sdk, Using PC sampling; Analyzing PC sampling data on CDNA3 and CDNA4: each sample is one wave at one
moment. The stochastic method says whether it issued and, if not, why; the host trap only where it was, up to two
instructions late.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from triage.capture.arrays import Names
from triage.capture.capture import Column, Table
from triage.capture.location import Location
from triage.dialects.amd.thread_trace.isa_listing import MEMORY, Instruction
from triage.dialects.amd.thread_trace.isa_places import heaviest, source_line
from triage.ground.errors import BadCapture
from triage.ground.phrasing import plural

MIN_SAMPLES = 50  # samples of a kernel, below which a share of 30 % is uncertain by more than 6 points
ISSUED = "issued"
_PREFIX = "NOT_ISSUED_REASON_"
_MIXED = ("waits", "waits to issue")  # for several reasons
_NEXT = "samples hold no instructions between; rocprofv3 --att traces them"


class Spot(NamedTuple):
    """Samples at one instruction for one reason. offset: in the kernel, -1 if unknown; reason: "" of the host trap; number: of samples."""

    text: str
    source: str
    offset: int
    reason: str
    number: int

    @property
    def instruction(self) -> Instruction:
        """As thread traces hold it."""
        return Instruction(0, self.text, 0, 0, 0, 0, self.source)


def _because(*reasons: str) -> Callable[[Spot], bool]:
    return lambda s: s.reason in reasons


def _at_wait(s: Spot) -> bool:
    return s.text.startswith("s_wait") and s.reason in ("", "waitcnt")


def _for_memory(s: Spot) -> bool:
    return _at_wait(s) and bool(MEMORY & s.instruction.waits.keys())


def _for_lds(s: Spot) -> bool:
    """Waits for LDS or scalar loads, which share a queue before gfx12."""
    return _at_wait(s) and bool(s.instruction.waits) and not MEMORY & s.instruction.waits.keys()


def _at_barrier(s: Spot) -> bool:
    return s.reason == "barrier wait" or (not s.reason and s.text.startswith("s_barrier"))


_WAITS = ("waitcnt", "barrier wait", "alu dependency", "no instruction available", "other wait", "sleep wait")


def _anything(s: Spot) -> bool:
    return s.reason in _WAITS or (not s.reason and (_at_wait(s) or _at_barrier(s)))


# metric -> samples that count, what they are called, of the stochastic method alone
METRICS: Mapping[str, tuple[Callable[[Spot], bool], str, bool]] = {
    "waves.memory_wait": (_for_memory, "vector-memory waits", False),
    "waves.barrier_wait": (_at_barrier, "barrier waits", False),
    "waves.lds_or_scalar_wait": (_for_lds, "LDS and scalar waits", False),
    "waves.dependency_wait": (_anything, "waits", False),
    "waves.fetch_wait": (_because("no instruction available"), "instruction-fetch waits", True),
    "waves.alu_wait": (_because("alu dependency"), "dependency waits", True),
    "waves.issue_wait": (_because("arbiter not win", "arbiter win ex stall"), "waits to issue", True),
    "waves.active": (_because(ISSUED), "issued instructions", True),
}


def reasons(issued: Names | Sequence[object], texts: Sequence[str]) -> list[str]:
    """`waitcnt` for each sample's stall reason, `issued` for a wave that issued."""
    words = {t: t.rpartition(_PREFIX)[2].replace("_", " ").strip().lower() for t in set(texts)}
    return [ISSUED if str(i).strip().lower() in ("1", "true") else words[t] for i, t in zip(issued, texts, strict=True)]


def kernels(
    names: Sequence[str], texts: Sequence[str], sources: Sequence[str], offsets: Sequence[int], why: Sequence[str]
) -> dict[str, list[Spot]]:
    """Kernel -> its spots, from parallel columns with one row per sample."""
    out: defaultdict[str, list[Spot]] = defaultdict(list)
    for (kernel, text, source, offset, reason), number in Counter(
        zip(names, texts, sources, offsets, why, strict=True)
    ).items():
        out[kernel].append(Spot(text[:400], source[:4096], offset, reason, number))
    return dict(out)


def attach(table: Table, found: Mapping[str, list[Spot]], where: str) -> None:
    """Shares of the samples of each row's kernel as columns of a table, and its places; a remark on kernels with few.

    where: the file, or the part of it, that holds the samples. Raises BadCapture where the table stays empty.
    """
    spots_of = [found.get(str(name), []) for name in table.names]
    totals = {name: sum(s.number for s in spots) for name, spots in found.items()}
    counts = np.array([totals.get(str(name), 0) for name in table.names], dtype=np.float64)
    enough = counts >= MIN_SAMPLES
    stochastic = any(s.reason for spots in found.values() for s in spots)
    for metric, (counted, what, precise) in METRICS.items():
        if precise and not stochastic:
            continue
        part = np.array([sum(s.number for s in spots if counted(s)) for spots in spots_of], dtype=np.float64)
        share = np.divide(part, counts, out=np.full(len(counts), np.nan), where=enough)
        formula = f"{what} / all samples ({where})"
        if enough.any():
            table.columns[metric] = Column.computed(share, formula)
    if not table.columns:
        raise BadCapture(
            f"{table.files[0].path}: fewer than {MIN_SAMPLES} samples of each kernel ({sum(totals.values())} in all)",
            "sample at a shorter interval, or for longer",
        )
    table.locate = Places(table.names, found)
    if few := sum(0 < n < MIN_SAMPLES for n in totals.values()):
        text = f"{plural(few, 'kernel')} of {len(totals)} with fewer than {MIN_SAMPLES} samples: shares of waiting were not computed"
        table.remark("few-samples", f"{text}; sample at a shorter interval or longer")
    if not stochastic:
        behind = "host-trap samples lie up to two instructions behind the one that waits"
        exact = "--pc-sampling-method stochastic (MI300 and later) is exact and gives reasons"
        table.notes.append(f"{behind}; {exact}")


class Places(Struct):
    """Locates metrics of waves in the kernels of a table's rows."""

    names: Names
    found: Mapping[str, list[Spot]]

    def __call__(self, row: int, metrics: Sequence[str]) -> Sequence[Location]:
        """Lines, or instructions without a line, that the first known metric comes from, most first."""
        spots = self.found.get(str(self.names[row]), [])
        if sum(s.number for s in spots) < MIN_SAMPLES:
            return []
        for metric in ("waves.dependency_wait" if m == "stall.top_share" else m for m in metrics):
            if metric in METRICS:
                counted, what, _ = METRICS[metric]
                return _located(str(self.names[row]), [s for s in spots if counted(s)], row, what)
        return []


def _located(kernel: str, spots: Sequence[Spot], row: int, what: str) -> list[Location]:
    out = []
    for members, value, share in heaviest((s.source or (s.text, s.offset), s, s.number) for s in spots):
        top = max(members, key=lambda s: s.number)
        by = Counter[str]()
        for s in members:
            by[s.reason] += s.number
        reason = max(by, key=lambda r: by[r])
        file, line = source_line(top.source)
        out.append(
            Location(
                what=f"samples of {what}",
                metric="samples",
                value=value,
                share=share,
                function=kernel,
                offset=top.offset,
                pc=0,
                instructions=len({(s.text, s.offset) for s in members}),
                file=file,
                line=line,
                access=top.instruction.kind,
                reason=reason if what in _MIXED else "",
                reason_share=by[reason] / value,
                record=row + 1,
                mnemonic=top.text[:60] if top.text.startswith("s_wait") else top.instruction.mnemonic,
                waits_unknown=_NEXT if top.instruction.waits else "",
            )
        )
    return out
