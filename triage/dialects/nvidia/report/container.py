"""The container of a report file: blocks of sources, launches and session facts, and one growing table of strings.

NVIDIA describes it in the Nsight Compute Customization Guide, "Report File Format"; what the numbers of the fields beyond
that mean was observed on reports of 2020 to 2026.
"""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from triage.capture.arrays import Indices
from triage.capture.compression import bounded
from triage.capture.source import Source
from triage.dialects.nvidia.ncu_file import Bytes
from triage.dialects.nvidia.report.wire import BYTES, VARINT, Damaged, fields
from triage.ground.errors import BadCapture, NotTriageable

MAGIC = b"NVR\0"
_MAX = 4 << 30
_MAPPED = 256 << 20  # larger files are mapped: a copy would be most of the memory needed
_MAX_TEXT_BYTES = 4096  # bytes of a metric's name or an attribute
_DEVICES = 1024  # of a session


class Device(Struct):
    """A GPU of the session: its name and the attributes the driver states, numbers or texts."""

    name: str = ""
    attributes: dict[str, float | str] = field(default_factory=dict)


class Contents(Struct):
    """Byte ranges of a report. results, sources: [start, stop) bytes of each message.

    names: the string table. cut: byte at which the file ends before it should, or -1.
    """

    data: Bytes
    results: tuple[Indices, Indices]
    sources: list[tuple[int, int]]
    names: list[str]
    devices: dict[int, Device]
    versions: dict[str, str]
    cut: int = -1

    def __len__(self) -> int:
        return len(self.results[0])


def is_report(head: bytes) -> bool:
    """True if a file begins like a report, whatever its name."""
    return head[:4] == MAGIC


def load(source: Source) -> Contents:
    """The contents of a report; raises NotTriageable when it holds no launch, BadCapture when it is damaged."""
    data = _bytes(source)
    try:
        found = _contents(data)
    except Damaged as e:
        raise damaged(source, e) from e
    if not len(found):
        what = f"cut at byte {found.cut:,}, before its first launch" if found.cut >= 0 else "no launches"
        hint = "copy it again, or check that kernels ran and profile again: ncu --set full -o report ./your-app"
        raise NotTriageable(f"{source.path}: {what} (no kernel was profiled, or a report of another tool)", hint)
    return found


def damaged(source: Source, e: Damaged) -> BadCapture:
    """The refusal for bytes that make no sense."""
    return BadCapture(f"{source.path}: damaged at byte {e.at:,}", "copy it again, or profile again")


def _bytes(source: Source) -> Bytes:
    path = source.plain_path
    if path is not None and source.size > _MAPPED:
        with Path(path).open("rb") as f:
            return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    with source.open() as f:
        return bounded(f, source.path, _MAX)


def _contents(data: Bytes) -> Contents:
    starts: list[int] = []
    stops: list[int] = []
    out = Contents(data, (np.zeros(0, np.int64), np.zeros(0, np.int64)), [], [], {}, {})
    at, size = _length(data, 4)[1], len(data)
    while at < size:
        header, begin = _length(data, at)
        if begin < 0 or begin > size:
            out.cut = at
            break
        block = _Block()
        block.read(data, header, begin, out)
        end, p = begin + block.payload, begin
        for kind, count in enumerate((block.sources, block.results + block.ranges)):
            for _ in range(count):
                if p >= end:
                    break
                first, stop = _length(data, p)
                if stop < 0 or stop > size:
                    out.cut = p
                    break
                if kind:
                    starts.append(first)
                    stops.append(stop)
                else:
                    out.sources.append((first, stop))
                p = stop
        if end > size or out.cut >= 0:
            out.cut = out.cut if out.cut >= 0 else size
            break
        at = end
    out.results = np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
    return out


def _length(data: Bytes, at: int) -> tuple[int, int]:
    """[start, stop) of the message whose four bytes of length stand here; (at, -1) when these are cut."""
    raw = data[at : at + 4]
    return (at + 4, at + 4 + int.from_bytes(raw, "little")) if len(raw) == 4 else (at, -1)


class _Block:
    """The header of one block. What it says of the session goes straight into the contents."""

    sources = results = ranges = payload = 0

    def read(self, data: Bytes, at: int, end: int, out: Contents) -> None:
        for number, kind, value, stop in fields(data, at, end):
            if kind == VARINT:
                match number:
                    case 1:
                        self.sources = value
                    case 2:
                        self.results = value
                    case 5:
                        self.payload = value
                    case 7:
                        self.ranges = value
            elif kind == BYTES and number == 3:
                _session(data, value, stop, out)
            elif kind == BYTES and number == 4:
                out.names += [text(data, v, s) for n, k, v, s in fields(data, value, stop) if n == 1 and k == BYTES]


def text(data: Bytes, at: int, stop: int, longest: int = _MAX_TEXT_BYTES) -> str:
    """A string of a report, its end left off beyond any honest length."""
    return bytes(data[at : min(stop, at + longest)]).decode("utf-8", "replace")


def _session(data: Bytes, at: int, end: int, out: Contents) -> None:
    """Devices and versions of one piece of the session; later pieces add to earlier ones."""
    for number, kind, value, stop in fields(data, at, end):
        if kind != BYTES:
            continue
        if number == 6:
            _device(data, value, stop, out.devices)
        elif number == 8:
            pair = {n: text(data, v, s) for n, k, v, s in fields(data, value, stop) if k == BYTES}
            if pair.get(1):
                out.versions[pair[1]] = pair.get(2, "")


def _device(data: Bytes, at: int, end: int, devices: dict[int, Device]) -> None:
    number, found = 0, Device()
    for n, kind, value, stop in fields(data, at, end):
        if n == 1 and kind == VARINT:
            number = value
        elif n == 2 and kind == BYTES:
            found.name = text(data, value, stop)
        elif n == 3 and kind == BYTES:
            parts = {k: (t, v, s) for k, t, v, s in fields(data, value, stop)}
            if (name := parts.get(1)) and name[0] == BYTES:
                found.attributes[text(data, *name[1:])] = _attribute(data, parts.get(2))
    if len(devices) >= _DEVICES and number not in devices:
        raise Damaged(at)
    known = devices.setdefault(number, Device())
    known.name = known.name or found.name
    known.attributes |= found.attributes


def _attribute(data: Bytes, part: tuple[int, int, int] | None) -> float | str:
    """A Value message: text, or a number in one of four widths."""
    if part is None or part[0] != BYTES:
        return float("nan")
    for _, kind, value, stop in fields(data, *part[1:]):
        return text(data, value, stop) if kind == BYTES else float(_real(kind, value))
    return float("nan")


def _real(kind: int, bits: int) -> float:
    """The number that the bits of a field of this wire type stand for."""
    if kind == VARINT:
        return float(bits)
    if kind == 1:
        return float(np.array([bits], np.uint64).view(np.float64)[0])
    return float(np.array([bits], np.uint32).view(np.float32)[0])
