"""Sentences that all reports share: times, savings, evidence, source cells. Plain text; each format escapes by itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from triage import schema
from triage.document.budget_entries import BudgetEntry
from triage.document.entries import (
    VERDICT_CLASSES,
    CellEntry,
    EvidenceEntry,
    FindingEntry,
    ItemEntry,
    SourceEntry,
    UnitEntry,
    WorkloadEntry,
)
from triage.document.limit_readings import LimitReading
from triage.document.markers_by_time import MarkerRow
from triage.document.summary import Summary
from triage.document.time_shares import IDLE, MIN_PRESSURE, UndiagnosedEntry, VerdictEntry, needed
from triage.document.todo_items import TodoItem
from triage.ground.kernel_names import kernel
from triage.ground.limiters import BY_ID
from triage.ground.method import DRAM_REACHED, HIGH
from triage.ground.phrasing import comparison, first_of, lower_first, percent, plural
from triage.ground.terminology import localize, voice
from triage.ground.units import show
from triage.rendering.escape import clean, distinct, excerpt, nearest, short
from triage.rendering.labels import HEADS


def time(ns: float | None, digits: int = 3) -> str:
    """`3.24 ms`, or a dash."""
    return "–" if ns is None else show(ns, "ns", digits)


def number(value: float | None, unit: str) -> str:
    """A value of the result document (ratios are already percent, their differences points)."""
    if value is None:
        return "–"
    if unit == "%":
        # 100.0 % looks like a measurement; it is a limit or a whole
        return f"{value:.1f} %" if abs(abs(value) - 100) > 0.05 else f"{value:.0f} %"
    return f"{value:.1f} points" if unit == "points" else show(value, unit)


def total(s: Summary) -> str:
    """`14.2 ms in 79 markers`."""
    return f"{time(s['duration_ns'])} in {s['counted']}" if s["duration_ns"] else f"{s['counted']}, no durations"


def recoverable(s: Summary) -> str:
    """`3.54 ms (25 %), range 182 µs to 7.62 ms`."""
    r = s["recoverable"]
    if not s["duration_ns"]:
        return "unknown (no durations)"
    if not r["likely"]["ns"]:
        return "none found"
    return f"{time(r['likely']['ns'])} ({percent(r['likely']['share'])}), {range_(r['low']['ns'], r['bound']['ns'])}"


def range_(low: float | None, bound: float | None) -> str:
    """`range 182 µs to 7.62 ms`, `range 0 to 923 µs`: low and bound of a saving in ns."""
    return f"range {time(low) if low else 0} to {time(bound)}"


def verdict(name: str) -> str:
    """`Not diagnosed`: a word of VERDICT_CLASSES as people read it."""
    words = (HEADS.to_fix, HEADS.suspected, HEADS.not_diagnosed, HEADS.at_limit)
    return str(HEADS.idle if name == IDLE else words[VERDICT_CLASSES.index(name)])


def root_cause(m: MarkerRow) -> str:
    """Title of the root cause; without one the verdict in lower case."""
    return m["title"] or verdict(m["workload"]["verdict_class"]).lower()


def verdicts(entries: Sequence[VerdictEntry]) -> str:
    """`to fix 3.1 ms (63 %), not diagnosed 1.8 ms (37 %)`: the time by verdict; "" without times."""
    return ", ".join(f"{verdict(v['verdict']).lower()} {time(v['ns'])} ({percent(v['share'])})" for v in entries)


def unjudged(s: Summary) -> str:
    """`Not diagnosed: 668 ms (100 %), counters missing. Collect first:`; "" where that is little. Of several the longest is named."""
    u = s["unjudged"]
    if u is None:
        return ""
    many = f", {plural(u['count'], voice().item)}" if u["count"] > 1 else ""
    what = f"{HEADS.not_diagnosed}: {time(u['ns'])} ({percent(u['share'])}){many}"
    what += ", counters missing." if u["collect"] else "" if u["top"] else f", {_BY_TIMES}."
    if u["top"] and (pressed(u["top"]) or not u["collect"]):
        longest = "" if u["collect"] else ", the longest" if many else ","
        what += f"{longest} {_busiest(u['top'], u['names'])}."
    return " ".join(filter(None, [what, stated_needs(u), "Collect first:" if u["collect"] else ""]))


def level(top: UnitEntry) -> str:
    """`DRAM at 96.7 %`."""
    return f"{localize(top['unit'])} at {number(top['pct'], '%')}"


def _busiest(top: UnitEntry, names: Sequence[str]) -> str:
    """`Foliage: TEX at 66 % of peak; ...`: what is known of the busiest unit of the longest one, which is named beside others."""
    name = f"{short(names[0], 40)}: " if len(names) > 1 else ""
    if not pressed(top):
        return f"{name}no measured unit above {number(top['pct'], '%')} of peak, and no check tells why"
    known, of_dram = f"{name}{level(top)} of peak", (top["pct"] or 0.0) / 100 if top["unit"] == "VRAM" else 0.0
    if of_dram >= DRAM_REACHED[0]:  # below it more bytes in flight may help too
        return f"{known}: only fewer bytes help; how many it needs is unknown"
    if of_dram >= HIGH:
        return f"{known}, of {percent(DRAM_REACHED[0])} to {percent(DRAM_REACHED[1])} that can be reached; how many bytes it needs is unknown"
    return f"{known}; whether it needs that work is unknown"


def pressed(top: UnitEntry | None) -> bool:
    """True for a unit close enough to its peak to be what limits."""
    return top is not None and (top["pct"] or 0.0) >= MIN_PRESSURE


def dark(u: UndiagnosedEntry, command: bool = True) -> str:
    """Reasons of undiagnosed time: `Shadow map + 1 more: ... not collected. 117 µs outside all markers: ...`."""
    sentences = []
    both = bool(u["count"] and u["uncovered_ns"])  # with one reason alone, its time is the total
    if u["count"]:
        names = ", ".join(dict.fromkeys(short(n, 40) for n in u["names"])) + and_more(u["count"] - len(u["names"]))
        ns = f" ({time(u['ns'] - u['uncovered_ns'])})" if both else ""
        why = "deciding counters not collected" if u["collect"] else _BY_TIMES
        if u["top"] and (pressed(u["top"]) or not u["collect"]):
            why = _busiest(u["top"], u["names"])
        sentences.append(f"{names}{ns}: {why}.")
    if u["uncovered_ns"]:
        where = f"{time(u['uncovered_ns'])} outside" if both else "Outside"
        sentences.append(f"{where} all {voice().item}s: unmarked work or idle GPU.")
    sentences += filter(None, [stated_needs(u), "Collect:" if u["collect"] and command else ""])
    return " ".join(sentences)


def stated_needs(u: UndiagnosedEntry | None) -> str:
    """`--needs NAME=100MB states what it must move, and decides.`: where only the need of a kernel's work is not known."""
    if u is None or not pressed(u["top"]) or voice().item != "kernel":
        return ""
    name = f"*{re.split('[<( ]', kernel(u['names'][0]))[0]}*" if u["names"] else "NAME"
    return f"To decide, state its bytes per launch: --needs {shlex.quote(f'{short(name, 60)}=BYTES')} (or FLOP)."


def undiagnosed(dark: UndiagnosedEntry) -> str:
    """`1.7 ms (13 %): Shadow map + 1 more, counters not collected`; the busiest unit where one is under pressure."""
    outside = f"outside all {voice().item}s"
    reason = f", {time(dark['uncovered_ns'])} of it {outside}" if dark["uncovered_ns"] else ""
    if dark["uncovered_ns"] == dark["ns"]:
        reason = f" {outside}"
    elif dark["count"] and not reason:
        name, more = short(dark["names"][0], 24), and_more(dark["count"] - 1)
        reason = f": {name}{more}, {'counters not collected' if dark['collect'] else _BY_TIMES}"
        if (top := dark["top"]) and pressed(top):
            reason = f": {name} ({level(top)}, {needed(top)} unknown){more}"
        elif top and not dark["collect"]:
            reason = f": {name} (no measured unit above {number(top['pct'], '%')}){more}"
    return f"{time(dark['ns'])} ({percent(dark['share'])}){reason}"


def and_more(count: int) -> str:
    """` + 4 more`; "" for none."""
    return f" + {count:,} more" if count > 0 else ""


def shares(c: TodoItem) -> str:
    """`293 µs on its own; 19.5 µs of it is already counted in items above.`; "" where nothing is shared."""
    if not c["saved_ns"] or not c["alone_ns"] or c["alone_ns"] <= 1.02 * c["saved_ns"]:
        return ""
    return f"{time(c['alone_ns'])} on its own; {time(c['alone_ns'] - c['saved_ns'])} of it is already counted in items above."


def limiters(s: Summary, most: int = 9) -> str:
    """`ROP 25 %, latency 23 %`."""
    known = [f"{localize(BY_ID[x['limiter_class']].name)} {percent(x['share'])}" for x in s["limiters"] if x["share"]]
    return ", ".join(known[:most])


def cause(c: TodoItem, brief: bool = False) -> str:
    """`43 markers, 1.19 ms (8.3 %); 2 ms on its own`: where a root cause is and what it saves. brief: without the saving."""
    where = "the whole capture" if set(c["workloads"]) == {"frame"} else plural(c["count"], voice().item)
    if c["saved_ns"] is None:
        return f"{where}, {percent(c['fraction'])} of its time" if c["fraction"] else where
    share = f" ({percent(c['share'])})" if c["share"] else ""
    text = where if brief else f"{where}, {item_saving(c)}{share}"
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
    """`Details: triage explain Particles --on FILE. `: the first item's longest marker, by name if short, else by id."""
    if not s["first"]:
        return ""
    c = s["first"][0]
    word, name = str(c["workloads"][0]).rpartition(":")[2], str(c["names"][0])
    if word == "frame":
        word = str(c["rule"])
    elif re.fullmatch(r"[A-Za-z][\w ]{2,30}", name):
        word = shlex.quote(name)
    return f"Details: triage explain {word} --on FILE. "


def only_small(s: Summary) -> str:
    """`Nothing significant to fix. Small items: L2 misses (94.5 ns).`; "" where an item is large, or there is none."""
    if s["first"] or not s["causes"]:
        return ""
    items = [f"{lower_first(clean(c['title']))} ({time(c['saved_ns'])})" for c in s["causes"]]
    return f"Nothing significant to fix. Small items: {first_of(items, 3)}."


def gain(f: FindingEntry) -> str:
    """`232 µs (1.6 % of frame; 26 % of marker, 1.35x)`."""
    g = f["gain"]
    if not g or not g["fraction"]:
        return "no estimate"
    whole = voice().whole
    # of the whole frame, fraction and share are one number
    if f["workload"].endswith("frame"):
        share = f"{percent(g['fraction'])} of {whole}"
        return f"{time(g['saved_ns'])} ({share})" if g["saved_ns"] is not None else share
    own = f"{percent(g['fraction'])} of {'idle time' if g.get('of') == 'idle' else voice().item}, {g['speedup']:.2f}x"
    if g["saved_ns"] is None:
        return own
    frame = f"{percent(g['share'])} of {whole}; " if g["share"] is not None else ""
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
    """Saving of a workload's row; a dash without a root cause, since only root causes are in a sum."""
    if m["saved_ns"] is not None:
        return time(m["saved_ns"])
    return saves(m["best"]) if m["best"] and m["workload"]["chain"] else "–"


def label(metric: str) -> str:
    """Label of a metric."""
    if schema.known(metric):
        return localize(schema.get(metric).label)
    return clean(metric) if "." in metric else clean(metric).replace("_", " ")  # a dotted name is a column's


def check(e: EvidenceEntry) -> str:
    """`TEX hit rate 57.0 % < 70 %`."""
    name = label(e["metric"])
    if e["op"] == "is":
        return f"{name}: {'yes' if e['value'] else 'no'}"
    limit = number(e["threshold"], e["unit"]).replace(".0 ", " ")  # with the digits its author wrote
    return comparison(name, number(e["value"], e["unit"]), e["op"], limit)


def source(o: SourceEntry, most: int = 2) -> str:
    """`export.csv:30, column hit_rate, cell 57`, or a formula over such cells."""
    if "formula" in o:
        parts = [f"{label(i['metric'])} = {cell(i['source'])}" for i in o["inputs"][:most]]
        more = and_more(len(o["inputs"]) - most)
        return excerpt(spoken(o["formula"]), 120) + (f" [{'; '.join(parts)}{more}]" if parts else "")
    return cell(o)


def spoken(formula: str) -> str:
    """A formula with its metrics' labels: `sm.active or 1` becomes `SM active, else 1`."""
    words = _ID.sub(
        lambda m: label(m[1]) + (", else " if m[2] else "") if schema.known(m[1]) else m[0], localize(formula)
    )
    return words.replace("most(", "highest of (").replace("least(", "lowest of (")


_ID = re.compile(r"\b([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)\b( or )?")  # and the choice behind it


def cell(o: SourceEntry, most: int = 2) -> str:
    """Source cell of a value: `“57.0” (export.csv:30, column hit_rate)`; of a computed one the formula with its first cells."""
    if "formula" not in o:
        return _cell(o)
    found = list({(x["file"], x["line"], x["column"]): x for x in leaves(o)}.values())
    found.sort(key=lambda x: not _NOT_ZERO.search(x["text"]))  # of a sum, cells that are not 0 first
    cells = [_cell(x, found[:k]) for k, x in enumerate(found[:most])]
    origin = f", from {', '.join(cells)}{and_more(len(found) - most)}" if cells else ""
    return f"{excerpt(spoken(o['formula']), 80 if cells else MAX_DETAIL_CHARS)}{origin}"


def _cell(o: CellEntry, before: Sequence[CellEntry] = ()) -> str:
    """One cell with its place; of a row or column that stands `before` already, what differs alone."""
    column = short(o["column"], 70)
    if any((b["file"], b["line"]) == (o["file"], o["line"]) for b in before):
        return f"“{short(o['text'], 40)}” ({'metric' if 'record' in o else 'column'} {column})"
    if any((b["file"], b["column"]) == (o["file"], o["column"]) for b in before):
        return f"“{short(o['text'], 40)}” ({o.get('record') or 'line'} {o['line']})"
    place = f", {o['record']} {o['line']}, metric " if "record" in o else f":{o['line']}, column "
    return f"“{short(o['text'], 40)}” ({tail(o['file'])}{place}{column})"


_NOT_ZERO = re.compile("[^0., ]")
MIN_WHOLE = 0.5  # percent: what is rounded to 0 is not 0
MAX_DETAIL_CHARS = 300  # of a source without cells
_BY_TIMES = "no cause in times alone"  # of work without counters that would decide


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
    """`TEX 43 %, SM 39 %`: the top units."""
    units = [(localize(s["unit"]), s["pct"] or 0.0) for s in w["sol"][:most]]
    return ", ".join(f"{u} {'<1' if 0 < x < MIN_WHOLE else f'{x:.0f}'} %" for u, x in units) or "not measured"


def path(w: WorkloadEntry | LimitReading, long: int = 80) -> str:
    """Levels and name; of those that do not fit, the nearest."""
    return nearest(w["path"], w["name"], long)
