"""The tools of the MCP server: plain functions over files in allowed folders.

Answers hold at most about MAX_ANSWER_CHARS: lists are cut, `more` counts the rest, and `start` continues.
"""

from __future__ import annotations

import fnmatch
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from triage import schema
from triage.commands._agent_answers import (
    CompareAnswer,
    DiagnoseAnswer,
    FactsAnswer,
    Item,
    NextCaptureAnswer,
    OccupancyAnswer,
)
from triage.commands._allowed import MAX_FILES, confined, copied
from triage.document.entries import FindingEntry
from triage.ground.errors import TriageError
from triage.products.batch import find
from triage.products.settings import Settings

MAX_ANSWER_CHARS = 12_000
MAX_TEXT_CHARS = 600  # of one text in an answer
# called at each step of long work
STEP: ContextVar[Callable[[str], None]] = ContextVar("STEP", default=lambda step: None)


class Tools(Struct, dict=True):
    """State of a server: allowed folders, settings and the compiled rules, which one call at a time uses."""

    folders: Sequence[Path]
    settings: Settings = field(default_factory=Settings)
    _busy: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def _doctor(self) -> Any:
        return self.settings.diagnoser()

    def _diagnosed(self, path: str, device: str, marker: str) -> Any:
        from triage.findings import assembling
        from triage.products import accepted

        settings = replace(self.settings, device=device, marker=marker)
        with self._busy:
            STEP.get()("reading")
            capture = settings.read(copied(path))
            STEP.get()("diagnosing")
            d = self._doctor.diagnose([capture])
            STEP.get()("writing")
            return accepted.apply(assembling.bundle(d, ways=False), settings.accepted, settings.project_note)

    @confined
    def brief(self, path: str, device: str = "", marker: str = "") -> str:
        """Per workload the verdict, the numbers that decide with absolute counts, what is ruled out and what is missing.

        Sure and unsure apart; computed numbers begin with `~`. device: GPU, where the file does not name it. marker: glob.
        """
        from triage.rendering import formats

        parts: list[str] = []
        formats.render(self._diagnosed(path, device, marker), "brief", parts.append)
        return _text("".join(parts))

    @confined
    def diagnose(self, path: str, start: int = 1, count: int = 5, device: str = "", marker: str = "") -> DiagnoseAnswer:
        """The to-do list of a capture: what to fix first, the time it saves, why, and how to verify it.

        start, count: items, from 1. device: GPU, where the file does not name it. marker: glob, only these workloads.
        """
        from triage.document import summary
        from triage.ground.terminology import speaking

        b = self._diagnosed(path, device, marker)
        with speaking(b.item, b.whose):
            s = summary.summarise(b)
        causes = s["causes"]
        head = {
            "headline": s["headline"],
            "duration_ns": s["duration_ns"],
            "recoverable_ns": s["recoverable"],
            "limiters": [{"class": x["limiter_class"], "share": x["share"]} for x in s["limiters"][:5]],
            "notes": [_cut(n) for n in b.frame["notes"][:5]],
            "remarks_on_the_data": [_cut(q["message"]) for q in b.quality[:5]],
            "root_causes": len(causes),
        }
        items = [_item(i, b.findings) for i in causes[max(0, start - 1) : max(0, start - 1) + max(1, min(count, 20))]]
        return cast(DiagnoseAnswer, _fit({**head, "todo": items}, "todo", len(causes) - max(0, start - 1)))

    @confined
    def explain(self, name: str, path: str = "", marker: str = "") -> str:
        """What a rule, cause, metric or term means; with `path`: why a cause is or is not named there, the conditions of a
        rule with that capture's values, or the findings of a marker."""
        from triage.commands import explain

        book = self.settings.rulebook()
        if not path:
            return _text(explain.text_of(name, book))
        capture = replace(self.settings, marker=marker).read(copied(path))
        with self._busy:
            return _text(explain.text_on(name, capture, path, self.settings, book))

    @confined
    def compare(self, before: list[str], after: list[str], count: int = 10) -> CompareAnswer:
        """Verdicts and intervals of a change, from captures before and after (several of a side are repeats)."""
        from triage.products.compare import compare_headline, comparing

        if not before or not after:
            raise TriageError("need one capture before and one after", "name both")
        sides: list[list[Any]] = []
        for side in (before, after):
            sides.append([])
            for p in side:
                STEP.get()(f"reading {p}")
                sides[-1].append(self.settings.read(copied(p)))
        STEP.get()("comparing")
        with self._busy:
            doc = comparing.compare(*(self._doctor.diagnose(side) for side in sides))
        frame = {k: doc["frame"][k] for k in ("before_ns", "after_ns", "verdict", "interval", "needs", "remarks")}
        pairs = sorted(doc["pairs"], key=lambda p: -abs((p["before_ns"] or 0) - (p["after_ns"] or 0)))
        listed = [
            {
                "workload": " / ".join([*p["path"], p["name"]])[:200],
                **{k: p[k] for k in ("before_ns", "after_ns", "verdict", "interval", "needs", "reading")},
                "fixed": p["fixed"][:10],
                "new": p["new"][:10],
            }
            for p in pairs[: max(1, min(count, 50))]
        ]
        head = {
            "headline": compare_headline.headline(doc),
            "kinds": compare_headline.kinds(doc),
            "warnings": doc["warnings"],
            "frame": frame,
            "unmatched": doc["totals"]["unmatched"],
        }
        return cast(CompareAnswer, _fit({**head, "pairs": listed}, "pairs", doc["totals"]["pairs"]))

    @confined
    def facts(self, path: str, metric: str = "*", marker: str = "", start: int = 1, count: int = 50) -> FactsAnswer:
        """Values of metrics (a glob) per workload of a capture, in canonical units."""
        c = replace(self.settings, marker=marker).read(copied(path))
        wanted = [m for m in c.facts if fnmatch.fnmatchcase(m, metric)]
        rows = [
            {"workload": str(c.names[w])[:120], "metric": m, "value": float(c.facts[m][w]), "unit": schema.get(m).unit}
            for w in range(len(c))
            for m in wanted
            if np.isfinite(c.facts[m][w])
        ]
        head = {
            "dialect": c.input.dialect,
            "device": c.device.name if c.device else None,
            "workloads": len(c),
            "metrics": len(c.facts),
            "not_understood": list(c.table.unmapped)[:20],
        }
        rows = rows[max(0, start - 1) :]
        return cast(FactsAnswer, _fit({**head, "facts": rows[: max(1, min(count, 200))]}, "facts", len(rows)))

    @confined
    def occupancy(
        self, arch: str, threads: int, registers: int, shared: int = 0, sgprs: int | None = None
    ) -> OccupancyAnswer:
        """Theoretical occupancy of a launch, its limits and the nearest steps. arch: sm_86, gfx90a. shared: bytes."""
        from triage.occupancy import occupancy

        now = occupancy(arch, threads=threads, registers=registers, shared=shared, sgprs=sgprs)
        return cast(OccupancyAnswer, now.to_dict())

    @confined
    def next_capture(self, path: str, device: str = "") -> NextCaptureAnswer:
        """Missing counters, the command that collects them, and the rules that need them."""
        from triage.document.missing_counters import missing_counters

        b = self._diagnosed(path, device, "")
        spots = missing_counters(b.view)
        listed = [
            {
                "collect": _cut(g["collect"]),
                "missing": g["missing"][:20],
                "rules": g["rules"][:20],
                "workloads": g["workloads"],
            }
            for g in spots
        ]
        dark = {"unjudged_ns": b.frame["unjudged_ns"], "unjudged_collect": b.frame["unjudged_collect"]}
        return cast(NextCaptureAnswer, _fit({**dark, "captures": listed}, "captures", len(spots)))

    def captures(self) -> list[str]:
        """Captures below the allowed folders, as the tools take them: those of the first folder relative to it."""
        first, out = self.folders[0], list[str]()
        for found in find.gather([str(f) for f in self.folders]).captures[:MAX_FILES]:
            real = Path(os.path.realpath(found.path))
            if any(real.is_relative_to(folder) for folder in self.folders):
                out.append(str(real.relative_to(first)) if real.is_relative_to(first) else str(real))
        return out

    def causes(self) -> list[dict[str, str]]:
        """Id, title and meaning of every cause."""
        causes = self.settings.rulebook().causes.values()
        return [{"cause": c.id, "title": c.title, "meaning": c.meaning} for c in causes]

    def rules(self) -> list[dict[str, str]]:
        """Id, name, title and cause of every rule."""
        rules = self.settings.rulebook().rules
        return [{"rule": r.id, "name": r.name, "title": r.title, "cause": r.cause} for r in rules if not r.is_concept]


def _item(i: Mapping[str, Any], findings: Sequence[FindingEntry]) -> Item:
    from triage.rendering import code_places

    ranks = set(i["findings"])
    at = [code_places.in_full(x) for f in findings if f["rank"] in ranks for x in f["locations"]]
    kept = "rank cause title level confidence saved_ns share low_ns bound_ns rule fingerprint".split()
    item = {
        **{k: i[k] for k in kept},
        "where": [n[:120] for n in i["names"][:5]],
        "workloads": i["workload_count"],
        "message": _cut(i["message"]),
        "do": [_cut(a) for a in i["advice"][:4]],
        "verify": _cut(i["verify"] or "") or None,
        "at": [_cut(x) for x in dict.fromkeys(at)][:3],
    }
    return cast(Item, item)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - 1] + "…"


def _text(text: str) -> str:
    """The text, cut between paragraphs or lines where it is long."""
    if len(text) <= MAX_ANSWER_CHARS:
        return text
    kept = text[:MAX_ANSWER_CHARS]
    whole = kept[: kept.rindex("\n") if "\n" in kept else None]
    return f"{whole}\n… (cut; marker=GLOB selects, the command line prints all of it)"


def _fit(answer: dict[str, Any], key: str, left: int) -> dict[str, Any]:
    """The answer with as many entries of its list as fit; `more`: number of the others."""
    items = answer[key]
    while len(items) > 1 and len(json.dumps(answer, ensure_ascii=False)) > MAX_ANSWER_CHARS - 100:
        items = answer[key] = items[:-1]
    return {**answer, "more": max(0, left - len(items))}
