"""Summary of a result: headline, to-do items, shares by limiter, markers by self time, undiagnosed time.

Pure functions over the result document (schema triage/1), shared by single reports, batches and tickets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from triage.document.bundle import Bundle, Entry
from triage.document.disambiguate import apart
from triage.ground.gap_reasons import GAP_WORDS
from triage.ground.kernel_names import kernel, plain
from triage.ground.limiters import BY_ID, SMALL
from triage.ground.phrasing import lower_first, percent, plural
from triage.ground.terminology import said
from triage.ground.units import show

TOP_ITEMS = 5  # to-do items that a short report lists
GAPS_SHOWN = 10
MAX_ITEM_NAMES = 8  # names of an item that are told apart; no report lists more
MAX_SAME_NAME = 64  # workloads of one name that are told apart from it
METRICS_PER_COMMAND = 10  # metrics of one command; more is unreadable and takes many profiler passes
MIN_UNDIAGNOSED_SHARE = 0.2  # heuristic: a larger undiagnosed share of the time comes before everything else


def summarise(b: Bundle) -> Entry:
    """Return what every report begins with; each number in it is a sum over listed findings or workloads."""
    doc = b.view
    frame, found = doc["frame"], causes(b.todo, doc)
    total = frame["duration_ns"]
    worst = Worst(doc, {name: c["title"] for name, c in b.causes.items()})
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
        "first": [c for c in found[:TOP_ITEMS] if not small(c)],
        "small": bool(found[:TOP_ITEMS]) and small(found[:TOP_ITEMS][-1]),
        "markers": worst,
        "blind": blind(doc),
        "waiting": len({r for spot in doc["blind_spots"] for r in spot["rules"]}),
        "headline": headline(doc, found, b.item, accepted=len(found) < len(b.todo)),
        "unjudged": unjudged(frame),
        "timeline": timeline(frame),
        "dark": dark(doc),
        "finished": finished(doc),
        "collect_all": frame["collect_all"],
        "unlisted": frame["findings_total"] - frame["findings_listed"],
        "untimed": not total,
    }


def unjudged(frame: Entry) -> Entry | None:
    """`ns`, `share` and `collect` (the command that covers most of it) of undiagnosed time; None below MIN_UNDIAGNOSED_SHARE."""
    total, ns = frame["duration_ns"], frame["unjudged_ns"]
    if not total or not ns or ns < MIN_UNDIAGNOSED_SHARE * total:
        return None
    return {"ns": ns, "share": ns / total, "collect": frame["unjudged_collect"]}


def timeline(frame: Entry) -> Entry | None:
    """Summary of a trace: span, busy and idle time of all devices, idle time by reason, longest gaps; None without one."""
    devices = frame.get("timeline")
    if not devices:
        return None
    blamed: Counter[str] = Counter()
    for d in devices.values():
        blamed.update({g["cause"]: g["blamed_ns"] for g in d["gaps"]})
    total = {key: sum(d[key] for d in devices.values()) for key in ("span_ns", "busy_ns", "idle_ns", "gap_count")}
    gaps = [{**g, "device": key} for key, d in devices.items() for g in d["longest_gaps"]]
    return {
        **total,
        "devices": devices,
        "longest_span_ns": max(d["span_ns"] for d in devices.values()),
        "busy": total["busy_ns"] / total["span_ns"] if total["span_ns"] else 0.0,
        "idle": [
            {"cause": c, "name": GAP_WORDS[c].name, "meaning": GAP_WORDS[c].meaning, "limiter": GAP_WORDS[c].limiter, "ns": ns,
             "share": ns / total["span_ns"]}
            for c, ns in sorted(blamed.items(), key=lambda kv: (-kv[1], kv[0]))
            if ns
        ],
        "gaps": sorted(gaps, key=lambda g: (-g["length_ns"], g["device"]))[:GAPS_SHOWN],
        "kernels": frame.get("kernels") or [],
    }  # fmt: skip


def dark(doc: Entry) -> Entry | None:
    """Undiagnosed time, however little: `ns` and `share` in all, `uncovered_ns` of it outside all markers, the largest
    workloads of the rest (`names`, `count`), `collect`; None where everything was diagnosed.
    """
    frame = doc["frame"]
    total, uncovered = frame["duration_ns"], frame["uncovered_ns"] or 0
    ns = (frame["unjudged_ns"] or 0) + uncovered
    if not total or ns < 0.0005 * total:
        return None
    judged, own = fields(doc["workloads"], "judged", "self_ns")
    mine = [i for i, ns in enumerate(own) if ns and not judged[i]]
    mine.sort(key=lambda i: -own[i])
    return {
        "ns": ns,
        "share": ns / total,
        "uncovered_ns": uncovered,
        "names": [doc["workloads"][i]["name"] for i in mine[:3]],
        "count": len(mine),
        "collect": frame["unjudged_collect"] if frame["unjudged_ns"] else None,
    }


def finished(doc: Entry) -> Entry:
    """Time of workloads at a hardware limit without a root cause: `ns`, `share`, `count`."""
    total = doc["frame"]["duration_ns"]
    judged, band, led, own = fields(doc["workloads"], "judged", "band", "led", "self_ns")
    # a marker that only holds others has no self time
    full = [j and b == "high" and not c for j, b, c in zip(judged, band, led, strict=True)]
    mine = [ns or 0 for ns, at_limit in zip(own, full, strict=True) if at_limit and (ns or not total)]
    return {"ns": sum(mine), "share": sum(mine) / total if total else None, "count": len(mine)}


def causes(todo: Sequence[Entry], doc: Entry) -> list[Entry]:
    """Return the to-do list without accepted items; each has its limiter classes and its names told apart."""
    ids, classes, names = fields(doc["workloads"], "id", "limiter_class", "name")
    at = {w: i for i, w in enumerate(ids)}
    found = [item for item in todo if item.get("accepted", {}).get("state") != "accepted"]
    same: dict[str, list[int]] = {name: [] for item in found for name in item["names"][:MAX_ITEM_NAMES]}
    for i, name in enumerate(names):
        if (rows := same.get(name)) is not None and len(rows) < MAX_SAME_NAME:
            rows.append(i)

    def path(i: int | None, name: str) -> Sequence[str]:
        return [] if i is None or len(same[name]) < 2 else list(doc["workloads"][i]["path"])

    out = []
    for item in found:
        places = [at.get(w) for w in item["workloads"]]
        seen = Counter(classes[i] for i in places if i is not None)
        located = [(name, path(i, name)) for name, i in zip(item["names"][:MAX_ITEM_NAMES], places, strict=False)]
        rivals = {name: [path(i, name) for i in same[name] if i not in places[:MAX_ITEM_NAMES]] for name, _ in located}
        out.append(
            {
                **item,
                "names": [*apart(located, rivals), *item["names"][MAX_ITEM_NAMES:]],
                "count": item["workload_count"],
                "limiters": sorted(seen, key=lambda c: (-seen[c], c)),
            }
        )
    return out


def small(c: Entry) -> bool:
    """True if an item saves too little of the time to be among the first."""
    return c["share"] is not None and c["share"] < SMALL


def _saved(f: Entry) -> float:
    gain = f["gain"]
    return (gain["saved_ns"] or 0.0) if gain else 0.0


def fields(workloads: Any, *names: str) -> list[list[Any]]:
    """Return fields of all workloads, each as a column, of a finished document or of one whose entries are made lazily.

    `led` is no field: True where the workload has a root cause.
    """
    if (field := getattr(workloads, "field", None)) is not None:
        return [field(name) for name in names]
    return [[bool(w["chain"]) if name == "led" else w[name] for w in workloads] for name in names]


class Worst(Sequence[Entry]):
    """Workloads by self time, longest first, each with its findings, that of its root cause, its title and saving.

    Entries are made on access: of 100,000 workloads a report shows ten.
    """

    def __init__(self, doc: Entry, titles: Mapping[str, str]) -> None:
        self._titles = titles
        self._works = doc["workloads"]
        self._by: dict[str, list[Entry]] = {}
        for f in doc["findings"]:
            self._by.setdefault(f["workload"], []).append(f)
        (own,) = fields(self._works, "self_ns")
        self._order = sorted(range(len(own)), key=lambda i: -(own[i] or 0))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, i: int) -> Entry: ...
    @overload
    def __getitem__(self, i: slice) -> list[Entry]: ...
    def __getitem__(self, i: int | slice) -> Entry | list[Entry]:
        return [self._entry(k) for k in self._order[i]] if isinstance(i, slice) else self._entry(self._order[i])

    def spoken(self) -> Iterator[Entry]:
        """Yield the finding of the root cause of each workload with listed findings."""
        (ids,) = fields(self._works, "id")
        return (m["best"] for m in map(self._entry, (i for i in self._order if ids[i] in self._by)) if m["best"])

    def _entry(self, i: int) -> Entry:
        w = self._works[i]
        mine = self._by.get(w["id"], [])
        root = next(iter(w["chain"]), None)
        # the root, as in the to-do list; where its finding is not listed, no other one takes its place
        best = next((f for f in mine if root in (None, f["cause"])), None)
        return {
            "workload": w,
            "findings": mine,
            "best": best,
            # to-do title; without a root cause, the best finding's title
            "title": self._titles.get(root or "") or (best["title"] if best else ""),
            # without a root cause a finding is in no sum and no list, so it saves nothing here either
            "saved_ns": _saved(best) if root and best and best["gain"] else None,
        }


def blind(doc: Entry) -> list[Entry]:
    """Blind spots by the command or step that fills them: `missing`, `rules` that it enables, `collect`.

    Commands that differ only in their metrics are merged, up to METRICS_PER_COMMAND metrics each; those of most rules come first.
    """
    groups: dict[tuple[str, str, int], Entry] = {}
    turn: Counter[tuple[str, str]] = Counter()
    for spot in sorted(doc["blind_spots"], key=lambda spot: -len(spot["rules"])):
        asks = _ASKS.fullmatch(spot["collect"]) or _COLUMNS.fullmatch(spot["collect"])
        same = (asks[1], asks[3]) if asks else (spot["collect"], "")
        # columns are no command: one sentence lists them, however many
        if (
            asks
            and asks.re is _ASKS
            and len(groups.get((*same, turn[same]), {"asks": ()})["asks"]) >= METRICS_PER_COMMAND
        ):
            turn[same] += 1
        key = (*same, turn[same])
        g = groups.setdefault(key, {"asks": {}, "missing": {}, "rules": {}, "workloads": 0})
        g["asks"].update(dict.fromkeys(re.split(", ?", asks[2]) if asks else ()))
        g["missing"].update(dict.fromkeys(spot["missing"]))
        g["rules"].update(dict.fromkeys(spot["rules"]))
        g["workloads"] = max(g["workloads"], spot.get("count", len(spot["workloads"])))
    out = [
        {
            "collect": _asked(before, list(g["asks"])) + after,
            "missing": sorted(g["missing"]),
            "rules": sorted(g["rules"]),
            "workloads": g["workloads"],
        }
        for (before, after, _), g in groups.items()
    ]
    return sorted(out, key=lambda g: (-len(g["rules"]), -g["workloads"], g["collect"]))


# `ncu --metrics a,b --csv ...`: text before the metrics, the metrics, text after them
_ASKS = re.compile(r"(.*--metrics )(\S+)(| .*)")


_COLUMNS = re.compile(r"(add columns: )(.+)()")


def _asked(before: str, asks: list[str]) -> str:
    """A command with its metrics, or the columns that most checks need and how many more there are."""
    if not _COLUMNS.fullmatch(before + "x"):
        return before + ",".join(asks)
    more = f" + {len(asks) - METRICS_PER_COMMAND} more (triage list metrics)" if len(asks) > METRICS_PER_COMMAND else ""
    return before + ", ".join(asks[:METRICS_PER_COMMAND]) + more


def headline(doc: Entry, found: Sequence[Entry], item: str = "workload", *, accepted: bool = False) -> str:
    """Total time, recoverable time, first item and its place, in one or two sentences.

    item: what the report calls a workload. accepted: the project has accepted some findings.
    """
    frame = doc["frame"]
    total = frame["duration_ns"]
    if not doc["workloads"] and not doc["findings"]:
        return f"No {item}s in this capture."
    if not total:
        count = f"{plural(frame['workloads'], item)} without durations"
        if not doc["findings"]:
            return f"{count}; no findings."
        most = f" Most frequent: {lower_first(found[0]['title'])}." if found else ""
        return f"{count}: findings ranked by share of each {item}.{most}"
    text = _span(frame, item)
    several = [c["frames"] for c in doc["captures"] if c.get("frames")]
    if several:
        text += (
            f" over {plural(sum(f['count'] for f in several), 'frame')} (median {show(several[0]['median_ns'], 'ns')})"
        )
    saved = frame["recoverable_ns"] or 0
    if found and saved:
        first = found[0]
        share = f"{show(saved, 'ns')} ({percent(saved / total)})"
        if small(first):
            return f"{text}. Nothing significant to fix; small items: {share}."
        return f"{text}, ~{share} recoverable. Start with {lower_first(first['title'])}{_place(first)}."
    lead = next((s for s in frame["limiters"] if s["share"]), None)
    if lead and lead["limiter_class"] != "unknown":
        text += f", {lead['share'] * 100:.0f} % {said(BY_ID[lead['limiter_class']].limited)}"
    if not found:
        text += ". All findings are accepted" if accepted else f". {_without_items(doc)}"
    return text + "."


def _without_items(doc: Entry) -> str:
    """The headline's second sentence without to-do items: the finding of the longest workload, or what was not measured."""
    named = Worst(doc, {}).spoken()
    title = next((best["title"] for best in named if best["cause"] != "low-throughput"), "")
    if unjudged(doc["frame"]):
        return f"{title}; its utilisation was not measured" if title else "Limiter not measured"
    return f"{title}; no recoverable GPU time found" if title else "No findings"


def _span(frame: Entry, item: str) -> str:
    """`14.2 ms in 76 markers`; of a trace `2 devices, 246 ms total span, 64 % busy`."""
    t = timeline(frame)
    if t is None:
        return f"{show(frame['duration_ns'], 'ns')} in {plural(frame['workloads'], item)}"
    count = len(t["devices"])
    over = (
        f"{plural(count, 'device')}, {show(frame['duration_ns'], 'ns')} total span"
        if count > 1
        else f"{show(t['span_ns'], 'ns')} span"
    )
    # idle time without a cause in the program: no item below covers it
    reasons = {"unknown": "idle (reason not in the capture)", "profiler": GAP_WORDS["profiler"].name}
    dark = [
        f", {percent(i['share'])} {reasons[i['cause']]}"
        for i in t["idle"]
        if i["cause"] in reasons and i["share"] >= MIN_UNDIAGNOSED_SHARE
    ]
    return f"{over}, {t['busy'] * 100:.0f} % busy{''.join(dark)}"


def _place(c: Entry) -> str:
    """`: Cascade 2 + 5 more, 487 µs`."""
    parts = [show(c["saved_ns"], "ns")] if c["saved_ns"] else []
    if c["scope"] != "frame" and not all(w.endswith("frame") for w in c["workloads"]):
        more = f" + {c['count'] - 1:,} more" if c["count"] > 1 else ""
        parts.insert(0, f"{shorten_middle(c['names'][0], 60)}{more}")
    return f": {', '.join(parts)}" if parts else ""


def shorten_middle(name: str, most: int) -> str:
    """Shorten a name: C++ parameters and namespaces go first, then the middle, since the ends tell names apart."""
    name = plain(name)
    if len(name) > most:
        name = kernel(name)
    head = (most - 1) * 2 // 3
    return name if len(name) <= most else f"{name[:head]}…{name[head + 1 - most :]}"
