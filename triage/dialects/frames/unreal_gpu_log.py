"""Unreal Engine `ProfileGPU`: the tree of GPU events that it prints into the log, as lines (4.x to 5.5) or as a table (5.6 on)."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct, field

from triage.capture.capture import SEP, Table
from triage.capture.source import Source
from triage.dialects import Match, Options
from triage.dialects.frames import frame_logs
from triage.dialects.tables import text_rows
from triage.ground.errors import NotTriageable
from triage.ground.phrasing import plural

NAME = "unreal-gpu-log"
SIGN = ("perf marker hierarchy", "gpu profile for frame", " prims")
TELLS = {"work": "graphics"}
TITLE = "Unreal Engine ProfileGPU log"
CAPTURE = """\
On the console of a Development build: `r.VSync 0`, `r.ProfileGPU.ShowUI 0`, then `ProfileGPU` (Ctrl+Shift+Comma). The tree of GPU
events stands in `Saved/Logs/<Project>.log`; several in one log are separate frames. `r.ProfileGPU.ThresholdPercent 0.05`
leaves small events out. Times are of one frame: repeat it, or record `csvprofile` for a run.
"""
# by "is one dispatch": of a chain of those the marker above has a time with more than one digit
_BRIEF_RE = (re.compile(r"0*\.0*"), re.compile(r"0*\.0[01]?0*"))
MAX_ROWS = 200_000  # events of a log; a dump has some thousand
MAX_SAID = 3  # dumps with a remark of their own
_STEP = 3  # blanks per level
_DUMP_RE = re.compile(r"Perf marker hierarchy, total GPU time ([\d.]{1,12}) ?ms|GPU Profile for Frame (\d{1,12})")
_QUEUE_RE = re.compile(r"^\s*(\w[\w ]{0,40}?) pipeline \d+ - GPU \d+")
_PREFIX_RE = re.compile(
    r"^(?:[ \t>]*(?=\[[\d.]|Log[A-Z]))?(?:\[[\d.:\- ]{1,40}\])?(?:\[ *\d+\])?(?:Log\w{1,40}: ?)?(?:(?:Display|Warning|Log|Verbose): ?)?"
)
_EVENT_RE = re.compile(r"^( *)(\d{1,3}\.\d)% *(\d{1,9}\.\d+) ?ms(?: \+ [\d.]+ Wait)? {1,4}(\S.*)$")
# the first event of a dump whose heading was not copied
_FRAME_RE = re.compile(
    r"^.{0,120}?\b\d{1,3}\.\d% *\d{1,9}\.\d+ ?ms +FRAME\b.* draws? .*prims", re.IGNORECASE | re.MULTILINE
)
_SHARE_RE = re.compile(r"\d% *\d+\.\d+ ?ms ")
SHOWN = 0.9  # of the GPU time that a dump states: below it, a note names what the tree leaves out
_STATS_RE = re.compile(r"((?: \d{1,12} (?:draws?|prims?|verts?|dispatch(?:es)?|groups?)){1,6}) *$")
_STAT_RE = re.compile(r"(?<!\d)(\d{1,12}) (draw|prim|vert|dispatch|group)")
MAX_UNLISTED = 0.5  # heuristic: of an event's work and time; less is what events without a name of their own do
_TOP_RE = re.compile(r"Frame(?: \d+)?")
_TIME_RE = re.compile(r"^ *(\d{1,9}\.\d+) ms *$")
_SPEC = (
    ("", "event", ""),
    ("gpu.time", "time", "ms"),
    ("draw.count", "draws", ""),
    ("prims.input", "prims", ""),
    ("vertices.input", "verts", ""),
    ("dispatch.count", "dispatches", ""),
    ("launch.grid_size", "groups / dispatches", ""),
)
_STATS = ("draw", "prim", "vert", "dispatch")


class _Log(Struct):
    """What was found: per event its line, level, texts of the cells, and the number of the dump it belongs to."""

    lines: list[int] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)
    dumps: list[int] = field(default_factory=list)
    count: int = 0  # dumps that were begun
    beside: dict[str, float] = field(default_factory=dict)  # other queue -> ms of its root events
    stated: dict[int, float] = field(default_factory=dict)  # dump -> ms of GPU time that it states
    brief: int = 0  # events too short for the digits of their times, left out
    exclusive: bool = False


def recognise(source: Source) -> Match | None:
    """The line that begins a dump."""
    if not (m := _DUMP_RE.search(source.head_text)):
        return Match(0.9, "Unreal ProfileGPU tree without its heading") if _FRAME_RE.search(source.head_text) else None
    return Match(0.95, "Unreal ProfileGPU tree" if m[1] else "Unreal ProfileGPU table")


def read(source: Source, options: Options) -> Table:
    """One row per event of the graphics queue; raises NotTriageable for a log whose dumps hold none."""
    log = _scan(source)
    if not log.cells:
        what, instead = "Unreal ProfileGPU log without GPU events", "run ProfileGPU in a Development build"
        if _SHARE_RE.search(source.head_text):
            what, instead = "no event of this Unreal ProfileGPU log could be read", "give the log file itself"
        raise NotTriageable(f"{source.path}: {what}", instead)
    names = [row[0] for row in log.cells]
    paths = _paths(log, names)
    table = Table(NAME, [source], np.array(names, dtype=object), {}, np.array(paths, dtype=object))
    table.lines = np.array(log.lines, dtype=np.int64)
    table.leaf_time = log.exclusive
    table.kinds = np.array(["marker" if _TOP_RE.fullmatch(n) else "" for n in names], dtype=object)
    table.collectable = frozenset()
    text_rows.enter(table, _SPEC, log.cells)
    _say_stated(table, log)
    _say_unlisted(table, log)
    if log.brief:
        table.notes.append(
            f"{plural(log.brief, 'event')} of 0.00 ms, or one dispatch of 0.01 ms, left out: too short for ProfileGPU's digits"
        )
    for queue, ms in log.beside.items():
        text = f"{queue} queue: {ms:.2f} ms beside the graphics queue, not part of the frame's time"
        table.remark("other-queue", text)
    if "v-sync enabled" in source.head_text:
        table.remark("vsync", "recorded with V-sync: its wait may stand in any event; set r.VSync 0 and repeat")
    dumps = plural(log.count, "dump")
    table.notes.append(f"Unreal ProfileGPU: {dumps} of one frame each; times include the events below")
    return table


def _say_stated(table: Table, log: _Log) -> None:
    """Remark on dumps that state more GPU time than their tree has."""
    for dump, stated in list(log.stated.items())[:MAX_SAID]:
        tops = [level for level, d in zip(log.levels, log.dumps, strict=True) if d == dump]
        rows = [i for i, d in enumerate(log.dumps) if d == dump and log.levels[i] == min(tops)]
        first = next((i for i in rows if re.match(r"frame\b", log.cells[i][0], re.IGNORECASE)), -1)
        shown = float(log.cells[first][1] or 0) if first >= 0 else sum(float(log.cells[i][1] or 0) for i in rows)
        if rows and shown < SHOWN * stated:
            text = f"the dump states {stated:.2f} ms of GPU time, its frame takes {shown:.2f} ms ({shown / stated:.1%}): shares are of the frame"
            table.remark("part-of-total", text, rows[0])


def _say_unlisted(table: Table, log: _Log) -> None:
    """Remark on events most of whose draws and dispatches are in no event below them: the log ends early, or hides them."""
    for i, below in enumerate(_sums_below(log)):
        own = _amounts(log.cells[i])
        if below is None or _TOP_RE.fullmatch(log.cells[i][0]):
            continue
        ms, *mine = own
        rest, *missing = (a - b for a, b in zip(own, below, strict=True))
        if sum(missing) > MAX_UNLISTED * sum(mine) and rest > MAX_UNLISTED * ms:
            amounts = zip(missing, mine, ("draws", "dispatches"), strict=True)
            counted = " and ".join(f"{n:,.0f} of {m:,.0f} {word}" for n, m, word in amounts if m)
            text = f"{log.cells[i][0]}: {counted} ({rest:.2f} ms) are in no event of this log, so nothing names them: paste the log to its end"
            table.remark("unlisted-events", text, i)
            return


def _sums_below(log: _Log) -> list[tuple[float, ...] | None]:
    """Amounts of the events right below each event, None where there are none."""
    out: list[tuple[float, ...] | None] = [None] * len(log.levels)
    around: list[int] = []
    for i, level in enumerate(log.levels):
        while around and (log.dumps[around[-1]] != log.dumps[i] or log.levels[around[-1]] >= level):
            around.pop()
        if around:
            sums = out[around[-1]] or (0.0, 0.0, 0.0)
            out[around[-1]] = tuple(a + b for a, b in zip(sums, _amounts(log.cells[i]), strict=True))
        around.append(i)
    return out


def _amounts(cells: list[str]) -> tuple[float, float, float]:
    """Time in ms, draws and dispatches of an event."""
    return float(cells[1] or 0), float(cells[2] or 0), float(cells[5] or 0)


def _scan(source: Source) -> _Log:
    log = _Log()
    queue, indent = "", 0
    reading = not _DUMP_RE.search(source.head_text)
    log.count = int(reading)
    for number, raw in source.numbered(1):
        if m := _DUMP_RE.search(raw):
            log.count += 1
            reading, queue = True, ""
            indent = len(raw) - len(raw.lstrip())
            if m[1]:
                log.stated[log.count] = float(m[1])
            continue
        if not reading or len(raw) > 2_000:
            continue
        if not raw[:indent].strip():  # as quoted in a page
            raw = raw[indent:]
        text = _PREFIX_RE.sub("", raw, count=1)
        if m := _QUEUE_RE.match(text):
            queue = "" if m[1].startswith("Graphics") else m[1]
        elif found := _event(text, log):
            level, cells = found
            if queue:
                if level == 0:
                    log.beside[queue] = log.beside.get(queue, 0.0) + float(cells[1])
            elif len(log.cells) < MAX_ROWS:
                if not log.exclusive and _BRIEF_RE[cells[5] == "1"].fullmatch(cells[1]):
                    log.brief += 1
                    continue
                log.lines.append(number)
                log.levels.append(level)
                log.cells.append(cells)
                log.dumps.append(log.count)
    return log


def _event(text: str, log: _Log) -> tuple[int, list[str]] | None:
    """(level, cells) of an event's line, None for any other line."""
    if m := _EVENT_RE.match(text):
        stats = _STATS_RE.search(m[4])
        counts = {word: n for n, word in _STAT_RE.findall(stats[1])} if stats else {}
        name = m[4][: stats.start()] if stats else m[4]
        # percentages are right-aligned in four characters
        level = round(max(m.end(2) - 4, 0) / _STEP)
        dispatches, groups = int(counts.get("dispatch", 0)), int(counts.get("group", 0))
        each = f"{groups / dispatches:.15g}" if dispatches and groups else ""
        return level, [_plain(name), m[3], *(counts.get(w, "") for w in _STATS), each]
    return _table_row(text, log) if "┃" in text or "|" in text else None


def _table_row(text: str, log: _Log) -> tuple[int, list[str]] | None:
    """The same of a row of the table. The last time is the inclusive one, unless only exclusive ones are shown."""
    cells = re.split(r"[┃│|]", text)
    if len(cells) < 3:
        return None
    words = " ".join(cells)
    if "Exclusive" in words or "Inclusive" in words:
        log.exclusive = "Inclusive" not in words
        return None
    times = [i for i, c in enumerate(cells) if _TIME_RE.match(c)]
    name = cells[-2] if not cells[-1].strip() else cells[-1]
    if not times or not name.strip():
        return None
    at = times[-1]
    counts = [c.strip() for c in cells[max(at - 5, 0) : at] if c.strip().isdigit()]
    draws, dispatches, prims, verts = counts if len(counts) == 4 else ("", "", "", "")
    level = round(max(len(name) - len(name.lstrip()) - 1, 0) / _STEP)
    return level, [_plain(name), cells[at].replace("ms", "").strip(), draws, prims, verts, dispatches, ""]


def _plain(name: str) -> str:
    return " ".join(name.split())[:400]


def _paths(log: _Log, names: list[str]) -> list[str]:
    """Path of each event; renames the event that stands for its frame, below which all others are.

    Lines of 4.x and 5.x set the events within FRAME no deeper than FRAME itself.
    """
    paths: list[str] = []
    open_levels: list[tuple[int, str]] = []
    dump, top = 0, ""
    for i, level in enumerate(log.levels):
        if log.dumps[i] != dump:
            dump, open_levels = log.dumps[i], []
            top = f"Frame {dump}" if log.count > 1 else "Frame"
            if re.match(r"frame\b", names[i], re.IGNORECASE):
                names[i] = log.cells[i][0] = top
                paths.append("")
                continue
        while open_levels and open_levels[-1][0] >= level:
            open_levels.pop()
        paths.append(SEP.join([top, *(name for _, name in open_levels)]))
        open_levels.append((level, names[i]))
    return paths


def names() -> dict[str, list[str]]:
    """What an event's line says."""
    return {metric: [header] for metric, header, _ in _SPEC if metric}


collect = frame_logs.no_counters("ProfileGPU")
