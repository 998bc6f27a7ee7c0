"""The code of a launch: which function an address lies in, how far, and which source line it was compiled from."""

from __future__ import annotations

import bisect
from functools import cached_property
from typing import NamedTuple

from triage.dialects.nvidia.report import elf, line_table
from triage.dialects.nvidia.report.container import Contents, text
from triage.dialects.nvidia.report.elf import Elf, Symbol
from triage.dialects.nvidia.report.line_table import Lines, SourceLine
from triage.dialects.nvidia.report.wire import BYTES, fields
from triage.dialects.nvidia.sass import arguments
from triage.dialects.nvidia.sass.arguments import Argument
from triage.dialects.nvidia.sass.body import BYTES as WORD
from triage.dialects.nvidia.sass.body import Body, Budget
from triage.ground.kernel_names import demangled

_MAX_CUBIN_BYTES = 256 << 20  # bytes of a cubin that is looked into
_UNSEEN = 1 << 20  # maximum bytes of a function without a size


class Function(NamedTuple):
    """Mangled name, load address, size in bytes, and where it lies in the cubin (section -1: not known)."""

    name: str
    address: int
    size: int
    section: int = -1
    value: int = 0


class Spot(NamedTuple):
    """An instruction: readable name of its function, offset in it, and its line where that is known."""

    function: str
    offset: int
    place: SourceLine | None = None

    @property
    def line(self) -> tuple[str, int]:
        """File and line; ("", 0) where they are unknown."""
        return (self.place.file, self.place.line) if self.place else ("", 0)


class Code:
    """One source entry, which may come in pieces. files: embedded sources by path. Its cubin is read when asked for.

    budget: what may be visited of the code of all entries of a report.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.cubin = b""
        self.table: list[tuple[str, int, int]] = []  # name, load address, symbol
        self.files: dict[str, list[str]] = {}
        self._bodies: dict[int, Body] = {}

    @cached_property
    def elf(self) -> Elf | None:
        """The cubin's sections and symbols."""
        return elf.read(self.cubin) if self.cubin else None

    @cached_property
    def lines(self) -> Lines:
        """The cubin's line table, empty without one."""
        return line_table.read(self.elf) if self.elf else Lines()

    def body(self, section: int) -> Body | None:
        """The instructions of a section; None where it is cut, or its words are laid out otherwise (before sm_70)."""
        if self.elf is None or not 0 < section < len(self.elf.sections):
            return None
        if section not in self._bodies:
            self._bodies[section] = Body(self.elf.content(self.elf.sections[section]), self.elf.sm, self.budget)
        return self._bodies[section] if len(self._bodies[section]) else None

    def arguments(self, kernel: str) -> list[Argument]:
        """The arguments of a kernel, [] where the cubin does not say."""
        section = self.elf.section(f".nv.info.{kernel}") if self.elf else None
        return arguments.arguments(self.elf.content(section)) if self.elf and section else []

    @cached_property
    def _named(self) -> dict[str, tuple[Symbol, int, int]]:
        """Name -> the last symbol of it, how many there are, and the largest size."""
        out: dict[str, tuple[Symbol, int, int]] = {}
        for s in self.elf.symbols if self.elf else ():
            if s.size:
                _, count, size = out.get(s.name, (s, 0, 0))
                out[s.name] = s, count + 1, max(size, s.size)
        return out

    @cached_property
    def functions(self) -> list[Function]:
        """Every function whose load address is known, by address."""
        return sorted({self.placed(*entry) for entry in self.table}, key=lambda f: f.address)

    def placed(self, name: str, address: int, symbol: int = -1) -> Function:
        """A function with its place in the cubin: by the number of its symbol, else by name."""
        symbols = self.elf.symbols if self.elf else []
        if 0 <= symbol < len(symbols) and symbols[symbol].name == name:
            s = symbols[symbol]
        else:
            if name not in self._named:
                return Function(name, address, _UNSEEN)
            s, count, largest = self._named[name]
            if count != 1:  # several static functions of one name cannot be distinguished
                return Function(name, address, largest)
        return Function(name, address, s.size or _UNSEEN, s.section, s.value)


def read(contents: Contents) -> dict[int, Code]:
    """Source entries by id; raises Damaged."""
    out: dict[int, Code] = {}
    budget = Budget()
    data = contents.data
    for begin, end in contents.sources:
        parts = list(fields(data, begin, end))
        code = out.setdefault(next((v for n, k, v, _ in parts if n == 1 and k != BYTES), 0), Code(budget))
        for number, kind, value, stop in parts:
            if kind != BYTES:
                continue
            if number == 4 and not code.cubin and stop - value <= _MAX_CUBIN_BYTES:
                code.cubin = bytes(data[value:stop])
            elif number == 8:
                code.files |= _files(contents, value, stop)
            elif number == 9:
                code.table += _functions(contents, value, stop)
    return out


def _files(contents: Contents, at: int, end: int) -> dict[str, list[str]]:
    out = {}
    for number, kind, value, stop in fields(contents.data, at, end):
        if number == 1 and kind == BYTES:
            pair = {n: (v, s) for n, k, v, s in fields(contents.data, value, stop) if k == BYTES}
            if 1 in pair and 2 in pair:
                out[text(contents.data, *pair[1])] = text(contents.data, *pair[2], 1 << 24).splitlines()
    return out


def _functions(contents: Contents, at: int, end: int) -> list[tuple[str, int, int]]:
    out = []
    for number, kind, value, stop in fields(contents.data, at, end):
        if number == 1 and kind == BYTES:
            parts = {n: (v, s) for n, _, v, s in fields(contents.data, value, stop)}
            if 1 in parts and 2 in parts:
                out.append((text(contents.data, *parts[1]), parts[2][0], parts.get(3, (-1, 0))[0]))
    return out


class Map:
    """From addresses of one launch to instructions. base: load address of the kernel, 0 if unknown."""

    def __init__(self, code: Code | None, mangled: str, shown: str, base: int) -> None:
        self._code, self._mangled, self._shown = code or Code(), mangled, shown
        self._functions = self._code.functions
        self._addresses = [f.address for f in self._functions]
        at = bisect.bisect_left(self._addresses, base)
        if base and self._addresses[at : at + 1] != [base]:
            self._functions = [*self._functions[:at], self._code.placed(mangled, base), *self._functions[at:]]
            self._addresses.insert(at, base)

    def spot(self, pc: int) -> Spot | None:
        """Where an address lies; None outside all known functions."""
        at = bisect.bisect_right(self._addresses, pc) - 1
        if at < 0 or (offset := pc - self._addresses[at]) >= self._functions[at].size:
            return None
        inside = self._functions[at]
        place = self._code.lines.at(inside.section, inside.value + offset) if inside.section >= 0 else None
        return Spot(self._shown if inside.name == self._mangled else demangled(inside.name), offset, place)

    def instruction(self, pc: int) -> tuple[Body, int] | None:
        """The code around an address and the index of the instruction there; None where it is not at hand."""
        at = bisect.bisect_right(self._addresses, pc) - 1
        if at < 0 or self._functions[at].section < 0:
            return None
        inside = self._functions[at]
        body = self._code.body(inside.section)
        if body is None:
            return None
        # in linked code (2021.2 to 2022.1) a kernel's symbol holds its load address
        index, odd = divmod(pc - inside.address + (inside.value if inside.value < len(body) * WORD else 0), WORD)
        return (body, index) if index < len(body) and not odd else None

    @property
    def exhausted(self) -> bool:
        """True if no more code of this report is visited."""
        return self._code.budget.left <= 0

    @cached_property
    def arguments(self) -> list[Argument]:
        """The kernel's arguments."""
        return self._code.arguments(self._mangled)

    def text(self, place: SourceLine) -> str:
        """A source line where the report embeds its file, else ""."""
        lines = self._code.files.get(place.file)
        if lines is None:  # the path as it was given to the compiler, or as it was found
            tail = "/" + place.file.replace("\\", "/").rpartition("/")[2]
            named = [v for k, v in self._code.files.items() if ("/" + k.replace("\\", "/")).endswith(tail)]
            lines = named[0] if len(named) == 1 else []
        return lines[place.line - 1].strip()[:200] if 0 < place.line <= len(lines) else ""
