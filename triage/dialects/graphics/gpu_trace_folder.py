"""The files of a GPU Trace auto-export: which is which (by content), which belong together, markers and their times.

All of them are called .xls and are text between tabs, in which nothing is quoted.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from triage.capture import shape
from triage.capture.arrays import Floats, Indices, Names
from triage.capture.capture import SEP, Quality
from triage.capture.cells import delimiter
from triage.capture.source import Source
from triage.capture.unused_cells import Odd
from triage.dialects.graphics import perfworks
from triage.dialects.tables import number_cells, wide_table
from triage.ground import units
from triage.ground.errors import BadCapture

# part of a file's name -> which it is; FRAME last, since GPUTRACE_FRAME holds it too
TOKENS = {
    "regimes": "GPUTRACE_REGIMES",
    "events": "D3DPERF_EVENTS",
    "whole": "GPUTRACE_FRAME",
    "repro": "REPRO_INFO",
    "frame": "FRAME",
}
_SUFFIXES = (".xls", ".tsv", ".txt", ".csv", ".gz")
_NAMES = re.compile(
    r"flattened_event_name|(?:event|marker|range|regime|pass|workload)?[ _]?(?:name|text|path)"
    r"|marker|event|range|regime|region"
)
_TIME = re.compile(r"\b(time|duration)\b", re.IGNORECASE)
_REPRO = "metric set,gpu clocks,driver version,device name,chip name,process file name,product version".split(",")


class Export(Struct):
    """The companions of one export; None = not there. typed: what the user gave."""

    typed: Source
    regimes: Source | None = None
    events: Source | None = None
    frame: Source | None = None
    repro: Source | None = None
    whole: Source | None = None
    folder: str = ""
    sure: bool = True  # companions found by their full names, not guessed for a renamed file


class Events(Struct):
    """D3DPERF_EVENTS: marker texts, parent levels, times in ms per column (NaN = missing), 1-based lines."""

    texts: list[str] = field(default_factory=list)
    parents: list[tuple[str, ...]] = field(default_factory=list)
    cells: list[list[float]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    nested: bool = False
    odd: Odd = field(default_factory=Odd)


def header(source: Source) -> tuple[int, str, str]:
    """(1-based line, text, separator) of the first line that is not blank; (0, "", tab) when there is none."""
    for number, line in enumerate(source.head_lines[:50], 1):
        if line.strip():
            source.delimiter = "\t" if "\t" in line else delimiter(line)
            return number, line, source.delimiter
    return 0, "", "\t"


def what(source: Source) -> str:
    """Which file of the export this is, by content: a key of TOKENS or ""."""
    number, line, sep = header(source)
    if not number:
        return ""
    first, *rest = [c.strip().strip('"') for c in line.split(sep)]
    low = first.lower()
    if low == "gpu frame time" and rest:
        return "frame"
    counters = sum(bool(perfworks.counter(c)) for c in rest)
    if low in ("event_text", "event text") or (
        sep == "\t" and low == "event" and rest and re.match(r"time_ms|frame", rest[0], re.I)
    ):
        return "regimes" if counters else "events"  # people join the two tables
    # the exporter keeps times in a file of their own, and writes no units
    timed = any((_TIME.search(c) and "__" not in c) or wide_table.split_unit(c)[1] for c in rest)
    if name_at([first, *rest]) or (
        low == "flattened_event_name"
        or (sep == "\t" and not timed and counters and counters >= len(rest) / 2 and _NAMES.fullmatch(low))
    ):
        return "regimes"
    pairs = [row.split("\t") for row in source.head_lines[number - 1 : number + 40] if row.strip()]
    if sep == "\t" and len(pairs) > 1:
        if sum(bool(perfworks.counter(p[0])) and len(p) > 1 and is_number(p[1]) for p in pairs) > len(pairs) * 0.6:
            return "whole"
        if sum(p[0].strip().lower() in _REPRO for p in pairs) >= 2:
            return "repro"
    return ""


def name_at(headers: list[str]) -> int:
    """Position of the markers' names in GPUTRACE_REGIMES: the first column, unless another has the exporter's header."""
    low = [h.strip().strip('"').lower() for h in headers]
    return low.index("flattened_event_name") if "flattened_event_name" in low else 0


def is_number(text: str) -> bool:
    """True if a cell holds a number: it is neither empty nor a word for none."""
    try:
        return units.parse(text) is not None
    except ValueError:
        return False


def locate(source: Source) -> Export | None:
    """The export a file or folder belongs to; None when it is none. Raises BadCapture when a folder holds several."""
    if not source.is_folder:
        kind = what(source)
        if not kind:
            return None
        export = Export(source, folder=str(Path(source.path).parent))
        setattr(export, kind, source)
        _companions(export, source, kind)
        return export
    root = Path(source.path)
    # the exporter writes into BASE or, where the clocks were not locked, BASE_UNLOCKED, below the output folder
    places = [root, *(p for p in _folders(root) if p.name.upper().startswith("BASE"))]
    places += [b for p in _folders(root) for b in _folders(p) if b.name.upper().startswith("BASE")]
    exports = [e for p in places[:200] if (e := _folder(source, p)) is not None]
    if not exports:  # the marks of an export without its tables, as --multi-pass-metrics leaves it: to be refused
        empty = (root / "ReportGeneratorTags.txt").is_file() or (root / "BASE").is_dir()
        return Export(source, folder=str(root)) if empty else None
    # locked clocks first: only their times can be compared with another capture's
    exports.sort(key=lambda e: (e.regimes is None, "UNLOCKED" in e.folder.upper(), e.folder))
    # BASE and BASE_UNLOCKED of one run lie beside each other; anything else with counters is another capture
    same = [e for e in exports if e.regimes is not None and Path(e.folder).parent == Path(exports[0].folder).parent]
    if len([e for e in exports if e.regimes is not None]) > max(len(same), 1):
        found = ", ".join(Path(e.folder).relative_to(root).as_posix() for e in exports[:4])
        raise BadCapture(f"{source.path}: {len(exports)} GPU Trace exports ({found})", "name one of these folders")
    return exports[0]


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(p for p in path.iterdir() if p.is_dir())[:500]
    except OSError:
        return []


def _folder(typed: Source, place: Path) -> Export | None:
    """The export whose files lie directly in a folder; several REGIMES files raise BadCapture."""
    try:
        files = sorted(p for p in place.iterdir() if p.suffix.lower() in _SUFFIXES and p.is_file())[:500]
    except OSError:
        return None
    export = Export(typed, folder=str(place))
    for path in files:
        upper = path.name.upper()  # the exporter names its files; a single file is recognised by content
        kind = next((k for k, token in TOKENS.items() if token in upper), "")
        if not kind:
            continue
        child = typed.related(path)
        if kind == "regimes" and export.regimes is not None:
            raise BadCapture(f"{place}: several GPUTRACE_REGIMES files", "name one of them")
        if getattr(export, kind) is None:
            setattr(export, kind, child)
    return export if export.regimes or export.events or export.whole else None


def _companions(export: Export, source: Source, kind: str) -> None:
    """The other files of a file's export: its own name with another token, or the exporter's plain names."""
    name = source.name
    at = name.upper().rfind(TOKENS[kind])
    export.sure = at >= 0
    for other, token in TOKENS.items():
        if other == kind:
            continue
        wanted = name[:at] + token + name[at + len(TOKENS[kind]) :] if at >= 0 else f"{token}.xls"
        found = source.sibling(wanted)
        if found is not None and what(found) == other:
            setattr(export, other, found)


def read_events(source: Source) -> Events:
    """Markers in order, with the nesting that indentation gives them (8 spaces per level, any step is understood)."""
    out = Events()
    start, first, sep = header(source)
    head = first.split(sep)
    titled = len(head) > 1 and not is_number(head[1])
    stack: list[tuple[int, str]] = []
    texts: list[list[str]] = []
    style = units.style(
        (c for line in source.head_lines[start:2000] for c in line.split(sep)[1:]), f"{source.path}: ", "us"
    )
    for number, line in enumerate(source.lines(), 1):
        if number < start + titled or not line.strip():
            continue
        text, *cells = line.split(sep)
        indent = len(text) - len(text.lstrip(" "))
        while stack and stack[-1][0] >= indent:
            stack.pop()
        out.texts.append(text.strip())
        out.parents.append(tuple(t for _, t in stack))
        out.nested = out.nested or bool(stack)
        out.lines.append(number)
        texts.append(cells)
        stack.append((indent, text.strip()))
    shape.regular(source, {n: len(c) + 1 for n, c in zip(out.lines, texts, strict=True)})
    blank = [row for row, c in enumerate(texts) if not "".join(c).strip()]
    if len(blank) == 1 < len(texts):
        out.odd.add("not-a-number", "", out.texts[blank[0]], out.lines[blank[0]])
    width = max(map(len, texts), default=0)
    columns = [np.array([c[k] if k < len(c) else "" for c in texts], dtype=object) for k in range(width)]
    grouped = number_cells.groups(columns, style)
    times = [
        number_cells.floats(c, style, "time_ms", "ms", lambda row: out.lines[row], out.odd, grouped) for c in columns
    ]
    out.cells = [[float(t[row]) for t in times[: len(c)]] for row, c in enumerate(texts)]
    return out


def join(paths: list[str], events: Events) -> Indices:
    """Event of every REGIMES row, -1 for none: row by row when counts and leaf names agree, else by path and order."""
    n = len(paths)
    if n == len(events.texts) and all(_ends(p, t) for p, t in zip(paths, events.texts, strict=True)):
        return np.arange(n)
    # resubmitted markers are listed again: each path has a queue, filled backwards and popped
    queues: dict[str, list[int]] = {}
    for i in range(len(events.texts) - 1, -1, -1):
        queues.setdefault("/".join((*events.parents[i], events.texts[i])), []).append(i)
    leaves: dict[str, list[int]] = {}
    if not events.nested:  # without parents a leaf's name alone must do, where both files have it equally often
        for i in range(len(events.texts) - 1, -1, -1):
            leaves.setdefault(events.texts[i], []).append(i)
        same: dict[str, int] = {}
        for p in paths:
            same[p.rpartition("/")[2]] = same.get(p.rpartition("/")[2], 0) + 1
        leaves = {t: q for t, q in leaves.items() if same.get(t) == len(q)}
    out = np.full(n, -1, dtype=np.int64)
    for row, path in enumerate(paths):
        queue = queues.get(path) or leaves.get(path) or leaves.get(path.rpartition("/")[2])
        if queue:
            out[row] = queue.pop()
    return out


def _ends(path: str, text: str) -> bool:
    """True if the text is the leaf of the path; it may hold '/' itself, so the path is not simply cut."""
    return path == text or (path.endswith(text) and path[: -len(text)].endswith("/"))


def levels(paths: list[str], events: Events | None, event: Indices | None) -> tuple[Names, Names]:
    """(leaf names, parent levels joined with SEP). Names may hold '/': known ancestors and event texts decide.

    event: index of every path's event, -1 for none; needed where there are events.
    """
    # a parent is a range of its own and has a row: the longest path that is known is the parent
    known = set(paths)
    memo: dict[str, tuple[str, ...]] = {}

    def split(path: str) -> tuple[str, ...]:
        if path not in memo:
            at = path.rfind("/")
            while at > 0 and path[:at] not in known:
                at = path.rfind("/", 0, at)
            memo[path] = (
                (*split(path[:at]), path[at + 1 :]) if at > 0 else tuple(p for p in path.split("/") if p) or (path,)
            )
        return memo[path]

    names, parents = np.empty(len(paths), dtype=object), np.empty(len(paths), dtype=object)
    for row, path in enumerate(paths):
        i = int(event[row]) if events is not None and event is not None else -1
        if i >= 0 and events is not None and _ends(path, events.texts[i]):
            leaf = events.texts[i]
            above = events.parents[i]
            rest = path[: -len(leaf)].rstrip("/")
            # the indentation gives the parents; where it says something else than the path, the path is believed
            if rest and "/".join(above) != rest:
                above = split(rest)
        else:
            *most, leaf = split(path) if path else ("",)
            above = tuple(most)
        names[row], parents[row] = leaf or f"(unnamed marker {row + 1})", SEP.join(above)
    return names, parents


def frame_times(source: Source | None) -> list[float]:
    """FRAME.xls: GPU frame time in ms (the file does not say so), one per captured frame; [] when there is none."""
    if source is None:
        return []
    for line in source.head_lines[:5]:
        first, *cells = line.split("\t")
        if first.strip().lower() == "gpu frame time":
            return [v for c in cells if is_number(c) and (v := units.parse(c)) is not None and v > 0]
    return []


def repro(source: Source | None) -> dict[str, str]:
    """REPRO_INFO: lower-case key -> value."""
    if source is None:
        return {}
    pairs = (line.partition("\t") for line in source.head_lines[:400])  # some keys have a blank at their end
    return {k.strip().lower(): v.strip() for k, _, v in pairs if k.strip()}


def durations(events: Events, frames: list[float], repeats: int, quality: list[Quality]) -> tuple[Floats, Indices]:
    """(ms per event, number of cells used) from one cell per frame or instance, or from (duration, start) pairs.

    Negative and absurd times are missing. frames: FRAME.xls; repeats: values per metric in GPUTRACE_REGIMES.
    """
    span = sum(frames)
    count = len(frames) or repeats
    most = max(10 * span, 1.0) if span else 1e7  # ms; the exporter writes sentinels
    width = max((len(c) for c in events.cells), default=0)
    table = np.full((len(events.texts), max(width, 1)), np.nan)
    for i, cells in enumerate(events.cells):
        table[i, : len(cells)] = cells
    filled = np.isfinite(table)
    # a known defect of the exporter: rows of (duration, time stamp) pairs; the stamps make the sum exceed the frame
    last = np.where(filled.any(axis=1), width - np.argmax(filled[:, ::-1], axis=1), 0)
    # an even number of cells, of more than the frames' time together
    pairs = (last > 1) & (last % 2 == 0) & (span > 0) & (np.nansum(np.abs(table), axis=1) > 1.3 * span)
    table[np.ix_(pairs, np.arange(table.shape[1]) % 2 == 1)] = np.nan
    last = np.where(pairs, last // 2, last)
    wrong = (table < 0) | (table > most)
    table[wrong] = np.nan
    paired, bad = int(pairs.sum()), int(wrong.any(axis=1).sum())
    used = np.isfinite(table).sum(axis=1)
    parts = np.where((last > count) & (last % max(count, 1) == 0), count, used)  # instances add up, frames average
    out = np.where(used > 0, np.nansum(table, axis=1) / np.maximum(parts, 1), np.nan)
    if paired:
        text = f"{paired} marker rows of D3DPERF_EVENTS hold (duration, time stamp) pairs instead of durations (their sum exceeds the frame): every second value was used"
        quality.append(Quality("paired-times", text))
    quality += events.odd.remarks()
    if bad:
        text = f"{bad} markers have negative or impossible times in D3DPERF_EVENTS: treated as not measured"
        quality.append(Quality("no-duration", text))
    return out, used
