"""RenderDoc: the Performance Counter Viewer's CSV, alone or joined with the exported event tree."""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from triage import schema
from triage.capture import shape
from triage.capture.arrays import Indices, Names
from triage.capture.capture import SEP, Column, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.graphics import barriers, markers, perfworks, renderdoc_events
from triage.dialects.tables import wide_table
from triage.ground import units
from triage.ground.errors import BadCapture, NotTriageable
from triage.ground.phrasing import first_of

NAME = "renderdoc"
SIGN = ("eid", "e id", "e_id", "e-id", "event")
TELLS = {"work": "graphics"}
# columns of names, which the viewer leaves out
NAMED = ("action", "event", "event name", "name", "action name", "marker")
EVENTS = True  # the event tree is a file of its own, named by --events
# no counters: they stand in the exported event tree
GROUPS_IN_TEXT = "Dispatch(x, y, z) in the event text"
BARRIERS_IN_TEXT = "vkCmdPipelineBarrier and ResourceBarrier in the event text"
LAST = 2**31  # number of an event; a capture has thousands
MAX_COUNTERS_PER_PASS = 40  # counters of one step
TITLE = "RenderDoc performance counters"
CAPTURE = """\
Window > Performance Counter Viewer > *Capture counters*: tick *GPU Duration* (General) and the vendor's
counters (NVIDIA: the Nsight Perf library must be installed; AMD and Intel: the driver brings them), then
*Save as CSV* to `frame-counters.csv`. Event Browser > *Export* to `frame-events.txt` in the same folder
gives the events their names and markers:

    triage diagnose frame-counters.csv --events frame-events.txt
"""
# what a frame overlaps is counted twice in the sum of such times
_ISOLATED = (
    "times are of single actions, replayed one after the other: their sum is longer than the frame where work overlaps"
)
_HINT = (
    "in RenderDoc: Performance Counter Viewer > Capture counters (tick GPU Duration and vendor counters) > Save as CSV"
)
_EID_RE = re.compile(r'(?:^|[,"])e(?:vent)?id(?:[,"]|$)')
_GROUPS = re.compile(r"Dispatch\w*\(\s*(\d{1,18})\s*,\s*(\d{1,18})\s*,\s*(\d{1,18})\s*\)")


def _header(source: Source) -> tuple[int, list[str]]:
    """1-based line and headers; unquoted, so a comma inside brackets does not part two columns. (0, []) for none."""
    # the viewer writes names as they are: a unit or a vendor's counter may hold a comma
    for number, line in enumerate(source.head_lines[:10], 1):
        if not line.strip():
            continue
        if not _EID_RE.search(schema.normal(line).replace(" ", "")):  # a wide header costs more cell by cell
            break
        headers: list[str] = []
        for piece in line.split(","):
            if headers and headers[-1].count("(") > headers[-1].count(")"):
                headers[-1] += "," + piece
            else:
                headers.append(piece.strip().strip('"'))
        words = [schema.normal(h).replace(" ", "") for h in headers]
        if len(headers) > 1 and ("eid" in words or ("eventid" in words and "gpu duration" in line.lower())):
            source.delimiter = ","
            headers[words.index("eid" if "eid" in words else "eventid")] = "EID"
            return number, headers
        break
    return 0, []


def recognise(source: Source) -> Match | None:
    """Header `EID`, then counter names; or the event tree alone."""
    number, headers = _header(source)
    if number and len(headers) >= 2:
        return Match(0.95, "header EID, then counter names with units in brackets")
    if renderdoc_events.is_events(source):
        return Match(0.9, "event tree of RenderDoc: EID | Event | Action")
    return None


def read(source: Source, options: Options) -> Table:
    """One row per action; markers are the path, their time is the sum of the actions below them.

    Raises NotTriageable for an event tree alone or counters that say nothing, BadCapture without event ids.
    """
    line, headers = _header(source)
    if not line:
        raise NotTriageable(
            f"{source.path}: RenderDoc event tree without counters", _HINT + "; then pass this file with --events"
        )
    event = headers.index("EID")
    named = next((i for i, h in enumerate(headers) if schema.normal(h) in NAMED), -1)
    counters = [(i, h) for i, h in enumerate(headers) if i not in (event, named) and h]
    found, unmapped = markers.choose(counters, options.metrics)
    timed = [(i, h, u) for i, h in counters if (u := _time_unit(h))]
    # RenderDoc's own duration first; a vendor's times come from its own replay
    timed.sort(key=lambda t: schema.normal(wide_table.split_unit(t[1])[0]) != "gpu duration")
    extra = [(i, h) for i, h in counters if _registers(h)]
    # the EID is read as a number too: rows without one are no events
    numeric = sorted({event, *(i for i, _, _ in found.values()), *(i for i, _, _ in timed), *(i for i, _ in extra)})
    if len(numeric) == 1:
        raise NotTriageable(f"{source.path}: none of the {len(counters)} counters measures time or a GPU unit", _HINT)
    wide = wide_table.read(source, line, headers, numeric, [named] if named >= 0 else [], decimal=options.decimal)
    eids = wide.numbers[event]
    good = np.isfinite(eids)
    known = np.where(good, eids, 0)
    far = np.flatnonzero((known < 0) | (known > LAST) | (known != np.floor(known)))
    if len(far):
        raise shape.Misfit(source.path, {wide.line(int(r)): f"no event is number {eids[r]:g}" for r in far}, len(eids))
    if not good.any():
        raise BadCapture(f"{source.path}: no row with an event id", _HINT)
    wide = wide.only(np.flatnonzero(good))
    ids = wide.numbers[event].astype(np.int64)
    shown = np.array([f"EID {e}" for e in ids], dtype=object)
    if named >= 0:  # a table joined with the Event Browser's names
        texts = np.array([str(t).strip() for t in wide.texts[named]], dtype=object)
        shown = np.where(texts == "", shown, texts)
    table = wide.table(NAME, source, shown)
    table.leaf_time = table.isolated = True  # durations are of single actions
    for metric, (i, header, unit) in found.items():
        markers.column(table, metric, wide.numbers[i], i, header, unit)
    _times(table, timed, wide)
    if "gpu.time" in table.columns:
        table.notes.append(_ISOLATED)
    _per_thread(table, extra, wide)
    tree, note = renderdoc_events.find(source, options.events, {int(e) for e in ids})
    if note:
        table.notes.append(note)
    if tree is not None:
        _join(table, tree, ids)
    elif named < 0:
        table.notes.append(
            "no event names: export the Event Browser as text beside this file, or give it with --events"
        )
    used = {h for _, h, _ in timed[:1]} | {h for _, h in extra}
    table.unmapped = [h for h in unmapped if h not in used]
    perfworks.compute(table)
    table.kinds = _kinds(table)
    if table.paths is not None:
        _place_markers(table, table.paths, table.kinds)
    table.collectable = markers.collectable(headers, names())
    return table


def _place_markers(table: Table, paths: Names, kinds: Names) -> None:
    """Give each marker a row of its own before its first event: what holds for all of it has a place there."""
    shown: list[tuple[int, int]] = []  # (row of an event, levels of the marker before it; -1: the event itself)
    before: list[str] = []
    for row, path in enumerate(paths.tolist()):
        levels = path.split(SEP) if path else []
        same = next((k for k, pair in enumerate(zip(before, levels, strict=False)) if pair[0] != pair[1]), None)
        same = min(len(before), len(levels)) if same is None else same
        shown += [(row, k) for k in range(same, len(levels))] + [(row, -1)]
        before = levels
    rows = np.array([row for row, _ in shown])
    made = np.array([k >= 0 for _, k in shown])
    table.names, table.paths, table.kinds = table.names[rows], paths[rows], kinds[rows]
    for i, (row, k) in enumerate(shown):
        if k >= 0:
            levels = str(paths[row]).split(SEP)
            table.names[i], table.paths[i], table.kinds[i] = levels[k], SEP.join(levels[:k]), "marker"
    table.lines = np.array([table.line(int(r)) for r in rows])
    for c in (*table.columns.values(), *table.raw.values()):
        c.values = np.where(made, np.nan, c.values[rows])
        c.lines = None if c.lines is None else c.lines[rows]
    at = np.flatnonzero(~made)
    table.quality = [replace(q, row=int(at[q.row])) if q.row >= 0 else q for q in table.quality]


def _time_unit(header: str) -> str:
    """Unit of a GPU time column, "" for any other; PerfWorks and GPUPerfAPI times are ns."""
    bare, unit = wide_table.split_unit(header)
    if schema.normal(bare) in ("gpu duration", "gputime"):
        return unit or ("ns" if bare == "GPUTime" else "")
    return "ns" if perfworks.counter(bare) == "gpu__time_duration.sum" else ""


def _times(table: Table, timed: list[tuple[int, str, str]], wide: wide_table.Wide) -> None:
    """gpu.time from the first of the (column, header, unit); a remark where another disagrees or there is none."""
    if not timed:
        table.remark("no-times", "GPU Duration was not captured: findings cannot be ranked by time; " + _HINT)
        return
    i, header, unit = timed[0]
    time = table.columns["gpu.time"] = wide.column(i, unit, units.factor(unit, "ns"))
    for j, other, u in timed[1:]:
        markers.disagree(table, time.values, wide.numbers[j] * units.factor(u, "ns"), header, other)
        table.unmapped.append(other)


def _registers(header: str) -> str:
    """Shader stage of a registers-per-thread counter in percent, "" for any other."""
    m = re.fullmatch(
        r"tpc__average_registers_per_thread_shader_(ps|cs|vtg|3d)\.(?:avg\.)?pct",
        perfworks.counter(wide_table.split_unit(header)[0]),
    )
    return m[1] if m else ""


def _per_thread(table: Table, extra: list[tuple[int, str]], wide: wide_table.Wide) -> None:
    """Registers per thread from their percentage: the peak is 256 (the .ratio column of the same capture says so)."""
    for i, header in extra:
        share = table.raw[header] = wide.column(i, "%", 0.01)
        registers = np.where(share.values > 0, share.values * 256, np.nan)  # 0: the stage did not run
        metric = f"registers_per_thread.{_registers(header)}"
        perfworks.add(table, metric, registers, f"{header} x 256 registers", (header,))


def _join(table: Table, tree: renderdoc_events.EventTree, ids: Indices) -> None:
    """Names, markers and dispatch sizes of the events, by id."""
    tree.source.delimiter = "|"  # origins of names and sizes are quoted by its columns
    table.files.append(tree.source)
    paths = np.full(len(ids), "", dtype=object)
    groups, lines = np.full(len(ids), np.nan), np.zeros(len(ids), dtype=np.int64)
    missing = 0
    for row, eid in enumerate(ids):
        name = tree.names.get(int(eid))
        if name is None:
            missing += 1
            continue
        table.names[row] = name or table.names[row]
        paths[row] = SEP.join(tree.parents[int(eid)])
        lines[row] = tree.lines[int(eid)]
        if (m := _GROUPS.match(name)) and (count := int(m[1]) * int(m[2]) * int(m[3])):
            groups[row] = count
    table.paths = paths
    order = sorted(tree.names)
    at = {eid: i for i, eid in enumerate(order)}
    found = barriers.before((tree.names[e] for e in order), np.isin(order, ids))
    if found is not None:
        barriers.enter(table, np.array([found[at[int(e)]] if int(e) in at else np.nan for e in ids]), "Event")
    if np.isfinite(groups).any():
        table.columns["launch.grid_size"] = Column(
            groups,
            "Event",
            2,
            file=len(table.files) - 1,
            lines=lines,
            formula="product of the thread-group counts in the call",
        )
    if missing:
        table.remark("no-name", f"{missing} of {len(ids)} events are not in {tree.source.name}")


def _kinds(table: Table) -> Names:
    """Kind of every event from its call, else from what its counters show."""
    kinds = np.array([markers.kind(str(n)) for n in table.names], dtype=object)
    cs, ps = (table.columns.get(f"invocations.{s}") for s in ("cs", "ps"))
    prims = table.columns.get("prims.rasterized")
    with np.errstate(invalid="ignore"):
        if cs is not None:
            kinds[(kinds == "") & (cs.values > 0)] = "compute"
        if ps is not None and prims is not None:  # one or two triangles over a large part of the screen
            full = (ps.values > 1e5) & (prims.values <= 2)
            kinds[full & ((kinds == "draw") | (kinds == ""))] = "fullscreen"
            kinds[(kinds == "") & (ps.values > 0)] = "draw"
    return kinds


def names() -> dict[str, list[str]]:
    """RenderDoc's own counters and those of the vendors' plug-ins."""
    return {
        **markers.all_names(),
        "gpu.time": ["GPU Duration"],
        "launch.grid_size": [GROUPS_IN_TEXT],
        "barrier.count": [BARRIERS_IN_TEXT],
    }


def collect(metrics: list[str]) -> str:
    """The counters to tick."""
    table = names()
    wanted = sorted({table[m][0] for m in metrics if table.get(m)})  # some of Intel's have no name of a single counter
    in_text = {GROUPS_IN_TEXT, BARRIERS_IN_TEXT}
    counters = [w for w in wanted if w not in in_text]
    some = first_of(counters, MAX_COUNTERS_PER_PASS, " and ")
    tick = f"Performance Counter Viewer > Capture counters > tick {some}"
    events = "Event Browser > Export to frame-events.txt in the same folder (it holds dispatch sizes and barriers)"
    return "RenderDoc: " + "; ".join(([tick] if counters else []) + ([events] if in_text & set(wanted) else []))
