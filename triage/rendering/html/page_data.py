"""The result document packed for the page's script, in parts: what tables and drawings need, and per thousand
workloads what a reader opens.

Columns rather than rows: numbers of one kind lie beside each other, which packs several times smaller. Each part is
packed by itself and unpacked in the page when it is asked for (reports/_parts/unpack.js.j2 reads exactly this).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from triage import schema
from triage.capture.arrays import Floats, Indices, Masks, distinct
from triage.capture.capture import SEP
from triage.document.bundle import Bundle, Columns
from triage.document.entries import VERDICT_CLASSES, FindingEntry, OpinionEntry, RuledOutEntry
from triage.document.page_entries import STATES
from triage.ground.limiters import BANDS, CLASSES, CONFIDENCE, LEVELS, limiter_words
from triage.ground.method import HIGH, LOW
from triage.ground.phrasing import upper_first
from triage.ground.terminology import localize, voice
from triage.rendering import code_places, phrases, verdict_phrases
from triage.rendering.escape import clean, short
from triage.rendering.html.source_cells import Cells
from triage.rendering.html.string_table import Json, Strings, Words, faithful, rounded, tenths
from triage.rendering.html.tree_data import Nodes
from triage.rendering.labels import AS_DATA
from triage.schema.derived import HARDWARE_UNITS, SHADER_PIPES, TILER_UNITS

LONG = 2_000  # characters of a name the page keeps
CHUNK = 1_000  # workloads whose details are one part
_BANDS, _CONFIDENCE = tuple(BANDS), tuple(CONFIDENCE)
Column: TypeAlias = Sequence[Json] | Indices  # 0 where every value is 0


def pack(b: Bundle, nodes: Nodes, words: Words) -> Iterator[tuple[str, Json]]:
    """Parts with their names: `core`, `d0`, `d1` ... (details), `more` (words, rules' advice, findings about the whole).

    One after another, so that each can be packed and let go before the next is made. words: empty, filled with the texts of the page.
    """
    yield "core", _core(b, nodes)
    details = Details(b, words)
    for k in range(0, len(b.workloads), CHUNK):
        yield f"d{k // CHUNK}", details.chunk(k, k + CHUNK)
    more: dict[str, Json] = {
        "S": words.s.list(),
        "M": words.metric_rows,
        "K": [list(k) for k in words.conditions],
        "tails": words.tail_rows,
        "files": list(words.files),
        "shapes": [list(s) for s in words.shapes],
        "frame": details.frame(),
        "states": list(STATES),
        "bandText": list(BANDS.values()),
        "unitText": [localize(_unit_meaning(u)) for u in _units(b.workloads.columns, Strings())],
    }
    yield "more", more


def _core(b: Bundle, nodes: Nodes) -> dict[str, Json]:
    """What the table, the drawing and the address need of every workload, findings in brief."""
    names, units, causes = Strings(), Strings(), Strings()
    columns, found = b.workloads.columns, b.findings
    index = {w: i for i, w in enumerate(b.workloads.field("id"))}
    rules: dict[str, int] = {}
    rule_rows: list[list[str]] = []
    for f in found:
        if f["rule"] not in rules:
            rules[f["rule"]] = len(rule_rows)
            rule_rows.append([f["rule"], clean(f["title"]), f["name"], f["cause"]])
        causes(f["cause"])
    for item in b.todo:
        causes(item["cause"])
    limiter = np.concatenate([c.limiter for c in columns])
    own, time, saved = (np.concatenate([getattr(c, key) for c in columns]) for key in ("own", "time", "saved"))
    w_rows: dict[str, Json] = {
        # as steps from the one before: new names are numbered as they come
        "name": np.diff(names.all(b.workloads.field("name"), lambda n: short(n, LONG)), prepend=0),
        "path": names.all(b.workloads.field("paths"), lambda p: clean("/".join(p.split(SEP)))),
        "kind": _column(names.all(b.workloads.field("kind"))),
        "calls": _column(np.array([(n or 1) - 1 for n in b.workloads.field("calls")])),
        "self": faithful(np.round(own, 3), 5),
        # total time only where it differs from self time
        "time": _column(faithful(np.where(np.round(time, 3) == np.round(own, 3), 0.0, np.round(time, 3)), 5)),
        "limiter": limiter,
        "band": np.concatenate([c.bands for c in columns]),
        "cause": _column(np.concatenate([_leaders(c, causes) for c in columns])),
        "saved": _column([ns or 0 for ns in faithful(np.round(saved, 1), 4)]),
        "verdict": _column(
            np.array([VERDICT_CLASSES.index(verdict) for verdict in b.workloads.field("verdict_class")])
        ),
        "sol": [_shares(columns, u) for u in _units(columns, units)],
    }
    gains = [f["gain"] for f in found]
    titles = {f["cause"]: f["title"] for f in reversed(found)} | {i["cause"]: i["title"] for i in b.todo}
    return {
        "n": len(index),
        "item": voice().item,
        "base": upper_first(phrases.base()),
        "heads": AS_DATA,
        "chunk": CHUNK,
        "total": b.frame["duration_ns"],
        "marks": [round(LOW * 100), round(HIGH * 100)],
        "levels": list(LEVELS),
        "confidence": list(_CONFIDENCE),
        "high": _BANDS.index("high"),
        "units": [localize(u) for u in units.list()],
        "caches": [localize("TEX"), localize("L2")],
        "verdicts": list(VERDICT_CLASSES),
        "verdictNames": [verdict_phrases.verdict(v).lower() for v in VERDICT_CLASSES],
        "classes": list(CLASSES),
        "classNames": [limiter_words(c).name for c in CLASSES],
        "classText": [limiter_words(c).meaning for c in CLASSES],
        "causes": [[c, titles.get(c, "")] for c in causes.list()],
        "todo": [causes(i["cause"]) for i in b.todo],
        "W": w_rows,
        "R": rule_rows,
        "F": {
            "rule": [rules[f["rule"]] for f in found],
            "w": [index.get(f["workload"], -1) for f in found],
            "level": [LEVELS.index(f["level"]) for f in found],
            "sure": [_CONFIDENCE.index(f["confidence"]) for f in found],
            "saved": faithful([np.nan if not g or g["saved_ns"] is None else g["saved_ns"] for g in gains], 4),
            "part": [rounded(g["fraction"], 6) if g else None for g in gains],
        },
        "tree": _tree(nodes, names),
        "names": names.list(),
    }


def _leaders(c: Columns, causes: Strings) -> Indices:
    """1 + the cause that leads each workload, 0 for none."""
    known = np.zeros(len(c.causes) + 1, dtype=np.int64)  # the last one for none, -1
    for k in distinct(c.leader):
        known[k] = causes(c.causes[k]) + 1 if k >= 0 else 0
    return known[c.leader]


def _units(columns: Sequence[Columns], units: Strings) -> list[str]:
    for c in columns:
        for name, row in zip(c.units, c.pct, strict=True):
            if np.isfinite(row).any():
                units(name)
    return units.list()


def _shares(columns: Sequence[Columns], unit: str) -> Indices:
    """Share of peak in tenths of a percent, -1 where it was not measured."""
    out = []
    for c in columns:
        row = c.pct[c.units.index(unit)] if unit in c.units else np.full(len(c), np.nan)
        # counters of different replays can give more than 100 %, none less than nothing
        out.append(_narrow(np.where(np.isfinite(row), np.maximum(0, tenths(row)), -1)))
    return np.concatenate(out)


def _narrow(values: Indices) -> Indices:
    """Whole numbers in half the memory where they fit: a page holds dozens of columns over all workloads."""
    fits = np.abs(values).max(initial=0) <= np.iinfo(np.int32).max
    return values.astype(np.int32 if fits else np.int64)


def _tree(nodes: Nodes, names: Strings) -> dict[str, Json]:
    """Parents as distances, workloads as steps from the one before; time only where a group has some of its own."""
    last, works = -1, []
    for w in nodes.work:
        works.append(w - last if w >= 0 else 0)
        last = w if w >= 0 else last
    return {
        "up": np.array([k - parent if parent >= 0 else 0 for k, parent in enumerate(nodes.parent)]),
        "w": np.array(works),
        "group": names.all([n for n, w in zip(nodes.name, nodes.work, strict=True) if w < 0], lambda n: short(n, LONG)),
        "whole": nodes.ns[0],
    }


class Details:
    """What a reader of one workload opens: verdict, way through the tree, cells, findings, what was ruled out."""

    def __init__(self, b: Bundle, words: Words) -> None:
        self.b, self.p = b, words
        self.columns = b.workloads.columns
        self.ids = b.workloads.field("id")
        self.found: dict[str, list[tuple[int, FindingEntry]]] = {}
        for k, f in enumerate(b.findings):
            self.found.setdefault(f["workload"], []).append((k, f))
        self.out: dict[str, list[RuledOutEntry]] = {}
        for r in b.ruled_out:
            self.out.setdefault(r["workload"], []).append(r)
        sentences = b.workloads.field("verdict")
        verdicts = {text: words.t(text) for text in dict.fromkeys(sentences)}
        self.verdict = [verdicts[text] for text in sentences]
        self.first, self.second = (
            np.concatenate([getattr(c, flags).sum(axis=0) if c.units else np.zeros(len(c), int) for c in self.columns])
            for flags in ("primary", "secondary")
        )
        self.grades = np.concatenate([c.tex * 4 + c.l2 for c in self.columns])
        self.way, self.guide = self._ways()
        self.rare = self._rare()

    def chunk(self, first: int, last: int) -> dict[str, Json]:
        """Columns over some workloads."""
        ids = self.ids[first:last]
        cells = [Cells(self.p) if i in self.found else None for i in ids]
        findings = [
            [self.finding(k, f, c) for k, f in self.found.pop(i, ())] if c else 0
            for i, c in zip(ids, cells, strict=True)
        ]
        part = slice(first, last)
        return {
            "f": _column(findings),
            "verdict": self.verdict[part],
            "first": _column(self.first[part]),
            "second": _column(self.second[part]),
            "grades": _column(self.grades[part]),
            "way": [[shape[part], _column(number[part])] for shape, number in self.way],
            "guide": _column(self.guide[part]),
            "out": _column([[self.p.t(r["why"]) for r in self.out[i]] if i in self.out else 0 for i in ids]),
            "cells": _column([c.rows if c else 0 for c in cells]),
            "line": _column([c.line if c else 0 for c in cells]),
            **{key: _column([of.get(i, 0) for i in ids]) if of else 0 for key, of in self.rare.items()},
        }

    def _ways(self) -> tuple[list[tuple[Indices, Indices]], list[Json]]:
        """Questions of the method, each (shape per workload, number in tenths of a percent); steps of other guides."""
        ways = self.b.ways
        if ways is None:
            return [], []
        known, guide = [], list[Json]()
        for p, d in enumerate(ways.decisions):
            shapes = [self.p.shape(s) for s in d.templates]
            known.append(_narrow(np.array([*shapes, -1])))  # the last one for questions that do not apply
            guide += [[self.p.shape(s) for s in ways.guided(p, i)] or 0 for i in range(len(self.columns[p]))]
        out = []
        for same in zip(*(d.questions for d in ways.decisions), strict=True):
            shape = np.concatenate([of[q.shape] for of, q in zip(known, same, strict=True)])
            # skip columns for questions that were never evaluated
            if (shape >= 0).any():
                out.append((shape, np.concatenate([_narrow(_tenths(q.number, q.shape >= 0)) for q in same])))
        return out, guide

    def _rare(self) -> dict[str, dict[str, Json]]:
        """What few workloads have, by id."""
        chain: dict[str, Json] = {}
        times: dict[str, Json] = {}
        opinions: dict[str, Json] = {}
        for c in self.columns:
            for i in c.listed:
                if len(links := c.chain_of(i)) > 1:
                    chain[c.id[i]] = [self.p.s(self.title(name)) for name in links]
            for i in range(len(c)) if c.repeated else ():
                if spread := c.times(i):
                    times[c.id[i]] = [rounded(spread["min"]), rounded(spread["median"]), rounded(spread["max"])]
            for i, w in enumerate(c.rows.tolist()) if c.opinions else ():
                if w in c.opinions:
                    opinions[c.id[i]] = _opinions(c.opinions[w], self.p)
        roof: dict[str, Json] = {
            name: [r["intensity"], r["rate"], r["peak"], r["bandwidth"], r["precision"]]
            for name, r in self.b.rooflines.items()
        }
        return {"chain": chain, "times": times, "opinions": opinions, "roof": roof}

    def title(self, cause: str) -> str:
        """Title of a cause."""
        known = self.b.causes.get(cause)
        return known["title"] if known else cause.replace("-", " ")

    def frame(self) -> dict[str, Json]:
        """Findings about a whole capture."""
        cells = Cells(self.p)
        rows = [self.finding(k, f, cells) for found in self.found.values() for k, f in found]
        return {"f": rows, "cells": cells.rows, "line": cells.line}

    def finding(self, k: int, f: FindingEntry, cells: Cells) -> list[Json]:
        """[number, sentence, [likely, low, bound, share], evidence, tail, places in the code if any]."""
        g = f["gain"]
        return [
            k,
            self.p.t(f["message"]),
            [rounded(g["fraction"]), rounded(g["low"]), rounded(g["bound"]), rounded(g["share"], 4)] if g else 0,
            [[self.p.condition(e), cells.add(e["metric"], e["value"], e["unit"], e["source"])] for e in f["evidence"]],
            self.p.tail(f, self.b.rules[f["rule"]]["gain"] if g else ""),
            *([[self.p.t(code_places.in_full(x)) for x in f["locations"]]] if f["locations"] else []),
        ]


def _tenths(ratio: Floats, asked: Masks) -> Indices:
    """Ratios as tenths of a percent; 0 for unknown."""
    return np.where(asked & np.isfinite(ratio), tenths(ratio * 100), 0)


# triage's answer to a result of the profiler's own rules; no answer for the others
_HEARD = {"root": "same root cause", "named": "also found", "ruled out": "ruled out", "blind": "not measured"}


def _opinions(opinions: Sequence[OpinionEntry], p: Words) -> list[Json]:
    """[tool, rule, sentence, its estimate, triage's verdict and estimate, why they differ] per result of the profiler's rules."""
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
        for o in opinions[:12]
    ]


def _column(values: Column) -> Json:
    return values if (values.any() if isinstance(values, np.ndarray) else any(values)) else 0


def _unit_meaning(shown: str) -> str:
    """What a unit's speed of light measures."""
    units = {f"{prefix}.throughput": name for prefix, name in HARDWARE_UNITS.items()} | TILER_UNITS | SHADER_PIPES
    metric = next((metric for metric, name in units.items() if name == shown), "")
    return schema.get(metric).meaning if schema.known(metric) else ""
