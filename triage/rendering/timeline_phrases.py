"""Sentences about traces: devices, gaps, steps and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from triage.document.summary import Summary
from triage.document.timeline_summary import TimelineEntry, length
from triage.document.trace_entries import DeviceEntry, GapEntry, KernelEntry, RankEntry, StepEntry
from triage.ground.gap_reasons import GAP_WORDS
from triage.ground.phrasing import over, percent, plural
from triage.rendering.escape import clean
from triage.rendering.phrases import time

WHOLE_GAP = 0.95  # share of a gap from which on its cause has all of it: less than the figures shown can tell
MAX_EACH = 5  # steps whose times are all named
MIN_OUTSIDE_SHARE = 0.01  # of the trace: less time before or after a device's work is not worth words


def gap_reason(g: GapEntry) -> str:
    """`host code`; `host code (82 ms of it)` where other classes have a part in the gap."""
    name = GAP_WORDS[g["cause"]].name
    if g["led_by"] == "queued" and g["cause"] == "unknown":
        name += ", earlier work may have run"
    if g["cause"] == "host" and g["loading_ns"] >= g["cause_ns"] / 2:
        name += " in the data loader"
    return name if g["cause_ns"] >= WHOLE_GAP * g["length_ns"] else f"{name} ({time(g['cause_ns'])} of it)"


def device(d: DeviceEntry) -> str:
    """`busy 11 % of 220 ms, idle 195 ms: 325 µs in 35 gaps, 195 ms before its first work`."""
    whole = length(d)
    outside = [(d["before_ns"], "before its first work"), (d["after_ns"], "after its last")]
    shown = [f"{time(ns)} {where}" for ns, where in outside if ns >= MIN_OUTSIDE_SHARE * whole]
    gaps = plural(d["gap_count"], "gap")
    busy = f"busy {percent(d['busy_ns'] / whole if whole else 0)} of {time(whole)}, idle "
    inside = f"{time(d['idle_ns'])} in {gaps}"
    return f"{busy}{time(whole - d['busy_ns'])}: {', '.join([inside, *shown])}" if shown else busy + inside


def idle(t: TimelineEntry) -> str:
    """`idle by reason over 2 devices: host sync 12.7 ms, allocation 12.6 ms`."""
    reasons = ", ".join(f"{i['name']} {time(i['ns'])}" for i in t["idle"])
    return f"idle by reason{over(len(t['devices']), 'device')}: {reasons}"


def steps(entries: Sequence[StepEntry] | None) -> str:
    """`8 steps on the device: median 21.3 ms after the first, slowest of these ProfilerStep#4 51.4 ms`; of few each time; "" without steps.

    A first step counts from its first work, since no earlier work tells when it began: it may have been longer.
    """
    if not entries:
        return ""
    from statistics import median  # takes milliseconds to import, and only traces have steps

    worst = max(entries, key=lambda e: e["ns"])
    if len(entries) == 1:
        return f"1 step on the device: {clean(worst['name'])} {time(worst['ns'])}"
    if batches := dict.fromkeys(e["batch"] for e in entries if e["batch"]):
        each = {batch: [e["ns"] for e in entries if e["batch"] == batch] for batch in batches}
        parts = ", ".join(f"{len(ns):,} {batch} (median {time(median(ns))})" for batch, ns in each.items())
        return f"{len(entries):,} steps on the device: {parts}, slowest {clean(worst['name'])} {time(worst['ns'])}"
    if len(entries) <= MAX_EACH:
        first, *rest = [time(e["ns"]) for e in entries]
        if len(traces := {e["capture"] for e in entries}) == len(entries):
            return f"1 step on the device in each of {len(entries)} traces: {', '.join([first, *rest])}"
        if len(traces) == 1:
            first += f" ({clean(entries[0]['name'])}, from its first work on)"
        return f"{len(entries):,} steps on the device: {', '.join([first, *rest])}"
    later = [e for before, e in pairwise(entries) if e["capture"] == before["capture"]] or entries
    usual = median(e["ns"] for e in later)
    among = " of these" * (worst in later)
    slowest = f"slowest{among} {clean(worst['name'])} {time(worst['ns'])}"
    return f"{len(entries):,} steps on the device: median {time(usual)} after the first, {slowest}"


def kernel_share(k: KernelEntry, s: Summary) -> str:
    """Time of a kernel as a share of the span."""
    return percent(k["total_ns"] / s["duration_ns"]) if s["duration_ns"] else "\u2013"


def ranks(entries: Sequence[RankEntry] | None) -> str:
    """`4 ranks: rank 7 comes last to 8 of 8 collectives; rank 1 waits 8.91 ms, ...`; "" for one rank alone."""
    if not entries:
        return ""
    late = max(entries, key=lambda r: (r["last"], -r["wait_ns"]))
    waits = [f"rank {r['rank']} waits {time(r['wait_ns'])}" for r in sorted(entries, key=lambda r: -r["wait_ns"])[:4]]
    all_of = sum(r["last"] for r in entries)
    last = f"rank {late['rank']} comes last to {late['last']:,} of {all_of:,} collectives"
    return f"{len(entries):,} ranks: {last}; {', '.join(waits)}"
