"""The frame at a glance: root causes across markers, what to do first, shares by limiter, worst markers.

Pure functions over the result document (schema triage/1), so that single reports, batches and tickets say the same.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from triage.document.bundle import Bundle, Entry
from triage.ground.limiters import BY_ID, LEVELS, level
from triage.ground.units import show
from triage.ground.wording import lower_first, plural

FIRST = 5  # things to do first


def summarise(b: Bundle) -> Entry:
    """What stands on top of every report. Every number in it is a sum over listed findings or workloads."""
    doc = b.document
    frame, found = doc["frame"], causes(doc, b.umbrellas)
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
        "unlisted": frame["findings_total"] - frame["findings_listed"],
        "untimed": not total,
    }


def causes(doc: Entry, umbrellas: Container[str]) -> list[Entry]:
    """Root causes: findings of one rule are one item, over all workloads they concern.

    Gains on one workload are alternatives, so the order is greedy: each next item is the one that adds most to what
    the items before it already give back (`adds_ns`). `saved_ns` is the item taken alone. Causes by name come before
    rules that are true of almost any workload (`umbrellas`: their names), whatever they save.
    """
    groups: dict[str, list[Entry]] = {}
    for f in doc["findings"]:
        groups.setdefault(f["rule"], []).append(f)
    names = {w["id"]: w for w in doc["workloads"]}
    total = doc["frame"]["duration_ns"]
    rest = dict(groups)
    taken: dict[str, float] = {}
    out = []
    adds = {rule: _adds(group, taken) for rule, group in rest.items()}
    touches: dict[str, list[str]] = {}
    for rule, group in groups.items():
        for f in group:
            touches.setdefault(f["workload"], []).append(rule)
    while rest:
        # statements that are true of almost any workload come last; ties: what saves more alone, then the better ranked
        rule = min(
            rest,
            key=lambda r: (
                rest[r][0]["name"] in umbrellas,
                -adds[r],
                -sum(_saved(f) for f in rest[r]),
                rest[r][0]["rank"],
            ),
        )
        group = rest.pop(rule)
        out.append(_cause(group, names, adds[rule], total))
        stale: set[str] = set()
        for f in group:
            if _saved(f) > taken.get(f["workload"], 0.0):
                taken[f["workload"]] = _saved(f)
                stale.update(touches[f["workload"]])
        for other in sorted(stale & rest.keys()):
            adds[other] = _adds(rest[other], taken)
    return out


def _saved(f: Entry) -> float:
    gain = f["gain"]
    return (gain["saved_ns"] or 0.0) if gain else 0.0


def _adds(group: Sequence[Entry], taken: dict[str, float]) -> float:
    return round(sum(max(0.0, _saved(f) - taken.get(f["workload"], 0.0)) for f in group), 1)


def _cause(group: list[Entry], names: Entry, adds: float, total: float | None) -> Entry:
    best = group[0]
    saved = round(sum(_saved(f) for f in group), 1)
    share = saved / total if total else None
    timed = total and any(f["gain"] for f in group)
    classes: dict[str, int] = {}
    for f in group:
        if w := names.get(f["workload"]):
            classes[w["limiter_class"]] = classes.get(w["limiter_class"], 0) + 1
    return {
        "rule": best["rule"],
        "name": best["name"],
        "title": best["title"],
        "count": len(group),
        "workloads": [f["workload"] for f in group],
        "names": [names[f["workload"]]["name"] if f["workload"] in names else "frame" for f in group],
        "saved_ns": saved if timed else None,
        "adds_ns": adds if timed else None,
        "share": share if timed else None,
        "low_ns": _sum(group, names, "low"),
        "bound_ns": _sum(group, names, "bound"),
        "fraction": best["gain"]["fraction"] if best["gain"] else None,
        "level": level(share) if timed else max((f["level"] for f in group), key=LEVELS.index),
        "confidence": best["confidence"],
        "message": best["message"],
        "advice": best["advice"],
        "code": best.get("code", []),
        "verify": best.get("verify"),
        "cites": best["cites"],
        "caveats": best["caveats"],
        "ranks": [f["rank"] for f in group],
        "rank": best["rank"],
        "limiters": sorted(classes, key=lambda c: (-classes[c], c)),
    }


def _sum(group: Sequence[Entry], names: Entry, key: str) -> float | None:
    known = [
        f["gain"][key] * names[f["workload"]]["self_ns"]
        for f in group
        if f["gain"] and f["gain"].get(key) is not None and f["workload"] in names and names[f["workload"]]["self_ns"]
    ]
    return round(sum(known), 1) if known else None


def worst_first(doc: Entry) -> list[Entry]:
    """Workloads by exclusive time, worst first, each with its findings (ranks) and what the best would give back."""
    by: dict[str, list[Entry]] = {}
    for f in doc["findings"]:
        by.setdefault(f["workload"], []).append(f)
    order = sorted(range(len(doc["workloads"])), key=lambda i: (-(doc["workloads"][i]["self_ns"] or 0), i))
    out = []
    for i in order:
        w = doc["workloads"][i]
        mine = by.get(w["id"], [])
        best = mine[0] if mine else None
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
        text += ". No rule found anything to fix"
    return text + "."
