"""Which kernel argument an access goes through: its address followed back to the constants that hold the arguments."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from triage.dialects.nvidia.sass.body import Body
from triage.dialects.nvidia.sass.words import NONE, Word

_MAX_REGISTERS = 256  # registers that are followed to the argument of an address
_STEPS = 8_000  # instructions that are visited for it
_ZERO = 63  # the uniform register that reads as zero
_BANK, _PARAMETER = 0x0A, 0x17  # attributes of .nv.info: where arguments lie in constant bank 0, and one argument
_SIZED = 4  # the form of an attribute that has a length and content; others are four bytes
_POINTER = 8  # bytes
_SUMS = frozenset({0x010, 0x035, 0x090, 0x012, 0x007})  # any operand may be the pointer: sums, selections
_SCALED = frozenset({0x011, 0x091})  # LEA: (a << n) + b
_PRODUCTS = frozenset({0x024, 0x025, 0x0A4, 0x0A5})  # IMAD: a * b + c
_COPIES = frozenset({0x002, 0x082})
_TO_UNIFORM = frozenset({0x0CA, 0x1C2})
_SHIFTS = frozenset({0x019, 0x099, 0x016, 0x096, 0x01A, 0x09A, 0x087})
_INTEGERS = _SUMS | _SCALED | _PRODUCTS | _COPIES | _TO_UNIFORM | _SHIFTS


class Argument(NamedTuple):
    """Number from 0, offset in constant bank 0, and size in bytes."""

    number: int
    offset: int
    size: int


def arguments(info: bytes) -> list[Argument]:
    """The arguments of a kernel by offset, from its section .nv.info; [] if it does not say."""
    base, found, at = -1, [], 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != _SIZED:
            continue
        content = info[at : at + size]
        at += size
        if attribute == _BANK and len(content) >= 8:
            base = struct.unpack_from("<H", content, 4)[0]
        elif attribute == _PARAMETER and len(content) >= 12:
            _, number, offset, flags = struct.unpack_from("<IHHI", content)
            found.append((number, offset, flags >> 18))
    return sorted((Argument(n, base + o, s) for n, o, s in found), key=lambda a: a.offset) if base >= 0 else []


def types(signature: str) -> list[str]:
    """`void k<float>(float *, int)` -> `float*`, `int`; [] without a list of arguments."""
    text = signature.rstrip()
    if not text.endswith(")"):
        return []
    depth, out, end = 0, [], len(text) - 1
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] in ")>]") - (text[i] in "(<[")
        if (depth == 1 and text[i] == ",") or (depth == 0 and text[i] == "("):
            out.append(text[i + 1 : end].strip().replace(" *", "*").replace(" &", "&"))
            end = i
        if depth == 0:
            break
    return [] if out == [""] else out[::-1]


def argument(body: Body, at: int, known: list[Argument]) -> Argument | None:
    """The argument that the address of a global access starts from; None if it is not exactly one."""
    if at not in body.constants:
        found = (body.word(i).constant for i in _origins(body, at))
        body.constants[at] = frozenset(c[1] for c in found if c and c[0] == 0)
    named = {a for offset in body.constants[at] for a in known if 0 <= offset - a.offset < a.size >= _POINTER}
    return named.pop() if len(named) == 1 else None


def _origins(body: Body, at: int) -> Iterator[int]:
    """Instructions whose results reach the address of an access as a pointer."""
    word = body.word(at)
    start = [(at, word.address, False), *((at, register, True) for register in sorted(word.read_uniform)[:1])]
    todo, seen = start, set(start)
    enough = body.budget.left - _STEPS
    while todo and len(seen) < _MAX_REGISTERS and body.budget.left > enough:
        i, register, uniform = todo.pop()
        if register == (_ZERO if uniform else NONE):
            continue
        for definition in _definitions(body, i, register, uniform):
            yield definition
            for source in _pointers(body.word(definition)):
                state = (definition, *source)
                if state not in seen:
                    seen.add(state)
                    todo.append(state)


def _definitions(body: Body, at: int, register: int, uniform: bool) -> Iterator[int]:
    """Instructions that may have written a register last."""
    for i, on in body.back(at):
        word = body.word(i)
        if uniform:
            first = word.destination if word.uniform else NONE
            written = range(first, first + 2)  # pairs hold addresses
        else:
            written = word.written
        if register in written:
            yield i
            if not word.guarded:
                on.clear()


def _pointers(word: Word) -> list[tuple[int, bool]]:
    """(register, uniform) of the operands that may carry a pointer into the result."""
    base, uniform, form = word.base, word.uniform, word.form
    first = (word.low >> 24 & 0xFF, uniform and base not in _TO_UNIFORM)
    in_uniform = (word.low >> 32 & 0x3F, True)  # second operand of form 6, third of form 7
    last = (word.high & 0x3F, True) if uniform else (word.high & 0xFF, False)
    second = {1: (word.low >> 32 & 0xFF, uniform), 6: in_uniform, 7: last}.get(form)
    third = in_uniform if form == 7 else last
    if base in _SUMS:
        return [first, *([second] if second else []), third]
    if base in _TO_UNIFORM:
        return [first]
    if base in _COPIES or base in _SCALED:
        return [second] if second else []
    # with a constant third operand (forms 2, 3) the register at 64-71 is a factor
    return [third] if base in _PRODUCTS and form not in (2, 3) else []


def of_integers(word: Word) -> bool:
    """True for arithmetic that addresses are computed by."""
    return word.base in _INTEGERS or word.name.mnemonic == "VIADD"
