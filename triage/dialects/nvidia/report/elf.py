"""A cubin as an ELF file: sections, symbols, and where the addresses of its line table belong. Every offset is checked.

System V ABI, ELF-64 object files; the relocation of CUDA's own that line tables use puts a symbol's address into 64 bits.
"""

from __future__ import annotations

import struct

from msgspec import Struct, field

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_MAX_SECTIONS = 1 << 20  # sections or symbols of any honest cubin
_NAMES = 1 << 24  # characters of names beyond the bytes of the file: forged ones may overlap
_CUDA, _LATER_ABI = 190, 8  # machine, and the version of its ABI from which on the flags hold the architecture higher
_SYMTAB, _RELA, _REL, _NOBITS = 2, 4, 9, 8


class Section(Struct, frozen=True):
    """Name, type, and [start, stop) bytes of the file; link and info as the type has it."""

    name: str
    type: int
    start: int
    stop: int
    link: int
    info: int


class Symbol(Struct, frozen=True):
    """Name, section index, offset in that section, size in bytes."""

    name: str
    section: int
    value: int
    size: int


class Elf(Struct):
    """What was found; what lies outside the file is left out."""

    data: bytes
    sections: list[Section] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)

    @property
    def sm(self) -> int:
        """Compute capability that the code is for, 89 for 8.9; 0 if it is no code for NVIDIA GPUs."""
        machine, flags = int.from_bytes(self.data[18:20], "little"), int.from_bytes(self.data[48:52], "little")
        if machine != _CUDA:
            return 0
        return flags >> (8 if self.data[8] >= _LATER_ABI else 0) & 0xFF

    def content(self, section: Section) -> bytes:
        """Bytes of a section."""
        return self.data[section.start : section.stop]

    def section(self, name: str) -> Section | None:
        """The first section of a name."""
        return next((s for s in self.sections if s.name == name), None)

    def relocations(self, name: str) -> dict[int, tuple[Symbol, int]]:
        """Offset in a section -> (symbol whose address belongs there, addend)."""
        out: dict[int, tuple[Symbol, int]] = {}
        left = len(self.data)  # honest sections do not overlap
        for s in self.sections:
            if s.type not in (_REL, _RELA) or not 0 < s.info < len(self.sections) or self.sections[s.info].name != name:
                continue
            shape = struct.Struct("<QQq" if s.type == _RELA else "<QQ")
            left -= s.stop - s.start
            if left < 0:
                break
            raw = self.content(s)
            for entry in shape.iter_unpack(raw[: len(raw) // shape.size * shape.size]):
                if (number := entry[1] >> 32) < len(self.symbols):
                    out[entry[0]] = self.symbols[number], entry[2] if s.type == _RELA else 0
        return out


def read(data: bytes) -> Elf | None:
    """The sections and symbols of a 64-bit little-endian ELF file; None when it is none."""
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        return None
    table, size, count, names = struct.unpack_from("<Q10xHHH", data, 0x28)
    out = Elf(data)
    if size != _SECTION.size or count > _MAX_SECTIONS:
        return None
    name_of = _Names(data)
    raw = [_SECTION.unpack_from(data, at) for i in range(count) if (at := table + i * size) + size <= len(data)]
    for name, type_, _, _, start, length, link, info, _, _ in raw:
        if names >= len(raw):
            break
        stop = start if type_ == _NOBITS else start + length
        if stop > len(data):
            start = stop = 0
        out.sections.append(Section(name_of(raw[names][4], name), type_, start, stop, link, info))
    symtab = next((s for s in out.sections if s.type == _SYMTAB), None)
    if symtab is not None and symtab.link < len(out.sections):
        content, texts = out.content(symtab), out.sections[symtab.link].start
        whole = content[: min(len(content) // _SYMBOL.size, _MAX_SECTIONS) * _SYMBOL.size]
        for name, _, _, section, value, length in _SYMBOL.iter_unpack(whole):
            out.symbols.append(Symbol(name_of(texts, name), section, value, length))
    return out


class _Names:
    """Names by their place in a file: each is made once, and none any more when they are longer together than they can be."""

    def __init__(self, data: bytes) -> None:
        self._data, self._left = data, len(data) + _NAMES
        self._known: dict[int, str] = {}

    def __call__(self, table: int, at: int, longest: int = 4096) -> str:
        start = table + at
        if (known := self._known.get(start)) is not None:
            return known
        if start >= len(self._data) or self._left < 0:
            return ""
        end = self._data.find(b"\0", start, start + longest)
        name = self._data[start : end if end >= 0 else start + longest].decode("utf-8", "replace")
        self._left -= len(name)
        self._known[start] = name
        return name
