"""A writer of small cubins: an ELF file with functions, their symbols, and a line table that is relocated against them."""

import struct
from collections.abc import Mapping, Sequence

BYTES = 16  # of an instruction
Rows = Sequence[tuple[int, int]]  # (offset, line)


def leb(number: int, signed: bool = False) -> bytes:
    """A number, seven bits per byte, the lowest first; signed ones end where the sign is clear."""
    out = bytearray()
    while True:
        byte, number = number & 0x7F, number >> 7
        done = number == (-1 if byte & 0x40 else 0) if signed else number == 0
        if done:
            return bytes([*out, byte])
        out.append(byte | 0x80)


def unit(folder: str, file: str, functions: Mapping[str, Rows], size: int) -> tuple[bytes, dict[int, str]]:
    """One DWARF 2 unit, and where in it the address of which function belongs."""
    head = bytes([1, 1, 256 - 5, 14, 10]) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])
    head += folder.encode() + b"\0\0" + file.encode() + b"\0" + leb(1) + leb(0) + leb(0) + b"\0"
    begin = struct.pack("<H", 2) + struct.pack("<I", len(head)) + head
    body, at = b"", {}
    for name, rows in functions.items():
        at[4 + len(begin) + len(body) + 3] = name
        body += b"\0\x09\x02" + bytes(8)
        offset, line = 0, 1
        for where, wanted in rows:
            body += b"\x02" + leb(where - offset) + b"\x03" + leb(wanted - line, signed=True) + b"\x01"
            offset, line = where, wanted
        body += b"\x02" + leb(size - offset) + b"\0\x01\x01"
    return struct.pack("<I", len(begin + body)) + begin + body, at


def cubin(
    functions: Mapping[str, int | bytes],
    lines: tuple[str, str, Mapping[str, Rows]] | None = None,
    *,
    sm: int = 0,
    info: Mapping[str, bytes] | None = None,
    linked: int = 0,
) -> bytes:
    """functions: name -> code, or bytes of it. lines: (folder, file, rows per function). Symbol n is function n, from 1 on.

    info: name -> its section .nv.info. linked: load address of the first function, which its symbol and the line table have.
    """
    code = {n: bytes(c) if isinstance(c, int) else c for n, c in functions.items()}
    names = list(functions)
    sections: list[tuple[str, int, bytes, int, int]] = [("", 0, b"", 0, 0)]  # name, type, content, link, info
    strtab = b"\0" + b"".join(n.encode() + b"\0" for n in names)
    first = 4 if lines is None else 6
    symbols = bytes(24)
    for i, name in enumerate(names):
        start = strtab.index(b"\0" + name.encode() + b"\0") + 1
        value = linked + 0x1000 * i if linked else 0
        symbols += struct.pack("<IBBHQQ", start, 0x12, 0, first + i, value, len(code[name]))
    sections += [(".strtab", 3, strtab, 0, 0), (".symtab", 2, symbols, 1, 1)]
    if lines is not None:
        table, at = unit(*lines, size=max(map(len, code.values())))
        for where, name in at.items() if linked else ():
            place = struct.pack("<Q", linked + 0x1000 * names.index(name))
            table = table[:where] + place + table[where + 8 :]
        places = b"".join(struct.pack("<QQ", where, (names.index(n) + 1) << 32 | 2) for where, n in at.items())
        sections += [(".debug_line", 1, table, 0, 0), (".rel.debug_line", 9, places, 2, 3)]
    sections.append((".note", 7, b"", 0, 0))
    sections += [(f".text.{n}", 1, words, 0, 0) for n, words in code.items()]
    sections += [(f".nv.info.{n}", 0x70000000, content, 0, 0) for n, content in (info or {}).items()]
    return _file(sections, sm)


def _file(sections: list[tuple[str, int, bytes, int, int]], sm: int) -> bytes:
    names = b"\0"
    sections = [*sections, (".shstrtab", 3, b"", 0, 0)]
    starts = []
    for name, *_ in sections:
        starts.append(len(names) if name else 0)
        names += name.encode() + b"\0" if name else b""
    sections[-1] = (".shstrtab", 3, names, 0, 0)
    content, table = b"", b""
    for (_, kind, data, link, info), start in zip(sections, starts, strict=True):
        table += struct.pack("<IIQQQQIIQQ", start, kind, 0, 0, 64 + len(content), len(data), link, info, 0, 0)
        content += data
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQ", 2, 190, 1, 0, 0, 64 + len(content))
    head += struct.pack("<IHHHHHH", sm, 64, 0, 0, 64, len(sections), len(sections) - 1)
    return head + content + table
