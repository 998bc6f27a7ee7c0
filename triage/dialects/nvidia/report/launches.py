"""The launches of a report as columns: names, shapes, devices, and the metrics that triage knows.

Launches are walked side by side (`wire.gather`): ten thousand of them have millions of metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from triage.capture.arrays import Floats, Indices, Names
from triage.dialects.nvidia import ncu_long, ncu_wide
from triage.dialects.nvidia.report.container import Contents, text
from triage.dialects.nvidia.report.report_units import unit
from triage.dialects.nvidia.report.wire import BYTES, Damaged, FieldValues, gather

_ROOM, _PER_BYTE = 1 << 28, 8  # bytes of the table of figures: so many and, for each byte of the report, so many more
_CHUNK = 1 << 14  # launches walked side by side
_NAMES = (7, 6, 5)  # demangled, without arguments, mangled
_BLOCK, _GRID, _METRIC, _CODE, _DEVICE, _RULE = 11, 10, 13, 15, 16, 19
_MAX_NAME_BYTES = 1 << 16  # bytes of a kernel's name
_DEVICE_ID = "launch__device_id"
_TEXTUAL = "device__attribute_display_name"
_GENERATION = ("device__attribute_compute_capability_major", "device__attribute_compute_capability_minor")
ABOUT_DEVICE = (_TEXTUAL, *_GENERATION)  # printed in words, not as metrics
_ABOUT = ("group:", "breakdown:")  # lists of metrics under a roll-up, no figures


class Launches(Struct):
    """One entry per launch, in file order. values: metric name -> figure, for the names that mean something to triage.

    code: id of the source entry with the launch's code, 0 where none is given. rules: which launch, [start, stop) bytes.
    """

    kernels: Names
    blocks: Names
    grids: Names
    devices: Indices
    code: Indices
    values: dict[str, Floats]
    rules: list[tuple[Indices, Indices, Indices]] = field(default_factory=list)


def headers(contents: Contents) -> list[tuple[str, str]]:
    """(name, unit) of every metric and device attribute, by name as on the raw page."""
    names = {n for n in contents.names if n and not n.startswith(_ABOUT)}
    for device in contents.devices.values():
        names |= device.attributes.keys()
    return [(n, unit(n)) for n in sorted(names)]


def read(contents: Contents, heads: list[tuple[str, str]]) -> Launches:
    """Every launch; raises Damaged. heads: as `headers` gives them."""
    count = len(contents)
    wanted = {heads[c][0] for cs in ncu_wide.candidates(heads).values() for c in cs} | {*_GENERATION, _DEVICE_ID}
    slot = {name: i for i, name in enumerate(sorted(wanted))}
    # the last entry is for indices beyond the table: their names were cut off
    slots = np.array([*(slot.get(n, -1) for n in contents.names), -1])
    if len(slot) * count * 8 > _ROOM + _PER_BYTE * len(contents.data):
        raise Damaged(int(contents.results[0][-1]))  # launches of a byte or two, by the million
    values = np.full((len(slot), count), np.nan)
    empty = np.full(count, "", dtype=object)
    out = Launches(empty.copy(), empty.copy(), empty.copy(), np.zeros(count, np.int64), np.zeros(count, np.int64), {})
    known: dict[bytes, str] = {}
    for first, begin, end in _chunks(contents):
        put = partial(_metrics, contents, slots, values[:, first : first + len(begin)])
        wanted_ = (*_NAMES, _BLOCK, _GRID, _CODE, _DEVICE, _RULE)
        top = gather(contents.data, begin, end, wanted_, at_once={_METRIC: put})
        rows = slice(first, first + len(begin))
        out.kernels[rows] = _kernels(contents, top, len(begin), known)
        out.blocks[rows] = _extents(contents, top[_BLOCK], len(begin))
        out.grids[rows] = _extents(contents, top[_GRID], len(begin))
        have, last = top[_DEVICE].last(len(begin))
        out.devices[first + have] = top[_DEVICE].value[last].astype(np.int64)
        have, number = _numbers(contents, top[_CODE], 1)
        out.code[first + have] = number.astype(np.int64)
        rules = top[_RULE].bytes()
        out.rules.append((first + rules.which, rules.start, rules.stop))
    out.devices = _devices(contents, out.devices, values[slot[_DEVICE_ID]])
    _complete(contents, out.devices, slot, values)
    out.values = {name: values[i] for name, i in slot.items()}
    return out


def _chunks(contents: Contents) -> Iterator[tuple[int, Indices, Indices]]:
    """(number of the first launch, starts, stops) of some launches that follow each other."""
    begin, end = contents.results
    for at in range(0, len(begin), _CHUNK):
        yield at, begin[at : at + _CHUNK], end[at : at + _CHUNK]


def _kernels(contents: Contents, top: dict[int, FieldValues], size: int, known: dict[bytes, str]) -> Names:
    out = np.full(size, "", dtype=object)
    for number in reversed(_NAMES):  # the best one last: it stays
        found = top[number].bytes()
        have, last = found.last(size)
        for i, a, b in zip(have.tolist(), found.start[last].tolist(), found.stop[last].tolist(), strict=True):
            raw = bytes(contents.data[a : min(b, a + _MAX_NAME_BYTES)])
            if raw not in known:
                known[raw] = raw.decode("utf-8", "replace")
            out[i] = known[raw] or out[i]
    return out


def _extents(contents: Contents, found: FieldValues, size: int) -> Names:
    """`(256, 1, 1)` per launch, "" where nothing is given."""
    found = found.bytes()
    have, last = found.last(size)
    out = np.full(size, "", dtype=object)
    parts = np.zeros((3, len(last)), dtype=np.uint64)
    axes = gather(contents.data, found.start[last], found.stop[last], (1, 2, 3))
    for i in range(3):
        at, place = axes[i + 1].last(len(last))
        parts[i, at] = axes[i + 1].value[place]
    texts = {xyz: "({}, {}, {})".format(*xyz) for xyz in set(zip(*parts.tolist(), strict=True))}
    out[have] = [texts[xyz] for xyz in zip(*parts.tolist(), strict=True)]
    return out


def _numbers(contents: Contents, found: FieldValues, number: int) -> tuple[Indices, Indices]:
    """(messages, value of one number inside a message of each that has it)."""
    found = found.bytes()
    inner = gather(contents.data, found.start, found.stop, (number,))[number]
    return found.which[inner.which], inner.value.astype(np.int64)


def _metrics(contents: Contents, slots: Indices, values: NDArray[np.float64], found: FieldValues) -> None:
    """Put the figures of metrics into their slots. values: slots x launches; found: metric messages."""
    found = found.bytes()
    inner = gather(contents.data, found.start, found.stop, (1, 2), once=True)
    name = np.zeros(len(found), dtype=np.int64)  # an absent index is 0, as everywhere in the format
    have, last = inner[1].last(len(found))
    name[have] = np.minimum(inner[1].value[last], len(slots) - 1).astype(np.int64)
    held = inner[2].bytes()
    have, last = held.last(len(found))
    slot = slots[name[have]]
    use = slot >= 0
    if use.any():
        figures = _figures(contents, held.start[last[use]], held.stop[last[use]])
        values[slot[use], found.which[have[use]]] = figures


def _figures(contents: Contents, begin: Indices, end: Indices) -> Floats:
    """Value messages as numbers: text, float, double, or one of two unsigned widths; NaN where there is none."""
    out = np.full(len(begin), np.nan)
    for part in gather(contents.data, begin, end, (1, 2, 3, 4, 5)).values():
        out[part.which] = part.floats()
        for i in np.flatnonzero(part.kind == BYTES).tolist():
            stated = text(contents.data, int(part.value[i]), int(part.stop[i]))
            out[part.which[i]] = ncu_long.number(stated, "us")
    return out


def _devices(contents: Contents, stated: Indices, counted: Floats) -> Indices:
    """Which device of the session each launch ran on.

    The launch's own number counts the devices that its process saw, and the metric all of the machine, as the session
    does; where neither is known there, the session knows of one alone.
    """
    known = np.array(sorted(contents.devices), dtype=np.int64)
    if not len(known):
        return stated
    out = np.where(np.isin(stated, known), stated, known[0])
    return np.where(np.isin(counted, known), np.nan_to_num(counted, nan=known[0]), out).astype(np.int64)


def _complete(contents: Contents, devices: Indices, slot: dict[str, int], values: Floats) -> None:
    """Attributes of the device from the session, where a launch does not repeat them."""
    for number, device in contents.devices.items():
        rows = np.flatnonzero(devices == number)
        for name, figure in device.attributes.items():
            if (at := slot.get(name, -1)) >= 0 and isinstance(figure, float):
                row = values[at, rows]
                values[at, rows] = np.where(np.isnan(row), figure, row)


def device_name(contents: Contents, number: int) -> str:
    """What the driver calls a device, "" where the session does not know it."""
    device = contents.devices.get(number)
    if device is None:
        return ""
    stated = device.attributes.get(_TEXTUAL, "")
    return stated if isinstance(stated, str) and stated else device.name


def generation(values: dict[str, Floats]) -> Names:
    """`8.6` per launch, "" where the report does not say."""
    major, minor = (values[n] for n in _GENERATION)
    pairs = zip(major.tolist(), minor.tolist(), strict=True)
    return np.array([f"{a:.0f}.{b:.0f}" if a == a and b == b else "" for a, b in pairs], dtype=object)
