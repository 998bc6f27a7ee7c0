"""Protocol Buffers' wire format: the fields of one message, and wanted fields of many messages at once.

Nothing in here knows what a message means. Every length is checked against the bytes that hold it before it is used.
Encoding: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from triage.capture.arrays import Floats, Indices
from triage.dialects.nvidia.ncu_file import Bytes

VARINT, BITS64, BYTES, BITS32 = 0, 1, 2, 5
Octets: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]
VECTORIZE_FROM = 24  # messages below which a loop over bytes beats array operations


class Damaged(ValueError):
    """Bytes that are no message. `at`: where it shows."""

    def __init__(self, at: int) -> None:
        super().__init__(f"damaged at byte {at}")
        self.at = at


def varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """(number, position behind it); raises Damaged when it does not end before `end` or within ten bytes."""
    value = shift = 0
    for position in range(at, min(end, at + 10)):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position + 1
        shift += 7
    raise Damaged(at)


def fields(data: Bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(number, wire type, value, position behind) per field of one message; raises Damaged.

    value: the number itself, the bits of a fixed-size one, or where the bytes of a length-delimited one begin.
    """
    while at < end:
        tag = data[at]
        if tag < 0x80:
            at += 1
        else:
            tag, at = varint(data, at, end)
        kind = tag & 7
        if kind == VARINT:
            value, stop = varint(data, at, end)
        elif kind == BYTES:
            length, value = varint(data, at, end)
            stop = value + length
        elif kind in (BITS64, BITS32):
            stop = at + (8 if kind == BITS64 else 4)
            value = int.from_bytes(data[at:stop], "little")
        else:
            raise Damaged(at)
        if stop > end or tag < 8:
            raise Damaged(at)
        yield tag >> 3, kind, value, stop
        at = stop


class FieldValues(Struct, frozen=True):
    """One field of many messages; values of one message keep the order of the file.

    which: index of the message. kind: wire type. value and stop: as `fields` gives them.
    """

    which: Indices
    kind: Indices
    value: Words
    stop: Indices

    def __len__(self) -> int:
        return len(self.which)

    def bytes(self) -> FieldValues:
        """Only the length-delimited ones."""
        return self.where(self.kind == BYTES)

    def where(self, mask: NDArray[np.bool_]) -> FieldValues:
        """Those under a mask."""
        if mask.all():
            return self
        return FieldValues(self.which[mask], self.kind[mask], self.value[mask], self.stop[mask])

    @property
    def start(self) -> Indices:
        """Where the bytes of length-delimited ones begin."""
        return self.value.astype(np.int64)

    def last(self, size: int) -> tuple[Indices, Indices]:
        """(messages, of `size`, that have the field; index of its last occurrence in each)."""
        place = np.full(size, -1, dtype=np.int64)
        place[self.which] = np.arange(len(self))
        have = np.flatnonzero(place >= 0)
        return have, place[have]

    def floats(self) -> Floats:
        """Values as floating-point numbers: doubles, floats and unsigned integers by wire type; NaN for texts."""
        out = np.full(len(self), np.nan)
        for kind, bits, real in ((BITS64, np.uint64, np.float64), (BITS32, np.uint32, np.float32)):
            at = np.flatnonzero(self.kind == kind)
            if len(at):
                out[at] = self.value[at].astype(bits).view(real)
        at = np.flatnonzero(self.kind == VARINT)
        out[at] = self.value[at]
        return out


def gather(
    data: Bytes,
    begin: Indices,
    end: Indices,
    wanted: Collection[int],
    *,
    once: bool = False,
    at_once: Mapping[int, Callable[[FieldValues], None]] | None = None,
) -> dict[int, FieldValues]:
    """The wanted fields of the messages [begin, end); raises Damaged.

    The fields of a message come in ascending order, as every writer of the format has them, so what follows the last
    wanted one is not looked at: it may be a hundred thousand instances. once: the last wanted one comes once. at_once:
    fields that are handed over as they are found, some of every message at a time, and not kept.
    """
    octets = np.frombuffer(data, np.uint8)
    if len(begin) and (int(end.max()) > len(octets) or (begin > end).any()):
        raise Damaged(int(begin[0]))
    sink = at_once or {}
    parts: dict[int, list[FieldValues]] = {n: [] for n in wanted if n not in sink}
    beyond = max((*wanted, *sink))
    which = np.flatnonzero(begin < end)
    at, end = begin[which], end[which]

    def keep(n: int, some: FieldValues) -> None:
        if n in sink:
            sink[n](some)
        elif n in parts:
            parts[n].append(some)

    while len(which) >= VECTORIZE_FROM:
        number, kind, value, stop = _step(octets, at, end)
        low, high = int(number.min()), int(number.max())
        if low == high:
            keep(low, FieldValues(which, kind, value, stop))
        else:
            for n in (*parts, *sink):
                if low <= n <= high and len(hit := np.flatnonzero(number == n)):
                    keep(n, FieldValues(which[hit], kind[hit], value[hit], stop[hit]))
        go = stop < end
        if high > beyond - once:
            go &= number <= beyond - once
        which, at, end = (which, stop, end) if go.all() else (which[go], stop[go], end[go])
    for n, tail in _one_by_one(data, (which, at, end), (*parts, *sink), beyond - once).items():
        keep(n, _few(tail))
    return {n: _joined(p) for n, p in parts.items()}


def _one_by_one(
    data: Bytes, messages: tuple[Indices, Indices, Indices], wanted: Collection[int], last: int
) -> dict[int, list[tuple[int, int, int, int]]]:
    """Wanted fields of few messages (index, begin, end), by number. last: number behind which a message is left."""
    rest: dict[int, list[tuple[int, int, int, int]]] = {}
    for message, begin, end in zip(*(m.tolist() for m in messages), strict=True):
        for number, kind, value, stop in fields(data, begin, end):
            if number in wanted:
                rest.setdefault(number, []).append((message, kind, value, stop))
            if number > last:
                break
    return {n: rest[n] for n in wanted if n in rest}


def _few(rest: list[tuple[int, int, int, int]]) -> FieldValues:
    which, kind, stop = (np.array([found[i] for found in rest], dtype=np.int64) for i in (0, 1, 3))
    return FieldValues(which, kind, np.array([found[2] for found in rest], dtype=np.uint64), stop)


def _joined(parts: list[FieldValues]) -> FieldValues:
    """Everything found of one field, one step after the other."""
    if len(parts) == 1:
        return parts[0]
    none = np.zeros(0, dtype=np.int64)
    nothing = FieldValues(none, none, none.astype(np.uint64), none)
    return FieldValues(*map(np.concatenate, zip(*map(astuple, (nothing, *parts)), strict=True)))


def _step(octets: Octets, at: Indices, end: Indices) -> tuple[Indices, Indices, Words, Indices]:
    """(number, wire type, value, position behind) of the field that begins at each position."""
    first = octets.take(at, mode="clip")
    tag = int(first[0])
    if tag & 0x80 or (first != tag).any():
        return _mixed(octets, at, end)
    # messages of one writer look alike: mostly they all have the same field here
    value, stop = _payload(octets, at + 1, tag & 7, at)
    if tag < 8 or (stop > end).any():
        raise Damaged(int(at[np.argmax(stop > end)]))
    return np.full(len(at), tag >> 3), np.full(len(at), tag & 7), value, stop


def _mixed(octets: Octets, at: Indices, end: Indices) -> tuple[Indices, Indices, Words, Indices]:
    tag, body = _varints(octets, at)
    kind, number = (tag & np.uint64(7)).astype(np.int64), (tag >> np.uint64(3)).astype(np.int64)
    value, stop = np.zeros(len(at), dtype=np.uint64), body.copy()
    for k in np.flatnonzero(np.bincount(kind)).tolist():
        of = np.flatnonzero(kind == k)
        value[of], stop[of] = _payload(octets, body[of], k, at[of])
    bad = (stop > end) | (number <= 0)
    if bad.any():
        raise Damaged(int(at[np.argmax(bad)]))
    return number, kind, value, stop


def _payload(octets: Octets, body: Indices, kind: int, at: Indices) -> tuple[Words, Indices]:
    """(value, position behind) of fields of one wire type. at: where the fields begin, for complaints."""
    if kind in (VARINT, BYTES):
        value, behind = _varints(octets, body)
        if kind == VARINT:
            return value, behind
        if (longest := int(np.argmax(value))) >= 0 and value[longest] > len(octets):
            raise Damaged(int(at[longest]))
        return behind.astype(np.uint64), behind + value.astype(np.int64)
    if kind not in (BITS64, BITS32):
        raise Damaged(int(at[0]))
    width, bits = (8, "<u8") if kind == BITS64 else (4, "<u4")
    raw = octets.take(body[:, None] + np.arange(width), mode="clip")
    return raw.view(bits)[:, 0].astype(np.uint64), body + width


def _varints(octets: Octets, at: Indices) -> tuple[Words, Indices]:
    """(number, position behind it) at each position; the caller checks that it ends inside its message."""
    byte = octets.take(at, mode="clip")
    if not (byte & 0x80).any():
        return byte.astype(np.uint64), at + 1
    value, stop = (byte & 0x7F).astype(np.uint64), at + 1
    more, shift = np.flatnonzero(byte >= 0x80), 7
    while len(more):
        if shift > 63:
            raise Damaged(int(at[more[0]]))
        byte = octets.take(stop[more], mode="clip")
        value[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        stop[more] += 1
        more, shift = more[byte >= 0x80], shift + 7
    return value, stop
