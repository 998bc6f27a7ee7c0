"""One instruction of 128 bits: its opcode, guard, registers, jump, and the scoreboards that it sets and awaits.

Mnemonics: NVIDIA, CUDA Binary Utilities, instruction set reference. The layout of the bits (observed by others as well:
Mesa's NAK compiler; Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018) is the same for
sm_70 to sm_120: opcode 0-11, guard 12-15, destination 16-23, operands 24-31, 32-39 and 64-71, scoreboards set on write
110-112 and on read 113-115 (7: none), scoreboards awaited 116-121.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

OLDEST, NEWEST = 70, 129  # compute capabilities whose words look like this
NONE = 255  # the register that reads as zero
_UNIFORM_NONE = 63
_FORMS = 0x1FF  # bits of an opcode below its form: register, immediate, constant or uniform operand
_FAR = 90  # from here on jumps have eight more bits
BRANCH, CALL, MEET, EXIT, RETURN = 0x147, 0x144, 0x145, 0x14D, 0x150
DEPBAR, COPY, COMMIT, BARRIER = 0x11A, 0x1AE, 0x1AF, 0x11D
_ARRIVES = 1  # mode of a barrier instruction (bits 77-79) that does not wait
_INDIRECT = frozenset({0x149, 0x14A, 0x14C, 0x158, 0x159})  # BRX, JMP, JMX, BRXU, JMXU
_ENDS = frozenset({BRANCH, EXIT, RETURN, 0x15B}) | _INDIRECT  # what a warp does not pass; 15b: KILL
_TARGETS = frozenset({BRANCH, CALL, MEET})  # BRA, CALL.REL, BSSY: relative to the next instruction
_MEMORY = range(0x180, 0x1B0)  # loads, stores and atomics: operand 24-31 is an address
_SIZES = (1, 1, 1, 1, 1, 2, 4, 4)  # registers of a memory access by bits 73-75: 8 to 32 bits, 64, 128
_PAIRS = frozenset({0x025, 0x028, 0x029, 0x02B})  # IMAD.WIDE and double-precision results: two registers
SHUFFLE = 0x189
# LDC and SHFL: what is bit 91 of other accesses, a uniform register in the address
_NOT_UNIFORM = frozenset({0x182, SHUFFLE})
_PACKED = 86  # NVIDIA, Nsight Compute Profiling Guide, pipelines: from GA10x on half precision runs on the FMA pipe
_SIZED = frozenset({*range(0x180, 0x185), 0x1A3, 0x1A8, 0x1A9, 0x18A, 0x18B, 0x18C, 0x18D, 0x1AC})
_WIDE_MEMORY_ADDRESS = frozenset({0x180, 0x181, 0x185, 0x186, 0x18A, 0x18B, 0x18E, 0x1A3, 0x1A6, 0x1A8, 0x1A9, 0x1AE})


class Name(NamedTuple):
    """mnemonic without its suffixes, "" if unknown. result: where it goes, "" to registers, `uniform` ones, or `none`.

    reads: its register operands, of a, b and c. pipe: where arithmetic runs. kind: what it is in words, "" for plain arithmetic.
    """

    mnemonic: str = ""
    result: str = ""
    kind: str = ""
    reads: str = "abc"
    pipe: str = ""


@cache
def _table() -> dict[int, list[tuple[int, int, Name]]]:
    """Opcode -> compute capabilities from and to, and the name there."""
    out: dict[int, list[tuple[int, int, Name]]] = {}
    text = (Path(__file__).parent / "opcodes.csv").read_text("utf-8")
    for row in csv.DictReader(text.splitlines()):
        since, until = int(row["since"] or OLDEST), int(row["until"] or NEWEST)
        named = Name(row["mnemonic"], row["result"], row["kind"], row["reads"], row["pipe"])
        out.setdefault(int(row["opcode"], 16), []).append((since, until, named))
    return out


@cache
def name(opcode: int, sm: int) -> Name:
    """The name of a 12-bit opcode on a compute capability (89 for 8.9); blank for an opcode without a name."""
    for key in (opcode, opcode & _FORMS):
        for since, until, found in _table().get(key, ()):
            if since <= sm <= until:
                return found
    return Name()


class Word(NamedTuple):
    """The two halves of an instruction, and the compute capability that it is for."""

    low: int
    high: int
    sm: int

    @property
    def opcode(self) -> int:
        """All twelve bits."""
        return self.low & 0xFFF

    @property
    def base(self) -> int:
        """The opcode without its form."""
        return self.low & _FORMS

    @property
    def form(self) -> int:
        """1 registers only; 2, 3 immediate or constant as third operand; 4, 5 as second; 6, 7 uniform register."""
        return self.low >> 9 & 7

    @property
    def name(self) -> Name:
        """Mnemonic and kind."""
        return name(self.opcode, self.sm)

    @property
    def guarded(self) -> bool:
        """True if a predicate decides whether it runs."""
        return self.low >> 12 & 15 != 7

    @property
    def destination(self) -> int:
        """Number of the first register written, uniform or not; 255 if none."""
        return NONE if self.name.result == "none" else self.low >> 16 & 0xFF

    @property
    def uniform(self) -> bool:
        """True if the result goes to a uniform register."""
        return self.name.result == "uniform"

    @property
    def address(self) -> int:
        """Operand 24-31: of a memory access, the first register of its address."""
        return self.low >> 24 & 0xFF

    @property
    def written(self) -> range:
        """Registers written; uniform ones and RZ left out."""
        first = self.destination
        if first == NONE or self.uniform:
            return range(0)
        count = _SIZES[self.high >> 9 & 7] if self.base in _SIZED else 2 if self.base in _PAIRS else 1
        if self.name.kind == "double-precision conversion":
            count = 2 if self.high >> 11 & 3 == 3 else 1
        if self.base == 0x03B:  # LDSM: one, two or four matrices
            count = (1, 2, 4, 4)[self.high >> 8 & 3]
        return range(first, first + count)

    @property
    def pipe(self) -> str:
        """The arithmetic pipe that it runs on; "" for other instructions."""
        return "FMA" if self.name.pipe == "FP16" and self.sm >= _PACKED else self.name.pipe

    @property
    def read(self) -> list[range]:
        """Registers that its operands name, several where an operand is wide."""
        if self.on_uniform:
            return []
        if self.base == SHUFFLE:  # its form says which of lane and mask are registers
            out = [(self._field(at), 1) for at in {1: (24, 32, 64), 2: (24, 32), 4: (24, 64)}.get(self.form, (24,))]
        elif self.base in _MEMORY:
            out = self._of_memory()
        else:
            out = [(self._field(at), self._width(slot)) for slot, at in self._slots()]
        return [range(first, first + count) for first, count in out if first != NONE]

    def _field(self, at: int) -> int:
        return (self.low >> at if at < 64 else self.high >> at - 64) & 0xFF

    def _slots(self) -> list[tuple[str, int]]:
        """(operand, first bit) of those that are registers: the third is at 32 where the second is not, and the other way."""
        reads, form = self.name.reads, self.form
        out = [("a", 24)] if "a" in reads else []
        if form == 1:
            out += [(slot, at) for slot, at in (("b", 32), ("c", 64)) if slot in reads]
        elif form in (2, 3, 7):
            out += [("b", 64)] if "b" in reads and "c" in reads else []
        elif "c" in reads:
            out.append(("c", 64))
        return out

    def _width(self, slot: str) -> int:
        """Registers of an operand of arithmetic."""
        if self.name.kind == "matrix multiply":
            return 4  # at most: a fragment
        if self.name.kind == "double-precision conversion":
            return 2 if self.high >> 20 & 3 == 3 else 1
        return 2 if self.name.pipe == "FP64" or (self.base == 0x025 and slot == "c") else 1

    def _of_memory(self) -> list[tuple[int, int]]:
        """(register, how many) of address and data of an access."""
        second, third, reads = self._field(32), self._field(64), self.name.reads
        out = [(self.address, 1 + (self.base in _WIDE_MEMORY_ADDRESS))] if "a" in reads else []
        if "b" in reads:
            data = third if self.base == 0x185 and self.form == 1 else second  # of ST before sm_80
            out.append((data, _SIZES[self.high >> 9 & 7]))
        if "c" in reads:  # compare and swap
            out.append((third, 2))
        return [*out, (self._field(16), 1)] if self.base == COPY else out

    @property
    def on_uniform(self) -> bool:
        """True if its operands are uniform registers."""
        return self.name.mnemonic[:1] == "U"

    @property
    def read_uniform(self) -> frozenset[int]:
        """Uniform registers that its operands name, both of a pair."""
        at = [32] if self.form in (6, 7) else []
        if self.on_uniform:
            at += [first for _, first in self._slots()]
        elif self.base in _MEMORY:
            has_one = self.high >> 27 & 1 and self.base not in _NOT_UNIFORM
            at = [64 if "b" in self.name.reads else 32] if has_one else []
        named = {self._field(first) & 0x3F for first in at} - {_UNIFORM_NONE}
        return frozenset(n for first in named for n in (first, first + 1))

    @property
    def constant(self) -> tuple[int, int] | None:
        """(bank, byte offset) of a constant operand; None without one."""
        if self.base == 0x1AC:  # LDCU counts in single bytes
            return self.low >> 54 & 0x1F, self.low >> 37 & 0xFFFF
        if self.form not in (3, 5) or (self.base in _MEMORY and self.base != 0x182):
            return None
        return self.low >> 54 & 0x1F, self.low >> 38 & 0xFFFF

    @property
    def barrier(self) -> int | None:
        """Number of the thread-group barrier that it waits at; None for other instructions, 0 where a register holds it."""
        if self.base != BARRIER or self.high >> 13 & 7 == _ARRIVES:
            return None
        return self.low >> 54 & 15 if self.form == 5 else 0

    @property
    def ends(self) -> bool:
        """True if no warp goes on to the next instruction."""
        if self.base not in _ENDS or self.guarded:
            return False
        if self.base not in (BRANCH, EXIT):
            return True
        # a second predicate at 87-90; bits 32-33 of a branch: taken if uniform, divergent or converged
        return self.high >> 23 & 15 == 7 and (self.base == EXIT or not self.low >> 32 & 3)

    @property
    def indirect(self) -> bool:
        """True if it jumps where no word says."""
        return self.base in _INDIRECT

    @property
    def target(self) -> int | None:
        """Bytes from the next instruction to where it jumps (BSSY: where warps meet again); None without a target."""
        if self.base not in _TARGETS or (self.form != 4 and self.opcode != 0x547):
            return None
        distance, bits = self.low >> 34, 30
        if self.base != MEET:
            distance, bits = distance | (self.high & 0x3FFFF) << 30, 48
            if self.sm >= _FAR:
                distance, bits = distance << 8 | self.low >> 16 & 0xFF, 56
        return (distance - (1 << bits) if distance >> bits - 1 else distance) * 4
