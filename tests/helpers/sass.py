"""A writer of instruction words for NVIDIA GPUs from sm_70 on: the fields that the reader must understand."""

import struct

PT, RZ, NO = 7, 255, 7  # predicate that is always true, register that reads as zero, no scoreboard
# opcodes with their forms
IMAD_WIDE, IMAD, MOV, FADD, DADD, F2F = 0x625, 0x224, 0xA02, 0x221, 0x229, 0x310
LDG, LDG_UR, LDL, LDS, STG, STS, LDGSTS, LDGDEPBAR, DEPBAR = (
    0x381,
    0x981,
    0x983,
    0x984,
    0x986,
    0x988,
    0xFAE,
    0x9AF,
    0x91A,
)
BRA, EXIT, NOP, S2R, BAR, BRX, CALL, BSSY, LDCU = 0x947, 0x94D, 0x918, 0x919, 0xB1D, 0x949, 0x944, 0x945, 0x7AC


def word(
    opcode: int,
    d: int = RZ,
    a: int = RZ,
    b: int = RZ,
    c: int = RZ,
    *,
    sets: int = NO,
    reads: int = NO,
    waits: tuple[int, ...] = (),
    guard: int = PT,
    low: int = 0,
    high: int = 0,
) -> bytes:
    """Destination, operands, scoreboards set on write and on read, and awaited; low, high: further bits of each half."""
    first = opcode | guard << 12 | d << 16 | a << 24 | b << 32
    second = c | sets << 46 | reads << 49 | sum(1 << w for w in waits) << 52
    return struct.pack("<QQ", first | low, second | high)


def constant(offset: int, bank: int = 0) -> int:
    """Bits of a constant operand, for `low`; its second operand is then 0."""
    return bank << 54 | offset << 38


def wide(size: int) -> int:
    """Bits for an access of 4, 8 or 16 bytes, for `high`."""
    return {4: 4, 8: 5, 16: 6}[size] << 9


def jump(opcode: int, distance: int, sm: int = 80, guard: int = PT) -> bytes:
    """A jump by so many bytes from the next instruction."""
    steps, far = distance // 4, 0
    if sm >= 90 and opcode != BSSY:
        steps, far = steps >> 8, steps & 0xFF
    bits = steps & (1 << 48) - 1
    low = (bits & (1 << 30) - 1) << 34 | (far << 16)
    return word(opcode, 0, 0, 0, 0, guard=guard, low=low, high=(bits >> 30 if opcode != BSSY else 0) | PT << 23)


def info(offsets: list[tuple[int, int]], base: int = 0x160) -> bytes:
    """The section .nv.info of a kernel. offsets: (offset, size) per argument."""
    out = struct.pack("<BBHIHH", 4, 0x0A, 8, 1, base, sum(s for _, s in offsets))
    for number, (offset, size) in reversed(list(enumerate(offsets))):
        out += struct.pack("<BBHIHHI", 4, 0x17, 12, 0, number, offset, size << 18 | 0x1F000)
    return struct.pack("<BBH", 3, 0x1B, 0xFF) + out
