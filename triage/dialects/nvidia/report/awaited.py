"""What the warps at a place wait for: the samples of each reason, given to the instructions behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from triage.capture.arrays import Indices
from triage.capture.location import Late, Producer
from triage.dialects.nvidia.report.access_figures import AccessFigures
from triage.dialects.nvidia.report.code import Map, Spot
from triage.dialects.nvidia.report.instances import Instances
from triage.dialects.nvidia.report.stall_samples import READY, all_reasons, at, by_reason, moved, reasons, summed, taken
from triage.dialects.nvidia.sass import arguments
from triage.dialects.nvidia.sass.body import BYTES, Body
from triage.dialects.nvidia.sass.producers import AWAITED, BARRIER, QUEUES, fillers, for_operands, meaning, producers

_LISTED = 3  # producers of one place
_FOLLOWED = 256  # of them before those of a line or argument are put together
_MIN_SHARE = 0.1  # of the waiting at a place, below which a producer is not worth a word
MIN_SAMPLES = 50  # of one place, below which shares of its reasons are chance
_MIN_ASKED = 0.25  # of it that has an instruction behind it, below which the place waits for other things
_INSTRUCTIONS = 512  # of one place that are followed, those with most samples first
_MAIN = 0.5  # NVIDIA, Compute Triage Guide: a reason with more than half of a line's samples is what the line waits for
_ACCESSES = ("load", "store", "atomic", "reduction", "copy")
_BY_ARGUMENT = ("global", "generic", "asynchronous copy")  # kinds of access that go through an argument
_BEHIND = (BARRIER, "drain")  # reasons of warps that are sampled behind the instruction they wait in


class _Wait(NamedTuple):
    """A wait of one kind for one instruction."""

    pc: int
    reason: str
    waiter: str
    operands: bool = False
    meaning: str = ""
    pipe: str = ""


class _Part(Struct):
    """Samples that a wait explains, and how many instructions it is for at most."""

    samples: float = 0.0
    candidates: int = 1


def _grouped(found: list[Producer]) -> list[Producer]:
    """Those of one line, or of one argument where no line is known, as one; the largest first, without the small ones."""
    groups: dict[tuple[object, ...], list[Producer]] = {}
    for p in found:
        key = (p.file, p.line) if p.line else (p.function,)
        what = p.pipe or p.kind or p.mnemonic
        alike = (p.reason, "" if p.queue else p.waiter, what, p.operands, p.meaning, p.argument, p.number)
        groups.setdefault((*alike, *key), []).append(p)
    out = [
        replace(
            ps[0],
            share=sum(p.share for p in ps),
            instructions=len({p.pc for p in ps}),
            candidates=max(p.candidates for p in ps),
            figures=tuple(sorted({round(p.per_request, 1) for p in ps if p.per_request})),
        )
        for ps in groups.values()
    ]
    return sorted((p for p in out if p.share >= _MIN_SHARE), key=lambda p: -p.share)[:_LISTED]


class Awaited(Struct):
    """The producers of places of one launch. types: of the kernel's arguments as its signature has them."""

    found: Instances
    where: Map
    types: list[str]
    figures: AccessFigures
    _followed: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    _fillers: dict[tuple[int, str, str], dict[int, float]] = field(default_factory=dict)
    _late: dict[int, Late | None] = field(default_factory=dict)

    def settle(self) -> None:
        """Put samples of warps in a barrier, or at their end, to that instruction: the counters have them behind it."""
        for reason in _BEHIND:
            name = all_reasons(self.found).get(reason)
            if not name:
                continue
            pcs, samples = summed(*self.found.values(name))
            to = {pc: self._issued(pc, reason) for pc in pcs[samples > 0].tolist()}
            if any(pc != target for pc, target in to.items()):
                moved(self.found, name, to)

    def _issued(self, pc: int, reason: str) -> int:
        """The instruction that warps wait in: of several the one executed most; the sampled one where none is found."""
        code = self.where.instruction(pc)
        if code is None:
            return pc
        body, index = code
        found = [pc + (i - index) * BYTES for i in body.issued(index, reason)]
        return max(found, key=lambda p: (self.figures.executed(p), p), default=pc)

    def mnemonic(self, pc: int) -> str:
        """Mnemonic of the instruction at an address, "" if it is not known."""
        code = self.where.instruction(pc)
        return code[0].word(code[1]).name.mnemonic if code else ""

    def of(self, pcs: Indices) -> tuple[tuple[Producer, ...], str]:
        """(producers of the waiting at some addresses, most first; why there is none, "" if none is asked for)."""
        counts, total = by_reason(self.found, pcs)
        asked = {r: n for r, n in counts.items() if n > 0 and (r in AWAITED or r in QUEUES or r == BARRIER)}
        if total < MIN_SAMPLES or sum(asked.values()) < _MIN_ASKED * total:
            return (), ""
        if self.where.instruction(int(pcs[0])) is None and not self.where.exhausted:
            return (), "its machine code is not in the report"
        parts: dict[_Wait, _Part] = {}
        for reason in asked:
            for pc, samples in self._sampled(pcs, reason):
                self._give(pc, samples, reason, parts)
        best = sorted(parts.items(), key=lambda w: (-w[1].samples, w[0]))[:_FOLLOWED]
        out = _grouped([self._producer(wait, part, total) for wait, part in best])
        if out:
            return tuple(out), ""
        if self.where.exhausted:
            return (), "more code than is followed in one report"
        if sum(n for r, n in asked.items() if r in AWAITED) < _MIN_ASKED * total:
            return (), ""
        few = "many instructions, none with a tenth of it"
        return (), few if parts else "nothing sets the scoreboards that it waits for"

    def _sampled(self, pcs: Indices, reason: str) -> Iterator[tuple[int, float]]:
        values = at(pcs, *self.found.values(reasons(self.found)[reason]))
        for i in np.argsort(-values, kind="stable")[:_INSTRUCTIONS].tolist():
            if values[i] > 0:
                yield int(pcs[i]), float(values[i])

    def _give(self, pc: int, samples: float, reason: str, parts: dict[_Wait, _Part]) -> None:
        """Divide the samples of one instruction among those that it waits for."""
        code = self.where.instruction(pc)
        if code is None:
            return
        body, index = code
        word = body.word(index)
        name = word.name
        waiter = name.kind if name.kind.endswith(_ACCESSES) else name.mnemonic or "instruction"
        pipe = word.pipe if reason == "math_pipe_throttle" else ""
        shares = self._behind(body, index, pc, reason, pipe)
        for other, share in shares.items():
            i = index + (other - pc) // BYTES
            in_queue = reason in QUEUES or reason == BARRIER
            operands = not in_queue and for_operands(body, i, index)
            wait = _Wait(other, reason, waiter, operands, meaning(body, i, index, reason), pipe)
            part = parts.setdefault(wait, _Part())
            part.samples += samples * share
            part.candidates = max(part.candidates, 1 if in_queue else len(self._followed[pc, reason]))

    def _behind(self, body: Body, index: int, pc: int, reason: str, pipe: str) -> dict[int, float]:
        """Instructions that one waits for, by their part of the wait."""
        start = pc - index * BYTES
        if reason == BARRIER:
            return {pc: 1.0} if body.word(index).barrier is not None else {}
        if reason in QUEUES:
            if (start, reason, pipe) not in self._fillers:
                found = fillers(body, reason, pipe)
                self._fillers[start, reason, pipe] = self._shares(start, body, found, by_executions=bool(pipe))
            return self._fillers[start, reason, pipe]
        if (pc, reason) not in self._followed:
            self._followed[pc, reason] = producers(body, index, reason)
        found = self._followed[pc, reason]
        # registers are read long before a result is there
        results = [i for i in found if not for_operands(body, i, index)]
        return self._shares(start, body, results or found)

    def _shares(self, start: int, body: Body, found: list[int], by_executions: bool = False) -> dict[int, float]:
        kinds = [body.word(i).name.kind for i in found]
        return self.figures.shares([start + i * BYTES for i in found], kinds, by_executions)

    def _producer(self, wait: _Wait, part: _Part, total: float) -> Producer:
        pc = wait.pc
        code = self.where.instruction(pc)
        spot = self.where.spot(pc) or Spot("", pc)
        file, line = spot.line
        word = code[0].word(code[1]) if code else None
        kind, mnemonic = (word.name.kind, word.name.mnemonic) if word else ("", "")
        number, type_ = self._argument(code, kind)
        per, unit = self.figures.per_request(pc, kind)
        return Producer(
            share=part.samples / total,
            reason=wait.reason.replace("_", " "),
            waiter=wait.waiter,
            kind=kind,
            mnemonic=mnemonic,
            function=spot.function,
            offset=spot.offset,
            pc=pc,
            file=file,
            line=line,
            candidates=part.candidates,
            argument=number,
            type=type_,
            per_request=per,
            unit=unit if per else "",
            operations=self.figures.operations(pc, kind),
            operands=wait.operands,
            queue=wait.reason in QUEUES,
            pipe=wait.pipe,
            number=word.barrier if word and wait.reason == BARRIER else None,
            late=self._late_warps(pc, *code) if code and wait.reason == BARRIER else None,
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

    def _late_warps(self, pc: int, body: Body, index: int) -> Late | None:
        """Where the warps are that one barrier waits for: samples since the barriers before it; None where they are few."""
        if pc not in self._late:
            self._late[pc] = self._find_late(pc - index * BYTES, body, index)
        return self._late[pc]

    def _find_late(self, start: int, body: Body, index: int) -> Late | None:
        pcs = start + BYTES * np.array(sorted({*body.barriers(index)[1], index}), np.int64)
        in_barrier = at(pcs, *self.found.values(reasons(self.found)[BARRIER]))
        samples = np.maximum(taken(self.found, pcs) - in_barrier, 0.0)
        total = float(samples.sum())
        if total < MIN_SAMPLES:
            return None
        spots = [self.where.spot(int(p)) for p in pcs]
        lines: dict[object, list[int]] = {}
        for i, spot in enumerate(spots):
            lines.setdefault(spot.place if spot and spot.place else int(pcs[i]), []).append(i)
        most = max(lines.values(), key=lambda some: float(samples[some].sum()))
        top = most[int(np.argmax(samples[most]))]
        if (part := float(samples[most].sum())) < _MIN_SHARE * total:
            return None
        spot = spots[top] or Spot("", int(pcs[top]))
        late = Late(part / total, spot.function, spot.offset, int(pcs[top]), *spot.line)
        return self._with_reason(late, pcs[most], part)

    def _with_reason(self, late: Late, pcs: Indices, samples: float) -> Late:
        """What late warps mostly wait for, and the instruction behind that."""
        counts = {r: float(at(pcs, *self.found.values(n)).sum()) for r, n in all_reasons(self.found).items()}
        counts.pop(BARRIER, None)
        reason = max(counts, key=lambda r: (counts[r], r), default="")
        if not reason or reason in READY or counts[reason] <= _MAIN * samples:
            return late
        late = replace(late, reason=reason.replace("_", " "))
        parts: dict[_Wait, _Part] = {}
        if reason in AWAITED:
            for pc, n in self._sampled(pcs, reason):
                self._give(pc, n, reason, parts)
        if not parts:
            return late
        wait, part = max(parts.items(), key=lambda w: (w[1].samples, w[0]))
        p = self._producer(wait, part, samples)
        return replace(late, kind=p.kind, mnemonic=p.mnemonic, argument=p.argument)
