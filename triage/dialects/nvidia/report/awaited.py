"""What the warps at a place wait for: the samples of scoreboard and queue reasons, given to the instructions behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from triage.capture.arrays import Indices
from triage.capture.location import Producer
from triage.dialects.nvidia.report.code import Map, Spot
from triage.dialects.nvidia.report.instances import Instances
from triage.dialects.nvidia.report.stall_samples import at, by_reason, present, reasons, summed
from triage.dialects.nvidia.sass import arguments
from triage.dialects.nvidia.sass.body import BYTES, Body
from triage.dialects.nvidia.sass.producers import AWAITED, QUEUES, fillers, meaning, producers

_LISTED = 3  # producers of one place
_FOLLOWED = 64  # of them before those of a line or argument are put together
_MIN_SHARE = 0.1  # of the waiting at a place, below which a producer is not worth a word
MIN_SAMPLES = 50  # of one place, below which shares of its reasons are chance
_MIN_ASKED = 0.25  # of it that has a scoreboard or queue behind it, below which the place waits for other things
_INSTRUCTIONS = 32  # of one place that are followed, those with most samples first
_COUNTERS = (
    ("global", "sectors", ("memory_l2_theoretical_sectors_global", "memory_l2_sectors_global")),
    ("generic", "sectors", ("memory_l2_theoretical_sectors_global", "memory_l2_sectors_global")),
    ("asynchronous", "sectors", ("memory_l2_theoretical_sectors_global", "memory_l2_sectors_global")),
    ("local", "sectors", ("memory_l2_theoretical_sectors_local", "memory_l2_sectors_local")),
    ("shared", "wavefronts", ("memory_l1_wavefronts_shared", "memory_l1_sectors_shared")),
)  # fmt: skip
_EXECUTED = ("inst_executed",)
_ACCESSES = ("load", "store", "atomic", "reduction", "copy")
_BY_ARGUMENT = ("global", "generic", "asynchronous copy")  # kinds of access that go through an argument


@dataclass(slots=True)
class _Wait:
    """Samples that one producer explains, of one reason and kind of waiter; candidates: of the least certain among them."""

    reason: str
    waiter: str
    meaning: str
    samples: float = 0.0
    candidates: int = 1


def _grouped(found: list[Producer]) -> list[Producer]:
    """Those of one line, or of one argument where no line is known, as one; the largest first, without the small ones."""
    groups: dict[tuple[object, ...], list[Producer]] = {}
    for p in found:
        key = (p.file, p.line, p.argument) if p.line or p.argument or p.queue else (p.pc,)
        groups.setdefault((p.reason, p.kind, *key), []).append(p)
    out = [
        replace(
            ps[0],
            share=sum(p.share for p in ps),
            instructions=len({p.pc for p in ps}),
            per_request=sum(p.per_request for p in ps) / len(ps),
        )
        for ps in groups.values()
    ]
    return sorted((p for p in out if p.share >= _MIN_SHARE), key=lambda p: -p.share)[:_LISTED]


@dataclass(slots=True)
class Awaited:
    """The producers of places of one launch. types: of the kernel's arguments as its signature has them."""

    found: Instances
    where: Map
    types: list[str]
    _followed: dict[tuple[int, str], tuple[list[int], bool]] = field(default_factory=dict)
    _fillers: dict[tuple[int, str], dict[int, float]] = field(default_factory=dict)
    _tables: dict[tuple[str, ...], dict[int, float]] = field(default_factory=dict)

    def mnemonic(self, pc: int) -> str:
        """Mnemonic of the instruction at an address, "" if it is not known."""
        code = self.where.instruction(pc)
        return code[0].word(code[1]).name.mnemonic if code else ""

    def of(self, pcs: Indices) -> tuple[tuple[Producer, ...], str]:
        """(producers of the waiting at some addresses, most first; why there is none, "" if none is asked for)."""
        counts, total = by_reason(self.found, pcs)
        asked = {r: n for r, n in counts.items() if n > 0 and (r in AWAITED or r in QUEUES)}
        if total < MIN_SAMPLES or sum(asked.values()) < _MIN_ASKED * total:
            return (), ""
        if self.where.instruction(int(pcs[0])) is None and not self.where.exhausted:
            return (), "its machine code is not in the report"
        waits: dict[tuple[int, str], _Wait] = {}
        for reason in asked:
            for pc, samples in self._sampled(pcs, reason):
                self._give(pc, samples, reason, waits)
        best = sorted(waits.items(), key=lambda w: (-w[1].samples, w[0]))[:_FOLLOWED]
        out = _grouped([self._producer(pc, w, w.samples / total) for (pc, _), w in best])
        if out:
            return tuple(out), ""
        if self.where.exhausted:
            return (), "more code than is followed in one report"
        return (
            (),
            "many instructions, none with a tenth of it" if waits else "nothing sets the scoreboards that it waits for",
        )

    def _sampled(self, pcs: Indices, reason: str) -> Iterator[tuple[int, float]]:
        values = at(pcs, *self.found.values(reasons(self.found)[reason]))
        for i in np.argsort(-values, kind="stable")[:_INSTRUCTIONS].tolist():
            if values[i] > 0:
                yield int(pcs[i]), float(values[i])

    def _give(self, pc: int, samples: float, reason: str, waits: dict[tuple[int, str], _Wait]) -> None:
        """Divide the samples of one instruction among those that it waits for."""
        code = self.where.instruction(pc)
        if code is None:
            return
        body, index = code
        sure = True
        if reason in QUEUES:
            parts = self._queued(body, index, pc, reason)
        else:
            if (pc, reason) not in self._followed:
                self._followed[pc, reason] = producers(body, index, reason)
            found, sure = self._followed[pc, reason]
            parts = self._shares([pc + (i - index) * BYTES for i in found])
        name = body.word(index).name
        waiter = name.kind if name.kind.endswith(_ACCESSES) else name.mnemonic or "instruction"
        for other, part in parts.items():
            shows = "" if reason in QUEUES else meaning(body, index + (other - pc) // BYTES, index, reason)
            w = waits.setdefault((other, reason), _Wait(reason, waiter, shows))
            w.samples += samples * part
            w.candidates = max(w.candidates, 1 if sure else len(parts))

    def _queued(self, body: Body, index: int, pc: int, reason: str) -> dict[int, float]:
        """Share of what fills a queue, over the whole code."""
        start = pc - index * BYTES
        if (start, reason) not in self._fillers:
            self._fillers[start, reason] = self._shares([start + i * BYTES for i in fillers(body, reason)])
        return self._fillers[start, reason]

    def _shares(self, pcs: list[int]) -> dict[int, float]:
        """Parts of 1: by sectors and wavefronts, by executions where one of them has none."""
        if len(pcs) < 2:
            return dict.fromkeys(pcs, 1.0)
        kinds = tuple(dict.fromkeys(names for _, _, names in _COUNTERS))
        weights = [sum(self._counted(pc, names) for names in kinds) for pc in pcs]
        if not all(weights):
            weights = [max(w, self._counted(pc, _EXECUTED)) for pc, w in zip(pcs, weights, strict=True)]
        total = sum(weights)
        return {pc: w / total if total else 1 / len(pcs) for pc, w in zip(pcs, weights, strict=True) if w or not total}

    def _counted(self, pc: int, names: tuple[str, ...]) -> float:
        """The first of some counters that is there, at an address."""
        if names not in self._tables:
            pcs, values = summed(*self.found.values(present(self.found, names)))
            self._tables[names] = dict(zip(pcs.tolist(), values.tolist(), strict=True))
        return max(self._tables[names].get(pc, 0.0), 0.0)

    def _producer(self, pc: int, wait: _Wait, share: float) -> Producer:
        code = self.where.instruction(pc)
        spot = self.where.spot(pc) or Spot("", pc, None)
        word = code[0].word(code[1]) if code else None
        kind, mnemonic = (word.name.kind, word.name.mnemonic) if word else ("", "")
        number, type_ = self._argument(code, kind)
        per, unit = self._per_request(pc, kind)
        return Producer(
            share=share,
            reason=wait.reason.replace("_", " "),
            waiter=wait.waiter,
            kind=kind,
            mnemonic=mnemonic,
            function=spot.function,
            offset=spot.offset,
            pc=pc,
            file=spot.place.file if spot.place else "",
            line=spot.place.line if spot.place else 0,
            candidates=wait.candidates,
            argument=number,
            type=type_,
            per_request=per,
            unit=unit if per else "",
            queue=wait.reason in QUEUES,
            meaning=wait.meaning,
        )

    def _argument(self, code: tuple[Body, int] | None, kind: str) -> tuple[int, str]:
        known = self.where.arguments
        if code is None or not known or not kind.startswith(_BY_ARGUMENT):
            return 0, ""
        found = arguments.argument(*code, known)
        if found is None:
            return 0, ""
        named = len(self.types) == len(known)
        return found.number + 1, self.types[found.number] if named and found.number < len(self.types) else ""

    def _per_request(self, pc: int, kind: str) -> tuple[float, str]:
        """Sectors or wavefronts of one execution of an access; 0 where they are not counted."""
        for begin, unit, names in _COUNTERS:
            if kind.startswith(begin):
                executed = self._counted(pc, _EXECUTED)
                return (self._counted(pc, names) / executed if executed else 0.0), unit
        return 0.0, ""
