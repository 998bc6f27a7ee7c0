"""The first sentence of every report: total time, recoverable time, the first item and its place."""

from __future__ import annotations

from collections.abc import Sequence

from triage.document.bundle import column
from triage.document.entries import Result
from triage.document.markers_by_time import WorkloadsByTime
from triage.document.time_shares import MIN_UNDIAGNOSED_SHARE, is_unjudged, needed, undiagnosed_time
from triage.document.timeline_summary import TimelineEntry, length, only_device, over_devices, timeline
from triage.document.todo_items import TodoItem, is_first_once, is_insignificant
from triage.ground.gap_reasons import GAP_WORDS
from triage.ground.kernel_names import kernel, plain
from triage.ground.limiters import limiter_words
from triage.ground.method import HIGH
from triage.ground.phrasing import cut_middle, lower_first, percent, plural, with_copies
from triage.ground.terminology import localize
from triage.ground.units import show

# heuristic: of the time; more at a hardware limit says more of a capture than what little can be saved
MIN_LIMIT_SHARE = 0.75
MAX_DEVICES = 4  # whose busy shares the headline lists one by one


def headline(doc: Result, found: Sequence[TodoItem], item: str = "workload", *, accepted: bool = False) -> str:
    """Total time, recoverable time, first item and its place, in one or two sentences.

    item: what the report calls a workload. accepted: the project has accepted some findings.
    """
    frame = doc["frame"]
    total = frame["duration_ns"]
    if not frame["workloads"] and not doc["findings"]:
        return f"No {item}s in this capture."
    if not total:
        count = f"{plural(frame['workloads'], item)} without durations"
        if not doc["findings"]:
            return f"{count}; no findings."
        if found and frame["workloads"] == 1:
            return f"{count}. Start with {lower_first(found[0]['title'])}."
        most = f" Most frequent: {lower_first(found[0]['title'])}." if found else ""
        return f"{count}: findings ranked by share of each {item}.{most}"
    text = _span(doc, item)
    at_limit = (frame["time_by_verdict"].get("at-limit") or 0.0) / total
    limited = MIN_LIMIT_SHARE <= at_limit < 1 and bool(found)
    if limited:
        text += f", {percent(at_limit)} at hardware limit{_longest_at_limit(doc)}"
    if any("isolated" in c for c in doc["captures"]):
        text += ", replayed one by one (no frame time)"
    several = [c["frames"] for c in doc["captures"] if c["frames"]]
    if several:
        median = show(several[0]["median_ns"] or 0.0, "ns")
        text += f" over {plural(sum(f['count'] for f in several), 'frame')} (median frame {median})"
    saved = frame["recoverable_ns"] or 0
    if found and saved:
        return _to_save(doc, text, found, limited)
    if found and not saved and found[0]["alone_ns"]:
        return f"{text}. {found[0]['title']}: {show(found[0]['alone_ns'], 'ns')}, once per run."
    if saved and not accepted and not doc["todo"]:  # filters left nothing of the list
        return f"{text}, ~{show(saved, 'ns')} ({percent(saved / total)}) recoverable. No item listed."
    lead = next((s for s in frame["limiters"] if s["share"]), None)
    if lead and lead["limiter_class"] != "unknown":
        text += f", {(lead['share'] or 0.0) * 100:.0f} % {limiter_words(lead['limiter_class']).limited}"
    if not found:
        text += ". All findings are accepted" if accepted else f". {_without_items(doc)}"
    return text + "."


def _to_save(doc: Result, text: str, found: Sequence[TodoItem], limited: bool) -> str:
    """The headline that begins with text, with what can be saved. limited: most of the time is at a hardware limit."""
    total, saved = doc["frame"]["duration_ns"] or 1.0, doc["frame"]["recoverable_ns"] or 0.0
    first = found[0]
    # of several devices the time and its share are of all of them together, as is the time before
    over = over_devices(doc["frame"])
    many = " of it" if over else ""
    share = f"{show(saved, 'ns')} ({percent(saved / total)}){many}"
    if is_first_once(first):
        once = show(first["alone_ns"] or 0.0, "ns")
        return (
            f"{text}. Start with {lower_first(first['title'])}: {once} once per run. ~{share} recoverable in the rest."
        )
    if is_insignificant(first):
        return f"{text}. Nothing significant to fix; small items: {share}."
    if limited:
        place = f" in {where}" if (where := _workloads(first)) else ""
        return f"{text}. ~{share} recoverable in the rest: {lower_first(first['title'])}{place}."
    begin = "First find why the GPU idles; then" if _dark(doc) > saved / total else "Start with"
    alone = only_device(first, doc)
    where = (f" on {alone}" if alone else over) if first["saved_ns"] else ""
    return f"{text}, ~{share} recoverable. {begin} {lower_first(first['title'])}{_place(first)}{where}."


def _longest_at_limit(doc: Result) -> str:
    """` (Dispatch RayMarch + 1 more, Xe-core 99 %)`: what is at its limit, longest first, and its top unit."""
    rows = [i for i, verdict in enumerate(column(doc["workloads"], "verdict_class")) if verdict == "at-limit"]
    own = column(doc["workloads"], "self_ns")
    first = doc["workloads"][max(rows, key=lambda i: own[i] or 0.0)]
    more = f" + {len(rows) - 1:,} more" if len(rows) > 1 else ""
    unit = f", {localize(first['sol'][0]['unit'])} {first['sol'][0]['pct']:.0f} %" if first["sol"] else ""
    name = " / ".join([*first["path"][-1:], first["name"]])
    return f" ({shorten_middle(name, 60)}{more}{unit})"


def _dark(doc: Result) -> float:
    """Share of the time that is idle for a reason that was not recorded; 0 where that is little, at the start of a program, or other work may have run."""
    t = timeline(doc["frame"])
    share = sum(i["share"] for i in t["idle"] if i["cause"] == "unknown") if t else 0.0
    known = any(q["check"] == "start-up" for q in doc["quality"]) or (t is not None and _is_earlier(t))
    return share if share >= MIN_UNDIAGNOSED_SHARE and not known else 0.0


def _is_earlier(t: TimelineEntry) -> bool:
    """True if most of the idle time without a recorded reason may be work from before the record."""
    unknown = sum(i["ns"] for i in t["idle"] if i["cause"] == "unknown")
    earlier = sum(g["cause_ns"] for g in t["gaps"] if g["led_by"] == "queued" and g["cause"] == "unknown")
    return 2 * earlier > unknown


def _without_items(doc: Result) -> str:
    """The second sentence without to-do items: the verdict on most of the time, and the finding of the longest workload."""
    if is_unjudged(doc["frame"]):
        dark = undiagnosed_time(doc)
        top = dark["top"] if dark else None
        if not dark or not top or dark["count"] > 1 or (top["pct"] or 0.0) < 100 * HIGH:
            return "Not diagnosed"
        return f"{localize(top['unit'])} at {top['pct']:.1f} % of peak; {needed(top)} unknown"
    if 2 * (doc["frame"]["time_by_verdict"]["at-limit"] or 0.0) < (doc["frame"]["duration_ns"] or 0.0):
        return "Idle time not diagnosed" if _dark(doc) else "Nothing significant found"
    findings = WorkloadsByTime(doc, {}).best_findings()
    # a saving too small to lead is no state of the workload
    title = next((f["title"] for f in findings if f["cause"] != "low-throughput" and not f["gain"]), "")
    return f"{title}; at hardware limit" if title else "At hardware limit"


def _span(doc: Result, item: str) -> str:
    """`14.2 ms in 76 markers`, `56.1 s in 40,605 launches of 175 kernels`; of a trace `2 devices over 220 ms, device 0 busy 60 %, device 1 11 %; 246 ms device time`."""
    frame = doc["frame"]
    t = timeline(frame)
    if t is None:
        whole, outside = frame["duration_ns"] or 0.0, frame["uncovered_ns"] or 0.0
        if whole and outside >= MIN_UNDIAGNOSED_SHARE * whole:
            return f"{show(whole, 'ns')}, {show(whole - outside, 'ns')} of it in {counted(doc, item)}"
        return f"{show(whole, 'ns')} in {counted(doc, item)}"
    count = len(t["devices"])
    device_time = f"{show(frame['duration_ns'] or 0.0, 'ns')} device time"
    busy = f"{percent(t['busy'])} busy"
    exposed = sum(d["exposed_comm_ns"] for d in t["devices"].values()) / t["span_ns"] if t["span_ns"] else 0.0
    if exposed >= MIN_UNDIAGNOSED_SHARE:
        busy += f" ({percent(exposed)} exposed communication)"
    judged, worked = frame["duration_ns"] or 0.0, sum(ns or 0.0 for ns in frame["time_by_verdict"].values())
    if judged and t["span_ns"] - judged >= MIN_UNDIAGNOSED_SHARE * t["span_ns"]:
        apart = show(t["span_ns"] - judged, "ns")
        return f"{show(judged, 'ns')}, {percent(worked / judged)} busy, after {apart} of start-up or waiting"
    over = f"{show(t['span_ns'], 'ns')} span, {busy}"
    if count > 1:
        over = f"{plural(count, 'device')} over {show(float(t['length_ns']), 'ns')}, {_busy(t) or busy}; {device_time} in all"
    # idle time without a cause in the program: no item below covers it
    unknown = "perhaps work from before the record" if _is_earlier(t) else "idle (reason not in the capture)"
    reasons = {"unknown": unknown, "profiler": GAP_WORDS["profiler"].name}
    dark = [
        f", {percent(i['share'])} {reasons[i['cause']]}"
        for i in t["idle"]
        if i["cause"] in reasons and i["share"] >= MIN_UNDIAGNOSED_SHARE
    ]
    return f"{over}{''.join(dark)}"


def counted(doc: Result, item: str) -> str:
    """`76 markers`; of kernels their launches too: `40,605 launches of 175 kernels, 85 copies`."""
    works = doc["workloads"]
    copied = [kind == "copy" and item == "kernel" for kind in column(works, "kind")]
    calls = [int(n or 1) for n in column(works, "calls")]
    copies, count = sum(n for n, copy in zip(calls, copied, strict=True) if copy), len(copied) - sum(copied)
    text, launched = with_copies(count + copies, copies, item), sum(calls) - copies
    return f"{plural(launched, 'launch')} of {text}" if item == "kernel" and launched > count else text


def _busy(t: TimelineEntry) -> str:
    """`device 0 busy 60 %, device 1 11 %`: each of its share of the whole trace; "" for very many devices."""
    shares = [(key, percent(d["busy_ns"] / length(d) if length(d) else 0)) for key, d in t["devices"].items()]
    if len(shares) > MAX_DEVICES:
        return ""
    return ", ".join(f"{key} {'busy ' if not i else ''}{share}" for i, (key, share) in enumerate(shares))


def _place(c: TodoItem) -> str:
    """`: Cascade 2 + 5 more, 487 µs`."""
    text = ", ".join(filter(None, (_workloads(c), show(c["saved_ns"], "ns") if c["saved_ns"] else "")))
    return f": {text}" if text else ""


def _workloads(c: TodoItem) -> str:
    """`Cascade 2 + 5 more`; "" of the whole capture."""
    if c["scope"] == "frame":
        return ""
    more = f" + {c['count'] - 1:,} more" if c["count"] > 1 else ""
    return f"{shorten_middle(c['names'][0], 60)}{more}"


def shorten_middle(name: str, most: int) -> str:
    """Shorten a name: C++ parameters and namespaces go first, then the middle, since the ends tell names apart."""
    name = plain(name)
    return name if len(name) <= most else cut_middle(kernel(name), most)
