"""Sentences that every report shares, written once: times, gains, evidence, where a number comes from.

Plain text in, plain text out; each format escapes by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from triage import schema
from triage.document.bundle import Entry
from triage.ground.limiters import BY_ID
from triage.ground.phrasing import comparison, lower_first, percent, plural
from triage.ground.terminology import said, voice
from triage.ground.units import show
from triage.rendering.escape import clean, distinct, short

MANIFOLD = 2  # NVIDIA, Compute Triage Guide: accesses over those needed that a line is blamed for


def time(ns: float | None) -> str:
    """`3.24 ms`, or a dash."""
    return "–" if ns is None else show(ns, "ns")


def number(value: float | None, unit: str) -> str:
    """A value of the result document (ratios are already percent)."""
    if value is None:
        return "–"
    if unit == "%":
        # 100.0 % looks like a measurement; it is a limit or a whole
        return f"{value:.1f} %" if abs(abs(value) - 100) > 0.05 else f"{value:.0f} %"
    return show(value, unit)


def total(s: Entry, frame: Entry) -> str:
    """`14.2 ms in 79 markers`."""
    count = plural(frame["workloads"], voice().item)
    return f"{time(s['duration_ns'])} in {count}" if s["duration_ns"] else f"{count}, no times"


def recoverable(s: Entry) -> str:
    """`about 2.24 ms (16 %), surely 91 µs, at most 5.44 ms`."""
    r = s["recoverable"]
    if not s["duration_ns"]:
        return "not known without times"
    if not r["likely"]["ns"]:
        return "nothing found that would give time back"
    low = f"at least {time(r['low']['ns'])}" if r["low"]["ns"] else "at least nothing"
    return f"about {time(r['likely']['ns'])} ({percent(r['likely']['share'])}); {low}, at most {time(r['bound']['ns'])}"


def unjudged(s: Entry) -> str:
    """`Not judged: 668 ms (100 %), because the counters that tell were not collected.`; empty where that is little."""
    u = s["unjudged"]
    if u is None:
        return ""
    what = f"Not judged: {time(u['ns'])} ({percent(u['share'])}), because the counters that tell were not collected."
    return f"{what} Collect first:" if u["collect"] else what


def dark(u: Entry) -> str:
    """`61 µs in Upload Constants the counters ... were not collected. 117 µs lie under no marker ...`: why, and what decides."""
    said = []
    left = u["ns"] - u["uncovered_ns"]
    both = bool(u["count"] and u["uncovered_ns"])  # one reason alone has no time of its own to name
    if u["count"]:
        names = list(dict.fromkeys(short(n, 40) for n in u["names"]))
        more = f" and {u['count'] - len(u['names']):,} more" if u["count"] > len(u["names"]) else ""
        what = f"{time(left)} in" if both else "In"
        said.append(f"{what} {', '.join(names)}{more} the counters that tell what limits were not collected.")
    if u["uncovered_ns"]:
        what = f"{time(u['uncovered_ns'])} lie" if both else "It lies"
        said.append(f"{what} under no {voice().item}: work without a name, or the GPU waiting.")
    if u["collect"]:
        said.append("This would decide it:")
    return " ".join(said)


def shares(c: Entry) -> str:
    """`It would save 293 µs alone; 19.5 µs of that are counted with items above.`; "" where nothing is shared."""
    if not c["saved_ns"] or not c["alone_ns"] or c["alone_ns"] <= 1.02 * c["saved_ns"]:
        return ""
    return f"It would save {time(c['alone_ns'])} alone; {time(c['alone_ns'] - c['saved_ns'])} of that are counted with the items above it."


def limiters(s: Entry, most: int = 9) -> str:
    """`ROP 25 %, latency 23 %`."""
    known = [f"{said(BY_ID[x['limiter_class']].name)} {percent(x['share'])}" for x in s["limiters"] if x["share"]]
    return ", ".join(known[:most])


def cause(c: Entry, brief: bool = False) -> str:
    """`43 markers, 1.19 ms together (8.3 %)`: what a root cause concerns and gives back; brief: where the gain stands beside it."""
    where = "the whole capture" if set(c["workloads"]) == {"frame"} else plural(c["count"], voice().item)
    if c["saved_ns"] is None:
        return f"{where}, {percent(c['fraction'])} of its time" if c["fraction"] else where
    text = where if brief else f"{where}, {time(c['saved_ns'])}{' together' if c['count'] > 1 else ''}"
    if c["share"] and not brief:
        text += f" ({percent(c['share'])} of the time)"
    if c["saved_ns"] and c["alone_ns"] > 1.05 * c["saved_ns"]:
        text += f"; {time(c['alone_ns'])} if it stood alone"
    return text


def chain(c: Entry) -> str:
    """`Wave slots used 40.1 % → warps wait for loads (Stall: 66.0 %)`: root first, one number per link; "" for one.

    The root is the item's title, which stands above: of it only the number is said.
    """
    links = c["chain"]
    if len(links) < 2:
        return ""
    root = links[0]["number"] if links[0]["number"] and links[0]["title"] == c["title"] else ""
    said = [lower_first(x["title"]) + (f" ({x['number']})" if x["number"] else "") for x in links]
    return " → ".join([root, *said[1:]] if root else said)


def where(c: Entry, most: int = 3, long: int = 40) -> list[str]:
    """Names of the workloads a cause concerns, largest saving first, and how many more."""
    # in several captures the frames are called 1:frame, 2:frame ...
    if all(w.endswith("frame") for w in c["workloads"]):
        return []
    names = distinct(c["names"][:most], long)
    if c["count"] > most:
        names[-1] += f" and {c['count'] - most:,} more"
    return names


def to_explain(s: Entry) -> str:
    """How to see why the first item stands there: its worst marker, by name where that is one word, else by id."""
    if not s["first"]:
        return ""
    c = s["first"][0]
    word, name = str(c["workloads"][0]).rpartition(":")[2], str(c["names"][0])
    if word == "frame":
        word = str(c["rule"])
    elif re.fullmatch(r"[A-Za-z]\w{2,30}", name):
        word = name
    return f"Why, value by value: triage explain {word} --on FILE. "


def only_small(s: Entry) -> str:
    """`Nothing is worth doing first. Small: the working set does not fit L2 (94.5 ns).`; "" where something is, or nothing at all."""
    if s["first"] or not s["causes"]:
        return ""
    items = [f"{lower_first(clean(c['title']))} ({time(c['saved_ns'])})" for c in s["causes"][:3]]
    more = f" and {len(s['causes']) - 3} more" if len(s["causes"]) > 3 else ""
    return f"Nothing is worth doing first. Small: {', '.join(items)}{more}."


def gain(f: Entry) -> str:
    """`232 µs (1.6 % of the time; 26 % of the marker, 1.35x), at most 464 µs`."""
    g = f["gain"]
    if not g:
        return "no estimate"
    # a frame's fraction and its share of the frame are one number: it is said once
    if f["workload"].endswith("frame"):
        return (
            f"{time(g['saved_ns'])} ({percent(g['fraction'])} of the time)"
            if g["saved_ns"] is not None
            else f"{percent(g['fraction'])} of the time"
        )
    own = f"{percent(g['fraction'])} of the {g.get('of') or voice().item}, {g['speedup']:.2f}x"
    if g["saved_ns"] is None:
        return own
    frame = f"{percent(g['share'])} of the time; " if g["share"] is not None else ""
    return f"{time(g['saved_ns'])} ({frame}{own})"


def saves(f: Entry) -> str:
    """The short form for tables: time where known, else the fraction."""
    g = f["gain"]
    if not g:
        return "–"
    return time(g["saved_ns"]) if g["saved_ns"] is not None else percent(g["fraction"])


def back(m: Entry) -> str:
    """What a row of the worst gives back; a dash where only the umbrella of all causes speaks, which is in no sum."""
    return saves(m["best"]) if m["best"] and m["workload"]["chain"] else "–"


def label(metric: str) -> str:
    """What people call a metric."""
    if schema.known(metric):
        return said(schema.get(metric).label)
    return clean(metric) if "." in metric else clean(metric).replace("_", " ")  # a dotted name is a column's


def check(e: Entry) -> str:
    """`TEX hit rate 57.0 % < 70.0 %`."""
    name = label(e["metric"])
    if e["op"] == "is":
        return f"{name}: {'yes' if e['value'] else 'no'}"
    return comparison(name, number(e["value"], e["unit"]), e["op"], number(e["threshold"], e["unit"]))


def source(o: Entry, most: int = 2) -> str:
    """`export.csv:30, column hit_rate, cell 57`, or a formula over such cells."""
    if "formula" in o:
        parts = [f"{label(i['metric'])} = {cell(i['source'])}" for i in o["inputs"][:most]]
        more = f"; and {len(o['inputs']) - most} more" if len(o["inputs"]) > most else ""
        return short(spoken(o["formula"]), 120) + (f" [{'; '.join(parts)}{more}]" if parts else "")
    return cell(o)


def spoken(formula: str) -> str:
    """A formula with what people call its metrics: `sm.active or 1` is `SM active, else 1`."""
    words = _ID.sub(lambda m: label(m[1]) + (", else " if m[2] else "") if schema.known(m[1]) else m[0], said(formula))
    return words.replace("most(", "highest of (").replace("least(", "lowest of (")


_ID = re.compile(r"\b([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)\b( or )?")  # and the choice behind it


def cell(o: Entry) -> str:
    """Where a value stands, in one phrase."""
    if "formula" in o:
        # a part of a sum that is 0 shows nothing: the first that counts
        first = next((x for k in (1, 0) for x in leaves(o) if not k or _NOT_ZERO.search(x["text"])), None)
        return f"{short(spoken(o['formula']), 80)}{f' ({cell(first)})' if first else ''}"
    place = f", {o['record']} {o['line']}, metric " if "record" in o else f":{o['line']}, column "
    return f"“{short(o['text'], 40)}” in {tail(o['file'])}{place}{short(o['column'], 70)}"


_NOT_ZERO = re.compile("[^0., ]")


def location(place: Entry) -> str:
    """`62 % of the waiting at kernel.cu:41 (global load), 8.0 times the accesses needed`."""
    if place["line"]:
        at = f"{tail(place['file'])}:{place['line']}"
    else:
        at = f"{short(place['function'], 60) or 'address'}+{place['offset']:#x}"
    out = f"{percent(place['share'])} of {place['what']} at {at}"
    if place["access"]:
        out += f" ({place['access']})"
    if place["excess"] and place["excess"] > MANIFOLD:
        out += f", {place['excess']:.1f} times the accesses needed"
    if place["reason"] and place["reason"] not in place["what"]:
        out += f", where {said('warps')} wait for {short(place['reason'], 40)}"
    return out + (f": {short(place['source'], 100)}" if place["source"] else "")


def origin_of(e: Entry) -> str:
    """The cell that decided a comparison, line and column whole: of a highest or lowest value the input it came from."""
    for i in e["source"].get("inputs", ()):
        if i["value"] == e["value"]:
            return f"{label(i['metric'])}: {cell(i['source'])}"
    return cell(e["source"])


def leaves(o: Entry) -> Iterable[Entry]:
    """The cells under a formula."""
    if "formula" not in o:
        yield o
        return
    for i in o["inputs"]:
        yield from leaves(i["source"])


def titled(path: str) -> str:
    """The last part of a path that tells captures apart: Nsight Graphics calls every folder of an export BASE."""
    parts = [p for p in path.replace("\\", "/").split("/") if p]
    return tail("/".join(parts[:-1]) if parts[-1:] == ["BASE"] and len(parts) > 1 else path)


def tail(path: str) -> str:
    """The last part of a path."""
    # exports of a Windows machine are often read on another: both kinds of separators
    return short(path.replace("\\", "/").rstrip("/").rpartition("/")[2] or path, 60)


def collect(b: Entry) -> str:
    """`7 checks could then judge 3 markers`."""
    return f"{plural(len(b['rules']), 'check')} could then judge {plural(b['workloads'], voice().item)}"


def missing(b: Entry, most: int = 8) -> str:
    """The metrics to collect, as people call them."""
    # several ids may share what people call them
    names = list(dict.fromkeys(label(m) for m in b["missing"]))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def sol(w: Entry, most: int = 3) -> str:
    """`TEX 43 %, SM 39 %`: the busiest units."""
    return ", ".join(f"{said(s['unit'])} {s['pct']:.0f} %" for s in w["sol"][:most]) or "not measured"


def path(w: Entry, long: int = 80) -> str:
    """Levels and name, shortened in the middle."""
    return short(" / ".join([*w["path"], w["name"]]), long)
