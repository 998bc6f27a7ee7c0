"""The result document packed for the page's script, in parts: what tables and drawings need, and per thousand
workloads what a reader opens.

Columns rather than rows: numbers of one kind lie beside each other, which packs several times smaller. Each part is
compressed by itself and unpacked in the page when it is asked for (reports/_parts/unpack.js.j2 reads exactly this).
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from triage import schema
from triage.document.bundle import Bundle, Entry
from triage.ground.limiters import BANDS, BY_ID, CONFIDENCE, GRADES, LEVELS
from triage.ground.method import HIGH, LOW
from triage.rendering import phrases
from triage.rendering.escape import clean, short
from triage.rendering.html.cells import Cells
from triage.rendering.html.words import Strings, Words, rounded
from triage.schema.derived import HARDWARE_UNITS

LONG = 2_000  # characters of a name the page keeps
CHUNK = 1_000  # workloads whose details are one part
STATES = ("limits", "passes", "not measured", "noted")  # of a step through the tree, in the script's order
_BANDS, _CONFIDENCE = tuple(BANDS), tuple(CONFIDENCE)
Column = list[Any] | int  # 0 where every value is 0


def pack(b: Bundle, nodes: list[list[Any]]) -> dict[str, Any]:
    """Parts by name: `core`, `more` (words, rules' advice, findings about the whole), `d0`, `d1` ... (details)."""
    doc = b.document
    words = Words()
    details = Details(b, words)
    core = _core(doc, nodes)
    parts = {"core": core}
    works = doc["workloads"]
    for k in range(0, len(works), CHUNK):
        parts[f"d{k // CHUNK}"] = details.chunk(works[k : k + CHUNK], core["units"])
    parts["more"] = {
        "S": words.s.list(),
        "M": words.metric_rows,
        "K": [list(k) for k in words.conditions],
        "tails": words.tail_rows,
        "files": list(words.files),
        "shapes": [list(s) for s in details.shapes],
        "frame": details.frame(),
        "states": list(STATES),
        "bandText": list(BANDS.values()),
        "unitText": [_unit_meaning(u) for u in core["units"]],
    }
    return parts


def _core(doc: Entry, nodes: list[list[Any]]) -> dict[str, Any]:
    """What the table, the drawing and the address need of every workload, findings in brief."""
    works, names = doc["workloads"], Strings()
    index = {w["id"]: i for i, w in enumerate(works)}
    units, classes, causes = Strings(), Strings(), Strings()
    rules: dict[str, int] = {}
    rule_rows: list[list[str]] = []
    for f in doc["findings"]:
        if f["rule"] not in rules:
            rules[f["rule"]] = len(rule_rows)
            rule_rows.append([f["rule"], clean(f["title"]), f["name"], f["cause"]])
        causes(f["cause"])
    for item in doc["todo"]:
        causes(item["cause"])
    sol = {u: [-1] * len(works) for w in works for s in w["sol"] for u in [s["unit"]]}
    for i, w in enumerate(works):
        for s in w["sol"]:
            # counters of different replays can give more than 100 %, none less than nothing
            sol[s["unit"]][i] = max(0, round((s["pct"] or 0) * 10))
    w_rows = {
        "name": [names(short(w["name"], LONG)) for w in works],
        "path": [names("/".join(w["path"])) for w in works],
        "kind": _column([names(w["kind"] or "") for w in works]),
        "calls": _column([(w["calls"] or 1) - 1 for w in works]),
        "self": [rounded(w["self_ns"], 5) for w in works],
        "time": _column([0 if w["duration_ns"] == w["self_ns"] else rounded(w["duration_ns"], 5) for w in works]),
        "limiter": [classes(w["limiter_class"]) for w in works],
        "band": [_BANDS.index(w["band"]) for w in works],
        "cause": _column([causes(w["chain"][0]) + 1 if w["chain"] else 0 for w in works]),
        "saved": _column([rounded(w.get("saved_ns"), 4) or 0 for w in works]),
        "dark": _column([0 if w["judged"] else 1 for w in works]),
        "sol": list(sol.values()),
    }
    found = doc["findings"]
    gains = [f["gain"] or {} for f in found]
    titles = {f["cause"]: f["title"] for f in reversed(found)} | {i["cause"]: i["title"] for i in doc["todo"]}
    # the root of an empty report is `unknown`, a class that no workload brought in
    classes("unknown")
    for u in sol:
        units(u)
    return {
        "n": len(works),
        "chunk": CHUNK,
        "total": doc["frame"]["duration_ns"],
        "marks": [round(LOW * 100), round(HIGH * 100)],
        "levels": list(LEVELS),
        "confidence": list(_CONFIDENCE),
        "high": _BANDS.index("high"),
        "units": units.list(),
        "classes": classes.list(),
        "classNames": [BY_ID[c].name for c in classes.list()],
        "classText": [BY_ID[c].meaning for c in classes.list()],
        "causes": [[c, titles.get(c, "")] for c in causes.list()],
        "todo": [causes(i["cause"]) for i in doc["todo"]],
        "W": w_rows,
        "R": rule_rows,
        "F": {
            "rule": [rules[f["rule"]] for f in found],
            "w": [index.get(f["workload"], -1) for f in found],
            "level": [LEVELS.index(f["level"]) for f in found],
            "sure": [_CONFIDENCE.index(f["confidence"]) for f in found],
            "saved": [rounded(g.get("saved_ns"), 4) for g in gains],
            "part": [rounded(g.get("fraction"), 4) for g in gains],
        },
        "tree": _tree(nodes, names),
        "names": names.list(),
    }


def _tree(nodes: list[list[Any]], names: Strings) -> dict[str, Any]:
    """Parents as distances, workloads as steps from the one before; time only where a group has some of its own."""
    last, works = -1, []
    for _, _, w, _ in nodes:
        works.append(w - last if w >= 0 else 0)
        last = w if w >= 0 else last
    return {
        "up": [k - parent if parent >= 0 else 0 for k, (parent, *_) in enumerate(nodes)],
        "w": works,
        "group": [names(short(n[1], LONG)) for n in nodes if n[2] < 0],
        "whole": nodes[0][3],
    }


class Details:
    """What a reader of one workload opens: verdict, way through the tree, cells, findings, what was ruled out."""

    def __init__(self, b: Bundle, words: Words) -> None:
        self.b, self.p = b, words
        self.shapes: dict[tuple[Any, ...], int] = {}
        self.found: dict[str, list[tuple[int, Entry]]] = {}
        for k, f in enumerate(b.document["findings"]):
            self.found.setdefault(f["workload"], []).append((k, f))
        self.out: dict[str, list[Entry]] = {}
        for r in b.document["ruled_out"]:
            self.out.setdefault(r["workload"], []).append(r)

    def chunk(self, works: list[Entry], units: list[str]) -> dict[str, Any]:
        """Columns over some workloads."""
        cells = [Cells(self.p) for _ in works]
        findings = [
            [self.finding(k, f, c) for k, f in self.found.pop(w["id"], ())] or 0
            for w, c in zip(works, cells, strict=True)
        ]
        return {
            "f": _column(findings),
            "verdict": [self.p.t(w["verdict"]) for w in works],
            "first": _column([len(w["primary"]) for w in works]),
            "second": _column([len(w["secondary"]) for w in works]),
            "grades": _column([_grades(w["hit_grades"]) for w in works]),
            "way": _column([self.way(w, units) or 0 for w in works]),
            "chain": _column(
                [[self.p.s(self.title(c)) for c in w["chain"]] if len(w["chain"]) > 1 else 0 for w in works]
            ),
            "out": _column([[self.p.t(r["why"]) for r in self.out.get(w["id"], ())] or 0 for w in works]),
            "cells": _column([c.rows or 0 for c in cells]),
            "line": _column([c.line for c in cells]),
            "times": _column(
                [[rounded(w["times"][k]) for k in ("min", "median", "max")] if w.get("times") else 0 for w in works]
            ),
            "said": _column([_opinions(w, self.p) or 0 for w in works]),
            "roof": _column([self.roof(w) for w in works]),
        }

    def way(self, w: Entry, units: list[str]) -> list[Any]:
        """Steps as [shape, number, ...]; a number that is a unit's SOL is told by that unit, below 0."""
        known = {f"{round((s['pct'] or 0) * 10) / 10:.1f}": -1 - units.index(s["unit"]) for s in reversed(w["sol"])}
        out: list[Any] = []
        for s in self.b.ways.get(w["id"], ()):
            value, numbers = self.p.skeleton(s["value"])
            answer, more = self.p.skeleton(s["answer"])
            metric = self.p.metric(s["metric"]) if s["metric"] else -1
            shape = (self.p.s(s["ask"]), metric, value, self.p.t(s["edge"]), answer, STATES.index(s["state"]))
            out += [self._shape(shape), *(known.get(_text(n), n) for n in (*numbers, *more))]
        return out

    def _shape(self, shape: tuple[Any, ...]) -> int:
        key = tuple(tuple(x) if isinstance(x, list) else x for x in shape)
        return self.shapes.setdefault(key, len(self.shapes))

    def title(self, cause: str) -> str:
        """What people call a cause."""
        known = self.b.causes.get(cause)
        return known["title"] if known else cause.replace("-", " ")

    def roof(self, w: Entry) -> Any:
        """A workload's place under the roofs."""
        r = self.b.rooflines.get(w["id"])
        return [r["intensity"], r["rate"], r["peak"], r["bandwidth"], r["precision"]] if r else 0

    def frame(self) -> dict[str, Any]:
        """Findings about a whole capture."""
        cells = Cells(self.p)
        rows = [self.finding(k, f, cells) for found in self.found.values() for k, f in found]
        return {"f": rows, "cells": cells.rows, "line": cells.line}

    def finding(self, k: int, f: Entry, cells: Cells) -> list[Any]:
        """[number, sentence, [likely, low, bound, share], evidence, tail, places in the code if any]."""
        g = f["gain"]
        return [
            k,
            self.p.t(f["message"]),
            [rounded(g["fraction"]), rounded(g.get("low")), rounded(g.get("bound")), rounded(g["share"], 4)]
            if g
            else 0,
            [[self.p.condition(e), cells.add(e["metric"], e["value"], e["unit"], e["source"])] for e in f["evidence"]],
            self.p.tail(f),
            *([[self.p.t(phrases.location(x)) for x in f["locations"]]] if f["locations"] else []),
        ]


def _text(n: object) -> str:
    # whole shares of peak are written with their decimal
    return n if isinstance(n, str) else f"{n:.1f}" if isinstance(n, float) else ""


def _grades(grades: Entry) -> int:
    """TEX and L2 as two digits of base 4; 0 is not measured."""
    tex, l2 = (GRADES.index(grades[k]) + 1 if k in grades else 0 for k in ("TEX", "L2"))
    return tex * 4 + l2


# what is said here to a sentence of the profiler's own rules; of what is not in it there is nothing to say
_HEARD = {"root": "the same root cause", "named": "named too", "ruled out": "ruled out", "blind": "not measured here"}


def _opinions(w: Entry, p: Words) -> list[Any]:
    """[tool, rule, sentence, its gain, what is said here, our gain, why they differ] of the profiler's own rules."""
    return [
        [
            short(o["tool"], 40),
            short(o["rule"], 80),
            p.s(short(o["text"], 600)),
            o["speedup"] or 0,
            p.s(_HEARD.get(o["verdict"], "")),
            o["ours"] or 0,
            p.s(short(o["why"] or "", 300)),
        ]
        for o in w["second_opinion"][:12]
    ]


def _column(values: list[Any]) -> Column:
    return values if any(values) else 0


def _unit_meaning(shown: str) -> str:
    """What a unit's speed of light measures."""
    metric = next((f"{prefix}.throughput" for prefix, name in HARDWARE_UNITS.items() if name == shown), "")
    return schema.get(metric).meaning if schema.known(metric) else ""


def blob(data: Any) -> str:
    """A part as text of letters that is inert inside a script element."""
    dumped = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(dumped.encode("utf-8", "replace"), 9)).decode()
