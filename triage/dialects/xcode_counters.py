"""Xcode's Metal debugger, exported encoder counters: one row per encoder, some counter names twice, no units."""

from __future__ import annotations

import numpy as np

from triage import schema
from triage.capture.arrays import Floats
from triage.capture.capture import SEP, Column, Quality, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects._tables import wide_table
from triage.ground.errors import BadCapture

NAME = "xcode-counters"
TELLS = {"work": "graphics", "vendor": "apple", "api": "metal"}
TITLE = "Apple Xcode Metal debugger counters (one row per encoder)"
CAPTURE = """\
In Xcode capture a frame (Debug, Capture GPU Workload), open Performance, Counters, and choose Editor, Export GPU Counters (Export
Encoder Counters). The file is `<trace> Counters.csv`. Profile the capture first, else the counters are empty.
"""
# percentages, as Xcode shows them; the file states no units
_PERCENT = {
    "ALU Utilization": "alu.utilization",
    "ALU Limiter": "alu.limiter",
    "Texture Sample Limiter": "texture_sample.limiter",
    "Texture Write Limiter": "texture_write.limiter",
    "Buffer Read Limiter": "buffer_read.limiter",
    "Buffer Write Limiter": "buffer_write.limiter",
    "Threadgroup/Imageblock Load Limiter": "threadgroup_memory.limiter",
    "Last Level Cache Limiter": "llc.limiter",
    "MMU Limiter": "mmu.limiter",
    "Kernel Occupancy": "occupancy.compute",
    "Compute Occupancy": "occupancy.compute",
    "FS Occupancy": "occupancy.fragment",
    "Fragment Occupancy": "occupancy.fragment",
    "VS Occupancy": "occupancy.vertex",
    "Vertex Occupancy": "occupancy.vertex",
}
_INVERTED = {"Last Level Cache Miss Rate": "llc.hit_rate", "Texture Cache Miss Rate": "l1tex.hit_rate"}
_PLAIN = {
    "Bytes Read From Device Memory": "vram.bytes_read",
    "Bytes Written To Device Memory": "vram.bytes_written",
    "Kernel Invocations": "launch.threads",
}


def names() -> dict[str, list[str]]:
    """The counters used."""
    out: dict[str, list[str]] = {}
    for table in (_PERCENT, _INVERTED, _PLAIN):
        for name, metric in table.items():
            out.setdefault(metric, []).append(name)
    return out


def recognise(source: Source) -> Match | None:
    """CommandBuffer Label and Encoder Label."""
    if source.is_folder:
        return None
    line, headers = wide_table.header(source)
    if line and wide_table.find(headers, "Encoder Label") >= 0 and wide_table.find(headers, "CommandBuffer Label") >= 0:
        return Match(0.95, f"Metal encoder columns (CommandBuffer Label, Encoder Label) on line {line}")
    return None


def read(source: Source, options: Options) -> Table:
    """The encoders; raises BadCapture when no counter holds a number."""
    line, headers = wide_table.header(source)
    label, buffer = wide_table.find(headers, "Encoder Label"), wide_table.find(headers, "CommandBuffer Label")
    group = wide_table.find(headers, "Debug Group")
    # of some 240 counters a few are exported twice under one name, and one column has no name at all
    first: dict[str, int] = {}
    again: dict[str, list[int]] = {}
    for i, h in enumerate(headers):
        if h and h in first:
            again.setdefault(h, []).append(i)
        elif h:
            first[h] = i
    wanted = {h: first[h] for h in (*_PERCENT, *_INVERTED, *_PLAIN) if h in first}
    numeric = [*wanted.values(), *(c for h in wanted for c in again.get(h, []))]
    text = [c for c in (label, buffer, group) if c >= 0]
    style = wide_table.number_style(source, source.head_lines[line:], numeric, options.decimal)
    wide = wide_table.read(source, line, len(headers), numeric, text, style=style)
    names = np.array([str(t) or f"encoder {i + 1}" for i, t in enumerate(wide.texts[label])], dtype=object)
    table = Table(NAME, [source], names, {}, first_line=wide.first_line, lines=wide.lines, group=False)
    table.quality += wide.quality
    parents = [
        [str(wide.texts[c][i]).strip("/").replace("/", SEP) for c in (buffer, group) if c >= 0]
        for i in range(len(table))
    ]
    table.paths = np.array([SEP.join(p for p in levels if p) for levels in parents], dtype=object)
    for h, c in wanted.items():
        others = [wide.numbers[o] for o in again.get(h, [])]
        if any(not np.array_equal(o, wide.numbers[c], equal_nan=True) for o in others):  # which one is meant?
            said = f"{h!r} stands {1 + len(others)} times with different values: not used"
            table.quality.append(Quality("ambiguous-counter", said))
            continue
        _column(table, h, c, wide.numbers[c])
    if not table.columns:
        raise BadCapture(
            f"{source.path}: no counter that triage knows holds a number",
            "profile the capture in Xcode, then export again",
        )
    used = {c.column - 1 for c in (*table.columns.values(), *table.raw.values())}
    table.unmapped = [
        h for i, h in enumerate(headers) if h and i not in used and i not in text and first[h] not in used
    ]
    table.notes.append(
        "the export states no units; rates were read as percent, and times were left out, so nothing is ranked"
    )
    return table


def _column(table: Table, header: str, c: int, values: Floats) -> None:
    """One counter as a metric, unless the capture was not profiled: then every cell is empty."""
    if not np.isfinite(values).any():
        return
    if metric := _PERCENT.get(header):
        table.columns.setdefault(metric, Column(values * 0.01, header, c + 1, "%", 0.01))
    elif metric := _INVERTED.get(header):
        table.raw[header] = Column(values, header, c + 1, "%")
        formula = f"1 - {schema.get(metric).label}'s miss rate / 100"
        table.columns[metric] = Column(1 - values * 0.01, header, 0, formula=formula, inputs=(header,))
    else:
        table.columns.setdefault(_PLAIN[header], Column(values, header, c + 1))
