"""Line tables of cubins (`.debug_line`): which source line an instruction was compiled from.

DWARF Debugging Information Format, versions 2 to 4, section 6.2. The tables of version 5 look otherwise and are left alone.
"""

from __future__ import annotations

import bisect
from typing import NamedTuple

from msgspec import Struct, field

from triage.dialects.nvidia.report.elf import Elf

_MAX_ROWS = 1 << 21  # rows of a whole table
# characters of the paths of a unit: each file names its folder by number, so many short ones may share a long one
_MAX_PATH_CHARS = 1 << 24


class SourceLine(NamedTuple):
    """A source line. file: path as the compiler wrote it."""

    file: str
    line: int


class Lines(Struct):
    """Places by section index: sorted offsets, and what begins at each; None where no line is known."""

    offsets: dict[int, list[int]] = field(default_factory=dict)
    places: dict[int, list[SourceLine | None]] = field(default_factory=dict)

    def at(self, section: int, offset: int) -> SourceLine | None:
        """The line of the instruction at an offset of a section."""
        known = self.offsets.get(section)
        if not known or (i := bisect.bisect_right(known, offset) - 1) < 0:
            return None
        return self.places[section][i]


class _Cut(Exception):
    """The table ends where something should follow."""


class _Bytes:
    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, min(end, len(data))

    def number(self, size: int) -> int:
        if self.at + size > self.end:
            raise _Cut
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def leb(self, signed: bool = False) -> int:
        value = shift = 0
        while shift < 70:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value
        raise _Cut

    def text(self) -> str:
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            raise _Cut
        raw, self.at = self.data[self.at : end], end + 1
        return raw[:4096].decode("utf-8", "replace")


def read(elf: Elf) -> Lines:
    """The line table of a cubin; empty without one. What is damaged ends the table there."""
    out = Lines()
    section = elf.section(".debug_line")
    if section is None:
        return out
    data = elf.content(section)
    targets = {at: (s.section, s.value + more) for at, (s, more) in elf.relocations(".debug_line").items()}
    found: dict[int, list[tuple[int, SourceLine | None]]] = {}
    at = rows = 0
    while at + 4 <= len(data) and rows < _MAX_ROWS:
        length = int.from_bytes(data[at : at + 4], "little")
        unit = _Bytes(data, at + 4, at + 4 + length)
        at += 4 + length
        try:
            rows += _unit(unit, targets, found)
        except _Cut:
            continue
    for number, places in found.items():
        places.sort(key=lambda p: p[0])
        out.offsets[number], out.places[number] = [p[0] for p in places], [p[1] for p in places]
    return out


def _unit(b: _Bytes, targets: dict[int, tuple[int, int]], found: dict[int, list[tuple[int, SourceLine | None]]]) -> int:
    """Rows of one compilation unit, put into `found` by section; how many."""
    version = b.number(2)
    if not 2 <= version <= 4:
        raise _Cut
    program = b.number(4) + b.at
    least = b.number(1)
    if version >= 4:
        b.number(1)
    b.number(1)
    base, wide, first = b.number(1), b.number(1), b.number(1)
    base -= 256 if base > 127 else 0
    arguments = [b.number(1) for _ in range(first - 1)]
    folders, files, left = [""], [""], _MAX_PATH_CHARS
    while text := b.text():
        folders.append(text)
    while text := b.text():
        folder = b.leb()
        b.leb()
        b.leb()
        files.append(_path(folders, folder, text))
        left -= len(files[-1])
        if left < 0:
            raise _Cut
    b.at = program
    return _program(b, (least, base, wide or 1, first, arguments), files, targets, found)


def _path(folders: list[str], folder: int, name: str) -> str:
    """Folder and name, as the system of the compiler joins them; Windows' separators may come doubled."""
    above = (folders[folder] if folder < len(folders) else "").replace("\\\\", "\\").rstrip("/\\")
    if not above or name.startswith(("/", "\\")) or name[1:2] == ":":
        return name
    return above + ("\\" if "\\" in above else "/") + name


def _program(
    b: _Bytes,
    head: tuple[int, int, int, int, list[int]],
    files: list[str],
    targets: dict[int, tuple[int, int]],
    found: dict[int, list[tuple[int, SourceLine | None]]],
) -> int:
    least, base, wide, first, _ = head
    section, offset, file, line, count = -1, 0, 1, 1, 0
    places: dict[tuple[int, int], SourceLine] = {}  # a line has many instructions

    def row(end: bool = False) -> None:
        nonlocal count
        if section >= 0:
            place = None
            if not end and 0 < file < len(files) and line > 0 and (place := places.get((file, line))) is None:
                place = places[file, line] = SourceLine(files[file], line)
            found.setdefault(section, []).append((offset, place))
        count += 1
        if count > _MAX_ROWS:
            raise _Cut

    while b.at < b.end:
        code = b.number(1)
        if code >= first:
            offset += (code - first) // wide * least
            line += base + (code - first) % wide
            row()
        elif code == 0:  # extended: a length, then its own code
            length = b.leb()
            beyond = b.at + length
            kind = b.number(1)
            if kind == 1:
                row(end=True)
                section, offset, file, line = -1, 0, 1, 1
            elif kind == 2:
                section, value = targets.get(b.at, (-1, 0))
                offset = b.number(min(max(length - 1, 0), 8))
                if offset < value:  # in linked code (2021.2 to 2022.1) the symbol's value is in place already
                    offset += value
            b.at = beyond
        elif code == 1:
            row()
        elif code == 4:
            file = b.leb()
        else:
            further, below = _advance(b, code, head)
            offset += further
            line += below
    return count


def _advance(b: _Bytes, code: int, head: tuple[int, int, int, int, list[int]]) -> tuple[int, int]:
    """(bytes further, lines below) by a standard opcode; neither by one that moves nothing, whose operands are passed."""
    least, _, wide, first, arguments = head
    if code == 2:
        return b.leb() * least, 0
    if code == 3:
        return 0, b.leb(signed=True)
    if code == 8:
        return (255 - first) // wide * least, 0
    if code == 9:
        return b.number(2), 0
    for _ in range(arguments[code - 1]):
        b.leb()
    return 0, 0
