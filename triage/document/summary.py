"""The frame at a glance: root causes across markers, what to do first, shares by limiter, worst markers.

Pure functions over the result document (schema triage/1), so that single reports, batches and tickets say the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from triage.document.bundle import Bundle, Entry
from triage.ground.limiters import BY_ID
from triage.ground.units import show
from triage.ground.wording import lower_first, plural

FIRST = 5  # things to do first
DARK = 0.2  # house judgement: with more of the time unjudged, that is the first thing to say


def summarise(b: Bundle) -> Entry:
    """What stands on top of every report. Every number in it is a sum over listed findings or workloads."""
    doc = b.document
    frame, found = doc["frame"], causes(b.todo, doc)
    total = frame["duration_ns"]
    worst = worst_first(doc)
    return {
        "duration_ns": total,
        "recoverable": {
            name: {"ns": frame[key], "share": frame[key] / total if total and frame[key] is not None else None}
            for name, key in (
                ("low", "recoverable_low_ns"),
                ("likely", "recoverable_ns"),
                ("bound", "recoverable_bound_ns"),
            )
        },
        "limiters": [s for s in frame["limiters"] if s["self_ns"]] or frame["limiters"],
        "causes": found,
        "first": found[:FIRST],
        "markers": worst,
        "blind": blind(doc),
        "waiting": len({r for spot in doc["blind_spots"] for r in spot["rules"]}),
        "headline": headline(doc, found),
        "unjudged": unjudged(frame),
        "unlisted": frame["findings_total"] - frame["findings_listed"],
        "untimed": not total,
    }


def unjudged(frame: Entry) -> Entry | None:
    """`ns`, `share` and `collect` (the command that would judge most of it) of unjudged time; None where it is little."""
    total, ns = frame["duration_ns"], frame["unjudged_ns"]
    if not total or not ns or ns < DARK * total:
        return None
    return {"ns": ns, "share": ns / total, "collect": frame["unjudged_collect"]}


def causes(todo: Sequence[Entry], doc: Entry) -> list[Entry]:
    """The to-do list with what reports show beside each item: which limiter classes it concerns."""
    classes = {w["id"]: w["limiter_class"] for w in doc["workloads"]}
    out = []
    for item in todo:
        seen = Counter(classes[w] for w in item["workloads"] if w in classes)
        out.append({**item, "count": item["workload_count"], "limiters": sorted(seen, key=lambda c: (-seen[c], c))})
    return out


def _saved(f: Entry) -> float:
    gain = f["gain"]
    return (gain["saved_ns"] or 0.0) if gain else 0.0


def worst_first(doc: Entry) -> list[Entry]:
    """Workloads by exclusive time, worst first, each with its findings, the one that speaks for its root, what that saves."""
    by: dict[str, list[Entry]] = {}
    for f in doc["findings"]:
        by.setdefault(f["workload"], []).append(f)
    order = sorted(range(len(doc["workloads"])), key=lambda i: (-(doc["workloads"][i]["self_ns"] or 0), i))
    out = []
    for i in order:
        w = doc["workloads"][i]
        mine = by.get(w["id"], [])
        root = next(iter(w["chain"]), None)
        # the root, as in the to-do list; where its finding is not listed, no other one takes its place
        best = next((f for f in mine if root in (None, f["cause"])), None)
        out.append(
            {"workload": w, "findings": mine, "best": best, "saved_ns": _saved(best) if best and best["gain"] else None}
        )
    return out


def blind(doc: Entry) -> list[Entry]:
    """Blind spots that one command or step fills, together: `missing`, `rules` that could then speak, `collect`."""
    groups: dict[str, Entry] = {}
    for spot in doc["blind_spots"]:
        g = groups.setdefault(spot["collect"], {"collect": spot["collect"], "missing": {}, "rules": {}, "workloads": 0})
        g["missing"].update(dict.fromkeys(spot["missing"]))
        g["rules"].update(dict.fromkeys(spot["rules"]))
        g["workloads"] = max(g["workloads"], spot.get("count", len(spot["workloads"])))
    out = [{**g, "missing": sorted(g["missing"]), "rules": sorted(g["rules"])} for g in groups.values()]
    return sorted(out, key=lambda g: (-len(g["rules"]), -g["workloads"], g["collect"]))


def headline(doc: Entry, found: Sequence[Entry]) -> str:
    """One sentence: what is slow, why, what it would give back."""
    frame = doc["frame"]
    total = frame["duration_ns"]
    if not doc["workloads"] and not doc["findings"]:
        return "Nothing to report: no workload is listed."
    if not total:
        what = f"; most often: {lower_first(found[0]['title'])}" if found else ""
        return f"{plural(frame['workloads'], 'workload')} without times, so findings are ranked by the share of their own time{what}."
    lead = next((s for s in frame["limiters"] if s["share"]), None)
    text = f"{show(total, 'ns')} in {plural(frame['workloads'], 'workload')}"
    if lead and lead["limiter_class"] != "unknown":
        text += f"; {lead['share'] * 100:.0f} % of it {BY_ID[lead['limiter_class']].limited}"
    saved = frame["recoverable_ns"] or 0
    if found and saved:
        text += f". About {show(saved, 'ns')} ({saved / total * 100:.0f} %) could come back; start with: {lower_first(found[0]['title'])}"
        if found[0]["count"] > 1:
            text += f" ({plural(found[0]['count'], 'workload')})"
    elif not found:
        text += ". What limits it was not measured" if unjudged(frame) else ". No rule found anything to fix"
    return text + "."
