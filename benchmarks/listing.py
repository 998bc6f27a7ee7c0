"""A disassembler's text, held against what the reader makes of the same words.

    cuobjdump -sass PROGRAM > program.sass        or        nvdisasm -hex program.cubin > program.sass

Each instruction stands there as text with its 128 bits in two comments. The text says opcode, registers and jump target;
of the bits the scoreboards set and awaited are taken once more, as digits, and compared with those of the reader.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from triage.dialects.nvidia.sass.body import BYTES, Body
from triage.dialects.nvidia.sass.words import NONE, Word

_LINE = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s+/\* 0x([0-9a-f]{16}) \*/")
_SECOND = re.compile(r"\s+/\* 0x([0-9a-f]{16}) \*/")
_FUNCTION = re.compile(r"\s*(?:Function : |\.section\s+\.text\.|\.text\.)([^\s,:]+)")
_ARCH = re.compile(r"(?:arch = |EF_CUDA_|\.target\s+)sm_?(\d+)", re.IGNORECASE)
_GUARD = re.compile(r"@!?U?P\w+\s+")
_REGISTER = re.compile(r"(?<![A-Z])(U?R)(\d+)((?:\.\w+)*)")
_JUMPS = ("BRA", "BSSY", "CALL")
FIELDS = ("opcode", "register written", "registers read", "jump target", "control bits")


class Line(NamedTuple):
    """One instruction: function, byte offset, text, both halves of its bits as hexadecimal digits."""

    sm: int
    function: str
    offset: int
    text: str
    low: str
    high: str


def lines(path: Path) -> Iterator[Line]:
    """The instructions of a listing."""
    sm, function, first = 0, "", None
    for text in path.read_text("utf-8", "replace").splitlines():
        if m := _LINE.match(text):
            first = m
        elif first and (m := _SECOND.match(text)):
            yield Line(sm, function, int(first[1], 16), _GUARD.sub("", first[2], count=1), first[3], m[1])
            first = None
        elif m := _FUNCTION.match(text):
            function = m[1]
        elif m := _ARCH.search(text):
            sm = int(m[1])


def compare(path: Path, differing: list[str]) -> Counter[str]:
    """How many instructions of a listing were compared, and how many fields are equal."""
    out: Counter[str] = Counter()
    for line in lines(path):
        raw = bytes.fromhex(line.low)[::-1] + bytes.fromhex(line.high)[::-1]
        body = Body(raw, line.sm)
        out["instructions"] += 1
        for field, same in zip(FIELDS, _fields(line, body), strict=True):
            out[field] += same
            if not same:
                differing.append(f"{path.name} {line.function}+{line.offset:#x} {field}: {line.text}")
    return out


def _fields(line: Line, body: Body) -> Iterator[bool]:
    word = body.word(0)
    name, _, rest = line.text.partition(" ")
    mnemonic = name.split(".")[0]
    operands = [o.strip() for o in re.split(r",(?![^\[]*\])", rest)]
    yield mnemonic == word.name.mnemonic
    while operands and re.fullmatch(r"U?P(\d|T)", operands[0]) and len(operands) > 1 and word.name.result != "none":
        operands.pop(0)  # predicates written come first
    writes = bool(re.fullmatch(r"U?R(\d+|Z)(\.\w+)*", operands[0])) and word.name.result != "none"
    m = _REGISTER.fullmatch(operands[0]) if writes else None
    empty = word.destination == NONE or (word.uniform and word.destination == 63)
    yield (f"{m[1]}{m[2]}" if m else "") == ("" if empty else f"{'U' if word.uniform else ''}R{word.destination}")
    yield _same_registers(operands[writes:], word)
    to = re.search(r"0x([0-9a-f]+)$", line.text) if mnemonic in _JUMPS else None
    yield (int(to[1], 16) if to else None) == (None if word.target is None else line.offset + BYTES + word.target)
    yield _control(line.high) == (body.sets[0], body.waits[0])


def _same_registers(operands: list[str], word: Word) -> bool:
    """True if the operands name the registers that the word reads, a pair by its first."""
    named: dict[str, set[int]] = {"R": set(), "UR": set()}
    both: dict[str, set[int]] = {"R": set(), "UR": set()}
    for kind, number, more in _REGISTER.findall(" ".join(operands)):
        named[kind].add(int(number))
        both[kind] |= {int(number) + k for k in range(2 if ".64" in more else 1)}
    first = {r.start for r in word.read}
    uniform = word.read_uniform
    return (
        both["R"] <= {r for some in word.read for r in some}
        and first <= named["R"]
        and named["UR"] <= uniform <= {r + k for r in named["UR"] for k in (0, 1)}
    )


def _control(high: str) -> tuple[int, int]:
    """(scoreboards set, scoreboards awaited) from the digits of the upper half: bits 110-115 and 116-121 of the whole."""
    bits = f"{int(high, 16):064b}"[::-1]
    written, read = (int(bits[at : at + 3][::-1], 2) for at in (46, 49))
    return sum(1 << b for b in {written, read} if b < 6), int(bits[52:58][::-1], 2)
