"""What an agent may ask: plain functions over files in allowed folders, each answer small enough to be read whole.

No answer is longer than about MOST characters: lists are cut, `more` says how much is left, and `start` gives the rest.
"""

from __future__ import annotations

import fnmatch
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triage.ground.errors import TriageError
from triage.products.batch import find
from triage.products.settings import Settings

MOST = 12_000  # characters of an answer
TEXT = 600  # of one text in it
FILES = 2_000  # entries of a folder that are looked at


@dataclass
class Tools:
    """One server's state: where it may read, and the compiled rules, which one call at a time uses."""

    folders: Sequence[Path]
    settings: Settings = field(default_factory=Settings)
    _doctor: Any = None
    _busy: threading.Lock = field(default_factory=threading.Lock)

    def allowed(self, path: str) -> str:
        """The real path of a capture, inside an allowed folder; raises TriageError for anything else.

        Links are followed before it is judged, also those inside a folder that is an export.
        """
        if not path or "\0" in path or "://" in path or path == "-":
            raise TriageError(f"{path[:80]!r} is no path of a local file", "name a file below the allowed folders")
        first = self.folders[0]
        real = Path(os.path.realpath(first / Path(path).expanduser()))
        inside = [real]
        if real.is_dir():
            for here, folders, files in os.walk(real):
                inside += [Path(os.path.realpath(os.path.join(here, name))) for name in (*folders, *files)]
                if len(inside) > FILES:
                    raise TriageError(f"{path[:200]}: too many files for one export", "name the capture itself")
        elif real.is_file():
            # the files that are read together with an export lie beside it
            together = find.companions([real.name, *os.listdir(real.parent)])
            inside += [Path(os.path.realpath(real.parent / name)) for name in together]
        if not all(any(p.is_relative_to(folder) for folder in self.folders) for p in inside):
            raise TriageError(
                f"{path[:200]}: outside the allowed folders",
                f"allowed: {', '.join(str(f) for f in self.folders)}",
            )
        return str(real)

    def _diagnosed(self, path: str, device: str, marker: str) -> Any:
        from dataclasses import replace

        from triage.findings import assembling
        from triage.products import accepted

        settings = replace(self.settings, device=device, marker=marker)
        with self._busy:
            if self._doctor is None:
                self._doctor = self.settings.diagnoser()
            d = self._doctor.diagnose([settings.read(self.allowed(path))])
            return accepted.apply(assembling.bundle(d, ways=False), settings.accepted)

    def diagnose(self, path: str, start: int = 1, count: int = 5, device: str = "", marker: str = "") -> dict[str, Any]:
        """The to-do list of a capture: what to fix first, what it gives back, why, and how to verify it.

        start, count: which items, from 1. device: GPU for exports that do not say. marker: glob, only these workloads.
        """
        from triage.document import summary
        from triage.ground.terminology import speaking

        b = self._diagnosed(path, device, marker)
        with speaking(b.item, b.whose):
            s = summary.summarise(b)
        found = s["causes"]
        head = {
            "headline": s["headline"],
            "duration_ns": s["duration_ns"],
            "recoverable_ns": s["recoverable"],
            "limiters": [{"class": x["limiter_class"], "share": x["share"]} for x in s["limiters"][:5]],
            "notes": [_cut(n) for n in b.frame["notes"][:5]],
            "remarks_on_the_data": [_cut(q["message"]) for q in b.quality[:5]],
            "root_causes": len(found),
        }
        items = [_item(i) for i in found[max(0, start - 1) : max(0, start - 1) + max(1, min(count, 20))]]
        return _fit({**head, "todo": items}, "todo", len(found) - max(0, start - 1))

    def explain(self, name: str, path: str = "", marker: str = "") -> str:
        """What a rule, cause, metric or term means; with `path`: each condition of a rule on that capture, with its values, or all
        that is known of a marker."""
        from triage.commands import explain

        book = self.settings.rulebook()
        if not path:
            return _text(explain.text_of(name, book))
        from dataclasses import replace

        capture = replace(self.settings, marker=marker).read(self.allowed(path))
        with self._busy:
            return _text(explain.text_on(name, capture, path, self.settings, book))

    def compare(self, before: list[str], after: list[str], count: int = 10) -> dict[str, Any]:
        """Did a change help? Captures before and after (several a side are repeats): verdicts with their intervals."""
        from triage.products.compare import compare_report, comparing

        if not before or not after:
            raise TriageError("a comparison needs captures on both sides", "name before and after")
        sides = [[self.settings.read(self.allowed(p)) for p in side] for side in (before, after)]
        with self._busy:
            if self._doctor is None:
                self._doctor = self.settings.diagnoser()
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
            "headline": compare_report.headline(doc),
            "warnings": doc["warnings"],
            "frame": frame,
            "unmatched": doc["totals"]["unmatched"],
        }
        return _fit({**head, "pairs": listed}, "pairs", doc["totals"]["pairs"])

    def facts(self, path: str, metric: str = "*", marker: str = "", start: int = 1, count: int = 50) -> dict[str, Any]:
        """What was read from a capture: values of metrics (a glob) per workload, in canonical units."""
        from dataclasses import replace

        import numpy as np

        from triage import schema

        c = replace(self.settings, marker=marker).read(self.allowed(path))
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
        first = max(0, start - 1)
        return _fit({**head, "facts": rows[first : first + max(1, min(count, 200))]}, "facts", len(rows) - first)

    def occupancy(
        self, arch: str, threads: int, registers: int, shared: int = 0, sgprs: int | None = None
    ) -> dict[str, Any]:
        """Theoretical occupancy of a launch: its limiter and the nearest steps. arch: sm_86, gfx90a. shared: bytes."""
        from triage.occupancy import occupancy

        now = occupancy(arch, threads=threads, registers=registers, shared=shared, sgprs=sgprs)
        return dict(now.to_dict())

    def next_capture(self, path: str, device: str = "") -> dict[str, Any]:
        """Which counters are missing, which command collects them, and what could then be judged."""
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
        return _fit({**dark, "captures": listed}, "captures", len(spots))


def _item(i: Mapping[str, Any]) -> dict[str, Any]:
    kept = (
        "rank",
        "cause",
        "title",
        "level",
        "confidence",
        "saved_ns",
        "share",
        "low_ns",
        "bound_ns",
        "rule",
        "fingerprint",
    )
    return {
        **{k: i[k] for k in kept},
        "where": [n[:120] for n in i["names"][:5]],
        "workloads": i["workload_count"],
        "message": _cut(i["message"]),
        "do": [_cut(a) for a in i["advice"][:4]],
        "verify": _cut(i["verify"] or "") or None,
    }


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else text[: TEXT - 1] + "…"


def _text(text: str) -> str:
    return text if len(text) <= MOST else text[:MOST] + "\n… (cut; the command line prints all of it)"


def _fit(answer: dict[str, Any], key: str, left: int) -> dict[str, Any]:
    """The answer with as much of its list as fits; `more`: entries that are left."""
    items = answer[key]
    while len(items) > 1 and len(json.dumps(answer, ensure_ascii=False)) > MOST - 100:
        items = answer[key] = items[:-1]
    return {**answer, "more": max(0, left - len(items))}
