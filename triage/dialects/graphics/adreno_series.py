"""Series of an Adreno GPU's counters over time, as one aggregate: Snapdragon Profiler's real-time CSV, ovrgpuprofiler's output.

Such a series tells no pass from another: its means describe the whole GPU while it was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from triage import schema
from triage.capture.capture import Column, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.tables import number_cells, tool_names, wide_table
from triage.ground.errors import NotTriageable
from triage.ground.phrasing import plural

NAME = "adreno-series"
SIGN = ("% shaders", "% texture", "% time", "metric", "gpu %", "% vertex", "surface")
TELLS = {"work": "graphics", "vendor": "qualcomm"}
TITLE = "Snapdragon Profiler real-time series and ovrgpuprofiler output, as aggregates"
CAPTURE = """\
Snapdragon Profiler: Realtime, select GPU metrics, record, *Export to CSV* (`Process,Metric,Timestamp,TimestampRaw,Value`). Meta Quest:

    adb shell ovrgpuprofiler -r"3,4,5,6,8,..." > metrics.txt
    adb shell ovrgpuprofiler -e; adb shell ovrgpuprofiler -t0.1 > surfaces.txt

`-t` lists the surfaces with the time of their stages; `-r` prints metrics of the whole GPU once a second.
"""
_LINE_RE = re.compile(r"^\s{0,20}([%A-Za-z][^:|]{2,80}?)\s*:\s{1,40}(-?\d[\d.]{0,20})\s*$")
_SURFACE_RE = re.compile(
    r"^\s*(Surface|Compute)\s+(\d{1,6})\s*\|\s*(?:(\d{1,5})\s*x\s*(\d{1,5})\s*\|)?(.{0,200}?)\|\s*([\d.]{1,12})\s*ms\s*(?:\|\s*\d+ stages\s*:\s*(.*))?$"
)
_LIST_RE = re.compile(r"^\s*\d{1,4} metrics supported")
_STAGE_RE = re.compile(r"(\w{2,40}) : ([\d.]{1,12}) ?ms")
_MSAA_RE = re.compile(r"MSAA (\d{1,2})")
MIN_LINES = 2  # metrics that tell ovrgpuprofiler's output
MAX_ROWS = 100_000


def recognise(source: Source) -> Match | None:
    """Columns Process, Metric, Timestamp, Value; or lines of metrics or surfaces."""
    if _columns(source):
        return Match(0.9, "Snapdragon Profiler series: Process, Metric, Timestamp, Value")
    lines = source.head_lines[:200]
    if any(_LIST_RE.match(line) for line in lines[:5]):
        return Match(0.9, "ovrgpuprofiler: list of metrics")
    if any(_SURFACE_RE.match(line) for line in lines):
        return Match(0.92, "ovrgpuprofiler: surfaces with their stages")
    known = {m[1] for line in lines if (m := _LINE_RE.match(line)) and metric_of(m[1])[0]}
    return Match(0.9, f"ovrgpuprofiler: {plural(len(known), 'metric')}") if len(known) >= MIN_LINES else None


def _columns(source: Source) -> list[int]:
    """Positions of process, metric and value in a real-time CSV; [] for any other file."""
    _, headers = wide_table.header(source)
    if any(wide_table.find(headers, h) < 0 for h in ("Process", "Metric", "Timestamp", "Value")):
        return []
    return [wide_table.find(headers, h) for h in ("Process", "Metric", "Value")]


def read(source: Source, options: Options) -> Table:
    """One row per surface, or one per process with the means of its metrics; raises NotTriageable without known metrics."""
    if not _columns(source) and (surfaces := _surfaces(source)):
        return surfaces
    samples: dict[str, dict[str, list[float]]] = {}
    first: dict[str, int] = {}
    unused: dict[str, None] = {}
    odd = 0
    for number, process, name, text in _samples(source):
        metric, opposite = metric_of(name)
        value = _number(text)
        odd += value is None
        if metric and value is not None:
            value = value * 0.01 if "%" in name or opposite else value
            samples.setdefault(process, {}).setdefault(f"{metric}\t{name}", []).append(1 - value if opposite else value)
            first.setdefault(process, number)
        elif name and not metric and len(unused) < 1_000:
            unused[name[:80]] = None
    if not samples:
        raise NotTriageable(
            f"{source.path}: Adreno series without metrics of GPU units",
            "record % Shaders Busy, % Texture Fetch Stall and the like",
        )
    table = _aggregate(source, samples, first, list(unused))
    if odd:
        table.remark("not-a-number", f"{plural(odd, 'sample')} without a readable value left out")
    return table


def _samples(source: Source) -> Iterator[tuple[int, str, str, str]]:
    """(line, process, metric, value) of each sample."""
    if places := _columns(source):
        process, metric, value = places
        wide = len(wide_table.header(source)[1])
        for number, line in source.numbered(2):
            row = cells(line, source.delimiter) if line.strip() and number > 1 else []
            if row and len(row) != wide:
                yield number, "", "", ""  # no telling which cell is which
            elif row:
                yield number, row[process].strip()[:200], row[metric].strip(), row[value]
    else:
        for number, line in source.numbered(1):
            if m := _LINE_RE.match(line):
                yield number, "", m[1], m[2]


def _number(text: str) -> float | None:
    value = number_cells.lone(text)
    return value if 0 <= value < 1e15 else None


def _aggregate(
    source: Source, samples: dict[str, dict[str, list[float]]], first: dict[str, int], unused: list[str]
) -> Table:
    wide = "whole GPU"
    everyone = samples.pop("Global", {}) if len(samples) > 1 else {}
    processes = list(samples)
    table = Table(
        NAME, [source], np.array([p if p not in ("", "Global") else wide for p in processes], dtype=object), {}
    )
    table.lines = np.array([first[p] for p in processes], dtype=np.int64)
    table.kinds = np.full(len(table), "frame", dtype=object)
    table.group = False
    counts = set()
    for i, process in enumerate(processes):
        for key, values in (everyone | samples[process]).items():
            metric, _, name = key.partition("\t")
            column = table.columns.setdefault(
                metric, Column(np.full(len(table), np.nan), "", formula=f"mean of {name}")
            )
            column.values[i] = float(np.mean(values))
            counts.add(len(values))
    table.unmapped = unused
    span = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(counts.pop())
    means = "one sample" if span == "1" else f"means of {span} samples over time"
    text = f"{means}: the whole GPU, no passes; a mean hides what few frames do"
    table.remark("time-series", text)
    table.notes.append(
        "capture a snapshot (Snapdragon Profiler) or a render stage trace (ovrgpuprofiler -t) to see passes"
    )
    return table


def _target(m: re.Match[str]) -> str:
    """`1440x1584 MSAA 4`."""
    msaa = _MSAA_RE.search(m[5])
    return " ".join(([f"{m[3]}x{m[4]}"] if m[3] else []) + ([f"MSAA {msaa[1]}"] if msaa and msaa[1] != "1" else []))


def _surfaces(source: Source) -> Table | None:
    """Surfaces of a render stage trace, and below each its stages; None where there are none."""
    rows: list[tuple[int, str, str, float, float, str]] = []
    found = [(n, m) for n, line in source.numbered(1) if (m := _SURFACE_RE.match(line)) and _number(m[6]) is not None]
    pairs = {(m[2], _target(m)) for _, m in found}
    stable = len(pairs) == len({n for n, _ in pairs}) == len({target for _, target in pairs})
    for number, m in found[:MAX_ROWS]:
        # numbers that each name one target name it in every frame
        name = " ".join(w for w in (m[1], m[2] if stable else "", _target(m)) if w)
        pixels = float(int(m[3]) * int(m[4])) if m[3] else np.nan
        rows.append((number, name, "", float(m[6]) * 1e6, pixels, "compute" if m[1] == "Compute" else "geometry"))
        for stage, ms in _STAGE_RE.findall(m[7] or ""):
            # of a target without colour, a shadow map, depth is the result; preemption is the compositor's work
            result = stage == "StoreDepthStencil" and "color 0bit" in m[5]
            shown = f"Result ({stage})" if result else "Preempt (compositor)" if stage == "Preempt" else stage
            kind = "copy" if shown.startswith(("Load", "Store", "Blit")) else ""
            if (value := _number(ms)) is not None:
                rows.append((number, shown, name, value * 1e6, np.nan, kind))
    if not rows:
        return None
    titles, paths = (np.array([r[i] for r in rows], dtype=object) for i in (1, 2))
    table = Table(NAME, [source], titles, {}, paths)
    table.lines = np.array([r[0] for r in rows], dtype=np.int64)
    table.kinds = np.array([r[5] for r in rows], dtype=object)
    formula = "ms of the surface or stage on the line"
    table.columns["gpu.time"] = Column(np.array([r[3] for r in rows]), "", unit="ms", factor=1e6, formula=formula)
    if np.isfinite(sizes := np.array([r[4] for r in rows])).any():
        table.columns["target.pixels"] = Column(sizes, "", formula="width x height on the line")
    table.collectable = frozenset()
    rest = "the rest of a surface's time is other processes' or waiting (Preempt)"
    table.notes.append(f"surfaces of a render stage trace; {rest}")
    return table


def names() -> dict[str, list[str]]:
    """Metrics that are used."""
    return by_metric() | {"gpu.time": ["Surface ... ms"], "target.pixels": ["Surface size"]}


def collect(metrics: list[str]) -> str:
    """The metrics to record."""
    known = by_metric()
    wanted = ", ".join(known[m][0] for m in metrics if m in known)
    return f"Snapdragon Profiler, Realtime: select {wanted or 'the GPU metrics'}, or: ovrgpuprofiler -m lists their numbers for -r"


def metric_of(name: str) -> tuple[str, bool]:
    """(metric, True if the name counts its opposite) of a metric's name; ("", False) for one that is not used."""
    key = schema.normal(name)
    own = tool_names.of("adreno").get(key)
    metric, opposite = (own.metric, own.lacks) if own else (schema.by_alias().get(key, ""), False)
    if not metric or (own and own.unit) or (schema.get(metric).unit == "ratio") != ("%" in name or opposite):
        return "", False
    return metric, opposite


def by_metric() -> dict[str, list[str]]:
    """metric -> names that are used."""
    own = {
        metric: [n for n in counters if metric_of(n)[0]] for metric, counters in tool_names.by_metric("adreno").items()
    }
    return {metric: counters for metric, counters in own.items() if counters}
