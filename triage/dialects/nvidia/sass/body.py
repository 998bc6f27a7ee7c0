"""The instructions of one section of code, and how a warp gets from one to another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from triage.dialects.nvidia.sass.words import COMMIT, COPY, DEPBAR, EXIT, MEET, NEWEST, OLDEST, Word

BYTES = 16
_MAX_INSTRUCTIONS = 1 << 17  # instructions of a section that are looked into: 2 MiB of code
STEPS = 4_000  # instructions of one walk back
_BARRIERS = 6
_ISSUED = 32  # instructions behind a barrier at which a warp that waits in it may be sampled


class Budget:
    """Instructions that may still be visited in one report: forged ones ask for more than honest ones."""

    def __init__(self, left: int = 3_000_000) -> None:
        self.left = left


class Body:
    """Words by index. sets, waits: six bits each, the scoreboards that an instruction sets and awaits.

    constants: offsets of constants that the address of an access comes from, by its index, once asked for.
    """

    def __init__(self, code: bytes, sm: int, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        whole = min(len(code) // BYTES, _MAX_INSTRUCTIONS, max(self.budget.left, 0)) if OLDEST <= sm <= NEWEST else 0
        self.budget.left -= whole
        self.constants: dict[int, frozenset[int]] = {}
        both = np.frombuffer(code, "<u8", 2 * whole).reshape(-1, 2)
        low, high = both[:, 0], both[:, 1]
        self.sm = sm
        self.low: list[int] = low.tolist()
        self.high: list[int] = high.tolist()
        control = (high >> np.uint64(46)).astype(np.int64)
        one = np.int64(1)
        self.sets: list[int] = ((one << (control & 7) | one << (control >> 3 & 7)) & 63).tolist()
        self.waits: list[int] = (control >> 6 & 63).tolist()
        for i in np.flatnonzero(low & np.uint64(0x1FF) == DEPBAR).tolist():
            if not self.low[i] >> 38 & 63:  # DEPBAR.LE SBn, 0: until nothing is outstanding
                self.waits[i] |= self.awaited(i)
        self._before = self._predecessors(low)

    def __len__(self) -> int:
        return len(self.low)

    def word(self, i: int) -> Word:
        """The instruction at an index."""
        return Word(self.low[i], self.high[i], self.sm)

    def awaited(self, i: int) -> int:
        """Scoreboards that an instruction awaits, those of DEPBAR.LE included, which lets some stay outstanding."""
        if self.low[i] & 0x1FF != DEPBAR:
            return self.waits[i]
        number = self.low[i] >> 44 & 7
        return self.waits[i] | self.low[i] >> 32 & 63 | (1 << number if number < _BARRIERS else 0)

    def before(self, i: int) -> list[int]:
        """Instructions after which a warp may execute this one."""
        if (known := self._before.get(i)) is not None:
            return known
        return [i - 1] if i else []

    def _predecessors(self, low: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> dict[int, list[int]]:
        """Those of instructions that follow a jump or are jumped to; of all others it is the one before."""
        out: dict[int, list[int]] = {}
        indirect, behind = [], []
        base = low & np.uint64(0x1FF)
        flow = np.flatnonzero((base >= 0x141) & (base <= 0x15B)).tolist()
        self.budget.left -= 4 * len(flow)  # each takes as long as some steps
        for i in flow:
            word = self.word(i)
            if word.indirect:
                indirect.append(i)
            if word.ends and i + 1 < len(self):
                behind.append(i + 1)
                out.setdefault(i + 1, [i]).remove(i)
            target = word.target if word.base != MEET else None
            if target is None or target % BYTES:
                continue
            to = i + 1 + target // BYTES
            if 0 <= to < len(self):
                out.setdefault(to, [to - 1] if to else []).append(i)
        for i in behind:
            out[i] = out[i] or indirect  # reached by a jump table, if at all
        return out

    def back(self, start: int) -> Iterator[tuple[int, list[int]]]:
        """(instruction, those to go on with) backwards on all paths, each once, at most STEPS.

        The caller clears the list where a path ends.
        """
        seen: set[int] = set()
        stack = list(self.before(start))
        while stack and len(seen) < STEPS and self.budget.left > 0:
            i = stack.pop()
            if i in seen:
                continue
            seen.add(i)
            self.budget.left -= 1
            on = list(self.before(i))
            yield i, on
            stack += on

    def setters(self, start: int, barrier: int) -> list[int]:
        """Instructions whose setting of a scoreboard the one at `start` may have to wait for, in order."""
        bit, out = 1 << barrier, set[int]()
        spare = self._spare(start, barrier)
        seen: set[tuple[int, int]] = set()
        stack = [(i, 0) for i in self.before(start)]
        while stack and len(seen) < STEPS and self.budget.left > 0:
            state = i, newer = stack.pop()
            if state in seen:
                continue
            seen.add(state)
            self.budget.left -= 1
            if self.sets[i] & bit:
                if newer >= spare:
                    out.update(self._copies(i) if self.low[i] & 0x1FF == COMMIT else [i])
                newer = min(newer + 1, spare)
            if not self.waits[i] & bit:
                stack += [(j, newer) for j in self.before(i)]
        return sorted(out)

    def _spare(self, at: int, barrier: int) -> int:
        """How many of the newest settings of a scoreboard an instruction lets stay outstanding: a count of DEPBAR.LE."""
        counted = self.low[at] & 0x1FF == DEPBAR and self.low[at] >> 44 & 7 == barrier
        return self.low[at] >> 38 & 63 if counted and not self.waits[at] >> barrier & 1 else 0

    def issued(self, at: int, reason: str) -> list[int]:
        """Where warps wait that are sampled at an instruction behind: barriers on the way to it, or the end of the warp."""
        if reason == "drain":
            return [at - 1] if at and self.low[at - 1] & 0x1FF == EXIT else []
        return self.barriers(at, _ISSUED)[0]

    def barriers(self, start: int, most: int = STEPS) -> tuple[list[int], list[int]]:
        """(the barriers before an instruction on all paths, the instructions since them)."""
        out: list[int] = []
        since: list[int] = []
        for i, on in self.back(start):
            if len(since) >= most:
                break
            if self.word(i).barrier is None:
                since.append(i)
            else:
                out.append(i)
                on.clear()
        return out, since

    def _copies(self, commit: int) -> list[int]:
        """The asynchronous copies (LDGSTS) that one LDGDEPBAR stands for; itself if none is found."""
        out = []
        for i, on in self.back(commit):
            base = self.low[i] & 0x1FF
            if base == COPY:
                out.append(i)
            elif base == COMMIT:
                on.clear()
        return out or [commit]
