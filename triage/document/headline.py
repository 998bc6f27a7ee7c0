"""The first sentence of every report: how long it takes, what is recoverable, the first item and where."""

from __future__ import annotations

from collections.abc import Sequence

from triage.document.entries import FrameEntry, Result
from triage.document.markers_by_time import WorkloadsByTime
from triage.document.time_shares import MIN_UNDIAGNOSED_SHARE, unjudged
from triage.document.timeline_summary import timeline
from triage.document.todo_items import TodoItem, is_insignificant
from triage.ground.kernel_names import kernel, plain
from triage.ground.limiters import BY_ID
from triage.ground.phrasing import lower_first, percent, plural
from triage.ground.terminology import said
from triage.ground.units import show


def headline(doc: Result, found: Sequence[TodoItem], item: str = "workload", *, accepted: bool = False) -> str:
    """One sentence: how long it takes, what could come back, what to do first and where.

    item: what the report calls a workload. accepted: the project has accepted something.
    """
    frame = doc["frame"]
    total = frame["duration_ns"]
    if not doc["workloads"] and not doc["findings"]:
        return f"Nothing to report: no {item} is listed."
    if not total:
        what = f"; most often: {lower_first(found[0]['title'])}" if found else ""
        ranked = (
            ", so findings are ranked by the share of their own time" if doc["findings"] else "; no rule found anything"
        )
        return f"{plural(frame['workloads'], item)} without times{ranked}{what}."
    text = _span(frame, item)
    several = [c["frames"] for c in doc["captures"] if c["frames"]]
    if several:
        text += f" over {plural(sum(f['count'] for f in several), 'frame')}, {show(several[0]['median_ns'] or 0.0, 'ns')} each"
    saved = frame["recoverable_ns"] or 0
    if found and saved:
        first = found[0]
        if is_insignificant(first):
            return f"{text}. Nothing is worth doing first: small things could give back {show(saved, 'ns')} ({percent(saved / total)})."
        return (
            f"{text}. About {show(saved, 'ns')} ({percent(saved / total)}) could come back; "
            f"first: {lower_first(first['title'])}{_place(first)}."
        )
    lead = next((s for s in frame["limiters"] if s["share"]), None)
    if lead and lead["limiter_class"] != "unknown":
        text += f"; {(lead['share'] or 0.0) * 100:.0f} % of it {said(BY_ID[lead['limiter_class']].limited)}"
    if not found:
        text += ". What was found is accepted" if accepted else f". {_no_item_sentence(doc)}"
    return text + "."


def _no_item_sentence(doc: Result) -> str:
    """The sentence without any item: what limits, or that it was not measured."""
    findings = WorkloadsByTime(doc, {}).best_findings()
    title = next((best["title"] for best in findings if best["cause"] != "low-throughput"), "")
    if unjudged(doc["frame"]):
        return f"{title}; what it works at was not measured" if title else "What limits it was not measured"
    return f"{title}; nothing that was measured would give GPU time back" if title else "No rule found anything to fix"


def _span(frame: FrameEntry, item: str) -> str:
    """`14.2 ms in 76 markers`; of a timeline `220 ms on 2 devices, busy for 64 % of it`."""
    t = timeline(frame)
    if t is None:
        return f"{show(frame['duration_ns'] or 0.0, 'ns')} in {plural(frame['workloads'], item)}"
    count = len(t["devices"])
    over = (
        f"{plural(count, 'device')} for {show(frame['duration_ns'] or 0.0, 'ns')} together"
        if count > 1
        else show(t["span_ns"], "ns")
    )
    if t["busy"] >= 0.995:
        return f"{over}, always busy"
    # of these no part of the program can be blamed, so that nothing below speaks of them
    reasons = {"unknown": "the capture does not say why", "profiler": "the profiler itself was at work"}
    dark = [
        f"; for {percent(i['share'])} {reasons[i['cause']]}"
        for i in t["idle"]
        if i["cause"] in reasons and i["share"] >= MIN_UNDIAGNOSED_SHARE
    ]
    return f"{over}, busy {t['busy'] * 100:.0f} % of it{''.join(dark)}"


def _place(c: TodoItem) -> str:
    """`, in Cascade 2 and 5 more (487 µs)`."""
    saved = f" ({show(c['saved_ns'], 'ns')})" if c["saved_ns"] else ""
    if c["scope"] == "frame" or all(w.endswith("frame") for w in c["workloads"]):
        return saved
    more = f" and {c['count'] - 1:,} more" if c["count"] > 1 else ""
    return f", in {shorten_middle(c['names'][0], 60)}{more}{saved}"


def shorten_middle(name: str, most: int) -> str:
    """A name that is short enough: C++ gives way first, then the middle; what tells names apart stands at the ends."""
    name = plain(name)
    if len(name) > most:
        name = kernel(name)
    head = (most - 1) * 2 // 3
    return name if len(name) <= most else f"{name[:head]}…{name[head + 1 - most :]}"
