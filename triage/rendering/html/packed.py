"""The result document packed for the HTML page's script: strings and sentences stored once, cells named once.

A frame of 5,000 markers is 20 MB as JSON. Most of it repeats: sentences that differ in their numbers only, rules,
columns. Sentences become a skeleton and its numbers, and a cell quoted by five findings is stored once per workload.
The script in reports/_parts/script.js.j2 reads exactly this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from triage import schema
from triage.document.bundle import Bundle
from triage.ground.limiters import BANDS, BY_ID, CONFIDENCE, LEVELS
from triage.ground.method import HIGH, LOW
from triage.rendering import phrases
from triage.rendering.escape import clean, short
from triage.schema.derived import HARDWARE_UNITS

HOLE = "\x7f"  # stands for a number in a skeleton; clean() removes it from everything else
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?")
LONG = 2_000  # characters of a name the page keeps
STATES = ("limits", "passes", "not measured", "noted")  # of a step through the tree, in the script's order
_BANDS, _CONFIDENCE = tuple(BANDS), tuple(CONFIDENCE)


class Packer:
    """Interns strings, sentences, metrics and conditions while a document is packed."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.metrics: dict[str, int] = {}
        self.metric_rows: list[list[str]] = []
        self.conditions: dict[tuple[Any, ...], int] = {}
        self.tails: dict[str, int] = {}
        self.tail_rows: list[Any] = []
        self.files: dict[str, int] = {}

    def s(self, text: object) -> int:
        """Index of a string."""
        return self.strings.setdefault(clean(text), len(self.strings))

    def t(self, text: str) -> Any:
        """A sentence: the index of a string, or [index of its skeleton, number, ...]."""
        line = clean(text)
        numbers = _NUMBER.findall(line)
        # below that the skeleton and its list are longer than the text itself
        if not numbers or len(line) < 8:
            return self.s(line)
        skeleton = self.strings.setdefault(_NUMBER.sub(HOLE, line), len(self.strings))
        return [skeleton, *(self._literal(n) for n in numbers)]

    @staticmethod
    def _literal(text: str) -> Any:
        """A JSON number where the script prints it back the same way, else the text."""
        if re.fullmatch(r"0|[1-9]\d{0,8}", text):
            return int(text)
        if re.fullmatch(r"(?:0|[1-9]\d{0,8})\.\d{0,5}[1-9]", text) and "e" not in repr(float(text)):
            return float(text)
        return text

    def metric(self, name: str, unit: str = "") -> int:
        """Index of a metric with its label, unit and meaning."""
        if name not in self.metrics:
            self.metrics[name] = len(self.metric_rows)
            # a rule may compare a `let` of its own: then its unit is all that is known
            known = schema.get(name) if schema.known(name) else None
            self.metric_rows.append(
                [clean(name), phrases.label(name), known.unit if known else unit, known.meaning if known else ""]
            )
        return self.metrics[name]

    def condition(self, e: dict[str, Any]) -> int:
        """Index of [metric, operator, threshold, unit]."""
        key = (self.metric(e["metric"], e["unit"]), e["op"], e["threshold"], e["unit"])
        return self.conditions.setdefault(key, len(self.conditions))

    def tail(self, f: dict[str, Any]) -> int:
        """Index of what follows a finding's numbers: advice, code, how to verify, caveats, sources, gain model."""
        # the other reasons are the comparisons, which stand in the evidence already
        why = next((b for b in f["because"] if b.startswith("gain: ")), "")
        row = [
            [self.t(a) for a in f["advice"]],
            [[c["language"], c["text"]] for c in f["code"]],
            f["verify"] or 0,
            [self.t(c) for c in f["caveats"]],
            [[self.s(c["text"]), c["url"] if web(c["url"]) else 0] for c in f["cites"]],
            self.s(why[6:]),
        ]
        key = json.dumps(row)
        if key not in self.tails:
            self.tails[key] = len(self.tail_rows)
            self.tail_rows.append(row)
        return self.tails[key]

    def file(self, name: str, record: str) -> int:
        """Index of an input file. record: what is numbered in it, "" for lines; the script puts a number behind."""
        return self.files.setdefault(f"{clean(name)}, {record} " if record else clean(name), len(self.files))


def web(url: str | None) -> bool:
    """Is this an address a reader may follow?"""
    return bool(url) and str(url).startswith(("https://", "http://"))


class Cells:
    """The cells and formulas behind one workload's findings, each once."""

    def __init__(self, packer: Packer) -> None:
        self.p, self.line = packer, 0
        self.rows: list[list[Any]] = []
        self.seen: dict[str, int] = {}

    def add(self, metric: str, value: float | None, unit: str, source: dict[str, Any]) -> int:
        """Index of a value with its origin."""
        m, v = self.p.metric(metric, unit), _round(value)
        if "formula" in source:
            row = [
                m,
                v,
                # below 0 a formula, else the column: so the script tells the two apart
                -1 - self.p.s(short(source["formula"], 300)),
                *(self.add(i["metric"], i["value"], i["unit"], i["source"]) for i in source["inputs"]),
            ]
        else:
            # lines count from the workload's first: cells of one row become small numbers that repeat
            self.line = self.line or source["line"]
            text = short(source["text"], 200)
            row = [
                m,
                v,
                self.p.s(source["column"]),
                # the value as it was written, unless writing it again gives the same
                0 if text == str(v) else text,
                source["line"] - self.line,
                self.p.file(source["file"], source.get("record", "")),
            ]
            # zeros at the end are what the script takes for granted
            while len(row) > 3 and row[-1] == 0:
                row.pop()
        key = json.dumps(row)
        if key not in self.seen:
            self.seen[key] = len(self.rows)
            self.rows.append(row)
        return self.seen[key]


def _unit_meaning(shown: str) -> str:
    """What a unit's speed of light measures."""
    metric = next((f"{prefix}.throughput" for prefix, name in HARDWARE_UNITS.items() if name == shown), "")
    return schema.get(metric).meaning if schema.known(metric) else ""


def _opinion(o: Mapping[str, Any]) -> str:
    """A rule's sentence, and what is said here to it."""
    here = {"root": "Here the same root cause", "named": "Named here too", "ruled out": "Ruled out here"}.get(
        o["verdict"], ""
    )
    return short(o["text"], 600) + (f" {here}{': ' + short(o['why'], 300) if o['why'] else ''}." if here else "")


def _round(value: float | None, digits: int = 6) -> Any:
    if value is None:
        return None
    v = float(f"{value:.{digits}g}")
    return int(v) if v == int(v) and abs(v) < 1e15 else v


def pack(b: Bundle, nodes: list[list[Any]]) -> dict[str, Any]:
    """Everything the page's script shows."""
    doc = b.document
    p = Packer()
    index = {w["id"]: i for i, w in enumerate(doc["workloads"])}
    cells = [Cells(p) for _ in doc["workloads"]]
    spare = Cells(p)  # behind findings about the whole frame
    rules: dict[str, int] = {}
    rule_rows: list[list[str]] = []

    def rule(id: str, title: str = "", name: str = "") -> int:
        if id not in rules:
            rules[id] = len(rule_rows)
            rule_rows.append([id, title, name])
        return rules[id]

    findings = []
    for f in doc["findings"]:
        w = index.get(f["workload"], -1)
        owner = cells[w] if w >= 0 else spare
        g = f["gain"]
        findings.append(
            [
                rule(f["rule"], f["title"], f["name"]),
                w,
                LEVELS.index(f["level"]),
                _CONFIDENCE.index(f["confidence"]),
                p.t(f["message"]),
                [
                    _round(g["fraction"]),
                    _round(g.get("low")),
                    _round(g.get("bound")),
                    _round(g["saved_ns"], 4),
                    _round(g["share"], 4),
                ]
                if g
                else 0,
                [[p.condition(e), owner.add(e["metric"], e["value"], e["unit"], e["source"])] for e in f["evidence"]],
                p.tail(f),
                *([[p.t(phrases.location(x)) for x in f["locations"]]] if f["locations"] else []),
            ]
        )
    out: list[Any] = [[] for _ in doc["workloads"]]
    for r in doc["ruled_out"]:
        if r["workload"] in index:
            out[index[r["workload"]]].append([rule(r["rule"]), p.t(r["why"])])
    units: dict[str, int] = {}
    classes: dict[str, int] = {}
    rows = []
    for i, w in enumerate(doc["workloads"]):
        sol = [x for s in w["sol"] for x in (units.setdefault(s["unit"], len(units)), _round(s["pct"], 3))]
        grades = [[k, v] for k, v in w["hit_grades"].items()]
        opinions = [
            [short(o["tool"], 40), short(o["rule"], 80), p.s(_opinion(o)), o["speedup"] or 0]
            for o in w["second_opinion"][:12]
        ]
        times = [_round(w["times"][k]) for k in ("min", "median", "max")] if w.get("times") else 0
        steps = [
            [
                p.s(s["ask"]),
                p.metric(s["metric"]) if s["metric"] else -1,
                p.t(s["value"]),
                p.t(s["edge"]),
                p.t(s["answer"]),
                STATES.index(s["state"]),
            ]
            for s in b.ways.get(w["id"], ())
        ]
        roof = b.rooflines.get(w["id"])
        row = [
            w["id"],
            p.s(short(w["name"], LONG)),
            p.s(w["kind"] or ""),
            w["calls"],
            _round(w["duration_ns"]),
            _round(w["self_ns"]),
            sol,
            _BANDS.index(w["band"]),
            len(w["primary"]),
            len(w["secondary"]),
            w["bound_speedup"] or 0,
            grades,
            classes.setdefault(w["limiter_class"], len(classes)),
            p.t(w["verdict"]),
            out[i] or 0,
            steps,
            cells[i].rows or 0,
            cells[i].line,
            times,
            opinions or 0,
            [roof["intensity"], roof["rate"], roof["peak"], roof["bandwidth"], roof["precision"]] if roof else 0,
        ]
        # as in a cell: most workloads end in several zeros
        while row[-1] == 0:
            row.pop()
        rows.append(row)
    # the root of an empty report is `unknown`, a class that no workload brought in
    for name in leaders(doc, nodes):
        classes.setdefault(name, len(classes))
    return {
        "total": doc["frame"]["duration_ns"],
        "marks": [round(LOW * 100), round(HIGH * 100)],
        "levels": list(LEVELS),
        "confidence": list(_CONFIDENCE),
        "bands": list(_BANDS),
        "states": list(STATES),
        "bandText": list(BANDS.values()),
        "units": list(units),
        "unitText": [_unit_meaning(u) for u in units],
        "classes": list(classes),
        "classNames": [BY_ID[c].name for c in classes],
        "classText": [BY_ID[c].meaning for c in classes],
        "nodes": [
            [n[0], p.s(short(n[1], LONG)), *n[2:], classes[c]] for n, c in zip(nodes, leaders(doc, nodes), strict=True)
        ],
        "W": rows,
        "F": findings,
        "frameCells": spare.rows,
        "frameLine": spare.line,
        "R": rule_rows,
        "K": [list(k) for k in p.conditions],
        "tails": p.tail_rows,
        "M": p.metric_rows,
        "files": list(p.files),
        "S": list(p.strings),
    }


def text(data: Any) -> str:
    """JSON that is inert inside a script element."""
    dumped = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (
        # </script> or <!-- in a name would end the element; U+2028 and U+2029 end a line of old scripts
        dumped.replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
        .replace(HOLE, "\\u007f")
    )


def tree(doc: dict[str, Any]) -> list[list[Any]]:
    """Nodes of the marker tree: [parent, name, workload index or -1, inclusive ns]; node 0 is the whole.

    Levels that are no workload themselves become nodes whose time is the sum of what lies below.
    """
    many = len(doc["captures"]) > 1
    index = {w["id"]: i for i, w in enumerate(doc["workloads"])}
    nodes: list[list[Any]] = [[-1, "All captures" if many else "Whole capture", -1, 0.0]]
    roots: dict[str, int] = {}
    of: dict[str, int] = {}
    level: dict[tuple[int, str], int] = {}

    def node(parent: int, name: str, workload: int) -> int:
        nodes.append([parent, name, workload, 0.0])
        return len(nodes) - 1

    def place(w: dict[str, Any]) -> int:
        if w["id"] in of:
            return of[w["id"]]
        above = doc["workloads"][index[w["parent"]]] if w["parent"] in index else None
        if above is not None:
            # a path begins at the root, and the parent stands there already with its own levels
            at, skip = place(above), len(above["path"]) + 1
        else:
            at, skip = 0, 0
            if many:
                # the same marker in two captures is two nodes
                if w["capture"] not in roots:
                    roots[w["capture"]] = node(0, phrases.tail(w["capture"]), -1)
                at = roots[w["capture"]]
        for name in w["path"][skip:]:
            key = (at, name)
            if key not in level:
                level[key] = node(at, name, -1)
            at = level[key]
        of[w["id"]] = node(at, w["name"], index[w["id"]])
        return of[w["id"]]

    for w in doc["workloads"]:
        place(w)
    below = [0.0] * len(nodes)
    # backwards, since a node stands after its parent: its sum is whole when it is passed up
    for k in range(len(nodes) - 1, -1, -1):
        parent, _, w, _ = nodes[k]
        own = (doc["workloads"][w]["duration_ns"] or 0.0) if w >= 0 else 0.0
        # without a time of its own, or shorter than what runs in it on several queues, it is as wide as what it holds
        nodes[k][3] = _round(max(own, below[k]), 8)
        if parent >= 0:
            below[parent] += nodes[k][3]
    # time under no marker belongs to the frame too and stays empty in the drawing
    nodes[0][3] = max(nodes[0][3], doc["frame"]["duration_ns"] or 0)
    tops = [k for k, n in enumerate(nodes) if n[0] == 0]
    if len(tops) == 1 and nodes[tops[0]][3] >= 0.9999 * nodes[0][3] and tops[0] == 1:
        nodes = [[n[0] - 1, *n[1:]] for n in nodes[1:]]  # a single marker spans everything: it is the root
    return nodes


def leaders(doc: dict[str, Any], nodes: list[list[Any]]) -> list[str]:
    """Limiter class of each node: a workload's own, for a group the one with most exclusive time below."""
    below: list[dict[str, float]] = [{} for _ in nodes]
    out = [""] * len(nodes)
    for k in range(len(nodes) - 1, -1, -1):
        parent, _, w, _ = nodes[k]
        if w >= 0:
            work = doc["workloads"][w]
            out[k] = work["limiter_class"]
            below[k][out[k]] = below[k].get(out[k], 0.0) + (work["self_ns"] or 0.0)
        else:
            # ties go to the first word in the alphabet: the same input gives the same page
            out[k] = max(sorted(below[k]), key=lambda c: below[k][c], default="unknown")
        if parent >= 0:
            for name, ns in below[k].items():
                below[parent][name] = below[parent].get(name, 0.0) + ns
    return out
