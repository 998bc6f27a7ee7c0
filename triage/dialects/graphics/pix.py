"""PIX event lists: header roles, markers and GPU events, shared by pixtool's CSV and the table of the PIX window."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from triage.capture import shape
from triage.capture.arrays import Floats, Indices, Masks, Names
from triage.capture.capture import SEP, Column, Quality, Table
from triage.capture.cells import cells
from triage.capture.source import Source
from triage.dialects import Options
from triage.dialects.graphics import barriers, markers, perfworks
from triage.dialects.tables import wide_table
from triage.ground import units
from triage.ground.errors import BadCapture, NotTriageable, UnknownUnit
from triage.ground.phrasing import plural
from triage.schema import normal

DEPRECATED = "<deprecated - use pix3.h instead> "
_SYNC = re.compile(
    r"(Signal|Wait|Present|PrepareForPresent|Close|Reset|ExecuteCommandLists|EndQuery|ResolveQueryData)\b"
)
# best first: from end of pipe to end of pipe adds up over events; from top of pipe on, neighbours overlap
_GLOBAL_ID_RE = re.compile(r"global[\W_]*id(?![^\W_])", re.IGNORECASE)
_TIMES = ("eop to eop duration", "gpu duration", "duration", "execution duration", "top to eop duration", "gpu time")
_HINT = (
    "in PIX: open the capture, press Collect Timing Data, then export again; or: "
    "pixtool open-capture X.wpix save-event-list out.csv --counters=*"
)


class Head(Struct, frozen=True):
    """Header of an event list: line, cells, and the columns by role (-1 = not there)."""

    line: int
    headers: list[str]
    name: int
    global_id: int
    row_id: int
    parent: int
    time: int
    time_top: int


def head(source: Source) -> Head | None:
    """The header row of an event list among the first lines, in any column order; None when there is none."""
    for number, line in enumerate(source.head_lines[:10], 1):
        if not _GLOBAL_ID_RE.search(line):  # a wide header costs more cell by cell
            continue
        sep = "\t" if line.count("\t") >= 2 else ","
        # pixtool writes ", " between cells, and quotes begin behind the blank
        titles = [c.strip() for c in cells(line, sep, True)]
        place = {normal(h): i for i, h in reversed(list(enumerate(titles)))}
        if "name" not in place or "global id" not in place or len(titles) < 3:
            continue
        bare = {normal(wide_table.split_unit(h)[0]): i for i, h in reversed(list(enumerate(titles)))}
        time = next((bare[t] for t in _TIMES if t in bare), -1)
        source.delimiter, source.skip_space = sep, sep == ","
        return Head(
            number,
            titles,
            place["name"],
            place["global id"],
            place.get("queue id", -1),  # a running number of the row, whatever it is called; Parent points to it
            place.get("parent", place.get("parent id", -1)),
            time,
            bare.get("top to eop duration", -1),
        )
    return None


def clean(name: str) -> str:
    """A marker's own name."""
    # the window's table has a blank before every name, which is no indentation
    return name.strip().removeprefix(DEPRECATED).strip()


def read(source: Source, options: Options, dialect: str) -> Table:
    """Events that are GPU work, and the markers around them.

    Raises NotTriageable when nothing was timed, UnknownUnit for a time without a unit.
    """
    top = head(source)
    if top is None:
        raise BadCapture(f"{source.path}: not a PIX event list", _HINT)
    meta = {top.name, top.global_id, top.row_id, top.parent}
    # every other start and duration column is a time of the same events, not a counter
    counters = [
        (i, h)
        for i, h in enumerate(top.headers)
        if i not in meta and i != top.time and h and not re.search(r"(start time|duration) ?\(", h, re.IGNORECASE)
    ]
    found, unmapped = markers.choose(counters, options.metrics)
    times = [c for c in (top.time, top.time_top) if c >= 0]
    # a counter that is a time as well, from a replay of its own. Only PerfWorks' is compared: none of them states its
    # unit, and Intel's GpuTime is in us
    second = next(
        (i for i, h in counters if perfworks.counter(h) == "gpu__time_duration.sum" or h in ("GPUTime", "GpuTime")), -1
    )
    # ids stay text: a marker's Global ID may be a range
    numeric = sorted({i for i, _, _ in found.values()} | set(times) | ({second} if second >= 0 else set()))
    texts = [c for c in (top.name, top.global_id, top.row_id, top.parent) if c >= 0]
    wide = wide_table.read(source, top.line, top.headers, numeric, texts, decimal=options.decimal)
    count = len(wide.texts[top.name])
    ids = wide.texts[top.global_id]
    time = wide.numbers[top.time] if top.time >= 0 else np.full(count, np.nan)
    columns = [c for c in (top.global_id, top.row_id, top.parent) if c >= 0]
    shape.alike(source, {top.headers[c]: wide.texts[c] for c in columns}, wide.line)
    shown = np.array([clean(str(n)) for n in wide.texts[top.name]], dtype=object)
    parent = _by_parent(wide, top) if top.parent >= 0 else _by_range(ids)
    keep = _work(shown, ids, parent, time, [wide.numbers[i] for i, _, _ in found.values()])
    if not keep.any():
        why = "no event has a GPU time" if top.time >= 0 else "no column of GPU times"
        raise NotTriageable(f"{source.path}: PIX event list of {plural(count, 'event')} without timing ({why})", _HINT)
    rows = np.flatnonzero(keep)
    table = Table(
        dialect,
        [source],
        shown[rows],
        {},
        _levels(shown, parent)[rows],
        _kinds(shown, parent, keep)[rows],
        lines=wide.only(rows).lines,
        quality=wide.quality,
        unmapped=unmapped,
    )
    # barriers take time; most do no work, others decompress
    waits = np.array([barriers.is_barrier(str(n)) for n in shown[rows]], dtype=bool)
    for metric, (i, _, _) in found.items():
        waits &= (metric == "gpu.time") | ~(wide.numbers[i][rows] > 0)
    for metric, (i, header, unit) in found.items():
        values = wide.numbers[i][rows]
        markers.column(
            table, metric, values if metric == "gpu.time" else np.where(waits, np.nan, values), i, header, unit
        )
    above = np.zeros(count, dtype=bool)  # markers: their barriers are those of the calls below
    above[parent[parent >= 0]] = True
    found_barriers = barriers.before(shown, keep & ~above)
    barriers.enter(table, None if found_barriers is None else found_barriers[rows], top.headers[top.name])
    _time(table, top, time, rows)
    measured = np.logical_or.reduce(
        [np.nan_to_num(c) > 0 for c in (time, *(wide.numbers[i] for i, _, _ in found.values()))]
    )
    _left_out(table, wide, shown, measured & ~keep & ~above)
    if second >= 0 and "gpu.time" in table.columns and perfworks.counter(top.headers[second]):
        markers.disagree(
            table,
            table.columns["gpu.time"].values,
            wide.numbers[second][rows],
            top.headers[top.time],
            top.headers[second],
        )
    if count > len(rows):
        table.notes.append(
            f"{count - len(rows)} of {count} events are no timed GPU work (state setting, signals, presents)"
            " and left out"
        )
    if any(str(n).startswith(DEPRECATED) for n in wide.texts[top.name][:5000]):
        table.notes.append(f"{DEPRECATED.strip()!r} taken off marker names")
    perfworks.compute(table)
    table.collectable = markers.collectable(top.headers, names())
    return table


def names() -> dict[str, list[str]]:
    """Counters of the NVIDIA, AMD and Intel plug-ins."""
    own = {"gpu.time": ["EOP to EOP Duration (ns)"], "barrier.count": ["ResourceBarrier and Barrier events"]}
    return markers.all_names() | own


def _time(table: Table, top: Head, time: Floats, rows: Indices) -> None:
    """gpu.time of the kept rows from the best duration column; a remark where there is none."""
    column, header = top.time, top.headers[top.time] if top.time >= 0 else ""
    if column < 0 or not np.isfinite(time[rows]).any():
        table.remark("no-times", "the events have counters but no times: findings cannot be ranked by time; " + _HINT)
        return
    unit = wide_table.split_unit(header)[1]
    if not unit:
        raise UnknownUnit(f"{table.files[0].path}:{top.line}: column {header!r} without a unit", "write it as (ns)")
    if column == top.time_top:  # the only times there are
        table.remark(
            "overlapping-times",
            "only TOP-to-EOP durations: they overlap between neighbours, so their "
            "sum exceeds the frame; export EOP to EOP Duration",
        )
    factor = units.factor(unit, "ns")
    table.columns["gpu.time"] = Column(time[rows] * factor, header, column + 1, unit, factor)
    table.unmapped += [
        h
        for i, h in enumerate(top.headers)
        if i != column and re.search(r"(start time|duration) ?\(", h, re.IGNORECASE)
    ]


def _by_parent(wide: wide_table.Wide, top: Head) -> Indices:
    """Row index of every event's parent from the ids of the Parent column, -1 for none."""
    own = (
        wide.texts[top.row_id]
        if top.row_id >= 0
        else np.array([str(i) for i in range(len(wide.texts[top.name]))], dtype=object)
    )
    where = {str(v).strip(): i for i, v in reversed(list(enumerate(own)))}
    out = np.array([where.get(str(p).strip(), -1) for p in wide.texts[top.parent]], dtype=np.int64)
    out[out == np.arange(len(out))] = -1
    for i in range(len(out)):  # parents stand above their events; a damaged file may hold a loop
        if out[i] > i:
            out[i] = -1
    return out


def _by_range(ids: Names) -> Indices:
    """Row index of every event's parent, -1 for none, where a marker's Global ID is the range of its events.

    `4-5`, or `4` again for a marker around one event.
    """
    out = np.full(len(ids), -1, dtype=np.int64)
    stack: list[tuple[int, int, int]] = []
    for i, text in enumerate(ids):
        m = re.fullmatch(r"\s*(\d{1,18})(?:\s*-\s*(\d{1,18}))?\s*", str(text))
        if m is None:
            continue
        low, high = int(m[1]), int(m[2] or m[1])
        while stack and not (stack[-1][0] <= low and high <= stack[-1][1]):
            stack.pop()
        out[i] = stack[-1][2] if stack else -1
        stack.append((low, high, i))
    return out


def _work(names: Names, ids: Names, parent: Indices, time: Floats, counters: list[Floats]) -> Masks:
    """Events to keep: with a Global ID or children, and something measured; signals and presents if they took time."""
    measured = np.isfinite(time)
    if not measured.any() and counters:
        measured = np.logical_or.reduce([np.isfinite(c) for c in counters])
    numbered = np.array([bool(str(i).strip()) for i in ids])
    keep = (numbered | ~numbered.any()) & measured  # a list of markers alone has no Global IDs at all
    for i in np.flatnonzero(measured):  # pixtool's markers have no Global ID, only measured events below them
        if parent[i] >= 0 and measured[parent[i]]:
            keep[parent[i]] = True
    sync = np.array([bool(_SYNC.match(str(n))) for n in names])
    return keep & ~(sync & ~(time > 0))


def _left_out(table: Table, wide: wide_table.Wide, names: Names, lost: Masks) -> None:
    """A remark on events that were measured and yet left out: they lack their Global ID, or their time."""
    rows = [i for i in np.flatnonzero(lost).tolist() if not _SYNC.match(str(names[i]))]
    if rows:
        text = f"{plural(len(rows), 'event')} with figures but without a Global ID or a time, first in line {wide.line(rows[0])}: left out"
        table.quality.append(Quality("rows-left-out", text, doubt=True))


def _levels(names: Names, parent: Indices) -> Names:
    """Names of the markers above every event, joined with SEP; parents stand above their events."""
    paths = np.full(len(names), "", dtype=object)
    for i in range(len(names)):
        if parent[i] >= 0:
            above = paths[parent[i]]
            paths[i] = f"{above}{SEP}{names[parent[i]]}" if above else str(names[parent[i]])
    return paths


def _kinds(names: Names, parent: Indices, keep: Masks) -> Names:
    """Kind of every event from its call; a marker's is its children's when they agree."""
    # children stand below their markers: from the end, every marker is met after all of them
    kinds = np.array([markers.kind(str(n)) for n in names], dtype=object)
    below: dict[int, set[str]] = {}
    for i in range(len(names) - 1, -1, -1):
        if i in below:
            kinds[i] = next(iter(below[i])) if len(below[i]) == 1 else "marker"
        p = int(parent[i])
        if p >= 0 and keep[i] and kinds[i]:
            below.setdefault(p, set()).add(kinds[i])
    return kinds
