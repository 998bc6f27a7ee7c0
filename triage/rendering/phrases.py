"""Sentences that all reports share: times, savings, evidence, source cells. Plain text; each format escapes by itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from triage import schema
from triage.document.budget_entries import BudgetEntry
from triage.document.entries import (
    CaptureEntry,
    CellEntry,
    EvidenceEntry,
    FindingEntry,
    ItemEntry,
    SourceEntry,
    WorkloadEntry,
)
from triage.document.limit_readings import LimitReading
from triage.document.markers_by_time import MarkerRow
from triage.document.summary import Summary
from triage.document.todo_items import TodoItem
from triage.ground.kernel_names import kernel
from triage.ground.limiters import limiter_words
from triage.ground.phrasing import comparison, first_of, lower_first, over, percent, plural, upper_first, with_copies
from triage.ground.terminology import localize, voice
from triage.ground.units import show
from triage.rendering.escape import clean, distinct, excerpt, nearest, short

MINUS = "\u2212"
MAX_DETAIL_CHARS = 300  # of a text without cells, or the name of a column
MAX_FORMULA_CHARS = 80  # of a formula beside its cells


def time(ns: float | None, digits: int = 3) -> str:
    """`3.24 ms`, or a dash."""
    return "–" if ns is None else show(ns, "ns", digits)


def added(ns: float) -> str:
    """`+1.2 ms`, `−340 µs`, `0 ns`."""
    return f"{'+' if ns > 0 else MINUS if ns < 0 else ''}{time(abs(ns))}"


def number(value: float | None, unit: str) -> str:
    """A value of the result document (ratios are already percent, their differences points)."""
    if value is None:
        return "–"
    return f"{value:.1f} points" if unit == "points" else show(value, unit)


def total(s: Summary) -> str:
    """`14.2 ms in 79 markers`."""
    return f"{time(s['duration_ns'])} in {s['counted']}" if s["duration_ns"] else f"{s['counted']}, no durations"


def rows(s: Summary) -> str:
    """`Markers`; `Kernels and copies`, where the table has both."""
    return voice().items + (" and copies" if s["copies"] else "")


def several(count: int, copies: int) -> str:
    """`5 kernels, 2 copies and fills`."""
    return with_copies(count, copies, voice().item)


def base() -> str:
    """`shares of the frame`, `shares of device time`: beside each table with shares."""
    return f"shares of {whole()}"


def whole() -> str:
    """`the frame`, `the span`, `device time`."""
    return f"{'' if voice().base == 'device time' else 'the '}{voice().base}"


def recoverable(s: Summary) -> str:
    """`3.54 ms (25 %), range 182 µs to 7.62 ms`; of ranks `28.9 ms (47 %) over 4 devices, 7.23 ms per rank, range ...`."""
    r = s["recoverable"]
    if not s["duration_ns"]:
        return "unknown (no durations)"
    if not r["likely"]["ns"]:
        return "none found"
    t = s["timeline"]
    count = len(t["devices"]) if t else 0
    each = over(count, "device")
    if each and t and t["by_rank"]:
        each += f", {time(r['likely']['ns'] / count)} per rank"
    share = percent(r["likely"]["share"])
    return f"{time(r['likely']['ns'])} ({share}){each}, {range_(r['low']['ns'], r['bound']['ns'])}"


def range_(low: float | None, bound: float | None) -> str:
    """`range 182 µs to 7.62 ms`, `range 0 to 923 µs`: low and bound of a saving in ns."""
    return f"range {time(low) if low else 0} to {time(bound)}"


def sureness(c: ItemEntry) -> str:
    """`range 182 µs to 7.62 ms, cause: medium confidence`."""
    return f"{range_(c['low_ns'], c['bound_ns'])}, cause: {c['confidence']} confidence"


def and_more(count: int) -> str:
    """` + 4 more`; "" for none."""
    return f" + {count:,} more" if count > 0 else ""


def shares(c: TodoItem, elsewhere: str = "items above") -> str:
    """`293 µs if done alone, 273 µs once items above are done.`; "" where nothing is shared."""
    if not c["saved_ns"] or not c["alone_ns"] or c["alone_ns"] <= 1.02 * c["saved_ns"]:
        return ""
    return f"{time(c['alone_ns'])} if done alone, {time(c['saved_ns'])} once {elsewhere} are done."


def in_no_row(s: Summary) -> str:
    """`82.6 µs of the savings in no row: Missed overlap`: of items that are about no single workload; "" without any."""
    if (of_rows := s["markers"].saved_ns) is None:
        return ""
    ns = sum(c["saved_ns"] or 0.0 for c in s["causes"]) - of_rows
    roots = s["markers"].roots
    apart = [c for c in s["causes"] if c["saved_ns"] and c["scope"] == "frame" and c["cause"] not in roots]
    # one that saves more than is left is shared out over rows whose root cause is another
    titles = [c["title"] for c in apart if (c["saved_ns"] or 0.0) <= ns + 1]
    return f"{time(ns)} of the savings in no row: {first_of(titles, 3)}" if ns > 1 and titles else ""


def limiters(s: Summary, most: int = 9) -> str:
    """`ROP 25 %, latency 23 %`; "" where none is known."""
    if all(x["limiter_class"] == "unknown" for x in s["limiters"]):
        return ""
    known = [f"{limiter_words(x['limiter_class']).name} {percent(x['share'])}" for x in s["limiters"] if x["share"]]
    return ", ".join(known[:most])


def cause(c: TodoItem) -> str:
    """`43 markers, 1.19 ms (8.3 %); 2 ms on its own`: where a root cause is and what it saves."""
    where = "the whole capture" if set(c["workloads"]) == {"frame"} else plural(c["count"], voice().item)
    if c["saved_ns"] is None:
        return f"{where}, {percent(c['fraction'])} of its time" if c["fraction"] else where
    text = f"{where}, {item_saving(c)}" + (f" ({percent(c['share'])})" if c["share"] else "")
    if c["saved_ns"] and (c["alone_ns"] or 0.0) > 1.05 * c["saved_ns"]:
        text += f"; {time(c['alone_ns'])} on its own"
    return text


def budget(e: BudgetEntry) -> str:
    """`over by 2.1 ms: items 1, 2 save 2.4 ms`, `under by 310 µs`, `no marker matches`."""
    owner = f" ({e['owner']})" if e["owner"] else ""
    if not e["matched"]:
        return f"no marker matches{owner}"
    if not e["over_ns"]:
        return f"under by {time(e['allowed_ns'] - e['ns'])}{owner}"
    count = len(e["items"])
    items = f"{'item' if count == 1 else 'items'} {first_of([str(i) for i in e['items']], 4)}"
    saved = f"{items} {'saves' if count == 1 else 'save'} {time(e['saves_ns'])}"
    enough = ", not enough" if e["saves_ns"] < e["over_ns"] else ""
    return f"over by {time(e['over_ns'])}: {saved + enough if count else 'no item saves time here'}{owner}"


def chain(c: TodoItem) -> str:
    """`Wave slots used 40.1 % → memory latency-bound (Stall: 66.0 %)`: root first, one number per link; "" for one link.

    Of the root only the number is given, since the item's title above names it.
    """
    links = c["chain"]
    if len(links) < 2:
        return ""
    root = links[0]["number"] if links[0]["number"] and links[0]["cause"] == c["cause"] else ""
    named = [lower_first(x["title"]) + (f" ({x['number']})" if x["number"] else "") for x in links]
    return " → ".join([root, *named[1:]] if root else named)


def where(c: TodoItem, most: int = 3, long: int = 40) -> list[str]:
    """Names of a cause's workloads, largest saving first, and how many more."""
    # in several captures the frames are called 1:frame, 2:frame ...
    if all(w.endswith("frame") for w in c["workloads"]):
        return []
    names = distinct(c["names"][:most], long)
    if c["count"] > most:
        names[-1] += and_more(c["count"] - most)
    return names


def to_explain(s: Summary) -> str:
    """`Details: triage explain Particles --on FILE. `: the first item's longest marker, by a name that the report shows, else by id."""
    if not s["first"]:
        return ""
    c = s["first"][0]
    word, name = str(c["workloads"][0]).rpartition(":")[2], str(c["names"][0])
    if word == "frame":
        word = c["cause"]
    elif (shown := re.split("[<(]", kernel(name))[0]) in name and re.fullmatch(r"[A-Za-z][\w ]{2,60}", shown):
        word = shlex.quote(shown)
    return f"Details: triage explain {word} --on FILE. "


def only_small(s: Summary) -> str:
    """`Nothing significant to fix. Small items: L2 misses (94.5 ns).`; "" where an item is large, or there is none."""
    if s["first"] or not s["causes"]:
        return ""
    saved = [f" ({time(c['saved_ns'])})" if c["saved_ns"] else "" for c in s["causes"]]  # some pass once per run
    items = [lower_first(clean(c["title"])) + text for c, text in zip(s["causes"], saved, strict=True)]
    return f"Nothing significant to fix. Small items: {first_of(items, 3)}."


def queue_lines(captures: Sequence[CaptureEntry]) -> list[str]:
    """`GPU Compute: busy 2.1 ms (26 % of 8 ms), 1.9 ms beside another queue; idle 5.9 ms`; [] where work has no queues."""
    out = []
    for c in captures:
        span = c.get("queue_span_ns") or 0
        for q in c.get("queues") or []:
            busy = q["busy_ns"] or 0
            share = percent(busy / span) if span else ""
            text = f"{short(q['name'], 40)}: busy {time(busy)} ({share} of {time(span)})"
            text += f", {time(q['beside_ns'])} beside another queue" if q["beside_ns"] else ", alone"
            out.append(text + (f"; idle {time(q['waits_ns'])}" if q["waits_ns"] else ""))
    return out


def gain(f: FindingEntry) -> str:
    """`232 µs (1.6 % of frame; 26 % of marker, 1.35x)`."""
    g = f["gain"]
    if not g or not g["fraction"]:
        return "no estimate"
    share_of = voice().base
    # of the whole frame, fraction and share are one number
    if f["workload"].endswith("frame"):
        share = f"{percent(g['fraction'])} of {share_of}"
        return f"{time(g['saved_ns'])} ({share})" if g["saved_ns"] is not None else share
    own = f"{percent(g['fraction'])} of {'idle time' if g.get('of') == 'idle' else voice().item}, {g['speedup']:.2f}x"
    if g["saved_ns"] is None:
        return own
    frame = f"{percent(g['share'])} of {share_of}; " if g["share"] is not None else ""
    return f"{time(g['saved_ns'])} ({frame}{own})"


def saves(f: FindingEntry) -> str:
    """A saving in a table cell: time where known, else the fraction; a dash for none."""
    g = f["gain"]
    if not g or not g["fraction"]:
        return "–"
    return saving(g["saved_ns"], g["fraction"])


def saving(ns: float | None, fraction: float | None) -> str:
    """A time where it is known, else the fraction."""
    return time(ns) if ns is not None else percent(fraction)


def item_saving(c: ItemEntry) -> str:
    """What an item saves; `982 ms once` of time that passes once per run."""
    once = not c["saved_ns"] and c["alone_ns"]
    return f"{time(c['alone_ns'])} once" if once else saving(c["saved_ns"], c["fraction"])


def back(m: MarkerRow) -> str:
    """Saving of a workload's row; a dash where that is none, or without a root cause, since only root causes are in a sum."""
    if m["saved_ns"] is not None:
        return time(m["saved_ns"]) if m["saved_ns"] else "–"
    return saves(m["best"]) if m["best"] and m["workload"]["chain"] else "–"


def label(metric: str) -> str:
    """Label of a metric."""
    if schema.known(metric):
        return localize(schema.get(metric).label)
    # a dotted name is a column's
    return clean(metric) if "." in metric else upper_first(clean(metric).replace("_", " "))


def check(e: EvidenceEntry) -> str:
    """`TEX hit rate 57.0 % < 70 %`."""
    name = label(e["metric"])
    if e["op"] == "is" and e["threshold"] is None:
        return f"{name} {number(e['value'], e['unit'])}"
    if e["op"] == "is":
        return f"{name}: {'yes' if e['value'] else 'no'}"
    return comparison(name, number(e["value"], e["unit"]), e["op"], limit(e))


def limit(e: EvidenceEntry) -> str:
    """What a comparison's value is held against, with the digits its author wrote."""
    return number(e["threshold"], e["unit"]).replace(".0 ", " ")


def spoken(formula: str) -> str:
    """A formula with its metrics' labels: `sm.active or 1` becomes `SM active, else 1`."""
    words = _ID.sub(
        lambda m: label(m[1]) + (", else " if m[2] else "") if schema.known(m[1]) else m[0], localize(formula)
    )
    return words.replace("most(", "highest of (").replace("least(", "lowest of (")


_ID = re.compile(r"\b([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)\b( or )?")  # and the choice behind it


def cell(o: SourceEntry, most: int = 2) -> str:
    """Source cell of a value: `“57.0” (export.csv:30, column hit_rate)`; of a computed one the formula with its first cells.

    A long formula is left out where there are cells: the JSON result has it.
    """
    if "formula" not in o:
        return _cell(o)
    found = list({(x["file"], x["line"], x["column"]): x for x in leaves(o)}.values())
    found.sort(key=lambda x: not _NOT_ZERO.search(x["text"]))  # of a sum, cells that are not 0 first
    cells = [_cell(x, found[:k]) for k, x in enumerate(found[:most])]
    how, origin = spoken(o["formula"]), f"from {', '.join(cells)}{and_more(len(found) - most)}" if cells else ""
    if origin and len(how) > MAX_FORMULA_CHARS:
        return f"computed {origin}"
    return ", ".join(filter(None, (excerpt(how, MAX_DETAIL_CHARS), origin)))


def _cell(o: CellEntry, before: Sequence[CellEntry] = ()) -> str:
    """One cell with its place; of a row or column that stands `before` already, what differs alone."""
    column = excerpt(o["column"], MAX_DETAIL_CHARS)  # in full: it is looked up
    if any((b["file"], b["line"]) == (o["file"], o["line"]) for b in before):
        return f"“{short(o['text'], 40)}” ({'metric' if 'record' in o else 'column'} {column})"
    if any((b["file"], b["column"]) == (o["file"], o["column"]) for b in before):
        return f"“{short(o['text'], 40)}” ({o.get('record') or 'line'} {o['line']})"
    place = f", {o['record']} {o['line']}, metric " if "record" in o else f":{o['line']}, column "
    return f"“{short(o['text'], 40)}” ({tail(o['file'])}{place}{column})"


_NOT_ZERO = re.compile("[^0., ]")
MIN_WHOLE = 0.5  # percent: what is rounded to 0 is not 0


def origin_of(e: EvidenceEntry) -> str:
    """The cell that decided a comparison; of a highest or lowest value, the input it came from."""
    source = e["source"]
    for i in source["inputs"] if "formula" in source else ():
        if i["value"] == e["value"]:
            return f"{label(i['metric'])}: {cell(i['source'])}"
    return cell(source)


def leaves(o: SourceEntry) -> Iterable[CellEntry]:
    """The cells under a formula."""
    if "formula" not in o:
        yield o
        return
    for i in o["inputs"]:
        yield from leaves(i["source"])


def titled(path: str) -> str:
    """Title of a capture: the last part of its path, or the folder above BASE, as Nsight Graphics calls every export."""
    parts = [p for p in path.replace("\\", "/").split("/") if p]
    return tail("/".join(parts[:-1]) if parts[-1:] == ["BASE"] and len(parts) > 1 else path)


def tail(path: str) -> str:
    """The last part of a path."""
    # exports of a Windows machine are often read on another: both kinds of separators
    return short(path.replace("\\", "/").rstrip("/").rpartition("/")[2] or path, 60)


def sol(w: WorkloadEntry, most: int = 3) -> str:
    """`TEX 43 %, SM 39 %`: the top units; 86.5 becomes 87 as on the page, which knows tenths."""
    units = [(localize(s["unit"]), float(f"{s['pct'] or 0.0:.1f}")) for s in w["sol"][:most]]
    return ", ".join(f"{u} {'<1' if 0 < x < MIN_WHOLE else int(x + 0.5)} %" for u, x in units) or "not measured"


def path(w: WorkloadEntry | LimitReading, long: int = 80) -> str:
    """Levels and name; of those that do not fit, the nearest."""
    return nearest(w["path"], w["name"], long)
